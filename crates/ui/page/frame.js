// The details of a frame or a session: goal, results, notes, what the model was sent, history.

import { byId, el, merge } from "./dom.js";
import { ask } from "./live.js";
import { overview } from "./overview.js";
import { grouped, lasted, money, sign, tokens, when, words } from "./words.js";

/**
 * @typedef {import("./types.d.ts").Frame} Frame
 * @typedef {import("./types.d.ts").Note} Note
 * @typedef {import("./types.d.ts").Amounts} Amounts
 * @typedef {import("./types.d.ts").Section} Section
 * @typedef {import("./types.d.ts").Sent} Sent
 * @typedef {import("./types.d.ts").Session} Session
 */

export class Detail {
  /** @param {(act: string) => void} onAct @param {(id: string) => void} onGo */
  constructor(onAct, onGo) {
    this.onAct = onAct;
    this.onGo = onGo;
    this.id = "";
    this.session = "";
    this.part = "frame";
    this.shown = "";
    /** @type {Frame | null} */
    this.frame = null;
    this.box = byId("detail");
  }

  /** Shows what is in progress, for as long as nothing is chosen. @param {import("./types.d.ts").Rows} rows */
  rest(rows) {
    if (this.id || this.session) return;
    const content = overview(rows, this.onGo);
    const now = content.map((node) => node.textContent).join("\n");
    if (now === this.shown && this.box.childElementCount) return;
    this.shown = now;
    this.box.replaceChildren(...content);
  }

  /** @param {string} id */
  show(id) {
    this.id = id;
    this.session = "";
    this.shown = "";
    byId("right").scrollTop = 0;
    return this.refresh();
  }

  /** @param {Session} session */
  showSession(session) {
    this.id = session.active ?? "";
    this.session = session.key;
    this.part = "context";
    this.shown = "";
    byId("right").scrollTop = 0;
    return this.refresh();
  }

  async refresh() {
    if (!this.id && !this.session) return;
    const [id, session, part] = [this.id, this.session, this.part];
    /** @type {Frame | null} */
    const frame = id ? await ask(`/api/frame?id=${encodeURIComponent(id)}`) : null;
    const asked = session || frame?.sessions[0] || frame?.session || "";
    /** @type {Sent | null} */
    const sent = part === "context"
      ? await ask(asked ? `/api/context?session=${encodeURIComponent(asked)}` : `/api/context?frame=${encodeURIComponent(id)}`)
      : null;
    if (id !== this.id || session !== this.session || part !== this.part) return;
    this.frame = frame;
    const now = JSON.stringify([frame, sent, part]);
    if (now === this.shown) return;
    this.shown = now;
    const open = new Set(Array.from(this.box.querySelectorAll("details[open]"), (one) => one.getAttribute("data-key")));
    const focus = document.activeElement && this.box.contains(document.activeElement) ? document.activeElement.getAttribute("data-key") : null;
    const content = this.content(frame, sent);
    for (const one of content.flatMap((node) => node instanceof HTMLElement ? Array.from(node.querySelectorAll("details")) : [])) {
      one.open = open.has(one.getAttribute("data-key"));
    }
    merge(this.box, content);
    if (focus && !this.box.contains(document.activeElement)) /** @type {HTMLElement | null} */ (this.box.querySelector(`[data-key="${CSS.escape(focus)}"]`))?.focus({ preventScroll: true });
  }

  /** @param {Frame | null} frame @param {Sent | null} sent @returns {Node[]} */
  content(frame, sent) {
    const parts = [["frame", "Frame"], ["context", "What the model got"], ["history", "History"]];
    const tabs = el("div", { role: "group", class: "parts", "aria-label": "Parts" },
      ...parts.filter(([key]) => frame || key === "context").map(([key, name]) => el("button", {
        type: "button", "aria-pressed": String(this.part === key), "data-key": `part-${key}`,
        onclick: () => { this.part = key ?? "frame"; this.refresh(); },
      }, name ?? "")));
    const head = frame ? this.head(frame) : [el("h2", {}, this.session)];
    const body = this.part === "context" && sent ? context(sent)
      : this.part === "history" && frame ? history(frame)
      : frame ? about(frame) : [];
    return [...head, tabs, ...body];
  }

