// Flame graph and flame chart.

import { byId, el, svg, write } from "./dom.js";
import { ask } from "./live.js";
import { amount, grouped, lasted, sign, when } from "./words.js";

/**
 * @typedef {import("./types.d.ts").Box} Box
 * @typedef {import("./types.d.ts").Graph} Graph
 * @typedef {import("./types.d.ts").Chart} Chart
 * @typedef {{ key: string, name: string, y: number, boxes: Box[] }} Lane
 */

const LEVEL = 22;
const PEN = document.createElement("canvas").getContext("2d");
const MEASURES = ["tokens", "cost", "time", "messages", "saved"];

export class Flame {
  /** @param {(id: string) => void} onSelect */
  constructor(onSelect) {
    this.onSelect = onSelect;
    this.measure = "tokens";
    this.isChart = false;
    this.frame = "";
    this.session = "";
    /** @type {{ from: number, width: number } | null} */
    this.zoom = null;
    /** @type {Lane[]} */
    this.lanes = [];
    this.total = 0;
    this.height = 0;
    /** @type {[number, number][]} */
    this.breaks = [];
    this.focused = "";
    /** The frame that the details are about. */
    this.chosen = "";
    this.box = byId("flame");
    this.said = byId("flame-said");
    this.bar();
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  bar() {
    const measures = el("select", { "aria-label": "Width of the boxes", onchange: (event) => { this.measure = event.target.value; this.again(); } },
      ...MEASURES.map((name) => el("option", { value: name }, name === "saved" ? "saved by folding" : name)));
    const order = el("select", { "aria-label": "Order", onchange: (event) => { this.isChart = event.target.value === "time"; this.again(); } },
      el("option", { value: "merged" }, "merged"), el("option", { value: "time" }, "in time"));
    const all = el("button", { type: "button", id: "flame-all", hidden: true, onclick: () => this.everything() }, "Show all");
    const save = el("a", { id: "flame-save", href: "/api/picture", download: "flame.svg" }, "Save as SVG");
    byId("flame-bar").append(measures, order, all, save);
    const legend = el("ul", { class: "legend", "aria-label": "Colours" },
      ...["active", "completed", "folded", "failed", "blocked", "invalidated"].map((look) =>
        el("li", {}, el("span", { class: `swatch ${look}` }), `${sign(look)} ${look}`)));
    byId("flame-bar").append(legend);
  }

  again() {
    this.zoom = null;
    return this.refresh();
  }

  everything() {
    this.zoom = null;
    this.frame = "";
    this.session = "";
    return this.refresh();
  }

  /** @param {string} frame */
  only(frame) {
    this.frame = frame;
    this.zoom = null;
    return this.refresh();
  }

  query() {
    const query = new URLSearchParams({ by: this.measure });
    if (this.frame) query.set("frame", this.frame);
    if (this.session) query.set("session", this.session);
    if (this.isChart) query.set("order", "time");
    return query.toString();
  }

  async refresh() {
    const query = this.query();
    byId("flame-save").setAttribute("href", `/api/picture?${query}`);
    if (this.isChart) {
      /** @type {Chart} */
      const chart = await ask(`/api/chart?${query}`);
      this.total = chart.total;
      this.breaks = chart.breaks;
      let y = 0;
      this.lanes = chart.lanes.map((lane) => {
        const placed = { key: lane.session, name: lane.session, y: y + 20, boxes: lane.boxes };
        y += 20 + lane.levels * LEVEL + 8;
        return placed;
      });
      this.height = y;
      const first = chart.first === null ? "" : `, from ${when(chart.first)}`;
      write(this.said, chart.total ? `${lasted(chart.total)} of work${first}` : "");
    } else {
      /** @type {Graph} */
      const graph = await ask(`/api/graph?${query}`);
      this.total = graph.total;
      this.breaks = [];
      this.lanes = [{ key: "all", name: "", y: 0, boxes: graph.boxes }];
      this.height = graph.levels * LEVEL;
      write(this.said, graph.total ? amount(graph.measure, graph.total) : "");
    }
    this.draw();
  }

  draw() {
    const wide = this.box.clientWidth;
    if (!wide) return;
    const focus = document.activeElement && this.box.contains(document.activeElement) ? this.focused : "";
    const { from, width } = this.zoom ?? { from: 0, width: Math.max(this.total, 1) };
    byId("flame-all").hidden = !this.zoom && !this.frame && !this.session;
    const drawing = svg("svg", { width: wide, height: Math.max(this.height, 1), role: "group", "aria-label": "Flame graph" });
    // Labels are cut to the width of their boxes, so they are a layer of their own: names of boxes are whole.
    const labels = svg("g", { class: "labels", "aria-hidden": "true" });
    const scale = wide / width;
    if (PEN) PEN.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    /** @type {string[]} */
    const keys = [];
    for (const lane of this.lanes) {
      if (lane.name) drawing.append(svg("text", { class: "lane", x: 0, y: lane.y - 6 }, lane.name));
      for (const box of this.total ? lane.boxes : []) {
        const left = Math.max((box.from - from) * scale, 0);
        const right = Math.min((box.from + box.width - from) * scale, wide);
        if (right - left < 0.3) continue;
        const key = `${lane.key} ${box.level} ${box.from} ${box.frame ?? box.look}`;
        keys.push(key);
        drawing.append(this.drawn(box, key, left, right - left, lane.y + box.level * LEVEL, labels));
      }
    }
    for (const [place, pause] of this.breaks) {
      const x = (place - from) * scale;
      if (x >= 0 && x <= wide) drawing.append(svg("line", { class: "pause", x1: x, x2: x, y1: 0, y2: this.height }, svg("title", {}, `${lasted(pause)} without work`)));
    }
    if (!keys.includes(this.focused)) this.focused = keys[0] ?? "";
    drawing.append(labels);
    const nothing = this.total ? null : el("p", { class: "quiet" }, this.isChart ? "No session has worked yet." : `Nothing to show by ${this.measure} yet.`);
    this.box.replaceChildren(nothing ?? drawing);
    for (const group of Array.from(drawing.querySelectorAll("g.box"))) {
      group.setAttribute("tabindex", group.getAttribute("data-key") === this.focused ? "0" : "-1");
      if (focus && group.getAttribute("data-key") === focus) /** @type {SVGElement} */ (group).focus({ preventScroll: true });
    }
  }

  /** @param {Box} box @param {string} key @param {number} left @param {number} width @param {number} top @param {Element} labels */
  drawn(box, key, left, width, top, labels) {
    const label = `${sign(box.look)} ${box.title}`.trim() + (box.look === "folded" ? " (folded)" : "") + (box.claimed ? " (claimed)" : "") + (box.dropped ? " (text dropped)" : "");
    const facts = this.facts(box);
    const room = width - 10;
    const shown = fits(label, room) ? label : cut(`${sign(box.look)} ${box.title}`.trim(), room);
    const group = svg("g", {
      class: `box ${box.look}${box.frame && box.frame === this.chosen ? " chosen" : ""}`, role: "button", "data-key": key, "aria-label": `${label}, ${facts}`,
      onclick: () => this.open(box, key), onfocus: () => { this.focused = key; write(this.said, `${label}: ${facts}`); },
      onmouseenter: () => write(this.said, `${label}: ${facts}`),
    }, svg("title", {}, `${label}\n${facts}`),
    svg("rect", { x: left, y: top, width: Math.max(width - 0.5, 0.5), height: LEVEL - 2, rx: 2 }));
    if (shown) labels.append(svg("text", { class: box.look, x: left + 5, y: top + 14 }, shown));
    return group;
  }

  /** @param {Box} box */
  facts(box) {
    if (this.isChart) return `${lasted(box.lasted ?? 0)}, from ${when(box.at ?? 0)}`;
    const share = this.total ? `${((box.width / this.total) * 100).toFixed(1)} %` : "";
    const own = box.own !== undefined && box.own !== box.width && box.look !== "all" ? `, ${amount(this.measure, box.own)} of its own` : "";
    const count = (box.count ?? 0) > 1 && box.look !== "all" ? `, ${grouped(box.count ?? 0)} frames` : "";
    return `${amount(this.measure, box.width)}, ${share}${own}${count}`;
  }

  /** @param {Box} box @param {string} key */
  open(box, key) {
    this.focused = key;
    if (box.frame) this.chosen = box.frame;
    this.zoom = box.look === "all" ? null : { from: box.from, width: Math.max(box.width, 1) };
    this.draw();
    if (box.frame) this.onSelect(box.frame);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const groups = /** @type {SVGElement[]} */ (Array.from(this.box.querySelectorAll("g.box")));
    const place = groups.findIndex((group) => group.getAttribute("data-key") === this.focused);
    const here = groups[place];
    if (!here) return;
    const at = here.getBoundingClientRect();
    /** @param {(box: DOMRect) => boolean} wanted */
    const nearest = (wanted) => groups.filter((group) => wanted(group.getBoundingClientRect()))
      .sort((a, b) => far(a) - far(b))[0];
    /** @param {SVGElement} group */
    const far = (group) => {
      const other = group.getBoundingClientRect();
      return Math.abs(other.top - at.top) * 10 + Math.abs(other.left - at.left);
    };
    /** @type {SVGElement | undefined} */
    let next;
    switch (event.key) {
      case "ArrowDown": case "j": next = nearest((box) => box.top > at.top + 2 && box.left < at.right && box.right > at.left); break;
      case "ArrowUp": case "k": next = nearest((box) => box.top < at.top - 2 && box.left <= at.left + 1 && box.right >= at.right - 1); break;
      case "ArrowRight": case "l": next = nearest((box) => Math.abs(box.top - at.top) < 2 && box.left >= at.right - 1); break;
      case "ArrowLeft": case "h": next = nearest((box) => Math.abs(box.top - at.top) < 2 && box.right <= at.left + 1); break;
      case "Enter": case " ": here.dispatchEvent(new MouseEvent("click")); break;
      case "Escape": this.everything(); break;
      default: return;
    }
    if (next) {
      this.focused = next.getAttribute("data-key") ?? "";
      for (const group of groups) group.setAttribute("tabindex", group === next ? "0" : "-1");
      next.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @param {string} label @param {number} width in pixels */
function fits(label, width) {
  return PEN !== null && PEN.measureText(label).width <= width;
}

/** Cuts a label to a width in pixels. @param {string} label @param {number} width */
function cut(label, width) {
  if (width < 16) return "";
  if (fits(label, width)) return label;
  const characters = [...label];
  let [least, most] = [0, characters.length];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (fits(`${characters.slice(0, middle).join("")}…`, width)) least = middle;
    else most = middle - 1;
  }
  return least < 2 ? "" : `${characters.slice(0, least).join("").trimEnd()}…`;
}
