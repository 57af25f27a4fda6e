// The honest panel: how good the model is, how sure that is, and how far the goal.

import { byId, count, draw, make, percent, put, several } from "./drawing.js";

// With fewer rows drawn at random than this the range is told, and no single figure.
const FEW = 20;

const between = ([, low, high]) => `${percent(low)} to ${percent(high)}`;

function interval([value, low, high], goal) {
  const bar = make("span", { class: "interval", "aria-hidden": "true" },
    make("span", { class: "range" }), make("span", { class: "point" }),
    goal ? make("span", { class: "goal", title: `goal ${percent(goal)}` }) : null);
  bar.style.setProperty("--low", low ?? 0);
  bar.style.setProperty("--high", high ?? 1);
  bar.style.setProperty("--value", value ?? 0);
  if (goal) bar.style.setProperty("--goal", goal);
  return bar;
}

export function showModel(model, about, change) {
  showAccuracy(model, about, change);
  showForecast(model, about, change);
  showRecall(model, about);
  const behind = model.behind > 0 ? `, ${several(model.behind, "change", "changes")} ago` : "";
  const age = byId("age");
  age.textContent = `Figures of ${several(model.labels, "label", "labels")}${behind}.`;
  age.dataset.labels = model.labels;
  age.dataset.behind = model.behind;
  if (model.error) put(byId("forecast"), make("p", { class: "doubt" }, `Nothing could be learnt: ${model.error}`));
}

function showAccuracy(model, about, change) {
  const box = byId("accuracy");
  if (!model.ready) {
    put(box, make("h3", null, "Accuracy"), make("p", { class: "soft" }, "Told as soon as two classes were seen."));
    return;
  }
  const known = model.audit > 0, few = model.audit < FEW;
  const range = `${(100 * model.accuracy[1]).toFixed(0)} – ${percent(model.accuracy[2])}`;
  put(box,
    make("h3", null, "Accuracy on this table"),
    make("p", { class: "large", id: "accuracy-value", "data-value": model.accuracy[0] }, !known ? "–" : few ? range : percent(model.accuracy[0])),
    interval(model.accuracy, about.goal),
    make("p", { class: "soft small" }, known
      ? `${few ? "" : `95 % sure: ${between(model.accuracy)}, by `}${several(model.audit, "row", "rows")} drawn at random${few ? " so far: too few to say more, with 95 % certainty." : ", each answered without its label."}`
      : "No row drawn at random is labelled yet; one in five will be."),
    curve(model.curve, about.goal),
    model.log_loss[0] === null ? null : make("p", { class: "soft small" }, "Log-loss ",
      make("span", { id: "log-loss", "data-value": model.log_loss[0] }, model.log_loss[0].toFixed(3)),
      model.log_loss[2] === null ? "" : ` (${model.log_loss[1].toFixed(3)} to ${model.log_loss[2].toFixed(3)})`));
}

function curve(points, goal) {
  const known = points.filter((point) => point.accuracy[0] !== null);
  if (known.length < 2) return null;
  const [width, height, left, below] = [320, 128, 46, 22];
  const last = known.at(-1).labels, first = known[0].labels;
  const lowest = Math.min(goal, ...known.map((p) => p.accuracy[1]));
  const floor = Math.max(0, Math.floor(lowest * 10) / 10);
  const x = (n) => left + ((n - first) / Math.max(1, last - first)) * (width - left - 8);
  const y = (share) => 8 + ((1 - share) / Math.max(1e-9, 1 - floor)) * (height - 8 - below);
  const line = (k) => known.map((p) => `${x(p.labels).toFixed(1)},${y(p.accuracy[k]).toFixed(1)}`);
  const ticks = [floor, (1 + floor) / 2, 1];
  const said = `Accuracy by number of labels: ${percent(known[0].accuracy[0])} at ${known[0].labels}, ${percent(known.at(-1).accuracy[0])} at ${last}.`;
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said, class: "curve" },
    ...ticks.flatMap((t) => [
      draw("line", { class: "grid", x1: left, x2: width - 8, y1: y(t), y2: y(t) }),
      draw("text", { class: "tick", x: left - 6, y: y(t) + 4, "text-anchor": "end" }, percent(t)),
    ]),
    draw("polygon", { class: "band", points: [...line(2), ...line(1).reverse()].join(" ") }),
    draw("line", { class: "goal", x1: left, x2: width - 8, y1: y(goal), y2: y(goal) }),
    draw("polyline", { class: "line", points: line(0).join(" ") }),
    draw("circle", { class: "dot", cx: x(last), cy: y(known.at(-1).accuracy[0]), r: 3.5 }),
    draw("text", { class: "tick", x: left, y: height - 5 }, count(first)),
    draw("text", { class: "tick", x: width - 8, y: height - 5, "text-anchor": "end" }, several(last, "label", "labels")));
}

function wish(name, value, change) {
  const field = make("input", { type: "number", min: 1, max: 99, step: 1, value: Math.round(100 * value), id: name,
    onchange: (event) => {
      const share = Number(event.target.value) / 100;
      if (share > 0 && share < 1) change(name, share);
    } });
  return field;
}

function showForecast(model, about, change) {
  const box = byId("forecast");
  if (box.contains(document.activeElement)) return; // somebody is typing there
  const found = model.forecast, share = model.answerable;
  put(box,
    make("h3", null, found ? "How many more?" : "Goal"),
    found ? make("p", null, found.sentence) : null,
    found ? make("p", { class: found.stop ? "good" : "soft small" }, found.changes) : null,
    !model.ready ? make("p", { class: "soft" }, "Ten or twenty labels are a beginning.") : null,
    make("p", { class: "wish" }, make("label", { for: "goal" }, "Goal: accuracy of "), wish("goal", about.goal, change), " %"),
    share ? make("div", { class: "automatic" },
      share.threshold === null ? make("p", null, "No row can be answered without you yet,")
        : make("p", null, make("b", null, percent(share.share)), " of the rows left can be answered without you,"),
      bar(share.share)) : null,
    share ? make("p", { class: "wish" }, make("label", { for: "max_error" }, "with at most "), wish("max_error", about.max_error, change), " % of them wrong") : null);
}

function bar(share) {
  const inner = make("span", { class: "bar best" });
  inner.style.setProperty("--share", share);
  return make("span", { class: "track wide", "aria-hidden": "true" }, inner);
}

function showRecall(model, about) {
  const box = byId("recall");
  if (!model.ready) return put(box);
  return put(box, make("h3", null, about.several ? "Right, of each label" : "Found, of each class"),
    ...about.classes.map((name) => model.recall.find((one) => one.class === name)).filter(Boolean).map((one) => make("div", { class: "one" },
      make("span", { class: "name" }, one.class),
      interval(one.recall, null),
      make("span", { class: "figure", title: `95 % sure: ${between(one.recall)}; ${several(one.labels, "label", "labels")}` },
        percent(one.recall[0])))));
}