  /** @param {Frame} frame */
  head(frame) {
    const path = el("nav", { "aria-label": "Frames above", class: "path" },
      ...frame.path.flatMap((above) => [
        el("button", { type: "button", class: "link", "data-key": `above-${above.id}`, onclick: () => this.onGo(above.id) }, above.title), " › "]));
    const isOpen = ["planned", "in_progress", "blocked"].includes(frame.status);
    /** @type {[string, string, boolean][]} */
    const acts = [
      ["activate", "Activate", isOpen], ["pop", "Finish", frame.status === "in_progress" || frame.status === "blocked"],
      ["plan", "Plan below", isOpen], ["note", "Note", true], ["directive", "Directive", isOpen],
      ["invalidate", "Give up", isOpen], ["brief", "Copy brief", true],
    ];
    return [
      path,
      el("h2", { class: frame.status }, el("span", { class: "sign", "aria-hidden": "true" }, sign(frame.status)), " ", frame.title),
      el("p", { class: "facts" }, frame.claimed ? "completed, claimed: no check, test or commit is recorded" : words(frame.status), " · ", el("code", {}, frame.id),
        frame.sessions.length ? ` · worked on by ${frame.sessions.join(", ")}` : "",
        frame.amounts?.isFolded ? " · folded" : "", frame.amounts?.isDropped ? " · raw text dropped" : ""),
      el("div", { class: "acts" }, ...acts.filter(([, , offered]) => offered).map(([key, name]) =>
        el("button", { type: "button", "data-key": `act-${key}`, onclick: () => this.onAct(key) }, name))),
    ];
  }
}

/** @param {string} name @param {...(Node | string | null)} content */
function block(name, ...content) {
  return el("section", { class: "block" }, el("h3", {}, name), ...content);
}

/** @param {string} name @param {string | null} text */
function prose(name, text) {
  return text ? [block(name, el("p", { class: "prose" }, text))] : [];
}

/** @param {string} name @param {Note[]} notes */
function notes(name, notes) {
  if (!notes.length) return [];
  return [block(name, el("ul", {}, ...notes.map((note) => el("li", { class: note.good === false ? "bad" : "" },
    note.good === null ? "" : `${note.good ? "✓" : "✗"} `, el("span", { class: "prose" }, note.text),
    note.detail ? ` (${note.detail})` : "", note.why ? el("span", { class: "quiet" }, ` because ${note.why}`) : "",
    note.by === "user" ? el("span", { class: "quiet" }, " by you") : ""))))];
}

/** @param {Frame} frame @returns {Node[]} */
function about(frame) {
  const times = [["planned", frame.created === frame.started ? null : frame.created], ["started", frame.started], ["ended", frame.ended]]
    .filter(([, at]) => at).map(([name, at]) => `${name} ${when(Number(at))}`);
  return [
    ...prose("Done when", frame.criteria),
    ...prose("Results", frame.results),
    ...prose("Blocked on", frame.blockedOn),
    ...prose("Given up", frame.invalidated),
    ...prose("Summary so far", frame.summary),
    ...notes("Directives", frame.directives),
    ...notes("Decisions", frame.decisions),
    ...notes("Failed attempts", frame.failedAttempts),
    ...notes("Evidence", frame.evidence),
    ...notes("Artifacts", frame.artifacts),
    ...(frame.amounts && (tokens(frame.amounts.total) || frame.amounts.total.milliseconds >= 1000) ? [block("Amounts", amounts(frame.amounts.own, frame.amounts.total))] : []),
    ...(frame.logs.length ? [block("Raw text", el("ul", {}, ...frame.logs.map((log) =>
      el("li", {}, log.label, el("span", { class: "quiet" }, ` ${grouped(log.bytes)} bytes${log.dropped ? ", dropped" : ""}`)))))] : []),
    el("p", { class: "quiet" }, times.join(" · ")),
  ];
}

