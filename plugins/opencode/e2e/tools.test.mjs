// All tools, as the profile `full` offers them: what the core of them does not show elsewhere.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start({ env: { FLAME_TOOLS: "full" } })))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const task = (prompt) => call("task", { description: prompt, prompt, subagent_type: "general" })
const ours = (request) => request.tools.filter((tool) => tool.name.startsWith("stack_"))
/** Returns the answer of the last tool in a request. */
const answer = (request) => request.messages.findLast((one) => one.role === "tool").content

test("every tool is offered with its whole schema", async () => {
  const session = await lab.session({ title: "Tools" })
  lab.model.on("What is there?", { text: "All of it." })
  await lab.prompt(session, "What is there?")
  const listed = JSON.parse(lab.flame(["tool", "--list", "--json"]))
  const offered = ours(lab.model.work(session).at(-1))
  assert.deepEqual(offered.map((tool) => tool.name), listed.map((tool) => tool.name).sort())
  for (const { name, parameters } of offered) {
    const { properties, required } = JSON.parse(lab.flame(["tool", name, "--schema"]))
    assert.deepEqual([parameters.properties, parameters.required ?? []], [properties, required ?? []], name)
  }
})

test("how subagents are tracked is changed by a model, and counts at once", async () => {
  const session = await lab.session({ title: "Tracking" })
  lab.model.on(
    "Track them all",
    task("Say one word"),
    call("stack_config", { minMessageCount: 1 }),
    task("Say another word"),
    { text: "Tracked." },
  )
  lab.model.on("Say one word", { text: "One" })
  lab.model.on("Say another word", { text: "Another" })
  await lab.prompt(session, "Track them all")
  assert.match(answer(lab.model.work(session)[2]), /^subagents\.min_messages = 1 {2}\/.*config\.toml$/m)
  const { subagents } = JSON.parse(lab.flame(["status", "--json"])).sessions.find((one) => one.session === `opencode:${session}`)
  const framed = Object.fromEntries(subagents.map((one) => [one.goal, one.frame !== null]))
  assert.deepEqual(framed, { "Say one word": false, "Say another word": true })
})

test("a subagent reports its result, and its parent receives it", async () => {
  const session = await lab.session({ title: "Ends" })
  lab.model.on("Have it looked at", task("Look at the roof"), call("stack_subagent_list", {}), { text: "Looked at." })
  lab.model.on(
    "Look at the roof",
    call("stack_subagent_complete", { status: "completed", summary: "Two tiles are loose" }),
    { text: "I am done here." },
  )
  await lab.prompt(session, "Have it looked at")
  const [child] = await lab.api("GET", `/session/${session}/children`)
  assert.match(answer(lab.model.work(child.id)[1]), /^opencode:ses_\w+ {2}done {2}Look at the roof/)
  assert.match(answer(lab.model.work(session)[2]), /^opencode:ses_\w+ {2}done {2}Look at the roof/)
  assert.match(lab.flame(["show", `opencode:${child.id}`]), /Two tiles are loose/)
  assert.match(lab.flame(["context", "--session", `opencode:${session}`]), /Two tiles are loose/)
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})
