// The page of search: words from the address, results from Pagefind's index beside the pages.
"use strict";
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
  const { results } = await pagefind.search(words);
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
