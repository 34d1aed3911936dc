// Sessions on a time line.

import { byId, el, keyed, set, svg, write } from "./dom.js";
import { ask } from "./live.js";
import { between, grouped, lasted, money, short, tokens } from "./words.js";

/**
 * @typedef {import("./types.d.ts").Session} Session
 * @typedef {import("./types.d.ts").Sessions} SessionList
 */

export class Sessions {
  /** @param {(session: Session) => void} onSelect */
  constructor(onSelect) {
    this.onSelect = onSelect;
    /** @type {Session[]} */
    this.list = [];
    this.own = "";
    this.box = byId("sessions");
  }

  async refresh() {
    /** @type {SessionList} */
    const answer = await ask("/api/sessions");
    this.list = answer.sessions;
    this.own = answer.own;
    const first = Math.min(...this.list.map((session) => session.begun));
    const last = Math.max(...this.list.map((session) => session.last), first + 1);
    keyed(this.box, this.list, (session) => session.key, (session) => this.make(session),
      (element, session) => this.update(element, session, first, last));
    byId("no-sessions").hidden = this.list.length > 0;
    byId("sessions-axis").hidden = this.list.length === 0;
    if (this.list.length) write(byId("sessions-axis"), between(first, last));
  }

  /** @param {Session} session */
  make(session) {
    return el("button", { type: "button", class: "session", onclick: () => this.choose(session.key) },
      el("span", { class: "who" }, el("strong", {}), el("span", { class: "state" })),
      el("span", { class: "what" }), el("span", { class: "track" }), el("span", { class: "facts" }));
  }

  /** @param {string} key */
  choose(key) {
    const session = this.list.find((session) => session.key === key);
    if (session) this.onSelect(session);
  }

  /** @param {Element} element @param {Session} session @param {number} first @param {number} last */
  update(element, session, first, last) {
    /** @param {string} part */
    const part = (part) => /** @type {HTMLElement} */ (element.querySelector(part));
    write(part("strong"), session.key);
    write(part(".state"), session.state);
    set(part(".state"), { class: `state ${session.state.split(" ")[0]}` });
    write(part(".what"), session.title ?? "");
    write(part(".facts"), facts(session).join(" · "));
    part(".track").replaceChildren(track(session, first, last));
  }
}

/** @param {Session} session */
function facts(session) {
  const facts = [between(session.begun, session.last)];
  const sum = tokens(session.spent);
  if (sum) facts.push(`${short(sum)} tokens`);
  if (session.spent.microDollars) facts.push(money(session.spent.microDollars));
  if (session.spent.milliseconds) facts.push(`${lasted(session.spent.milliseconds)} at work`);
  if (session.spent.saved) facts.push(`${short(session.spent.saved)} tokens saved by folding`);
  if (session.compactions) facts.push(`${grouped(session.compactions)} ${session.compactions === 1 ? "compaction" : "compactions"}`);
  if (session.interruptions) facts.push(`${grouped(session.interruptions)} interrupted`);
  if (session.window) facts.push(`window ${Math.round((session.size / session.window) * 100)} % full`);
  if (session.model) facts.push(session.model);
  if (session.parent) facts.push(`started by ${session.parent}`);
  return facts;
}

/** @param {Session} session @param {number} first @param {number} last */
function track(session, first, last) {
  /** @param {number} at */
  const place = (at) => Math.min(((at - first) / (last - first)) * 1000, 997);
  const drawing = svg("svg", { viewBox: "0 0 1000 16", preserveAspectRatio: "none", "aria-hidden": "true", class: "time" });
  drawing.append(svg("rect", { class: "span", x: place(session.begun), y: 7, width: Math.max(place(session.last) - place(session.begun), 2), height: 2 }));
  for (const [from, to] of session.stretches) {
    drawing.append(svg("rect", { class: "stretch", x: place(from), y: 4, width: Math.max(place(to) - place(from), 2), height: 8 }));
  }
  for (const mark of session.marks) {
    if (mark.kind !== "prompt") drawing.append(svg("rect", { class: `mark ${mark.kind}`, x: place(mark.at) - 1, y: 0, width: 3, height: 16 }));
  }
  return drawing;
}
