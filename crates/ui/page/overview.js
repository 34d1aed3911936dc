// What is shown beside the views before anything is chosen: what is in progress, or how to begin.

import { el } from "./dom.js";
import { sign } from "./words.js";

/** @typedef {import("./types.d.ts").Rows} Rows */

/** @type {[string, string][]} */
const BEGINNINGS = [
  ["flame init", "records what your agent does in this folder"], ["flame push TITLE", "starts a frame yourself"],
  ["flame import FILE", "reads sessions that were recorded elsewhere"],
];

/** @param {Rows} rows @param {(id: string) => void} onGo @returns {Node[]} */
export function overview(rows, onGo) {
  if (!rows.ready && !rows.frames) return [];
  if (!rows.frames) {
    return [el("h2", {}, "Nothing is recorded yet"), el("p", { class: "quiet" }, "The work appears here as it happens."),
      el("dl", { class: "beginnings" }, ...BEGINNINGS.flatMap(([command, does]) => [el("dt", {}, el("code", {}, command)), el("dd", {}, does)]))];
  }
  const active = rows.rows.filter((row) => row.activeIn.length && !row.hidden);
  return [
    el("h2", {}, active.length ? "In progress" : "Nothing is in progress"),
    active.length ? el("ul", { class: "now" }, ...active.map((row) => el("li", {},
      el("button", { type: "button", class: "link", onclick: () => onGo(row.id) }, `${sign(row.status)} ${row.title}`),
      el("span", { class: "quiet" }, row.activeIn.join(", "))))) : null,
    el("p", { class: "quiet" }, "Choose a frame to see its goal, results and log, and what the model was sent."),
  ].filter((node) => node !== null);
}
