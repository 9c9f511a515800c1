{# Compares with a results.json that the reader chooses from disk; the script does not send the file. The rules are those of compare.py,
   except that the page compares only the number of findings and the first layer. A cell is gone if it is not on this page. -#}
const STEPS = {{ STEPS|tojson }}, KINDS = Object.fromEntries({{ KIND_WORDS|tojson }});
const stemmed = ({ spec, case: name }) => slug(`${spec.replace(/\.yaml$/, "").slice(spec.startsWith(`${data.provider}/`) ? data.provider.length + 1 : 0)}.${name}`);
const digestOf = (known) => typeof known === "string" ? known : known.digest ?? "";
const short = (digest) => `${digest ?? ""}`.slice(0, {{ DIGEST }});

function changes(base) {
  const before = new Map(), byKind = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, []]));
  if (!base.footer || base.footer.results !== base.results.length) throw new Error("the file is incomplete");
  for (const row of base.results) {
    const anchor = `${stemmed(base.cases[row.case])}.${slug(row.adapter || row.layer || "payloads")}`;
    const stream = base.streams[row.stream], streams = [...stream.before ?? [], stream.how ?? {}].map((turn) => short(turn.digest));
    before.set(anchor, [stream.provider ?? "", row.verdict, short(row.digest), `${streams}`, stream.end ?? "unknown", row.findings_total ?? 0, row.first_layer ?? ""]);
  }
  for (const article of articles) cellsOf(article).forEach((cell, index) => {
    const old = before.get(cell.id)?.slice(1), verdict = verdictOf(cell.querySelector("i")), known = article.case.known[index];
    before.delete(cell.id);
    const [, , , digest, , unusual] = data.streams[data.cases[article.case.place][0]];
    const streams = [...(unusual.before ?? []).map(([digest]) => digest), digest];
    const now = [verdict, digestOf(known), `${streams}`, unusual.end ?? "complete", ...(known.digest ? [known.total ?? 0, known.first ?? ""] : [])];
    const step = old && STEPS[verdict] - STEPS[old[0]];
    const kind = !old ? "new" : step < 0 ? "broken" : step > 0 ? "fixed" : now.some((fact, at) => fact !== old[at]) ? "changed" : "";
    if (kind) byKind[kind].push([link(`#${cell.id}`, `${cell.firstChild.data.trim()} ${verdict.replace("-", " ")}`), ` ${article.querySelector("h5").textContent}`]);
  });
  for (const [anchor, [provider]] of before) if (provider === data.provider) byKind.gone.push([make("code", anchor)]);
  return byKind;
}

KINDS.gone += " from this page";
const counts = (byKind) => Object.entries(KINDS).map(([kind, word]) => `${number(byKind[kind].length)} ${word}`);
const chosen = document.querySelector("[data-baseline]");
chosen?.closest("p").removeAttribute("hidden");
chosen?.addEventListener("change", async () => {
  const box = document.getElementById("since");
  try {
    const byKind = changes(JSON.parse(await chosen.files[0].text()));
    box.replaceChildren(make("p", `${counts(byKind).join(", ")} since that run.`),
      ...Object.entries(KINDS).filter(([kind]) => byKind[kind].length).map(([kind, word]) =>
        make("details", [make("summary", `${number(byKind[kind].length)} ${word}`), make("ul", byKind[kind].slice(0, 400).map((line) => make("li", line)))])));
  } catch (error) {
    box.replaceChildren(make("p", `This file has no results of a run (${error.message}); choose a results.json that --harness-report wrote.`));
  }
});
