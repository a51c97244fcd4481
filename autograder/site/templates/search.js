// The page of search: words from the address, results from Pagefind's index beside the pages.
"use strict";

// Pages with most of the words, a rare word counting more: for a message that holds somebody's own numbers and names.
const withSome = async (pagefind, words) => {
  const pages = new Map(), weights = new Map();
  for (const word of new Set(words.split(/[^\p{L}\p{N}_]+/u).filter(Boolean))) {
    const { results } = await pagefind.search(word);
    for (const page of results) {
      pages.set(page.id, page);
      weights.set(page.id, (weights.get(page.id) || 0) + 1 / Math.sqrt(results.length));
    }
  }
  return [...pages.values()].sort((one, other) => weights.get(other.id) - weights.get(one.id));
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
  const pagefind = await import(new URL("pagefind/pagefind.js", root));
  let { results } = await pagefind.search(words);
  if (!results.length) results = await withSome(pagefind, words);
  const found = await Promise.all(results.slice(0, 20).map(each => each.data()));
  if (!found.length) said.textContent = form.dataset.none;
  for (const page of found) {
    const item = document.createElement("li"), link = document.createElement("a"), excerpt = document.createElement("p");
    link.href = new URL(page.raw_url.replace(/^\//, ""), root);
    link.textContent = page.meta.title;
    excerpt.innerHTML = page.excerpt;  // Pagefind's, escaped, with <mark>
    item.append(link, excerpt);
    document.getElementById("found").append(item);
  }
})();
