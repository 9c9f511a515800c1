{# The common part of all scripts. It makes no request, and inserts text only as text. -#}
const find = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (tag, words, name) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  for (const word of [words].flat()) if (word != null) element.append(word);
  return element;
};
const number = (value) => value.toLocaleString("en");
const slug = (text) => text.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 120) || "-";
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
const link = (target, words, name) => {
  const element = make("a", words, name);
  element.href = target;
  return element;
};

// Ages; the page itself has them only if a day was given
for (const time of find("time")) {
  const days = Math.floor((Date.now() - Date.parse(time.textContent)) / 86400000);
  if (!(days >= 0) || /^ \(/.test(time.nextSibling?.data ?? "")) continue;
  time.after(` (${counted(days, "day")} old)`);
  if (time.closest("[data-origin]") && days > {{ STALE_DAYS }}) time.nextSibling.after(" ", make("b", "stale", "stale"));
}

// A table that is too wide for the page shows each row as a card: its squares have the titles of their columns
const fit = (table) => {
  table.classList.remove("narrow");
  const box = table.closest(".scroll");
  table.classList.toggle("narrow", box.scrollWidth > box.clientWidth + 1);
};
const cards = (table) => {
  const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  for (const row of find("tbody tr:has(td)", table)) for (const cell of find("td", row)) cell.dataset.title = titles[cell.cellIndex];
  addEventListener("resize", () => fit(table));
  fit(table);
};
for (const table of find(".scroll table")) cards(table);

// Searching
const tools = document.querySelector(".tools");
const search = document.querySelector("[data-search]");
const output = tools?.querySelector("output");
const words = () => search.value.toLowerCase().split(/\s+/).filter(Boolean);
const plain = (element) => element.textContent.toLowerCase();
const say = (left, all, noun) => { output.textContent = left === all ? counted(all, noun) : `${number(left)} of ${counted(all, noun)}`; };
const listen = (filter) => {
  if (!tools) return;
  tools.hidden = false;
  const keepClear = () => {  // a link target must not be under the tools
    document.documentElement.style.scrollPaddingTop = getComputedStyle(tools).position === "sticky" ? `${tools.offsetHeight + 16}px` : "";
  };
  new ResizeObserver(keepClear).observe(tools);
  keepClear();
  tools.addEventListener("submit", (event) => event.preventDefault());
  tools.addEventListener("input", filter);
  tools.addEventListener("reset", () => setTimeout(filter));
  search.addEventListener("keydown", (event) => { if (event.key === "Escape") tools.reset(); });
};
