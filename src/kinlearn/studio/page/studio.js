// The studio's page: what is asked of the server, what is told to it, and the keys.

import { byId, count, make, put, several } from "./drawing.js";
import { showRow, showThought, showWhy } from "./row.js";
import { showModel } from "./panel.js";

const QUEUES = [["label", "To label"], ["suspects", "Suspects"], ["disagreements", "Disagreements"], ["skipped", "Skipped"]];
const state = { about: null, now: null, queue: "label", busy: false, version: -1, hide: false, order: false, chosen: new Set() };
// Every window has a seat of its own, and gives its row back when it is left.
const seat = crypto.randomUUID();
addEventListener("pagehide", () => {
  fetch("api/leave", {
    method: "POST", keepalive: true, headers: { "Content-Type": "application/json" }, body: JSON.stringify({ seat }),
  }).catch(() => {});
});
addEventListener("pageshow", (event) => event.persisted && location.reload());

const remembered = (name) => localStorage.getItem(`kinlearn-${name}`) === "yes";
const remember = (name, wanted) => localStorage.setItem(`kinlearn-${name}`, wanted ? "yes" : "no");

async function ask(name, given = {}) {
  const response = await fetch(`api/${name}?${new URLSearchParams(given)}`);
  return read(response);
}

async function tell(name, given = {}) {
  const response = await fetch(`api/${name}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given),
  });
  return read(response);
}

async function read(response) {
  const type = response.headers.get("Content-Type") ?? "";
  const content = type.startsWith("application/json") ? await response.json() : { error: await response.text() };
  if (!response.ok) throw new Error(content.error ?? "The studio does not answer.");
  return content;
}

function say(words, doubt = false) {
  byId("said").textContent = words;
  byId("said").classList.toggle("doubt", doubt);
}

const apologise = (error) => {
  const gone = error instanceof TypeError;
  say(gone ? "The studio does not answer: it was ended, perhaps. Every answer up to here is kept; start it again." : error.message, true);
};

// -- what is shown ---------------------------------------------------------------------------

async function refresh() {
  const now = await ask("now", { seat, queue: state.queue, order: state.order ? "yes" : "no" });
  const fresh = now.row?.row !== state.now?.row?.row || now.queue !== state.now?.queue;
  state.now = now;
  if (fresh) {
    byId("noting").hidden = true;
    state.chosen = new Set(state.about.several ? now.row?.chosen : []);
  }
  showRow(now.row, state.about, now.queue);
  showThought(now.row, state.about, state.hide);
  showClasses();
  showCounts();
  showModel(now.model, state.about, aim);
  if (fresh) put(byId("why"));
  if (now.row?.thought && !state.hide) explain(now.row.row);
  byId("row").dataset.row = now.row?.row ?? "";
  byId("row").dataset.done = String(Number(byId("row").dataset.done ?? 0) + 1);
  if (fresh) scrollTo({ top: 0 });
}

async function explain(row) {
  try {
    const why = await ask("why", { seat });
    if (why.row === row && state.now?.row?.row === row) showWhy(why, state.hide);
  } catch { /* the row is shown all the same */ }
}

function showClasses() {
  const { row, queue } = state.now;
  put(byId("classes"), ...state.about.classes.map((name, k) => {
    const meaning = state.about.definitions[name];
    return make("button", {
      type: "button", class: "class", "data-class": name, "aria-keyshortcuts": k < 9 ? k + 1 : null,
      "aria-pressed": state.about.several ? String(state.chosen.has(name)) : null,
      title: meaning || null, disabled: !row, onclick: () => choose(name),
    }, k < 9 ? make("kbd", null, k + 1) : null, make("span", null, name, meaning ? make("small", null, meaning) : null));
  }));
  byId("save").hidden = !state.about.several;
  byId("save").disabled = !row;
  byId("keep").hidden = queue !== "suspects" || !row;
  byId("skip").hidden = queue === "suspects" || queue === "disagreements";
  byId("undo").disabled = !state.now.undo;
  for (const id of ["skip", "noter", "flag"]) byId(id).disabled = !row;
}

function showCounts() {
  const { counts } = state.now;
  byId("progress").textContent = several(counts.labelled, "label", "labels") + (counts.given ? ` + ${count(counts.given)} given` : "");
  const many = { label: 0, suspects: counts.suspects, disagreements: counts.disagreements, skipped: counts.skipped };
  const shown = QUEUES.filter(([name]) => name !== "disagreements" || state.about.people.length > 1 || counts.disagreements);
  put(byId("queues"), ...shown.map(([name, words]) => make("button", {
    type: "button", class: "queue", "data-queue": name, "aria-pressed": String(name === state.queue), onclick: () => move(name),
  }, words, many[name] ? make("span", { class: "count" }, many[name]) : null)));
  const agreed = counts.agreement.filter(({ rows }) => rows);
  put(byId("notes"),
    ...agreed.map(({ people, rows, kappa }) => make("p", null,
      `${people.join(" and ")}: Cohen's kappa ${kappa === null ? "–" : kappa.toFixed(2)} on ${several(rows, "row", "rows")} that both labelled.`)),
    ...state.about.notes.map((note) => make("p", null, note)),
    make("p", null, `Kept in ${state.about.state}; the table is not written to.`));
}

