// The keys.

import { byId, el } from "./dom.js";

/** @type {[string, string][]} */
const KEYS = [
  ["?", "this help"], ["/", "search"], ["1  2  3", "tree, flame graph, sessions"],
  ["↑ ↓ or k j", "the frame above or below"], ["← → or h l", "close or open a branch"], ["Enter", "show the frame; again: open or close it"],
  ["a", "activate the frame"], ["f", "finish it"], ["p", "plan below it"], ["n", "note"], ["d", "directive"], ["x", "give it up"],
  ["u", "undo your last command"], ["b", "copy the resume brief"], ["g", "flame graph of the frame"], ["Esc", "show all; close a dialog"],
];

export function help() {
  const dialog = /** @type {HTMLDialogElement} */ (byId("dialog"));
  dialog.replaceChildren(el("form", { method: "dialog" }, el("h2", { id: "dialog-title" }, "Keys"),
    el("dl", { class: "keys" }, ...KEYS.flatMap(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])),
    el("p", { class: "quiet" }, "Everything here is also a command: see ", el("code", {}, "flame --help"), ". What you do here is recorded as yours."),
    el("p", { class: "buttons" }, el("button", { class: "main", onclick: (event) => { event.preventDefault(); dialog.close(); } }, "Close"))));
  dialog.showModal();
}
