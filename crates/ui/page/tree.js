// The tree of frames. Branches that were opened or closed stay so, whatever changes.

import { byId, el, keyed, set, write } from "./dom.js";
import { ask } from "./live.js";
import { grouped, lasted, money, short, sign, tokens, words } from "./words.js";

/**
 * @typedef {import("./types.d.ts").Row} Row
 * @typedef {import("./types.d.ts").Rows} Rows
 */

const STEP = 200;

export class Tree {
  /** @param {(id: string) => void} onSelect */
  constructor(onSelect) {
    this.onSelect = onSelect;
    /** @type {Set<string>} */
    this.open = new Set();
    /** @type {Set<string>} */
    this.closed = new Set();
    /** @type {Record<string, number>} */
    this.more = {};
    /** @type {Row[]} */
    this.rows = [];
    this.selected = "";
    this.focused = "";
    this.box = byId("tree");
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  /** @returns {Promise<Rows>} */
  async refresh() {
    const branches = { open: [...this.open], closed: [...this.closed], more: this.more };
    /** @type {Rows} */
    const answer = await ask("/api/tree", branches);
    this.rows = answer.rows;
    this.draw(Math.max(tokens(answer.total), 1));
    byId("reading").hidden = answer.ready;
    byId("nothing").hidden = !answer.ready || answer.frames > 0;
    return answer;
  }

  /** @param {number} all */
  draw(all) {
    const keys = this.rows.map(name);
    if (!keys.includes(this.focused)) this.focused = keys.includes(this.selected) ? this.selected : (keys[0] ?? "");
    keyed(this.box, this.rows, name, (row) => this.make(row), (element, row) => this.update(element, row, all));
  }

  /** @param {Row} row */
  make(row) {
    const key = name(row);
    const element = el("div", { role: "treeitem", class: "row", onclick: (event) => this.click(key, event.target.closest(".twist") !== null), onfocus: () => this.focus(key) },
      el("span", { class: "name" },
        el("span", { class: "indent" }), el("span", { class: "twist", "aria-hidden": "true" }), el("span", { class: "sign", "aria-hidden": "true" }),
        el("span", { class: "title" }), el("span", { class: "unseen" }), el("span", { class: "tags" })),
      el("span", { class: "number tokens" }), el("span", { class: "number cost" }), el("span", { class: "number time" }),
      el("span", { class: "share" }));
    return element;
  }

  /** @param {Element} element @param {Row} row @param {number} all */
  update(element, row, all) {
    const key = name(row), isRest = row.hidden > 0;
    set(element, {
      class: `row ${isRest ? "rest" : row.status}${row.isFolded ? " folded" : ""}${row.activeIn.length ? " here" : ""}`,
      "aria-level": row.depth + 1,
      "aria-expanded": row.below > 0 ? String(row.isOpen) : null,
      "aria-selected": String(key === this.selected),
      tabindex: key === this.focused ? 0 : -1,
    });
    /** @param {string} part */
    const part = (part) => /** @type {HTMLElement} */ (element.querySelector(`.${part}`));
    part("indent").style.setProperty("--depth", String(row.depth));
    write(part("twist"), row.below > 0 ? (row.isOpen ? "▾" : "▸") : "");
    write(part("sign"), isRest ? "…" : sign(row.status));
    write(part("title"), isRest ? `${grouped(row.hidden)} more` : row.title);
    write(part("unseen"), isRest ? "" : words(row.status));
    write(part("tags"), tags(row).join(" · "));
    const sum = tokens(row.total);
    write(part("tokens"), sum ? short(sum) : "");
    write(part("cost"), row.total.microDollars ? money(row.total.microDollars) : "");
    write(part("time"), row.total.milliseconds >= 1000 ? lasted(row.total.milliseconds) : "");
    part("share").style.width = `${(sum / all) * 100}%`;
  }

  /** @param {string} key @param {boolean} [isTwist] true if the sign that opens and closes a branch was clicked */
  click(key, isTwist = false) {
    this.focus(key);
    const row = this.row(key);
    if (!row) return;
    if (row.hidden > 0) {
      this.more[row.id] = (this.more[row.id] ?? 40) + STEP;
      this.refresh();
    } else if ((isTwist || this.selected === key) && row.below > 0) {
      this.toggle(row);
    } else {
      this.select(key);
    }
  }

  /** @param {string} key */
  select(key) {
    this.selected = key;
    for (const element of Array.from(this.box.children)) {
      set(element, { "aria-selected": String(element.getAttribute("data-key") === key) });
    }
    this.onSelect(key);
  }

  /** @param {Row} row @param {boolean} [wanted] */
  toggle(row, wanted = !row.isOpen) {
    if (wanted) { this.open.add(row.id); this.closed.delete(row.id); }
    else { this.closed.add(row.id); this.open.delete(row.id); }
    return this.refresh();
  }

  /** @param {string} key */
  row(key) {
    return this.rows.find((row) => name(row) === key);
  }

  /** @param {string} key */
  focus(key) {
    this.focused = key;
    for (const element of Array.from(this.box.children)) {
      set(element, { tabindex: element.getAttribute("data-key") === key ? 0 : -1 });
    }
  }

  /** @param {number} place */
  go(place) {
    const element = /** @type {HTMLElement | undefined} */ (this.box.children[Math.max(0, Math.min(place, this.rows.length - 1))]);
    if (!element) return;
    this.focus(element.getAttribute("data-key") ?? "");
    element.focus();
    element.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const place = this.rows.findIndex((row) => name(row) === this.focused);
    const row = this.rows[place];
    if (!row) return;
    switch (event.key) {
      case "ArrowDown": case "j": this.go(place + 1); break;
      case "ArrowUp": case "k": this.go(place - 1); break;
      case "Home": this.go(0); break;
      case "End": this.go(this.rows.length - 1); break;
      case "PageDown": this.go(place + 15); break;
      case "PageUp": this.go(place - 15); break;
      case "ArrowRight": case "l":
        if (row.below > 0 && !row.isOpen) this.toggle(row, true);
        else if (row.isOpen) this.go(place + 1);
        break;
      case "ArrowLeft": case "h":
        if (row.isOpen) this.toggle(row, false);
        else this.go(this.rows.findLastIndex((other, number) => number < place && other.depth < row.depth));
        break;
      case "Enter": case " ": this.click(this.focused); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Opens the branches above a frame and goes to it. @param {{ id: string }[]} path @param {string} id */
  async show(path, id) {
    for (const above of path) { this.open.add(above.id); this.closed.delete(above.id); }
    await this.refresh();
    const place = this.rows.findIndex((row) => name(row) === id);
    if (place >= 0) this.go(place);
  }
}

/** @param {Row} row */
function name(row) {
  return row.hidden > 0 ? `rest-${row.id}` : row.id;
}

/** @param {Row} row */
function tags(row) {
  const tags = [];
  if (row.activeIn.length) tags.push(row.activeIn.join(", "));
  if (row.isFolded) tags.push("folded");
  if (row.isDropped) tags.push("text dropped");
  if (row.failures) tags.push(`${grouped(row.failures)} failed`);
  if (row.proofs) tags.push(`${grouped(row.proofs)} proven`);
  if (row.isClaimed) tags.push("claimed");
  return tags;
}
