// Predictions are judged here as autograder/checking/judge.py judges them, on digests from site/predictions.py.
"use strict";
const site = (() => {
  // FNV-1a with 32 bits, RFC 9923.
  function digest(text) {
    let found = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(text)) found = Math.imul(found ^ byte, 0x01000193);
    return (found >>> 0).toString(16).padStart(8, "0");
  }

  // As `plain` in predictions.py: what a check takes for equal has the same text.
  function plain(value) {
    if (Array.isArray(value)) return `[${value.map(plain).join(",")}]`;
    if (typeof value === "string") return `'${value}`;
    if (value === null) return "None";
    if (typeof value === "object") return `<${value.kind}>`;
    if (typeof value === "boolean") return value ? "True" : "False";
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
    if (Math.abs(value) <= 1e-12) return "0";
    const rounded = Number.isInteger(value) ? value : Number(value.toExponential(5));
    return Number.isInteger(rounded) ? String(rounded) : rounded.toExponential(5).replace("+", "");
  }

  // A number of Python's, or of + - * / ** and brackets; undefined if the text is no such thing.
  function number(text) {
    const tokens = text.replace(/(\d)_(?=\d)/g, "$1").match(/(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|\*\*|[-+*/()]|\S/gi) || [];
    let at = 0;
    const fail = () => { throw new SyntaxError(text); };
    function atom() {
      const token = tokens[at++];
      if (token === "(") {
        const inside = sum();
        return tokens[at++] === ")" ? inside : fail();
      }
      return /^[\d.]/.test(token || "") ? Number(token) : fail();
    }
    function power() {
      const base = atom();
      return tokens[at] === "**" ? (at++, base ** signed()) : base;
    }
    function signed() {
      if (tokens[at] === "-") return at++, -signed();
      if (tokens[at] === "+") return at++, signed();
      return power();
    }
    function product() {
      let found = signed();
      while (tokens[at] === "*" || tokens[at] === "/") found = tokens[at++] === "*" ? found * signed() : found / signed();
      return found;
    }
    function sum() {
      let found = product();
      while (tokens[at] === "+" || tokens[at] === "-") found = tokens[at++] === "+" ? found + product() : found - product();
      return found;
    }
    try {
      const found = sum();
      return at === tokens.length ? found : undefined;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  // The items between commas that are in no brackets and no quotes.
  function items(text) {
    const found = [""];
    let depth = 0, quote = "";
    for (const sign of text) {
      if (quote) quote = sign === quote ? "" : quote;
      else if (sign === "'" || sign === '"') quote = sign;
      else if ("([".includes(sign)) depth++;
      else if (")]".includes(sign)) depth--;
      if (sign === "," && !depth && !quote) found.push("");
      else found[found.length - 1] += sign;
    }
    return found;
  }

  // What a learner wrote, as a value; undefined if nothing is there.
  function read(written) {
    const text = written.trim().replace(/[\u2212\u2013]/g, "-").replace(/^torch\.Size\((.*)\)$/, "$1");
    if (text === "" || text === "..." || text === "…") return undefined;
    const word = { none: null, true: true, false: false, nan: NaN, inf: Infinity, "-inf": -Infinity }[text.toLowerCase()];
    if (word !== undefined) return word;
    const quoted = text.match(/^(["'])(.*)\1$/);
    if (quoted) return quoted[2];
    const calculated = number(text);
    if (calculated !== undefined) return calculated;
    if (/^\(.*\)$|^\[.*\]$/.test(text)) {
      const inside = items(text.slice(1, -1));
      if (inside.length && inside[inside.length - 1].trim() === "") inside.pop();
      return inside.map(each => { const value = read(each); return value === undefined ? each : value; });
    }
    return /^torch\.[a-z]+\d+$/.test(text) ? { kind: "dtype" } : text;  // Python's own, and not its name as a text
  }

  // The data of a table.
  function open(form) {
    const bytes = Uint8Array.from(atob(form.dataset.judge), sign => sign.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  }

  // What is wrong with the way in which an entry is written: the name of a word for it, or null.
  function slip(data, value) {
    if (typeof value !== "string") return null;
    if (/^[-+]?\d+,\d+$/.test(value)) return "comma";
    return data.casual.includes(value.trim().toLowerCase()) ? "casual" : null;
  }

  // For each entry true, false, or null where nothing is written or no answer can be; and the sentence of the recognised mistake, or null.
  function judge(data, values) {
    const seen = values.map((value, i) => value === undefined || slip(data, value) ? null : digest(`${data.salt}/${i}/${plain(value)}`));
    const entries = seen.map((each, i) => each === null ? null : each === data.right[i]);
    let best = 0, mistake = null;
    if (!entries.includes(null) && entries.includes(false)) {
      for (const [says, wrong] of data.mistakes) {
        const numbers = Object.keys(wrong);
        if (numbers.length > best && numbers.every(i => wrong[i] === seen[i])) [best, mistake] = [numbers.length, says];
      }
    }
    return { entries, mistake };
  }

  function show(form) {
    const data = open(form), words = data.words, verdict = form.querySelector(".verdict");
    const values = inputs(form).map(input => read(input.value)), found = judge(data, values);
    form.querySelectorAll(".outcome").forEach((cell, i) => {
      const state = found.entries[i] === null ? slip(data, values[i]) || "empty" : found.entries[i] ? "right" : "wrong";
      cell.textContent = words[state];
      cell.className = `outcome ${state}`;
    });
    const right = found.entries.filter(Boolean).length, total = found.entries.length;
    verdict.innerHTML = "<p></p>" + (found.mistake ? `<p><strong></strong> ${found.mistake}</p>` : "");
    verdict.firstChild.textContent =
      right === total ? words.all_right : words.some.replace("{right}", right).replace("{total}", total);
    if (found.mistake) verdict.querySelector("strong").textContent = words.looks_like;
  }

  const inputs = form => [...form.querySelectorAll("input")];

  // Some browsers keep nothing for pages from a disk.
  function stored(action) {
    try { return action(window.localStorage); } catch { return null; }
  }

  function prepare(form) {
    const key = `autograder/${open(form).salt}`;
    const kept = stored(storage => JSON.parse(storage.getItem(key))) || [];
    inputs(form).forEach((input, i) => { input.value = kept[i] || ""; });
    form.addEventListener("input", () =>
      stored(storage => storage.setItem(key, JSON.stringify(inputs(form).map(input => input.value)))));
    form.addEventListener("submit", event => { event.preventDefault(); show(form); });
    form.addEventListener("reset", () => {
      stored(storage => storage.removeItem(key));
      form.querySelectorAll(".outcome, .verdict").forEach(each => { each.textContent = ""; });
    });
  }

  // Two questions on earlier lessons: those answered wrongly, then those never answered, then the oldest.
  function recall(box) {
    const key = asked => `autograder/recall/${asked.dataset.name}`;
    const known = asked => stored(storage => JSON.parse(storage.getItem(key(asked))));
    const urgency = asked => {
      const last = known(asked);
      return last ? (last.right ? last.time : -1) : 0;
    };
    const all = [...box.querySelectorAll(".asked")];
    [...all].sort((a, b) => urgency(a) - urgency(b)).forEach((asked, place) => {
      asked.hidden = place > 1;
      box.append(asked);
    });
    box.querySelectorAll(".said").forEach(said => { said.hidden = false; });
    box.addEventListener("click", event => {
      const button = event.target.closest("button");
      if (!button) return;
      const asked = button.closest(".asked"), status = asked.querySelector("[role=status]");
      stored(storage => storage.setItem(key(asked), JSON.stringify({ time: Date.now(), right: button.value === "right" })));
      asked.querySelectorAll("button").forEach(each => each.setAttribute("aria-pressed", each === button));
      status.textContent = status.dataset.says;
    });
  }

  // The section that is being read: the last heading above the upper third of the window.
  function section() {
    const above = [...document.querySelectorAll("main :is(h2, h3)[id]")]
      .filter(each => each.getBoundingClientRect().top < window.innerHeight / 3);
    return above.length ? `#${above[above.length - 1].id}` : "";
  }

  document.querySelectorAll("form.prediction").forEach(prepare);
  document.querySelectorAll(".recall").forEach(recall);
  document.querySelector("a.language")?.addEventListener("click", event => {
    event.currentTarget.hash = section();
  });
  const listed = document.querySelector(".contents details");
  if (listed && window.innerWidth < 1088) listed.open = false;
  return { digest, plain, read, slip, judge, open };
})();
