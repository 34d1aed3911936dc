// Flame graph and flame chart.

import { byId, el, keyed, set, svg, write } from "./dom.js";
import { ask } from "./live.js";
import { amount, grouped, lasted, sign, when } from "./words.js";

/**
 * @typedef {import("./types.d.ts").Box} Box
 * @typedef {import("./types.d.ts").Graph} Graph
 * @typedef {import("./types.d.ts").Chart} Chart
 * @typedef {{ key: string, box: Box }} Placed
 * @typedef {{ key: string, name: string, y: number, boxes: Placed[] }} Lane
 * @typedef {{ key: string, box: Box, left: number, width: number, top: number, label: string }} Shape
 */

const LEVEL = 22;
const PEN = document.createElement("canvas").getContext("2d");
const MEASURES = ["tokens", "cost", "time", "messages", "saved"];

export class Flame {
  /** @param {(id: string) => void} onSelect */
  constructor(onSelect) {
    this.onSelect = onSelect;
    /** @type {HTMLElement | null} */
    this.measures = null;
    this.measure = "tokens";
    this.isChart = false;
    this.frame = "";
    this.session = "";
    /** The box that fills the width. */
    this.zoom = "";
    /** @type {Lane[]} */
    this.lanes = [];
    this.total = 0;
    /** True once the server has answered: it waits until the amounts are known. */
    this.isKnown = false;
    this.height = 0;
    /** @type {[number, number][]} */
    this.breaks = [];
    this.focused = "";
    /** The box that the line below is about. */
    this.pointed = "";
    /** The frame that the details are about. */
    this.chosen = "";
    this.about = "";
    /** @type {Map<string, Shape>} */
    this.shapes = new Map();
    this.box = byId("flame");
    this.said = byId("flame-said");
    this.nothing = el("p", { class: "quiet" });
    this.layers = { lanes: svg("g"), boxes: svg("g"), pauses: svg("g"), labels: svg("g", { class: "labels", "aria-hidden": "true" }) };
    this.drawing = svg("svg", { role: "group", "aria-label": "Flame graph" }, ...Object.values(this.layers));
    this.box.append(this.nothing, this.drawing);
    this.bar();
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  bar() {
    const measures = el("select", { "aria-label": "Width of the boxes", onchange: (event) => { this.measure = event.target.value; this.again(); } },
      ...MEASURES.map((name) => el("option", { value: name }, name === "saved" ? "by tokens saved" : `by ${name}`)));
    const order = el("select", { "aria-label": "Order", onchange: (event) => { this.isChart = event.target.value === "time"; this.again(); } },
      el("option", { value: "merged" }, "graph, widest first"), el("option", { value: "time" }, "chart, in time"));
    const all = el("button", { type: "button", id: "flame-all", hidden: true, onclick: () => this.everything() }, "Show all");
    const save = el("a", { id: "flame-save", href: "/api/picture", download: "flame.svg" }, "Save as SVG");
    this.measures = measures;
    byId("flame-bar").append(measures, order, all, save);
    const legend = el("ul", { class: "legend", "aria-label": "Colours" },
      ...["active", "completed", "folded", "failed", "blocked", "invalidated"].map((look) =>
        el("li", {}, el("span", { class: `swatch ${look}` }), `${sign(look)} ${look}`)));
    byId("flame-bar").append(legend);
  }

  again() {
    this.zoom = "";
    return this.refresh();
  }

  everything() {
    this.zoom = "";
    this.frame = "";
    this.session = "";
    return this.refresh();
  }

  /** @param {string} frame */
  only(frame) {
    this.frame = frame;
    this.zoom = "";
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
    // A chart is always drawn by time.
    if (this.measures) this.measures.hidden = this.isChart;
    if (this.isChart) {
      /** @type {Chart} */
      const chart = await ask(`/api/chart?${query}`);
      if (query !== this.query()) return;
      this.total = chart.total;
      this.breaks = chart.breaks;
      let y = 0;
      this.lanes = chart.lanes.map((lane) => {
        const placed = { key: lane.session, name: lane.session, y: y + 20, boxes: named(lane.session, lane.boxes) };
        y += 20 + lane.levels * LEVEL + 8;
        return placed;
      });
      this.height = y;
      const first = chart.first === null ? "" : `, from ${when(chart.first)}`;
      this.about = chart.total ? `${lasted(chart.total)} of work${first}` : "";
    } else {
      /** @type {Graph} */
      const graph = await ask(`/api/graph?${query}`);
      if (query !== this.query()) return;
      this.total = graph.total;
      this.breaks = [];
      this.lanes = [{ key: "all", name: "", y: 0, boxes: named("all", graph.boxes) }];
      this.height = graph.levels * LEVEL;
      this.about = graph.total ? amount(graph.measure, graph.total) : "";
    }
    this.isKnown = true;
    this.draw();
  }

  /** Brings the drawing up to date. Boxes that stay are the same elements, so nothing jumps. */
  draw() {
    const wide = this.box.clientWidth;
    if (!wide) return;
    if (PEN) PEN.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const zoomed = this.lanes.flatMap((lane) => lane.boxes).find((placed) => placed.key === this.zoom)?.box;
    if (!zoomed) this.zoom = "";
    const { from, width } = zoomed ?? { from: 0, width: this.total };
    const scale = wide / Math.max(width, 1);
    byId("flame-all").hidden = !this.zoom && !this.frame && !this.session;
    this.shapes = new Map(this.lanes.flatMap((lane) => lane.boxes.flatMap(({ key, box }) => {
      const left = Math.max((box.from - from) * scale, 0);
      const width = Math.min((box.from + box.width - from) * scale, wide) - left;
      const shape = { key, box, left, width, top: lane.y + box.level * LEVEL, label: label(box) };
      return this.total && width >= 0.3 ? [/** @type {[string, Shape]} */ ([key, shape])] : [];
    })));
    const shapes = [...this.shapes.values()];
    if (!this.shapes.has(this.focused)) this.focused = shapes[0]?.key ?? "";
    this.nothing.hidden = this.total > 0;
    write(this.nothing, !this.isKnown ? "Counting …" : this.isChart ? "No session has worked yet." : `Nothing to show by ${this.measure === "saved" ? "tokens saved" : this.measure} yet.`);
    set(this.drawing, { width: wide, height: Math.max(this.height, 1), class: this.total ? null : "none" });
    const { lanes, boxes, pauses, labels } = this.layers;
    keyed(lanes, this.lanes.filter((lane) => lane.name), (lane) => lane.key, () => svg("text", { class: "lane", x: 0 }), (text, lane) => {
      set(text, { y: lane.y - 6 });
      write(text, lane.name);
    });
    keyed(boxes, shapes, (shape) => shape.key, ({ key }) => this.make(key), (group, shape) => this.update(group, shape));
    const shown = shapes.map((shape) => ({ shape, text: fits(shape.label, shape.width - 10) ? shape.label : cut(plain(shape.box), shape.width - 10) }));
    // Labels are cut to the width of their boxes, so they are a layer of their own: names of boxes are whole.
    keyed(labels, shown.filter(({ text }) => text), ({ shape }) => shape.key, () => svg("text"), (text, { shape, text: words }) => {
      set(text, { class: shape.box.look, x: shape.left + 5, y: shape.top + 14 });
      write(text, words);
    });
    const marks = this.breaks.map(([place, pause]) => ({ x: (place - from) * scale, pause })).filter(({ x }) => x >= 0 && x <= wide);
    keyed(pauses, marks, ({ x }) => String(x), () => svg("line", { class: "pause" }, svg("title")), (line, { x, pause }) => {
      set(line, { x1: x, x2: x, y1: 0, y2: this.height });
      if (line.firstElementChild) write(line.firstElementChild, `${lasted(pause)} without work`);
    });
    this.tell();
  }

  /** @param {string} key */
  make(key) {
    return svg("g", {
      role: "button", onclick: () => this.open(key), onfocus: () => { this.focused = key; this.tell(key); },
      onmouseenter: () => this.tell(key), onmouseleave: () => this.tell(""),
    }, svg("title"), svg("rect", { height: LEVEL - 2, rx: 2 }));
  }

  /** @param {Element} group @param {Shape} shape */
  update(group, { key, box, left, width, top, label }) {
    const facts = this.facts(box);
    const [title, rect] = Array.from(group.children);
    set(group, {
      class: `box ${box.look}${box.frame && box.frame === this.chosen ? " chosen" : ""}`, "aria-label": `${label}, ${facts}`,
      tabindex: key === this.focused ? 0 : -1,
    });
    if (title) write(title, `${label}\n${facts}`);
    if (rect) set(rect, { x: left, y: top, width: Math.max(width - 0.5, 0.5) });
  }

  /** Says what a box is, or else the whole drawing. @param {string} [key] */
  tell(key = this.pointed) {
    this.pointed = key;
    const shape = this.shapes.get(key);
    write(this.said, shape ? `${shape.label}: ${this.facts(shape.box)}` : this.about);
  }

  /** @param {Box} box */
  facts(box) {
    if (this.isChart) return `${lasted(box.lasted ?? 0)}, from ${when(box.at ?? 0)}`;
    const share = this.total ? `${((box.width / this.total) * 100).toFixed(1)} %` : "";
    const own = box.own !== undefined && box.own !== box.width && box.look !== "all" ? `, ${amount(this.measure, box.own)} of its own` : "";
    const count = (box.count ?? 0) > 1 && box.look !== "all" ? `, ${grouped(box.count ?? 0)} frames` : "";
    return `${amount(this.measure, box.width)}, ${share}${own}${count}`;
  }

  /** @param {string} key */
  open(key) {
    const box = this.shapes.get(key)?.box;
    if (!box) return;
    this.focused = key;
    if (box.frame) this.chosen = box.frame;
    this.zoom = box.look === "all" ? "" : key;
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
      for (const group of groups) set(group, { tabindex: group === next ? 0 : -1 });
      next.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

/**
 * Names boxes so that each keeps its name while its amount and its place change.
 * @param {string} lane
 * @param {Box[]} boxes
 * @returns {Placed[]}
 */
function named(lane, boxes) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  return boxes.map((box) => {
    const name = `${lane} ${box.level} ${box.frame ?? box.look}`;
    const nth = seen.get(name) ?? 0;
    seen.set(name, nth + 1);
    return { key: `${name} ${nth}`, box };
  });
}

/** @param {Box} box */
function plain(box) {
  return `${sign(box.look)} ${box.title}`.trim();
}

/** @param {Box} box */
function label(box) {
  return plain(box) + (box.look === "folded" ? " (folded)" : "") + (box.claimed ? " (claimed)" : "") + (box.dropped ? " (text dropped)" : "");
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
