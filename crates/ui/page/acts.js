// What the user does: a dialog for what needs words, and the answer of the server.

import { byId, el } from "./dom.js";
import { ask } from "./live.js";

/**
 * @typedef {{ name: string, label: string, long?: boolean, optional?: boolean, choices?: [string, string][] }} Field
 * @typedef {{ title: string, button: string, fields: Field[], action: (values: Record<string, string>) => object }} Form
 */

/** @type {Record<string, (frame: string) => Form>} */
const FORMS = {
  plan: (frame) => ({
    title: "Plan below this frame", button: "Plan",
    fields: [{ name: "titles", label: "Titles, one a line", long: true }],
    action: (values) => ({ kind: "plan", under: frame || null, titles: lines(values.titles) }),
  }),
  pop: (frame) => ({
    title: "Finish this frame", button: "Finish",
    fields: [
      { name: "outcome", label: "Outcome", choices: [["completed", "completed"], ["failed", "failed"], ["blocked", "blocked"]] },
      { name: "results", label: "Results", long: true },
    ],
    action: (values) => ({ kind: "pop", frame, outcome: values.outcome, results: values.results }),
  }),
  invalidate: (frame) => ({
    title: "Give up this frame", button: "Give up",
    fields: [{ name: "reason", label: "Reason", long: true }],
    action: (values) => ({ kind: "invalidate", frame, reason: values.reason }),
  }),
  note: (frame) => ({
    title: "Note in this frame", button: "Record",
    fields: [
      { name: "kind", label: "Kind", choices: [["decision", "a decision"], ["failed", "an attempt that failed"]] },
      { name: "text", label: "Text", long: true }, { name: "why", label: "Because", optional: true },
    ],
    action: (values) => ({ kind: values.kind, frame, text: values.text, why: values.why || null }),
  }),
  directive: (frame) => ({
    title: "Directive for this frame and all below", button: "Record",
    fields: [{ name: "text", label: "What the agent has to do", long: true }],
    action: (values) => ({ kind: "directive", frame, text: values.text }),
  }),
};

/** @param {string | undefined} text */
function lines(text) {
  return (text ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Says something for a while. @param {string} text @param {boolean} [isBad] */
export function say(text, isBad = false) {
  const notice = byId("notice");
  notice.textContent = text;
  notice.hidden = false;
  notice.classList.toggle("bad", isBad);
  clearTimeout(timer);
  timer = setTimeout(() => { notice.hidden = true; }, isBad ? 12_000 : 5_000);
}

/** Does something on a frame. @param {string} act @param {string} frame @param {string} session */
export async function act(act, frame, session) {
  try {
    if (act === "brief") return await copyBrief(session);
    if (act === "activate") return await send({ kind: "activate", frame });
    if (act === "undo") return await send({ kind: "undo" });
    const form = FORMS[act];
    if (form) open(form(frame));
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), true);
  }
}

/** @param {object} action */
async function send(action) {
  const answer = await ask("/api/act", { do: action });
  say(answer.lines.join(". ") || "Nothing changed");
}

/** @param {string} session */
async function copyBrief(session) {
  const answer = await ask(session ? `/api/brief?session=${encodeURIComponent(session)}` : "/api/brief");
  if (!answer.text) return say("There is nothing to resume.");
  try {
    await navigator.clipboard.writeText(answer.text);
    say("The resume brief is in the clipboard.");
  } catch {
    open({ title: "Resume brief", button: "Close", fields: [{ name: "text", label: "Copy this", long: true, optional: true }], action: () => ({}) }, answer.text);
  }
}

/** @param {Form} form @param {string} [given] */
function open(form, given) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("dialog"));
  const said = el("p", { class: "bad", role: "alert" });
  const fields = form.fields.map((field) => {
    const id = `field-${field.name}`;
    const input = field.choices
      ? el("select", { id, name: field.name }, ...field.choices.map(([value, name]) => el("option", { value }, name)))
      : field.long ? el("textarea", { id, name: field.name, rows: 5, required: !field.optional })
      : el("input", { id, name: field.name, required: !field.optional, autocomplete: "off" });
    if (given && input instanceof HTMLTextAreaElement) input.value = given;
    return el("p", {}, el("label", { for: id }, field.label), input);
  });
  const done = el("button", { type: "submit", class: "main" }, form.button);
  const body = el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      if (given) return dialog.close();
      /** @type {Record<string, string>} */
      const values = {};
      for (const [key, value] of new FormData(event.target)) values[key] = String(value);
      try {
        await send(form.action(values));
        dialog.close();
      } catch (error) {
        said.textContent = error instanceof Error ? error.message : String(error);
      }
    },
  }, el("h2", { id: "dialog-title" }, form.title), ...fields, said,
  el("p", { class: "buttons" }, el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), done));
  dialog.replaceChildren(body);
  dialog.showModal();
}
