// The page of search: words from the address, results from Pagefind's index beside the pages.
"use strict";

// Pages by the words that they have: a rare word counts more, and so does a page that has more of a word. Lessons come
// before the short pages of errors, which have few words and so more of each.
const ranked = async (pagefind, words) => {
  const pages = new Map(), weights = new Map();
  const total = (await pagefind.search(null)).results.length + 1;
  const lessons = new Set((await pagefind.search(null, { filters: { kind: "lesson" } })).results.map(each => each.id));
  for (const word of new Set(words.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(word => word.length > 1))) {
    const { results } = await pagefind.search(word);
    for (const page of results) {
      pages.set(page.id, page);
      const share = page.score / results[0].score * (lessons.has(page.id) ? 2 : 1);
      weights.set(page.id, (weights.get(page.id) || 0) + Math.sqrt(share) * Math.log(total / results.length));
    }
  }
  return [...pages.values()].sort((one, other) => weights.get(other.id) - weights.get(one.id));
};

const list = (address, title, fill) => {
  const item = document.createElement("li"), link = document.createElement("a"), excerpt = document.createElement("p");
  [link.href, link.textContent] = [address, title];
  fill(excerpt);
  item.append(link, excerpt);
  document.getElementById("found").append(item);
};

// Words of a text, numbers all alike: other people's shapes and versions say nothing.
const plain = text => text.toLowerCase().replace(/\d+/g, "0").split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
const pairs = words => words.slice(1).map((word, i) => `${words[i]} ${word}`);

// Errors whose message was pasted, whole or cut: those whose pattern fits, then those that have most of its word pairs.
const errorsLike = (errors, pasted) => {
  const parts = pasted.split(/\b\w*(?:Error|Exception|Warning): /), found = [];
  const texts = parts.map((part, i) => parts.slice(i).join(" ").trim());
  const mine = texts.map(text => pairs(plain(text))).filter(each => each.length > 1);
  for (const error of errors) {
    const theirs = new Set(pairs(plain(error.text)));
    const share = Math.max(0, ...mine.map(each => each.filter(pair => theirs.has(pair)).length / each.length));
    const fits = texts.some(text => new RegExp(error.pattern, "s").test(text));
    if (fits || share >= 0.85) found.push({ error, rank: share + (fits ? 0.5 : 0) });
  }
  return found.sort((one, other) => other.rank - one.rank).map(each => each.error);
};

(async () => {
  const root = new URL(".", document.currentScript.src);
  const form = document.getElementById("search"), said = document.getElementById("said");
  const words = new URLSearchParams(location.search).get("q") || "";
  form.elements.q.value = words;
  if (location.protocol === "file:") {  // where browsers load no index
    said.textContent = form.dataset.server;
    return;
  }
  if (!words.trim()) return;
  const file = await fetch(form.dataset.errors);
  const errors = file.ok ? errorsLike(await file.json(), words) : [];  // a site of a few lessons may have none
  errors.slice(0, 8).forEach(({ page, title, about }) => list(new URL(page, location), title, excerpt => {
    excerpt.textContent = about;
  }));
  const pagefind = await import(new URL("pagefind/pagefind.js", root));
  const results = await ranked(pagefind, words);
  const found = await Promise.all(results.slice(0, 20).map(each => each.data()));
  if (!errors.length && !found.length) said.textContent = form.dataset.none;
  for (const page of found) {
    const address = new URL(page.raw_url.replace(/^\//, ""), root);
    if (errors.some(error => address.href.endsWith(`/${error.page}`))) continue;
    list(address, page.meta.title, excerpt => { excerpt.innerHTML = page.excerpt; });  // Pagefind's, escaped, with <mark>
  }
})();
