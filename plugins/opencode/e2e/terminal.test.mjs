// OpenCode as a person uses it: installed by `flame init`, started in a terminal, typed into.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"
import { Terminal } from "./lab/terminal.mjs"

const ESCAPE = "\x1b"
const DOWN = "\x1b[B"

let lab
let terminal
// The Bun inside of OpenCode has pseudo-terminals, but not on Windows.
const skip = process.platform === "win32"
before(async () => {
  if (skip) return
  lab = await Lab.start({ plugin: false, seeded: false })
  await lab.halt()
  lab.flame(["init"])
  terminal = new Terminal(lab)
})
after(async () => {
  await terminal?.close()
  await lab?.stop()
})

const call = (name, args) => ({ calls: [{ name, args }] })
const goal = (title) => ({ title, successCriteria: `${title} works` })
const shows = (...texts) => terminal.until(texts.join(", "), (screen) => texts.every((text) => screen.includes(text)))
/** A dialog; the menu of commands shows the same title. */
const dialog = (title, ...texts) => {
  const opened = (screen) => new RegExp(`${title} +esc\\b`).test(screen) && texts.every((text) => screen.includes(text))
  return terminal.until(title, opened)
}
const closes = (title) => {
  terminal.press(ESCAPE)
  return terminal.until("the prompt", (screen) => !screen.includes(title))
}

test("/flame-status and /tree are there beside the tree in the sidebar, and no model is asked", { skip }, async () => {
  const children = Array.from({ length: 25 }, (_, index) => goal(`Step ${index + 1}.`))
  lab.model.on(
    "Build the shop",
    call("stack_frame_push", goal("Orders")),
    call("stack_frame_plan_children", { children }),
    { text: "All of it is planned." },
  )
  await shows("ctrl+p commands")
  await terminal.enter("Build the shop")
  await shows("All of it is planned.", "25 children, 0 of 25 done", "27 frames: 2 in progress, 25 planned")
  const asked = lab.model.requests.length

  await terminal.enter("/tree")
  const tree = await dialog("Flamestack: the tree", "Orders · 0/25 done  ◀ you are here", "Step 24.")
  assert.match(tree, /├─ ○ \w{8} {2}Step 1\. /)
  assert.doesNotMatch(tree, /✓ completed/, "what is longer than the dialog is below")
  for (let times = 0; times < 10; times += 1) terminal.press(DOWN)
  await shows("→ in progress  ○ planned  ! blocked  ✓ completed")
  await closes("Flamestack: the tree")

  await terminal.enter("/flame-status")
  const status = await dialog("Flamestack: status of this session", "next:")
  assert.doesNotMatch(status, /opencode:ses_/, "a user cannot use the id")
  await closes("Flamestack: status of this session")
  assert.equal(lab.model.requests.length, asked, "no model was asked")

  // A command of the plugin's other half goes to the model, and what came of it to the sidebar.
  lab.model.on("stack_frame_push for this piece of work", call("stack_frame_push", goal("The cart")), { text: "On it." })
  await terminal.enter("/push The cart")
  await shows("On it.", "The cart works")
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.model.strangers, [], "nothing was fetched to be installed")
})

test("/flame opens the live page, and the sidebar says what was spent and what folding saved", { skip }, async () => {
  lab.model.on(
    "Find the fault",
    { ...call("stack_frame_push", goal("The fault")), tokens: 2_000 },
    { ...call("bash", { command: "echo looked", description: "Look" }), tokens: 30_000 },
    { ...call("stack_frame_pop", { status: "completed", results: "It is in login.rs" }), tokens: 31_000 },
    { ...call("bash", { command: "echo fixed", description: "Fix" }), tokens: 4_000 },
    { text: "It is fixed.", tokens: 4_200 },
  )
  await terminal.enter("Find the fault")
  await shows("It is fixed.")
  await terminal.until("tokens and what folding saved", (screen) => /\d tokens, [\s\S]*tokens saved/.test(screen))

  // The project's folder has the same beginning, so the menu says when the keys have arrived.
  terminal.press("/flame")
  await shows("/flame          Flamestack: the live page")
  terminal.press("\r")
  const screen = await dialog("Flamestack: the live page", "http://127.0.0.1:", "flame tui")
  const address = new URL(/http:\/\/127\.0\.0\.1:\d+\/#[0-9a-f]{64}/.exec(screen)[0])
  const entered = await fetch(`${address.origin}/enter`, {
    method: "POST",
    headers: { origin: address.origin, "content-type": "application/json" },
    body: JSON.stringify({ token: address.hash.slice(1) }),
  })
  assert.equal(entered.status, 204)
  const cookie = entered.headers.get("set-cookie").split(";")[0]
  const read = await fetch(`${address.origin}/api/tree`, {
    method: "POST",
    headers: { origin: address.origin, cookie, "content-type": "application/json" },
    body: JSON.stringify({ open: [], closed: [], more: {} }),
  })
  assert.ok((await read.text()).includes("The fault"), "it is this project's page")
  await closes("Flamestack: the live page")
})