function showDefinitions() {
  put(byId("definitions"), ...state.about.classes.map((name, k) => {
    const id = `definition-${k}`;
    return make("p", null, make("label", { for: id }, name), make("textarea", {
      id, rows: 2, maxlength: 2000, placeholder: "When is a row one of these?",
      onchange: async (event) => {
        try {
          state.about.definitions[name] = event.target.value.trim();
          say((await tell("define", { name, text: event.target.value })).said);
          showClasses();
        } catch (error) { apologise(error); }
      },
    }, state.about.definitions[name] ?? ""));
  }));
}

// -- what is told ----------------------------------------------------------------------------

// One thing at a time: a key pressed while an answer is on its way must not label a row nobody saw.
async function act(work) {
  if (state.busy) return;
  state.busy = true;
  document.body.classList.add("busy");
  try {
    const done = await work();
    if (done?.said !== undefined) say(done.said, done.said.includes("The model thought"));
    await refresh();
  } catch (error) {
    apologise(error);
    await refresh().catch(() => {});
  } finally {
    state.busy = false;
    document.body.classList.remove("busy");
  }
}

const rowNow = () => state.now?.row?.row;

// One class is an answer; of several labels any number are, and Enter says that these are all.
function choose(name) {
  if (!rowNow() || state.busy) return;
  if (!state.about.several) { answer(name); return; }
  if (!state.chosen.delete(name)) state.chosen.add(name);
  showClasses();
  document.querySelector(`#classes [data-class="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
}
const save = () => state.about?.several && answer(JSON.stringify([...state.chosen]));
const answer = (value) => rowNow() && act(() => tell("answer", { seat, queue: state.queue, row: rowNow(), value }));
const skip = () => rowNow() && !byId("skip").hidden && act(() => tell("skip", { seat, row: rowNow() }));
const keep = () => rowNow() && state.queue === "suspects" && act(() => tell("keep", { seat, row: rowNow() }));
const flag = () => rowNow() && act(() => tell("flag", { seat, row: rowNow() }));
const undo = () => act(async () => {
  const done = await tell("undo", { seat });
  if (["label", "skip"].includes(done.kind)) state.queue = "label";
  return done;
});
const move = (queue) => act(async () => { state.queue = queue; say(""); });

const aim = (name, share) => act(async () => {
  state.about[name] = share;
  document.activeElement?.blur();
  return tell("aim", { goal: state.about.goal, max_error: state.about.max_error });
});

function noting(open) {
  byId("noting").hidden = !open;
  if (open) {
    byId("note").value = state.now.row?.note ?? "";
    byId("note").focus();
  } else {
    byId("title").focus({ preventScroll: true });
  }
}

async function note() {
  const text = byId("note").value, row = rowNow();
  noting(false);
  if (row) await act(() => tell("note", { seat, row, text }));
}

function hide(wanted) {
  state.hide = wanted;
  byId("hide").checked = wanted;
  remember("hide", wanted);
  if (state.now) {
    put(byId("why"));
    showThought(state.now.row, state.about, wanted);
    if (!wanted && state.now.row?.thought) explain(state.now.row.row);
  }
}

function order(wanted) {
  state.order = wanted;
  byId("order").checked = wanted;
  remember("order", wanted);
  act(async () => {});
}

// -- keys ------------------------------------------------------------------------------------

const KEYS = {
  s: skip, z: undo, f: flag, k: keep,
  n: () => rowNow() && noting(true),
  h: () => hide(!state.hide),
  r: () => order(!state.order),
  "?": () => byId("keys").showModal(),
};

addEventListener("keydown", (event) => {
  if (event.target.id === "note") {
    if (event.key === "Escape") noting(false);
    if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); note(); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || byId("keys").open) return;
  if (event.target.matches("textarea, input:not([type=checkbox]), audio")) return;
  const name = state.about?.classes[Number(event.key) - 1];
  if (/^[1-9]$/.test(event.key) && name !== undefined) { event.preventDefault(); choose(name); return; }
  if (event.key === "Enter" && state.about?.several && !event.target.matches("summary, a, button:not(.class)")) {
    event.preventDefault();
    save();
    return;
  }
  const work = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (work) { event.preventDefault(); work(); }
});

for (const [id, work] of Object.entries({ save, skip, undo, keep, flag })) byId(id).addEventListener("click", work);
byId("noter").addEventListener("click", () => noting(byId("noting").hidden));
byId("unnote").addEventListener("click", () => noting(false));
byId("noting").addEventListener("submit", (event) => { event.preventDefault(); note(); });
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("hide").addEventListener("change", (event) => hide(event.target.checked));
byId("order").addEventListener("change", (event) => order(event.target.checked));
addEventListener("click", (event) => {
  if (!byId("out").contains(event.target)) byId("out").open = false;
});
for (const link of document.querySelectorAll("#out a")) {
  link.addEventListener("click", async (event) => {
    event.preventDefault();
    byId("out").open = false;
    say(`Making ${link.querySelector("span").textContent} …`);
    try {
      const response = await fetch(link.getAttribute("href"));
      if (!response.ok) throw new Error(await response.text());
      const address = URL.createObjectURL(await response.blob());
      const save = make("a", { href: address, download: link.querySelector("span").textContent });
      save.click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
      say(`${link.querySelector("span").textContent} is in your downloads.`);
    } catch (error) { apologise(error); }
  });
}

// -- newer figures, as they come -------------------------------------------------------------

async function watch() {
  for (;;) {
    try {
      const model = await ask("figures", { after: state.version });
      if (model.version > state.version) {
        state.version = model.version;
        if (state.busy) continue;
        const bare = state.now?.row && state.now.row.thought === null && model.ready;
        if (bare || state.queue !== "label") await refresh();
        else showModel(model, state.about, aim);
      }
    } catch {
      await new Promise((again) => setTimeout(again, 3000));
    }
  }
}

async function begin() {
  try {
    state.about = await ask("about");
    const { table, target, rows, who, people } = state.about;
    document.title = `${target} · ${table}`;
    byId("target").textContent = target;
    byId("table").textContent = `${table}, ${several(rows, "row", "rows")}${people.length > 1 ? `, ${who}` : ""}`;
    showDefinitions();
    state.order = remembered("order");
    byId("order").checked = state.order;
    hide(remembered("hide"));
    await refresh();
    watch();
  } catch (error) { apologise(error); }
}

begin();
