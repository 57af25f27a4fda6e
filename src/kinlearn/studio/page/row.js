// The row on the page: its cells, what the model thinks of it, and why.

import { byId, count, make, percent, put } from "./drawing.js";

const WHY_ASKED = {
  start: ["one of the first, spread over the table", "The table is looked at everywhere before the model chooses."],
  audit: ["drawn at random, to measure", "Accuracy is told from such rows alone: nobody chose them."],
  strategy: ["chosen to teach the most", "The model is unsure here, or knows nothing like it."],
  overlap: ["labelled by somebody else, too", "To see whether you two agree."],
  suspect: ["its label is doubtful", "All other labels speak against this one."],
  disagreement: ["you do not agree", "Two people gave different labels."],
  given: ["any row", "Nothing speaks for another row at the moment."],
};

export function showRow(row, about, queue) {
  const nothing = {
    label: ["Every row is labelled", "Export what you made, or look at the suspects."],
    suspects: ["No suspect labels", "No label is contradicted by the others as things stand."],
    disagreements: ["No disagreements", "Where two people label the same row differently, it comes here."],
    skipped: ["No skipped rows", "Rows you skip wait here."],
  };
  byId("row").classList.toggle("empty", !row);
  byId("answers").classList.toggle("empty", !row);
  if (!row) {
    const [title, words] = nothing[queue];
    byId("title").textContent = title;
    put(byId("chips"), words);
    put(byId("cells"));
    put(byId("beside"));
    byId("noted").hidden = true;
    byId("thinking").hidden = true;
    return;
  }
  byId("title").textContent = `Row ${count(row.row)}`;
  const [why, more] = WHY_ASKED[row.how] ?? WHY_ASKED.given;
  put(
    byId("chips"),
    make("span", { class: `chip ${row.how}`, title: more }, why),
    row.task !== null && make("span", { class: "chip task" }, `${about.task}: ${row.task}`),
    row.flagged && make("span", { class: "chip flagged" }, "flagged"),
  );
  put(byId("beside"), ...beside(row));
  put(byId("cells"), ...row.cells.map((cell) => field(cell, row.row)));
  byId("noted").hidden = !row.note;
  byId("noted").textContent = row.note ? `Note: ${row.note}` : "";
  byId("flag").setAttribute("aria-pressed", String(row.flagged));
}

function beside(row) {
  if (row.label !== null) {
    return [make("p", { class: "doubt" }, "The label is ", make("b", null, row.label),
      ", and the others speak against it. Keep it, or choose another.")];
  }
  if (row.theirs.length) {
    const said = row.theirs.flatMap(({ who, value }, k) => [k ? ", " : "", `${who} said `, make("b", null, value)]);
    return [make("p", { class: "doubt" }, ...said, ". What holds?")];
  }
  return [];
}

function field(cell, row) {
  const kind = cell.kind === "missing" ? "missing" : cell.kind;
  return make("div", { class: `cell ${kind}${cell.used ? "" : " unused"}` },
    make("dt", { title: cell.used ? null : "Not learnt from: an id, a date, free text, or the same everywhere." }, cell.name),
    make("dd", { title: cell.whole || null }, shown(cell, row)));
}

function shown(cell, row) {
  const address = `media/${row}/${cell.column}`;
  if (cell.kind === "image") return make("img", { src: address, alt: `${cell.name}: ${cell.text}`, loading: "eager" });
  if (cell.kind === "sound") {
    return make("audio", { src: address, controls: true, preload: "metadata", "aria-label": `${cell.name}: ${cell.text}` });
  }
  if (cell.kind === "missing") return make("span", null, "missing");
  return cell.text;
}

export function showThought(row, about, hidden) {
  const box = byId("thinking");
  box.hidden = !row;
  if (!row) return;
  if (row.thought === null) {
    put(byId("bars"), make("p", { class: "soft" }, "Nothing yet: it needs a label of at least two classes."));
    put(byId("why"));
    return;
  }
  if (hidden) {
    put(byId("bars"), make("p", { class: "soft" }, "Shown once you have answered."));
    put(byId("why"));
    return;
  }
  const best = Math.max(...Object.values(row.thought));
  put(byId("bars"), ...about.classes.map((name) => {
    const p = row.thought[name] ?? 0;
    const bar = make("span", { class: `bar${p === best ? " best" : ""}` });
    bar.style.setProperty("--share", p);
    return make("div", { class: "likely" }, make("span", { class: "name" }, name),
      make("span", { class: "track", "aria-hidden": "true" }, bar), make("span", { class: "figure", "data-class": name, "data-value": p }, percent(p)));
  }));
}

export function showWhy(why, hidden) {
  if (hidden || !why.matter.length) return;
  const largest = Math.max(...why.matter.map(({ effect }) => Math.abs(effect)), 1e-9);
  const matter = why.matter.filter(({ effect }) => Math.abs(effect) >= 0.005);
  put(byId("why"),
    matter.length ? make("div", { class: "because" },
      make("h4", null, `For or against ${why.class}, in points`),
      ...matter.map(({ name, effect }) => {
        const bar = make("span", { class: effect < 0 ? "against" : "for" });
        bar.style.setProperty("--share", Math.abs(effect) / largest);
        const points = Math.round(100 * effect);
        return make("div", { class: "matter" }, make("span", { class: "name" }, name),
          make("span", { class: "both", "aria-hidden": "true" }, bar),
          make("span", { class: "figure" }, `${points > 0 ? "+" : points < 0 ? "−" : ""}${Math.abs(points)}`));
      })) : null,
    why.nearest.length ? make("div", { class: "nearest" },
      make("h4", null, "Most like it, of the labelled rows"),
      ...why.nearest.map((near) => make("p", null,
        make("b", null, near.label), ` row ${count(near.row)}: `,
        make("span", { class: "soft" }, near.cells.map(({ name, text }) => `${name} ${text || "missing"}`).join(", "))))) : null);
}
