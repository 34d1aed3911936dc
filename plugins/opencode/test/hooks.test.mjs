import assert from "node:assert/strict"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import plugin from "../dist/index.js"

const double = fileURLToPath(new URL("../e2e/lab/double.mjs", import.meta.url))
const disposals = []
after(() => Promise.all(disposals.map((dispose) => dispose())))

/** The plugin with a client that keeps what it was asked. */
async function start(mode = "well", options = {}) {
  const asked = []
  const method = (name, answer) => async (input) => {
    asked.push([name, input])
    return { data: answer?.(input) }
  }
  const client = {
    app: { log: method("log") },
    session: {
      get: method("get", () => ({ id: "ses_1", title: "Parent", directory: "/p", permission: [{ permission: "bash", pattern: "*", action: "deny" }] })),
      create: method("create", () => ({ id: "ses_child" })),
      update: method("update"),
      abort: method("abort"),
      prompt: method("prompt", () => ({ info: {}, parts: [{ type: "text", text: "The child's last words" }] })),
    },
  }
  const command = mode === "missing" ? "/nowhere/flame" : [process.execPath, double, mode]
  const hooks = await plugin.server({ client, directory: process.cwd() }, { deadline: 10_000, command, ...options })
  disposals.push(hooks.dispose)
  return { hooks, asked }
}

const model = { id: "m", providerID: "p", api: { npm: "@ai-sdk/anthropic" }, limit: { context: 1000 } }
const user = (id, text) => ({
  info: { id, sessionID: "ses_1", role: "user", time: { created: 1 }, agent: "build", model: { providerID: "p", modelID: "m" } },
  parts: [{ id: `prt_${id}`, messageID: id, sessionID: "ses_1", type: "text", text }],
})

test("an update is appended to a user's message as a part of its own, after the others", async () => {
  const { hooks } = await start()
  const { info, parts } = user("msg_1", "Fix it")
  await hooks["chat.message"]({ sessionID: "ses_1" }, { message: info, parts })
  assert.deepEqual(parts.map((part) => part.text), ["Fix it", "<stack-update>Fix it</stack-update>"])
  assert.ok(parts[1].synthetic && parts[1].id > parts[0].id)
})

test("the header goes to the agent's calls only", async () => {
  const { hooks } = await start()
  await hooks["experimental.chat.messages.transform"]({}, { messages: [user("msg_1", "Fix it")] })
  const system = async (first, sessionID) => {
    const output = { system: [first] }
    await hooks["experimental.chat.system.transform"]({ sessionID, model }, output)
    return output.system.length
  }
  assert.equal(await system("You are opencode", "ses_1"), 2)
  assert.equal(await system("You are a title generator. You output", "ses_1"), 1)
  assert.equal(await system("You are a context summarization agent", "ses_1"), 1)
  assert.equal(await system("You are opencode", "ses_other"), 1, "another session has its own")
  assert.equal(await system("Generate an agent", undefined), 1, "and what has no session gets nothing")
})

test("a title agent with a prompt of the user's own is known by it", async () => {
  const { hooks } = await start()
  await hooks.config({ agent: { title: { prompt: "Name this talk" } } })
  await hooks["experimental.chat.messages.transform"]({}, { messages: [user("msg_1", "Fix it")] })
  const output = { system: ["Name this talk in three words"] }
  await hooks["experimental.chat.system.transform"]({ sessionID: "ses_1", model }, output)
  assert.equal(output.system.length, 1)
})

test("commands are added, and the user's own of that name stay", async () => {
  const { hooks } = await start()
  const config = { command: { pop: { template: "mine" } } }
  await hooks.config(config)
  assert.deepEqual(Object.keys(config.command).sort(), ["plan", "pop", "push", "session-new"])
  assert.equal(config.command.pop.template, "mine")
})

test("a session that was there before the plugin is asked about when a command is typed in it", async () => {
  const { hooks, asked } = await start()
  const output = { parts: [{ type: "text", text: "Close the active frame" }] }
  const before = structuredClone(output)
  await hooks["command.execute.before"]({ command: "pop", sessionID: "ses_1", arguments: "" }, output)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(asked.map(([name]) => name), ["get", "update"], "described, and linked to itself")
  assert.deepEqual(asked[1][1].body, { metadata: { flamestack: { session: "ses_1" } } })
  assert.deepEqual(output, before, "what the command says is the host's")
})

test("tools by profile, with their whole schema", async () => {
  const { hooks } = await start("missing")
  assert.ok(hooks.tool.stack_frame_push)
  assert.equal(hooks.tool.stack_get_state, undefined)
  const output = { description: "", parameters: {} }
  await hooks["tool.definition"]({ toolID: "stack_frame_push" }, output)
  assert.deepEqual(output.jsonSchema.required, ["title", "successCriteria"])
  const full = await start("missing", { tools: "full" })
  assert.ok(Object.keys(full.hooks.tool).length > Object.keys(hooks.tool).length)
  const off = await start("missing", { tools: "off" })
  assert.deepEqual(off.hooks.tool, {})
})

test("while a summary is made its instructions are added and its text may be rewritten", async () => {
  const { hooks } = await start()
  const written = async () => {
    const output = { text: "words" }
    await hooks["experimental.text.complete"]({ sessionID: "ses_1", messageID: "msg_2", partID: "prt" }, output)
    return output.text
  }
  assert.equal(await written(), "words")
  const output = { context: [] }
  await hooks["experimental.session.compacting"]({ sessionID: "ses_1" }, output)
  assert.deepEqual(output, { context: ["Keep the goal"] })
  assert.equal(await written(), "words, rewritten")
  await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "ses_1" } } })
  assert.equal(await written(), "words")
})

test("without a sidecar every hook returns, and leaves everything as it was", async () => {
  const { hooks, asked } = await start("missing")
  const messages = [user("msg_1", "Fix it")]
  const before = structuredClone(messages)
  await hooks["chat.message"]({ sessionID: "ses_1" }, { message: messages[0].info, parts: messages[0].parts })
  await hooks["experimental.chat.messages.transform"]({}, { messages })
  await hooks["experimental.session.compacting"]({ sessionID: "ses_1" }, { context: [] })
  assert.deepEqual(messages, before)
  const context = { sessionID: "ses_1", messageID: "msg_2", agent: "build", abort: new AbortController().signal }
  assert.match((await hooks.tool.stack_status.execute({}, context)).output, /did not answer/)
  assert.equal(asked.filter(([name]) => name === "log").length, 1, "one line in the log")
})

test("hooks take nonsense", async () => {
  const { hooks } = await start()
  for (const [name, hook] of Object.entries(hooks)) {
    if (typeof hook !== "function" || name === "dispose") continue
    await hook(undefined, undefined)
    await hook({}, {})
    await hook({ event: { type: "session.created", properties: {} } }, { messages: [null], system: [], parts: null })
  }
})

test("the shell knows its session and its call", async () => {
  const { hooks } = await start()
  const env = {}
  await hooks["shell.env"]({ cwd: "/p", sessionID: "ses_1", callID: "call_1" }, { env })
  assert.deepEqual(env, { FLAME_SESSION: "opencode:ses_1", FLAME_CALL: "call_1" })
})
