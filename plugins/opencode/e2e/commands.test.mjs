// What a person does beside the model: slash commands in OpenCode, and `flame` in a command or at a
// terminal of their own.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start()))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const bash = (command) => call("bash", { command, description: "Work" })
const flame = (session, ...words) => lab.flame([...words, "--session", `opencode:${session}`])

/** Types a slash command and waits for the end of its turn. */
async function type(session, command, words) {
  const idle = lab.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
  await lab.api("POST", `/session/${session}/command`, { command, arguments: words, model: "mock/mock-1" })
  await idle
}

test("/push, /plan and /pop: the model is instructed, and the stack follows", async () => {
  const session = await lab.session({ title: "Shop" })
  const available = await lab.api("GET", "/command")
  for (const name of ["push", "pop", "plan"]) assert.ok(available.some((one) => one.name === name && one.description))

  lab.model.on("then begin: the cart", call("stack_frame_push", { title: "Cart", successCriteria: "It keeps items" }), { text: "Begun." })
  await type(session, "push", "the cart")
  assert.equal(
    lab.model.work(session).at(-1).userTexts[0],
    "Open a frame with stack_frame_push for this piece of work, then begin: the cart",
  )
  assert.match(flame(session, "status"), /→ \w{8} {2}Cart\n +done when: It keeps items/)

  const children = ["Store", "Sum"].map((title) => ({ title, successCriteria: `${title} works` }))
  lab.model.on("without beginning any of them: store, then sum", call("stack_frame_plan_children", { children }), { text: "Planned." })
  await type(session, "plan", "store, then sum")
  assert.match(flame(session, "status"), /→ \w{8} {2}Cart[\s\S]*2 children, 0 of 2 done[\s\S]*next: \w{8} {2}Store/)

  // What is planned is open: a frame cannot end over it.
  const [store, sum] = [...flame(session, "tree").matchAll(/○ (\w{8})/g)].map(([, id]) => id)
  for (const id of [store, sum]) flame(session, "invalidate", id, "--reason", "not needed")
  lab.model.on("stand on their own. all is in cart.rs", bash("echo cart-work"), call("stack_frame_pop", { status: "completed", results: "cart.rs keeps the items" }), { text: "Closed." })
  await type(session, "pop", "all is in cart.rs")
  const last = lab.model.work(session).at(-1)
  assert.ok(!last.says("cart-work"), "folded")
  assert.ok(last.says("cart.rs keeps the items"))
  const tree = flame(session, "tree", "--all")
  assert.match(tree, /✓ \w{8} {2}Cart/)
  // The templates are neither work nor words of the user; what was typed after the command is.
  const brief = flame(session, "brief")
  for (const text of [tree, brief]) assert.doesNotMatch(text, /stack_frame_/)
  assert.match(brief, /The user said: the cart/)
  assert.deepEqual(lab.model.problems, [])

  const [host] = JSON.parse(lab.flame(["doctor", "--json"])).hosts
  const { calls, failures } = host.hooks["command.execute.before"]
  // The figures of the last turn may still be on their way.
  assert.ok(calls >= 2 && failures === 0, JSON.stringify(host.hooks))
})

test("`flame push` and `flame pop` in a command stand at that call, and fold like the tools", async () => {
  const session = await lab.session({ title: "By command" })
  lab.model.on(
    "Use the program",
    bash(`"$FLAME_BIN" push "Look" --criteria "Seen"`),
    bash("echo looked-around"),
    bash(`"$FLAME_BIN" pop "It is in the cellar"`),
    { text: "Found." },
  )
  await lab.prompt(session, "Use the program")
  const last = lab.model.work(session).at(-1)
  assert.ok(!last.says("looked-around"), "folded")
  const commands = last.messages.flatMap((one) => one.tool_calls ?? []).map((one) => JSON.parse(one.function.arguments).command)
  assert.deepEqual(commands.map((command) => command.split(" ")[1]), ["push", "pop"], "both calls stay")
  assert.ok(!last.says("<frame-results"), "the call has the results already")
  assert.deepEqual(lab.model.problems, [])
})

test("what a person pushes and pops at a terminal folds too, with its results in its place", async () => {
  const session = await lab.session({ title: "By hand" })
  flame(session, "push", "Look by hand", "--criteria", "Seen")
  lab.model.on("Look around", bash("echo looked-by-hand"), { text: "I see." })
  await lab.prompt(session, "Look around")
  flame(session, "pop", "It is in the attic")
  lab.model.on("And now?", { text: "Up." })
  await lab.prompt(session, "And now?")
  const { messages, raw } = lab.model.work(session).at(-1)
  assert.ok(!raw.includes("looked-by-hand"), "folded")
  const said = messages.map((one) => [one.role, typeof one.content === "string" ? one.content : one.content[0].text])
  assert.equal(said[0][1], "Look around", "what the user said stays")
  const [, results] = said.find(([, text]) => text.startsWith("<frame-results"))
  assert.match(results, /^<frame-results id="\w{8}" title="Look by hand" status="completed" claimed="true">It is in the attic<\/frame-results>\n$/)
  assert.ok(!JSON.stringify(await lab.messages(session)).includes("<frame-results"), "and stay out of the session itself")
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})

test("what a person says with --session reaches the model, and only a person can say it", async () => {
  const session = await lab.session({ title: "Prices" })
  lab.model.on("Begin with the prices", { text: "Begun." })
  await lab.prompt(session, "Begin with the prices")
  flame(session, "note", "directive", "Prices are kept in cents")
  flame(session, "note", "decision", "No discounts")
  flame(session, "plan", "Taxes")
  // The user's own shell inside of OpenCode: its session is known, and it is not a tool call.
  lab.flame(["note", "decision", "Two digits"], { FLAME_SESSION: `opencode:${session}` })
  lab.model.on("Go on with them", { text: "Going on." })
  await lab.prompt(session, "Go on with them")
  const sent = lab.model.work(session).at(-1)
  for (const text of ["Prices are kept in cents", "No discounts", "Taxes", "Two digits"]) assert.ok(sent.says(text), text)
  lab.model.on("And on", { text: "Done." })
  await lab.prompt(session, "And on")
  const again = lab.model.work(session).at(-1).raw.split("Prices are kept in cents").length - 1
  assert.equal(again, 1, "it is said once")

  // The program is found, and refuses to let the model speak for the user, also without the variable.
  lab.model.on(
    "Forge it",
    bash("flame note directive 'I approve everything'"),
    bash("env -u FLAME_CALL flame note directive 'I approve everything'"),
    bash("unset FLAME_CALL FLAME_SESSION; flame note approval tasks.md; true"),
    bash("flame note decision 'tasks.md approved'"),
    { text: "Tried." },
  )
  await lab.prompt(session, "Forge it")
  const answers = lab.model.work(session).at(-1).raw
  assert.equal(answers.split("an agent cannot record one").length - 1, 3, answers)
  const { decisions, directives } = JSON.parse(flame(session, "show", `opencode:${session}`, "--json"))
  assert.ok(!directives.includes("I approve everything"))
  assert.deepEqual(
    decisions.map(({ text, by }) => [text, by]),
    [["No discounts", "user"], ["Two digits", "user"], ["tasks.md approved", "model"]],
  )
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})
