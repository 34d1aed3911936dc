// The page: views on the left, details on the right, one connection for all.

import { act, say } from "./acts.js";
import { byId, el, set, write } from "./dom.js";
import { Flame } from "./flame.js";
import { Detail } from "./frame.js";
import { help } from "./help.js";
import { Ended, ask, enter, follow } from "./live.js";
import { Sessions } from "./sessions.js";
import { Tree } from "./tree.js";
import { grouped, lasted, money, short, tokens } from "./words.js";

/** @typedef {import("./types.d.ts").Found} Found */

const VIEWS = ["tree", "flame", "sessions", "found"];

const detail = new Detail((action) => act(action, detail.id, session()), go);
const tree = new Tree((id) => { detail.show(id).then(reveal, failed); });
const flame = new Flame((id) => { tree.selected = id; detail.show(id).catch(failed); });
const sessions = new Sessions((chosen) => { tree.selected = chosen.active ?? ""; detail.showSession(chosen).then(reveal, failed); });
let view = "tree";

/** The session that the details are about. */
function session() {
  return detail.session || detail.frame?.sessions[0] || detail.frame?.session || "";
}

/** Scrolls to the details where they are below the views. */
function reveal() {
  if (matchMedia("(max-width: 860px)").matches) byId("right").scrollIntoView();
}

/** @param {unknown} error */
function failed(error) {
  if (!(error instanceof Ended) && !(error instanceof TypeError)) say(error instanceof Error ? error.message : String(error), true);
}

/** Shows a frame in the tree and in the details. @param {string} id */
async function go(id) {
  try {
    tree.selected = id;
    await detail.show(id);
    await tree.show(detail.frame?.path ?? [], id);
  } catch (error) {
    failed(error);
  }
}

/** @param {string} name */
function choose(name) {
  view = name;
  byId("work").dataset.view = name;
  for (const one of VIEWS) {
    byId(`view-${one}`).hidden = one !== name;
    set(byId(`tab-${one}`), { "aria-selected": String(one === name), tabindex: one === name ? 0 : -1 });
  }
  refresh();
}

let isBusy = false;
let isWanted = false;

/** Draws what is visible again; what comes in the meantime is drawn once, after it. */
async function refresh() {
  if (isBusy) { isWanted = true; return; }
  isBusy = true;
  try {
    const rows = await tree.refresh();
    totals(rows);
    detail.rest(rows);
    if (view === "flame") {
      flame.chosen = detail.id;
      await flame.refresh();
    }
    if (view === "sessions") await sessions.refresh();
    await detail.refresh();
  } catch (error) {
    failed(error);
  } finally {
    isBusy = false;
    if (isWanted) { isWanted = false; refresh(); }
  }
}

/** @param {import("./types.d.ts").Rows} rows */
function totals(rows) {
  write(byId("project"), rows.project);
  if (document.title !== `${rows.project} – Flamestack`) document.title = `${rows.project} – Flamestack`;
  /** @type {[string, string][]} */
  const facts = [["frames", grouped(rows.frames)], ["tokens", rows.isCounted ? short(tokens(rows.total)) : "…"]];
  if (rows.total.microDollars !== null) facts.push(["cost", money(rows.total.microDollars)]);
  facts.push(["at work", rows.isCounted ? lasted(rows.total.milliseconds) : "…"]);
  if (rows.total.saved) facts.push(["saved by folding", short(rows.total.saved)]);
  const box = byId("totals");
  const now = JSON.stringify(facts);
  if (box.dataset.now === now) return;
  box.dataset.now = now;
  box.replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** @param {string} words */
async function search(words) {
  if (!words.trim()) return;
  try {
    /** @type {Found} */
    const found = await ask(`/api/search?q=${encodeURIComponent(words)}`);
    byId("tab-found").hidden = false;
    choose("found");
    write(byId("found-said"), found.partial ?? (found.hits.length ? `${grouped(found.hits.length)}${found.more ? " and more" : ""} found` : "Nothing found."));
    byId("found").replaceChildren(...found.hits.map((hit) => el("li", {},
      el("button", { type: "button", class: "link", onclick: () => go(hit.frame).then(reveal) }, hit.title), el("span", { class: "quiet" }, ` ${hit.field}`),
      hit.field === "title" ? null : el("p", { class: "prose" }, hit.excerpt))));
    /** @type {HTMLElement | null} */ (byId("found").querySelector("button"))?.focus();
  } catch (error) {
    failed(error);
  }
}

/** @param {KeyboardEvent} event */
function key(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog")) return;
  const frame = tree.focused && view === "tree" && document.activeElement?.closest("#tree") ? tree.focused : detail.id;
  /** @type {Record<string, string>} */
  const actions = { a: "activate", f: "pop", p: "plan", n: "note", d: "directive", x: "invalidate", u: "undo", b: "brief" };
  const action = actions[event.key];
  if (action) {
    if (!frame && !["undo", "brief", "plan"].includes(action)) return say("Choose a frame first.");
    act(action, frame.startsWith("rest-") ? "" : frame, session());
  } else if (event.key === "?") help();
  else if (event.key === "/") byId("words").focus();
  else if (["1", "2", "3"].includes(event.key)) choose(VIEWS[Number(event.key) - 1] ?? "tree");
  else if (event.key === "g" && frame) { choose("flame"); flame.only(frame).catch(failed); }
  else if (event.key === "Escape" && view === "flame") flame.everything().catch(failed);
  else return;
  event.preventDefault();
}

for (const [place, name] of VIEWS.entries()) {
  const tab = byId(`tab-${name}`);
  tab.addEventListener("click", () => choose(name));
  tab.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = VIEWS[place + step];
    if (!step || !next || byId(`tab-${next}`).hidden) return;
    choose(next);
    byId(`tab-${next}`).focus();
  });
}
byId("help").addEventListener("click", help);
byId("undo").addEventListener("click", () => act("undo", "", ""));
byId("search").addEventListener("submit", (event) => {
  event.preventDefault();
  search(/** @type {HTMLInputElement} */ (byId("words")).value);
});
byId("words").addEventListener("keydown", (event) => {
  if (event.key === "Escape") { choose("tree"); tree.go(tree.rows.findIndex((row) => row.id === tree.focused)); }
});
document.addEventListener("keydown", key);

const connection = byId("connection");
enter().catch((error) => say(error.message, true)).then(() => follow(
  (news) => {
    document.documentElement.dataset.position = String(news.position);
    refresh();
  },
  (state, problem) => {
    set(connection, { class: state });
    write(connection, state === "live" ? "Live" : state === "lost" ? (problem ?? "Connection lost, trying again")
      : "Ended: open the address that flame ui printed");
  },
));
