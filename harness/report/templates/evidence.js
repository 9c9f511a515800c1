{# Shows the evidence of a cell when it is opened. -#}
const draw = (tag, facts, ...inside) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(facts)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
};

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
  const cuts = stream.cuts ?? reads.filter((read) => read.inside).length;
  const sentence = `${counted(stream.total ?? reads.reduce((sum, read) => sum + read.many, 0), "read")}, ${counted(reads.reduce((sum, read) => sum + read.size, 0), "byte")}` +
    (timed ? `, first byte after ${number(reads[0].at)} ms, last after ${number(last)} ms` : ", times not known") +
    (cuts ? `, ${cuts} of them cut inside a message or a character` : "") + `, ${stream.broken ? "broken off: " : ""}${stream.end}`;
  picture.setAttribute("aria-label", sentence);
  picture.append(draw("line", { x1: 0, y1: floor, x2: width, y2: floor, class: "axis" }));
  const step = timed ? 10 ** Math.floor(Math.log10(last)) / (last / 10 ** Math.floor(Math.log10(last)) < 3 ? 2 : 1) : 0;
  if (timed) for (let at = 0; at <= last; at += step) {
    picture.append(draw("line", { x1: across(at), y1: floor, x2: across(at), y2: floor + 5, class: "axis" }),
      draw("text", { x: across(at), y: floor + 18 }, `${number(Math.round(at * 100) / 100)}${at === 0 ? " ms" : ""}`));
  }
  reads.forEach((read, index) => {
    const height = 6 + 58 * Math.sqrt(read.size / most), x = across(timed ? read.at : index);
    const range = read.many > 1 ? `reads ${first + 1} to ${first + read.many}` : `read ${first + 1}`;
    const label = `${range}: ${counted(read.size, "byte")}` + (read.at === null ? "" : ` at ${number(read.at)} ms`) + (read.inside ? `, ${INSIDE[read.inside]}` : "");
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
  const list = make("details", make("summary", "As a table"));
  list.append(table);
  const key = reads.some((read) => read.inside) ? make("p", `✕ under a bar: the read ${[...new Set(reads.map((read) => INSIDE[read.inside]).filter(Boolean))].join(" or ")}.`, "note") : "";
  return part(title, sentence, picture, key, list);
}

const LAYERS = {{ LAYER_TITLES|tojson }};

function layers(cell, about) {
  const grid = make("div", [], "layers");
  const only = cell.layers.some(([, , , , first = null]) => first !== null);
  for (const [layer, lines, start = 0, total = lines.length, first = null, differs = 0] of cell.layers) {
    const list = make("ol", [], layer === "prompt" || layer === "requests" ? "text" : "");
    list.start = cell.title ? start + 1 : start;
    const shown = [...lines];
    if (first !== null && first >= start + lines.length) shown.push("no more items");
    shown.forEach((line, index) => {
      const here = start + index === first;
      const item = make("li", line, here ? (differs || cell.title ? "first" : "from") : "");
      if (here && !cell.title) item.prepend(make("b", differs ? "◀ first difference" : "◂ made from this"));
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
  if (about) return part(cell.title ?? "Layers", about, grid);
  const title = cell.first ? `First difference: ${cell.first}` : "Layers";
  return part(title, only ? "each layer around the first difference, and the items from which it was made" : "no item is marked, because the expectation has no fixed positions", grid);
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

function findings(written, cell) {
  const first = written.cloneNode(true);
  first.firstChild.firstChild.data = "";
  first.querySelector("small")?.remove();
  const side = (place) => find("dd", written)[place]?.querySelector("pre")?.textContent ?? null;
  first.querySelector("dl")?.replaceWith(sides(side(0), side(1)));
  const boxes = (cell.findings ?? []).map(([path, kind, note, expected, got]) => {
    const line = make("p", [make("code", path || "(the whole)"), " ", make("b", kind), note ? ` ${note}` : ""]);
    return make("div", [line, expected === null && got === null ? "" : sides(expected, got)], "finding");
  });
  return part("Expected and got", `${number(boxes.length + 1)} of ${counted(cell.total, "finding")}`, first, ...boxes);
}

function quoted(text) {
  const box = make("pre", text, "wire");
  box.tabIndex = 0;
  return box;
}

function panel(link) {
  const article = link.closest("article");
  const [place] = data.cases[article.case.place];
  const known = article.case.known[cellsOf(article).indexOf(link)];
  const cell = typeof known === "string" ? { digest: known } : { ...known };
  // If the expectation of a cell holds, its output is shown beside the beginning of its stream
  const output = !cell.total && cell.layers?.length === 1 ? cell.layers : [];
  if (output.length) delete cell.layers;
  const [made, exchange, wire, digest, reads, unusual] = data.streams[place];
  const stream = { status: 200, end: "complete", digest, reads, ...unusual };
  const [cassette, origin] = data.cassettes[made];
  const name = link.firstChild.data.trim();
  const box = make("div", [], "panel");
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", `Evidence: ${link.id}`);
  const close = make("button", "Close");
  close.type = "button";
  close.addEventListener("click", () => { shut(link); link.focus(); });
  box.append(make("header", [make("h6", [name, " ", link.querySelector("i").cloneNode(true)]), close]));
  const first = find(".found", article).find((line) => line.querySelector("a").hash === link.hash)?.querySelector(".finding");
  if (first) box.append(findings(first, cell));
  if (cell.layers?.length) box.append(layers(cell));
  for (const [title, views] of cell.excerpts ?? []) box.append(layers({ title, layers: views }, "the lines around the place of the finding"));
  const whole = !cell.layers?.length && !cell.total && stream.events ? [["frames", wire.split("\n").filter(Boolean)], ["events", stream.events[0], 0, stream.events[1]]] : [];
  if (whole.length) box.append(layers({ layers: [...whole, ...output] }, "the beginning of each layer"));
  if (cell.without) box.append(make("p", "To keep this page small, it has only the layers of its first cells. results.json also has the layers of this cell.", "note"));
  const before = (stream.before ?? []).map(([digest, reads, unusual]) => ({ status: 200, end: "complete", digest, reads, ...unusual }));
  const turns = [...before, stream], titleOf = (title, turn) => before.length ? `Turn ${turn + 1}: ${title.toLowerCase()}` : title;
  turns.forEach((current, turn) => { if (current.reads.length) box.append(timeline(current, titleOf("Reads of the stream", turn))); });
  if (cell.case) box.append(part("A small case", "a spec and a cassette that show the breach", quoted(cell.case)));
  turns.forEach(({ sent }, turn) => {
    if (sent) box.append(part(titleOf("Request", turn), `${sent[0]} ${sent[1]}`, quoted(sent[2]), make("p", counted(sent[3], "byte") + " in total", "note")));
  });
  if (wire && !whole.length) box.append(part("Beginning of the stream", stream.status ? `status ${stream.status}` : "", quoted(wire)));
  const named = cassette ? [["cassette", exchange > 1 ? `${cassette}, exchange ${exchange}` : cassette]] : [];
  if (origin >= 0) box.append(part("Origin of the stream", "", facts([...named, ...data.origins[origin]])));
  box.append(facts([["SHA-256 of the stream", digest && `${digest}…`], ["SHA-256 of the output", cell.digest && `${cell.digest}…`]]));
  const { run } = article.case;
  if (run) box.append(part("Command", "", make("pre", run.replace(/\[ADAPTER\](?='$)/, () => `[${name}]`), "run")));
  return box;
}