/** @param {Amounts} own @param {Amounts} total */
function amounts(own, total) {
  /** @type {[string, (amounts: Amounts) => string][]} */
  const lines = [
    ["Tokens", (it) => grouped(tokens(it))], ["  new", (it) => grouped(it.input)], ["  from the cache", (it) => grouped(it.cacheRead)],
    ["  to the cache", (it) => grouped(it.cacheWrite)], ["  written", (it) => grouped(it.output)], ["Cost", (it) => money(it.microDollars)],
    ["Time", (it) => lasted(it.milliseconds)], ["Prompts", (it) => grouped(it.prompts)], ["Model calls", (it) => grouped(it.calls)],
    ["Saved by folding", (it) => grouped(it.saved)],
  ];
  return el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Amount"), el("th", { scope: "col" }, "itself"), el("th", { scope: "col" }, "with all below"))),
    el("tbody", {}, ...lines.filter(([, value]) => !["0", "0 s", "–"].includes(value(total))).map(([name, value]) => el("tr", { class: name.startsWith(" ") ? "part" : "" },
      el("th", { scope: "row" }, name.trim()), el("td", {}, value(own)), el("td", {}, value(total))))));
}

/** @param {Sent} sent @returns {Node[]} */
function context(sent) {
  const nodes = [];
  if (sent.session) {
    nodes.push(block(`Sent to ${sent.session}`, ...sections(sent.sent, "Nothing was sent yet.")));
  }
  nodes.push(block("Would be sent now", el("p", { class: "quiet" }, `${grouped(sent.tokens)} of at most ${grouped(sent.budget)} tokens that Flamestack adds to a prompt here`),
    ...sections(sent.now, "Nothing: no work is recorded here yet.")));
  if (sent.compactions.length) {
    nodes.push(block("Compactions", ...sent.compactions.map((one) => el("div", { class: "compaction" },
      el("p", {}, [one.at ? when(one.at) : "", one.kind,
        one.before ? `${grouped(one.before)} → ${one.after ? grouped(one.after) : "?"} tokens` : "",
        `${grouped(one.survived)} facts kept, ${grouped(one.lost.length + one.moreLost)} lost`,
        one.restored ? `${grouped(one.restored)} tokens restored` : ""].filter(Boolean).join(" · ")),
      one.lost.length ? el("ul", {}, ...one.lost.map(([kind, text]) => el("li", {}, el("span", { class: "quiet" }, `lost ${kind}: `), text))) : null))));
  }
  return nodes;
}

/** @param {Section[]} list @param {string} nothing @returns {Node[]} */
function sections(list, nothing) {
  if (!list.length) return [el("p", { class: "quiet" }, nothing)];
  const most = Math.max(...list.map((section) => section.tokens), 1);
  return list.map((section, number) => {
    const bar = el("span", { class: "meter", "aria-hidden": "true" });
    bar.style.width = `${(section.tokens / most) * 100}%`;
    return el("details", { "data-key": `${section.part}-${section.seq ?? ""}-${section.kind}-${number}` },
      el("summary", {}, el("span", {}, section.kind), el("span", { class: "quiet" }, section.part === "now" ? "" : section.part),
        el("span", { class: "number" }, `${grouped(section.tokens)} tokens`), bar),
      el("pre", { tabindex: 0, "aria-label": section.kind }, section.text),
      section.leftOut.length ? el("ul", {}, ...section.leftOut.map((out) =>
        el("li", { class: "quiet" }, `left out: ${grouped(out.count)} ${out.what} (${out.why}), see `, el("code", {}, out.call)))) : null);
  });
}

/** @param {Frame} frame @returns {Node[]} */
function history(frame) {
  const own = `${frame.id} `;
  const list = el("ol", { class: "history" }, ...frame.events.map((event) => el("li", {},
    el("span", { class: "quiet" }, `${when(event.at)} `), event.what.startsWith(own) ? event.what.slice(own.length) : event.what,
    el("span", { class: "quiet" }, ` ${event.session}`))));
  return [block("History", frame.eventsLeftOut ? el("p", { class: "quiet" }, `${grouped(frame.eventsLeftOut)} earlier events are left out.`) : null, list)];
}
