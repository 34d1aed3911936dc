// Pieces of work in the real OpenCode, for tests of the heuristics of autonomy: real tools run on a small project,
// fail, change files and keep a to-do list. Only the model is scripted.

import { writeFileSync } from "node:fs"
import { join } from "node:path"

const call = (name, args) => ({ calls: [{ name, args }] })
const bash = (command) => call("bash", { command, description: "Work" })
const CHECK = "node --test --test-reporter=tap price.test.mjs"
const check = bash(CHECK)
const look = (n) => bash(["ls", "git status --short", "cat price.mjs", "grep -n price price.mjs", "git log --oneline"][n % 5])
const looks = (count) => Array.from({ length: count }, (_, n) => look(n))
const write = (lab, file, content) => call("write", { filePath: join(lab.project, file), content })
const todos = (...states) =>
  call("todowrite", { todos: states.map((status, n) => ({ content: `Part ${n + 1} of the price list`, status, priority: "medium" })) })

const PRICE = "export const price = (cents) => `${cents / 100} euros`\n"
const MENDED = "export const price = (cents) => `${(cents / 100).toFixed(2)} euros`\n"
const TEST = `import assert from "node:assert/strict"
import test from "node:test"
import { price } from "./price.mjs"
test("a price has two digits", () => assert.equal(price(1250), "12.50 euros"))
`

/** Gives a project a test that fails. */
export function prepare(lab) {
  writeFileSync(join(lab.project, "price.mjs"), PRICE)
  writeFileSync(join(lab.project, "price.test.mjs"), TEST)
}

/** Prompts a session and lets the model do this, one request after the other. */
async function turn(lab, session, words, ...replies) {
  lab.model.on(words, ...replies, { text: "That is all." })
  await lab.prompt(session, words)
}

const FIX = "Fix the price in price.mjs so that it has two digits"

/** Each stream is what one session did. */
export const WORK = {
  async "a short question"(lab, session) {
    await turn(lab, session, "What does this project do?", look(0))
  },
  async "the same failure again"(lab, session) {
    await turn(lab, session, FIX, check, look(2), check, look(3), check, check)
  },
  async "a failure that is fixed"(lab, session) {
    await turn(lab, session, FIX, check, check, write(lab, "price.mjs", MENDED), check)
  },
  async "a provider that is busy"(lab, session) {
    const busy = bash("echo 'error: 503 Service Unavailable' >&2; exit 1")
    await turn(lab, session, "Fetch the exchange rates", busy, busy, busy, busy)
  },
  async "steps without effect"(lab, session) {
    await turn(lab, session, FIX, check, ...looks(12), check)
  },
  async "steps until an edit"(lab, session) {
    await turn(lab, session, FIX, check, ...looks(12), write(lab, "price.mjs", MENDED))
  },
  async "steps that wait"(lab, session) {
    await turn(lab, session, "Wait for the build", ...Array.from({ length: 14 }, () => bash("sleep 0.05")))
  },
  async "another topic"(lab, session) {
    await turn(lab, session, FIX, check, look(2))
    await turn(lab, session, "Translate the landing page into Portuguese and choose a warmer header font for visitors on phones")
  },
  async "the same topic"(lab, session) {
    await turn(lab, session, FIX, check, look(2))
    await turn(lab, session, "Fix the two digits of the price in price.mjs now")
  },
  async "a list of tasks"(lab, session) {
    await turn(lab, session, "Please do these:\n- add a currency to the price\n- round half cents up\n- print the tax on its own line\n- document all of it")
  },
  async "an item of a plan is begun"(lab, session) {
    await turn(lab, session, "Make the price list", todos("in_progress", "pending", "pending"), look(2))
  },
  async "a plan is done"(lab, session) {
    const all = ["completed", "completed", "completed"]
    await turn(lab, session, "Make the price list", todos("in_progress", "pending", "pending"), write(lab, "list.txt", "12.50\n"), todos(...all))
  },
  async "an edit without a check"(lab, session) {
    await turn(lab, session, FIX, check, write(lab, "price.mjs", MENDED))
  },
  async "a full window"(lab, session) {
    lab.model.on(FIX, { ...look(0), tokens: 60_000 }, { text: "That is all.", tokens: 188_000 })
    await lab.prompt(session, FIX)
  },
  async "a window with room"(lab, session) {
    lab.model.on(FIX, { ...look(0), tokens: 20_000 }, { text: "That is all.", tokens: 40_000 })
    await lab.prompt(session, FIX)
  },
}
