// OpenCode 2, by the shapes that were recorded from a running server.

import assert from "node:assert/strict"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import plugin from "../dist/index.js"

const double = fileURLToPath(new URL("../e2e/lab/double.mjs", import.meta.url))
const cleanups = []
after(() => cleanups.forEach((cleanup) => cleanup()))

function start(more = {}) {
  const hooks = {}
  const tools = []
  const cleanup = plugin.setup({
    options: { command: [process.execPath, double, "well"], deadline: 10_000 },
    location: { directory: "/p" },
    session: { hook: (name, run) => (hooks[name] = run) },
    tool: { transform: (run) => run({ add: (tool) => tools.push(tool) }) },
    ...more,
  })
  cleanups.push(cleanup)
  return { hooks, tools }
}

const messages = () => [
  { id: "msg_1", role: "user", content: [{ type: "text", text: "EXECCM go" }], metadata: { frame: "f1" } },
  { id: "msg_2", role: "assistant", content: [{ type: "tool-call", id: "call_7_0", name: "read", input: { path: "README.md" }, providerExecuted: false }] },
  { role: "tool", content: [{ type: "tool-result", id: "call_7_0", name: "read", result: { type: "text", value: "..." }, providerExecuted: false }] },
]

test("a context is prepared like any other", async () => {
  const { hooks } = start()
  const event = { sessionID: "ses_1", agent: "build", model: { id: "m", providerID: "p" }, system: [{ type: "text", text: "You are" }], messages: messages() }
  await hooks.context(event)
  assert.equal(event.system.length, 2)
  assert.deepEqual(JSON.parse(event.system[1].text), { known: 0, sent: 2 })
  assert.deepEqual(event.messages, messages())
})

test("a dropped call takes its result along", async () => {
  const { hooks } = start()
  const [first, call, result] = messages()
  const event = { sessionID: "ses_2", system: [], messages: [first, { ...call, id: "drop_2" }, result] }
  await hooks.context(event)
  assert.deepEqual(event.messages, [first])
})

test("a prompt gets its words, a summariser its instructions", async () => {
  const { hooks } = start()
  const prompt = { sessionID: "ses_1", messageID: "msg_1", prompt: { text: "Fix it" } }
  await hooks.prompt(prompt)
  assert.equal(prompt.prompt.text, "Fix it\n\n<stack-update>Fix it</stack-update>")
  const compaction = { sessionID: "ses_1", system: [], messages: messages() }
  await hooks.compaction(compaction)
  assert.deepEqual(compaction.system, [{ type: "text", text: "Keep the goal" }])
})

test("tools are called in their session", async () => {
  const { tools } = start()
  const push = tools.find((tool) => tool.name === "stack_frame_push")
  assert.deepEqual(push.options, { codemode: false })
  const answer = await push.execute({}, { sessionID: "ses_1", messageID: "msg_2" })
  assert.equal(answer.content, "called stack_frame_push in msg_2")
})

test("OpenCode 1.18 calls `setup` as well, with less to work on: nothing happens", () => {
  assert.equal(typeof plugin.setup({ options: {} }), "function")
})
