{# What a page can do beyond being read: find, filter, open a cell's evidence, tell ages. It reads the page and the one block of JSON in it,
   asks nobody else for anything, and writes text only as text. -#}
"use strict";
(() => {
const STALE_DAYS = {{ STALE_DAYS }};
const find = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (tag, words, name) => {
  const one = document.createElement(tag);
  if (name) one.className = name;
  for (const word of [words].flat()) if (word != null) one.append(word);
  return one;
};
const draw = (tag, facts, ...inside) => {
  const one = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(facts)) one.setAttribute(name, value);
  one.append(...inside);
  return one;
};
const number = (value) => value.toLocaleString("en");
const slug = (text) => text.replace(/[^A-Za-z0-9._-]+/g, "-");
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

// Ages: the page itself knows no clock
for (const time of find("time")) {
  const days = Math.floor((Date.now() - Date.parse(time.textContent)) / 86400000);
  if (!(days >= 0) || /^ \(/.test(time.nextSibling?.data ?? "")) continue;
  time.title = `${counted(days, "day")} ago`;
  const origin = time.closest("[data-origin]")?.dataset.origin;
  if (origin && days > STALE_DAYS) time.after(" ", make("b", `stale: ${counted(days, "day")} old`, "broken"));
}

// Every address of documentation stands once, at the end of the page
for (const link of find("a[href^='#d']")) link.href = document.getElementById(link.hash.slice(1)).href;

// Evidence
const block = document.getElementById("data");
let data = null;
const articles = find("article");
const cells = find("article>ul>li>a");
for (const cell of cells) cell.href = `#${cell.id}`;
const nameOf = (cell) => slug(cell.firstChild.data.trim());
const verdictOf = (mark) => mark.className || "passed";
const places = new Map(articles.map((article, index) => [article, index]));

function facts(pairs) {
  const list = make("dl", [], "pairs");
  for (const [word, value] of pairs) if (value) list.append(make("dt", word), make("dd", value));
  return list;
}

function part(title, note, ...inside) {
  const section = make("section", [], "part");
  section.append(make("h6", note ? [`${title} `, make("small", note)] : title), ...inside);
  return section;
}

const INSIDE = { message: "ends inside a message", character: "ends inside a character" };

function timeline(stream, title) {
  const reads = stream.reads.map(([at, size, many = 1, inside = ""]) => ({ at, size, many, inside }));
  const timed = reads.every((read) => read.at !== null);
  const last = timed ? Math.max(...reads.map((read) => read.at), 1) : Math.max(reads.length - 1, 1);
  const most = Math.max(...reads.map((read) => read.size), 1);
  const width = 720, floor = 84, left = 4, room = width - 60;
  const across = (value) => left + (room * value) / last;
  const picture = draw("svg", { viewBox: `0 0 ${width} 112`, role: "img", class: "timeline" });
  let first = 0;
  const cuts = reads.filter((read) => read.inside).length;
  const said = `${counted(stream.total ?? reads.reduce((sum, read) => sum + read.many, 0), "read")}, ${counted(reads.reduce((sum, read) => sum + read.size, 0), "byte")}` +
    (timed ? `, first byte after ${number(reads[0].at)} ms, last after ${number(last)} ms` : ", times not known: in their order") +
    (cuts ? `, ${cuts} of them cut inside a message or a character` : "") + `, ${stream.broken ? "broken off: " : ""}${stream.end}`;
  picture.setAttribute("aria-label", said);
  picture.append(draw("line", { x1: 0, y1: floor, x2: width, y2: floor, class: "axis" }));
  const step = timed ? 10 ** Math.floor(Math.log10(last)) / (last / 10 ** Math.floor(Math.log10(last)) < 3 ? 2 : 1) : 0;
  if (timed) for (let at = 0; at <= last; at += step) {
    picture.append(draw("line", { x1: across(at), y1: floor, x2: across(at), y2: floor + 5, class: "axis" }),
      draw("text", { x: across(at), y: floor + 18 }, `${number(Math.round(at * 100) / 100)}${at === 0 ? " ms" : ""}`));
  }
  reads.forEach((read, index) => {
    const height = 6 + 58 * Math.sqrt(read.size / most), x = across(timed ? read.at : index);
    const label = `${read.many > 1 ? `reads ${first + 1} to ${first + read.many}` : `read ${first + 1}`}: ${counted(read.size, "byte")}` +
      (read.at === null ? "" : ` at ${number(read.at)} ms`) + (read.inside ? `, ${INSIDE[read.inside]}` : "");
    first += read.many;
    picture.append(draw("rect", { x, y: floor - height, width: 6, height, rx: 1.5, class: read.inside ? "cut" : "whole" },
      draw("title", {}, label)));
    if (read.inside) picture.append(draw("path", { d: `M${x} ${floor + 1}l6 6m-6 0l6-6`, class: "nick" }));
  });
  if (timed) picture.append(draw("text", { x: across(reads[0].at), y: 12, class: "said" }, "first byte"),
    draw("line", { x1: across(reads[0].at) + 3, y1: 16, x2: across(reads[0].at) + 3, y2: floor, class: "axis dashed" }));
  const end = across(timed ? last : reads.length - 1) + 14;
  picture.append(draw("path", { d: stream.broken ? `M${end} ${floor - 8}l8 8m-8 0l8-8` : `M${end} ${floor - 8}h7v7h-7z`, class: stream.broken ? "nick" : "stop" }),
    draw("text", { x: end + 12, y: floor - 1, class: "said" }, stream.end));
  const table = make("table", make("thead", make("tr", ["Reads", "ms", "bytes", "ends"].map((word) => {
    const cell = make("th", word);
    cell.scope = "col";
    return cell;
  }))));
  let place = 0;
  const body = make("tbody");
  for (const read of reads) {
    const numbers = read.many > 1 ? `${place + 1}–${place + read.many}` : `${place + 1}`;
    place += read.many;
    body.append(make("tr", [numbers, read.at === null ? "not known" : number(read.at), number(read.size), INSIDE[read.inside] ?? "between messages"].map((word) => make("td", word))));
  }
  table.append(body);
  const list = make("details", make("summary", "The same as a table"));
  list.append(table);
  const key = cuts ? make("p", `✕ under a bar: the read ${[...new Set(reads.map((read) => INSIDE[read.inside]).filter(Boolean))].join(" or ")}.`, "note") : "";
  return part(title, said, picture, key, list);
}

const LAYERS = { frames: "Wire: frames", events: "Events", payloads: "Payloads", prompt: "Prompt", requests: "Request" };

function layers(cell) {
  const grid = make("div", [], "layers");
  const only = cell.layers.some(([, , , , first = null]) => first !== null);
  for (const [layer, lines, start = 0, total = lines.length, first = null, differs = false] of cell.layers) {
    const list = make("ol", [], layer === "prompt" || layer === "requests" ? "text" : "");
    list.start = start;
    const shown = [...lines];
    if (first !== null && first >= start + lines.length) shown.push("nothing more came");
    shown.forEach((line, index) => {
      const here = start + index === first;
      const item = make("li", line, here ? (differs ? "first" : "from") : "");
      if (here) item.prepend(make("b", differs ? "◀ first difference" : "◂ made from this"));
      list.append(item);
    });
    const left = total - lines.length;
    const box = make("section", [make("h6", LAYERS[layer]), list]);
    if (left > 0) box.append(make("p", `${number(lines.length)} of ${number(total)}`, "note"));
    if (!total) box.append(make("p", "nothing", "note"));
    grid.append(box);
  }
  grid.tabIndex = 0;
  grid.setAttribute("role", "region");
  grid.setAttribute("aria-label", "Layers side by side");
  if (cell.layers[0][0] === "prompt") return part("Prompt and request", "", grid);
  const title = cell.first ? `First difference: ${cell.first}` : "Layers";
  return part(title, only ? "each layer around the place, and what it was made of one layer below" : "the expectation has no fixed places, so none is marked", grid);
}

function sides(expected, got) {
  const list = make("dl");
  let head = 0, tail = 0;
  if (expected !== null && got !== null) {
    const least = Math.min(expected.length, got.length);
    while (head < least && expected[head] === got[head]) head += 1;
    while (tail < least - head && expected.at(-1 - tail) === got.at(-1 - tail)) tail += 1;
  }
  for (const [word, text] of [["expected", expected], ["got", got]]) {
    const marked = text === null ? make("em", "nothing") : make("pre", [text.slice(0, head), head + tail && head + tail < text.length ? make("mark", text.slice(head, text.length - tail)) : text.slice(head, text.length - tail), text.slice(text.length - tail)]);
    list.append(make("dt", word), make("dd", marked));
  }
  return list;
}

function findings(cell) {
  const boxes = cell.findings.map(([path, kind, note, expected, got]) => {
    const line = make("p", [make("code", path || "(the whole)"), " ", make("b", kind), note ? ` ${note}` : ""]);
    return make("div", [line, sides(expected, got)], "finding");
  });
  return part("Expected and got", `${number(cell.findings.length)} of ${counted(cell.total, "finding")}`, ...boxes);
}

function laws(cell) {
  const list = make("ul");
  for (const [law, title, examples] of cell.laws) {
    list.append(make("li", [make("b", `Law ${law}, ${title}, is broken.`), ...examples.map((example) => make("pre", example))]));
  }
  return part("Laws", cell.laws.length ? "with the smallest counter-example that was found" : "", cell.laws.length ? list : make("p", "Every law holds for this stream: however it is cut, spelled or damaged, nothing else goes wrong."));
}

function quoted(text) {
  const box = make("pre", text, "wire");
  box.tabIndex = 0;
  return box;
}

function panel(link) {
  data ??= JSON.parse(block.textContent);
  const article = link.closest("article");
  const [place, ...cells] = data.cases[places.get(article)];
  const found = cells[find(":scope>ul>li>a", article).indexOf(link)];
  const cell = typeof found === "string" ? { digest: found } :
    Array.isArray(found) ? { digest: found[0], layers: [["prompt", found[1]], ["requests", found[2]]] } : found;
  const [origin, cassette, exchange, wire, digest = "", reads = [], unusual] = data.streams[place];
  const stream = { status: 200, end: "complete", digest, reads, ...unusual };
  const box = make("div", [], "panel");
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", `Evidence: ${link.textContent}`);
  const close = make("button", "Close");
  close.type = "button";
  close.addEventListener("click", () => { shut(link); link.focus(); });
  const verdict = link.querySelector("i");
  box.append(make("header", [make("h6", [link.firstChild.data.trim(), " ", verdict.cloneNode(true)]), close]));
  if (cell.findings?.length) box.append(findings(cell));
  if (cell.layers?.length) box.append(layers(cell));
  if (cell.without) box.append(make("p", "The layers are left out of this page, to keep it small; they are in results.json.", "note"));
  const before = (stream.before ?? []).map(([digest, reads, unusual]) => ({ status: 200, end: "complete", digest, reads, ...unusual }));
  const turns = [...before, stream], spoken = (title, turn) => before.length ? `Turn ${turn + 1}: ${title.toLowerCase()}` : title;
  turns.forEach((one, turn) => { if (one.reads.length) box.append(timeline(one, spoken("How the stream came", turn))); });
  if (cell.laws) box.append(laws(cell));
  turns.forEach(({ sent }, turn) => {
    if (sent) box.append(part(spoken("Request", turn), `${sent[0]} ${sent[1]}`, quoted(sent[2]), make("p", counted(sent[3], "byte") + " in all", "note")));
  });
  if (wire) box.append(part("The stream's beginning", stream.status ? `status ${stream.status}` : "", quoted(wire)));
  const named = cassette < 0 ? [] : [["cassette", exchange > 1 ? `${data.cassettes[cassette]}, exchange ${exchange}` : data.cassettes[cassette]]];
  if (origin >= 0) box.append(part("Where the stream is from", "", facts([...named, ...data.origins[origin]])));
  box.append(facts([["SHA-256 of the stream", digest && `${digest}…`], ["of what came out", cell.digest && `${cell.digest}…`]]));
  const run = article.querySelector(":scope>pre");
  if (run) box.append(part("Run it", "", make("pre", run.textContent.replace("[DIALECT]", `[${link.firstChild.data.trim()}]`), "run")));
  return box;
}

function shut(link) {
  link.classList.remove("open");
  const at = link.closest("article").querySelector(".panel");
  if (at) at.remove();
}

function open(link) {
  for (const other of find("a.open", link.closest("article"))) shut(other);
  link.classList.add("open");
  link.closest("article").append(panel(link));
}

// Features: the cases that judge one, and what every mark of the checklists leads to
const sections = find("section.group>section");
const judging = new Map(sections.map((section) => [section.id, find("article", section)]));
for (const article of articles) for (const place of article.dataset.also?.split(",") ?? []) judging.get(sections[place].id).push(article);
for (const section of sections) {
  const others = judging.get(section.id).filter((article) => article.parentElement !== section);
  const list = section.querySelector(".also");
  list?.replaceChildren("Also judged by: ", ...others.flatMap((article, index) => {
    const first = article.querySelector("ul a"), link = make("a", first.id.slice(0, -nameOf(first).length - 1));
    link.href = `#${first.id}`;
    return index ? [" · ", link] : [link];
  }));
}
const marks = new Map();
for (const table of find("table.features")) {
  const columns = find("th[data-in]", table).map((one) => one.dataset.in);
  for (const row of find("tr.row", table)) {
    const target = row.querySelector("a").getAttribute("href");
    find("td", row).forEach((box, index) => {
      const mark = box.querySelector("i");
      if (!mark) return;
      const name = `${target}:${columns[index]}`, link = make("a", [], "mark");
      link.href = name;
      if (target.startsWith("#")) {
        const fitting = (one) => nameOf(one) === columns[index] && verdictOf(one.lastElementChild) === verdictOf(mark);
        for (const article of judging.get(target.slice(1))) {
          const found = find(":scope>ul>li>a", article).find(fitting);
          if (!found) continue;
          link.href = `#${found.id}`;
          marks.set(name.slice(1), found.id);
          break;
        }
      }
      mark.replaceWith(link);
      link.append(mark);
    });
  }
}

// Finding and filtering
const tools = document.querySelector(".tools");
const search = document.querySelector("[data-search]");
const output = tools?.querySelector("output");
const choices = Object.fromEntries(find("[data-by]").map((one) => [one.dataset.by, one]));
for (const section of sections) choices.feature?.append(new Option(section.querySelector("h4").textContent, section.id));
let texts = null;
const words = () => search.value.toLowerCase().split(/\s+/).filter(Boolean);
const plain = (one) => one.textContent.toLowerCase();

function filterArticles() {
  data ??= JSON.parse(block.textContent);
  texts ??= new Map(articles.map((article, place) =>
    [article, `${plain(article)} ${article.querySelector("ul a").id} ${data.cassettes[data.streams[data.cases[place][0]][1]]}`.toLowerCase()]));
  const [wanted, chosen] = [words(), Object.fromEntries(Object.entries(choices).map(([by, one]) => [by, one.value]))];
  let all = 0, left = 0;
  for (const article of articles) {
    const fits = wanted.every((word) => texts.get(article).includes(word)) && (!chosen.feature || judging.get(chosen.feature).includes(article)) &&
      (!chosen.level || (article.dataset.level ?? "must") === chosen.level);
    let shown = 0;
    for (const link of article.querySelector("ul").getElementsByTagName("a")) {
      all += 1;
      const verdict = verdictOf(link.lastElementChild);
      const fit = fits && (!chosen.adapter || nameOf(link) === chosen.adapter.slice(3)) &&
        (!chosen.verdict || (chosen.verdict === "!passed" ? verdict !== "passed" : verdict === chosen.verdict));
      link.parentElement.hidden = !fit;
      shown += fit;
    }
    article.hidden = !shown;
    left += shown;
  }
  for (const section of sections) section.hidden = !section.querySelector("article:not([hidden])") && left < all;
  for (const group of find("section.group")) group.hidden = !group.querySelector("section:not([hidden])");
  output.textContent = left === all ? counted(all, "cell") : `${number(left)} of ${counted(all, "cell")}`;
}

function filterRows() {
  const wanted = words();
  const rows = find("tr.row, li.row");
  let left = 0;
  for (const row of rows) {
    row.hidden = !wanted.every((word) => plain(row).includes(word));
    left += !row.hidden;
  }
  for (const body of find(".features tbody")) body.hidden = !body.querySelector("tr.row:not([hidden])");
  output.textContent = left === rows.length ? "" : `${number(left)} of ${counted(rows.length, "row")}`;
}

const filter = articles.length ? filterArticles : filterRows;
if (tools) {
  tools.hidden = false;
  tools.addEventListener("submit", (event) => event.preventDefault());
  tools.addEventListener("input", filter);
  tools.addEventListener("reset", () => setTimeout(filter));
  search.addEventListener("keydown", (event) => { if (event.key === "Escape") { tools.reset(); } });
  if (articles.length) output.textContent = counted(cells.length, "cell");
}

function arrive() {
  const name = decodeURIComponent(location.hash.slice(1));
  const target = name && document.getElementById(name);
  if (!target && marks.has(name)) location.replace(`#${marks.get(name)}`);
  if (!target) return;
  if (name.startsWith("in:") && choices.adapter) {
    choices.adapter.value = name;
    filter();
    return;
  }
  if (target.closest("[hidden]")) { tools.reset(); setTimeout(() => { filter(); target.scrollIntoView(); }); }
  if (cells.includes(target)) {
    if (!target.classList.contains("open")) open(target);
    target.focus({ preventScroll: true });
    target.closest("article").scrollIntoView();
  }
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (link.classList.contains("open")) {
    event.preventDefault();
    shut(link);
  } else if (link.hash === location.hash) arrive();
});
addEventListener("hashchange", arrive);
if (location.hash) arrive();
})();
