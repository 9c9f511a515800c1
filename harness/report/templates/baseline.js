{# What changed since a run whose results.json the reader chooses from disk: nothing of it leaves the page. As `comparing` judges it, by the
   digests that the page has: findings alone are not compared. -#}
const STEPS = {{ STEPS|tojson }}, KINDS = Object.fromEntries({{ KIND_WORDS|tojson }});
const commandOf = (cell) => runs(cell.closest("article").querySelector(":scope>pre")?.textContent, cell.firstChild.data.trim());
const digestOf = (found) => typeof found === "string" ? found : Array.isArray(found) ? found[0] : found.digest ?? "";

function changes(base) {
  const before = new Map(), found = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, []]));
  if (!base.footer || base.footer.results !== base.results.length) throw new Error("it is not whole");
  for (const row of base.results) {
    const command = row.command ?? runs(base.cases[row.case].command, row.adapter || row.layer || "payloads");
    const stream = base.streams[row.stream];
    if (stream.provider === data.provider) before.set(command, [row.verdict, `${row.digest ?? ""}`.slice(0, {{ DIGEST }}), `${stream.how?.digest ?? ""}`.slice(0, {{ DIGEST }})]);
  }
  for (const one of articles) cellsOf(one).forEach((cell, index) => {
    const was = before.get(commandOf(cell)), verdict = verdictOf(cell.querySelector("i"));
    before.delete(commandOf(cell));
    const step = was && STEPS[verdict] - STEPS[was[0]];
    const is = [verdict, digestOf(one.case.known[index]), data.streams[data.cases[one.case.place][0]][3] ?? ""];
    const kind = !was ? "new" : step < 0 ? "broken" : step > 0 ? "fixed" : was.some((fact, at) => fact !== is[at]) ? "changed" : "";
    if (kind) found[kind].push([link(`#${cell.id}`, `${cell.firstChild.data.trim()} ${verdict.replace("-", " ")}`), ` ${one.querySelector("h5").textContent}`]);
  });
  for (const command of before.keys()) found.gone.push([make("code", command)]);
  return found;
}

const said = (found) => Object.entries(KINDS).map(([kind, word]) => `${number(found[kind].length)} ${word}`);
const chosen = document.querySelector("[data-baseline]");
chosen?.closest("p").removeAttribute("hidden");
chosen?.addEventListener("change", async () => {
  const box = document.getElementById("since");
  try {
    const found = changes(JSON.parse(await chosen.files[0].text()));
    box.replaceChildren(make("p", `${said(found).join(", ")} since that run.`),
      ...Object.entries(KINDS).filter(([kind]) => found[kind].length).map(([kind, word]) =>
        make("details", [make("summary", `${number(found[kind].length)} ${word}`), make("ul", found[kind].slice(0, 400).map((line) => make("li", line)))])));
  } catch (error) {
    box.replaceChildren(make("p", `These are no results of a run (${error.message}); choose the results.json that --harness-report wrote.`));
  }
});
