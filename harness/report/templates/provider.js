{# The script of a provider's page: makes an article of every case, opens the evidence of cells, searches and filters. -#}
"use strict";
(() => {
{% include "reading.js" %}
const ORDER = {{ VERDICTS.items()|sort(attribute="1.order")|map("first")|list|tojson }};
const block = document.getElementById("data");
const data = block ? JSON.parse(block.textContent) : { cases: [] };
const nameOf = (cell) => slug(cell.firstChild.data.trim());
const verdictOf = (mark) => mark.className || "passed";
const docs = (place) => link(document.getElementById(place).href, "docs");

// Every address of documentation is once at the end of the page
for (const anchor of find("a[href^='#d']")) anchor.href = document.getElementById(anchor.hash.slice(1)).href;

const sections = find("section.group>section");
const judging = new Map(sections.map((section) => [section.id, []]));

const made = new Map();  // cells by their source text; equal ones are copied
const cellsFor = (names, mark) => {
  const key = `${mark.className} ${names}`;
  if (!made.has(key)) {
    const fragment = new DocumentFragment();
    for (const name of names.split(", ")) fragment.append(make("li", make("a", [`${name} `, mark.cloneNode(true)])));
    made.set(key, fragment);
  }
  return made.get(key).cloneNode(true);
};
function makeArticle(item, [, more, ...known], about) {
  const [doc, ...also] = [more].flat();
  const name = item.firstElementChild, command = item.querySelector(":scope>pre");
  const title = make("h5"), origin = about.cloneNode(true), list = make("ul"), anchor = item.id;
  name.remove();
  command?.remove();
  while (!item.firstChild.matches?.("p,div")) title.append(item.firstChild);
  title.firstChild.data = title.firstChild.data.trimStart();
  for (const line of find(":scope>p", item)) {
    const mark = line.querySelector("i"), names = /(passed:)? ([\w., -]+)/.exec(mark ? mark.nextSibling.data : line.textContent)[2].trim();
    list.append(cellsFor(names, mark ?? make("i", "passed")));
    if (!mark) line.remove();
    mark?.remove();
    line.className = "gist";
  }
  const cells = find("a", list);
  for (const cell of cells) cell.id = `${anchor}.${cell.firstChild.data.trim()}`;
  for (const cell of find(".found>p>a[id]", item)) {
    cell.replaceWith(link(`#${cell.id}`, cell.firstChild.data.trim()), " ", cell.firstElementChild.cloneNode(true));
    list.append(make("li", cell));
    cells.push(cell);
  }
  const stale = about.querySelector(".stale");
  for (const cell of cells) {
    cell.href = `#${cell.id}`;
    cell.ariaExpanded = "false";
    if (stale) cell.append(" ", make("b", "stale", "stale"));
  }
  origin.prepend(make("code", name.textContent), " ");
  if (doc) origin.append(" ", typeof doc === "string" ? `· ${doc}` : docs(`d${doc}`));
  const article = make("article", [title, origin, list, ...item.childNodes], item.querySelector(".found>pre") ? "differs" : "");
  const run = command?.textContent;
  if (run) article.append(make("pre", run.replace(/\[ADAPTER\](?='$)/, "")));  // pytest runs the case for every adapter
  article.case = { known, run, also, anchor, cells, stale, level: about.dataset.level ?? "must" };
  return article;
}

const articles = [];
for (const section of sections) {
  let about = null;
  const written = new DocumentFragment();
  for (const child of [...section.children].slice(2)) {
    child.remove();
    if (child.matches("p")) about = child;
    else for (const item of [...child.children]) {
      const article = makeArticle(item, data.cases[articles.length], about);
      article.case.place = articles.push(article) - 1;
      judging.get(section.id).push(article);
      written.append(article);
    }
  }
  section.append(written);
}
const cellsOf = (article) => article.case.cells;
const cells = articles.flatMap(cellsOf);
for (const article of articles) for (const place of article.case.also) judging.get(sections[place].id).push(article);
for (const section of sections) {
  const others = judging.get(section.id).filter((article) => article.parentElement !== section);
  if (others.length) section.append(make("p", ["Also judged by: ", ...others.flatMap((article, index) => {
    const other = link(`#${cellsOf(article)[0].id}`, article.case.anchor);
    return index ? [" · ", other] : [other];
  })], "also"));
}

// The checklist: the verdict of each feature in each column
function checklist() {
  const columns = find(".pairs.one tbody tr").map((row) => [row.id.slice(3), row.querySelector("th").textContent]);
  const head = (words, scope) => {
    const cell = make("th", words);
    cell.scope = scope;
    return cell;
  };
  const table = make("table", make("thead", make("tr", [head("Feature", "col"), ...columns.map(([, title]) => head(title, "col"))])), "features");
  for (const group of find("section.group")) {
    const top = head(group.querySelector("h3").textContent, "rowgroup");
    top.colSpan = columns.length + 1;
    table.append(make("tbody", [make("tr", top, "group"), ...find(":scope>section", group).map((section) => {
      const title = section.querySelector("h4"), source = section.querySelector("h4+p>a");
      const first = [link(`#${section.id}`, title.textContent)];
      if (source) first.push(" ", link(source.href, "docs"));
      const cellsByAdapter = new Map();
      for (const cell of judging.get(section.id).flatMap(cellsOf)) {
        const name = nameOf(cell);
        if (cellsByAdapter.has(name)) cellsByAdapter.get(name).push(cell); else cellsByAdapter.set(name, [cell]);
      }
      return make("tr", [head(first, "row"), ...columns.map(([name]) => mark(section.id, name, cellsByAdapter.get(name)))]);
    })]));
  }
  const box = document.getElementById("table");
  box.append(table);
  box.hidden = false;
  cards(table);
}
const kept = new Map((data.kept ?? []).map(([place, index, ...features]) => [cellsOf(articles[place])[index], features.map((feature) => sections[feature].id)]));
const verdictOn = (feature, cell) => kept.get(cell)?.includes(feature) ? "passed" : verdictOf(cell.firstElementChild);
const marks = new Map();
function mark(feature, column, judged) {
  if (!judged) return make("td");
  const verdicts = judged.map((cell) => verdictOn(feature, cell));
  const worst = ORDER.find((name) => verdicts.includes(name));
  const alike = judged.filter((_, at) => verdicts[at] === worst);
  marks.set(`${feature}:${column}`, alike[0].id);
  const inPart = worst === "not-carried" && verdicts.includes("passed");
  const word = make("i", inPart ? "{{ IN_PART }}" : worst.replace("-", " "), worst === "passed" ? "" : worst);
  const content = [link(`#${alike[0].id}`, word, "mark")];
  const count = inPart ? verdicts.filter((verdict) => verdict === "passed").length : alike.length;
  return make("td", count < judged.length ? [...content, " ", make("small", `${number(count)} of ${number(judged.length)}`)] : content);
}
if (articles.length) checklist();

{% include "evidence.js" %}

function shut(cell) {
  cell.classList.remove("open");
  cell.ariaExpanded = "false";
  cell.closest("article").querySelector(".panel")?.remove();
}

function open(cell) {
  for (const other of find("a.open", cell.closest("article"))) shut(other);
  cell.classList.add("open");
  cell.ariaExpanded = "true";
  cell.closest("article").append(panel(cell));
}

// Searching and filtering
const choices = Object.fromEntries(find("[data-by]").map((select) => [select.dataset.by, select]));
for (const section of sections) choices.feature?.append(new Option(section.querySelector("h4").textContent, section.id));
if (articles.some((article) => article.case.stale)) choices.verdict.append(new Option("stale recording", "stale"));
let texts = null;

function filter() {
  texts ??= new Map(articles.map((article) => [article, `${plain(article)} ${article.case.anchor} ${data.cassettes[data.streams[data.cases[article.case.place][0]][0]]?.[0]}`.toLowerCase()]));
  const [wanted, chosen] = [words(), Object.fromEntries(Object.entries(choices).map(([by, select]) => [by, select.value]))];
  let left = 0;
  for (const article of articles) {
    const fits = wanted.every((word) => texts.get(article).includes(word)) && (!chosen.feature || judging.get(chosen.feature).includes(article)) &&
      (!chosen.level || article.case.level === chosen.level);
    let shown = 0;
    for (const cell of cellsOf(article)) {
      const verdict = verdictOf(cell.firstElementChild);
      const fit = fits && (!chosen.adapter || nameOf(cell) === chosen.adapter.slice(3)) &&
        (!chosen.verdict || (chosen.verdict === "!passed" ? verdict !== "passed" : chosen.verdict === "stale" ? article.case.stale : verdict === chosen.verdict));
      cell.parentElement.hidden = !fit;
      if (!fit && cell.classList.contains("open")) shut(cell);
      shown += Boolean(fit);
    }
    article.hidden = !shown;
    left += shown;
  }
  for (const section of sections) section.hidden = !section.querySelector("article:not([hidden])") && left < cells.length;
  for (const group of find("section.group")) group.hidden = !group.querySelector("section:not([hidden])");
  say(left, cells.length, "cell");
}
listen(filter);
if (output) say(cells.length, cells.length, "cell");

{% include "baseline.js" %}

function arrive() {
  const name = location.hash.slice(1);
  const target = name && document.getElementById(name);
  if (!target && marks.has(name)) location.replace(`#${marks.get(name)}`);
  if (!target) return;
  if (name.startsWith("in:") && choices.adapter) {
    choices.adapter.value = name;
    filter();
    return;
  }
  if (target.closest("[hidden]")) {
    tools.reset();
    filter();
  }
  if (cells.includes(target)) {
    if (!target.classList.contains("open")) open(target);
    target.focus({ preventScroll: true });
    target.closest("article").scrollIntoView();
  } else target.scrollIntoView();
}
document.addEventListener("click", (event) => {
  const cell = event.target.closest("a[href^='#']");
  if (!cell || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (cell.classList.contains("open")) {
    event.preventDefault();
    shut(cell);
  } else if (cell.hash === location.hash) arrive();
});
addEventListener("hashchange", arrive);
if (location.hash) arrive();
})();
