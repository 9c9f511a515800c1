{# The script of the index: makes marks links to their cells, opens the findings that a link leads to, and filters the rows by words. -#}
"use strict";
(() => {
{% include "reading.js" %}

for (const table of find(".features")) {
  const columns = find("th[data-in]", table).map((cell) => cell.dataset.in);
  for (const row of find("tr:has(td)", table)) {
    find("td", row).forEach((box, index) => {
      if (!box.textContent.trim()) return;
      const mark = box.querySelector("i") ?? make("i", box.firstChild.data.trim());
      const small = box.querySelector("small");
      box.replaceChildren(link(`${row.querySelector("a").getAttribute("href")}:${columns[index]}`, mark, "mark"), ...(small ? [" ", small] : []));
    });
  }
}

// Opens the findings that a link leads to
const open = () => {
  const target = document.getElementById(location.hash.slice(1)), box = target?.closest("details");
  if (!box) return;
  box.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", open);
document.addEventListener("click", (event) => {
  if (event.target.closest("a[href^='#']")?.hash === location.hash) open();
});
open();

listen(() => {
  const rows = find(".features tr:has(td), li.row"), wanted = words();
  let left = 0;
  for (const row of rows) {
    row.hidden = !wanted.every((word) => plain(row).includes(word));
    left += !row.hidden;
  }
  for (const body of find(".features tbody")) body.hidden = !body.querySelector("tr:has(td):not([hidden])");
  say(left, rows.length, "row");
});
})();
