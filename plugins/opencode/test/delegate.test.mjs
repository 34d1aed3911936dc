// Frames that are sessions of their own.

import assert from "node:assert/strict"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import { Sidecar } from "../dist/sidecar.js"
import { toolMap } from "../dist/tools.js"

const double = fileURLToPath(new URL("../e2e/lab/double.mjs", import.meta.url))
const hello = { protocol: 1, host: "test", hostVersion: null, directory: "/", shimVersion: null }
const sidecar = new Sidecar({ command: [process.execPath, double, "well"], hello, deadline: 10_000, lost: () => {} })
after(() => sidecar.close())

function host(prompt) {
  const asked = {}
  const keep = (name, answer) => async (input) => {
    asked[name] = input
    return { data: await answer(input) }
  }
  const permission = [{ permission: "bash", pattern: "*", action: "deny" }]
  const session = {
    get: keep("get", () => ({ id: "ses_1", permission })),
    create: keep("create", () => ({ id: "ses_child" })),
    abort: keep("abort", () => true),
    prompt: keep("prompt", prompt),
  }
  const { delegates } = toolMap([{ name: "delegates", description: "", schema: {} }], { session }, sidecar)
  return { asked, delegates, permission }
}
const context = (abort = new AbortController()) => ({
  sessionID: "ses_1",
  messageID: "msg_1",
  agent: "build",
  abort: abort.signal,
  extra: { model: { providerID: "p", id: "m" } },
})

test("a child session is made, prompted and its last words returned", async () => {
  const { asked, delegates, permission } = host(() => ({ info: {}, parts: [{ type: "text", text: "It works" }] }))
  const { output } = await delegates.execute({}, context())
  assert.equal(output, "ses_child returned true: It works")
  const { body } = asked.create
  assert.deepEqual(body, { parentID: "ses_1", title: "Child", metadata: { flamestack: { frame: "f1" } }, permission })
  assert.deepEqual(asked.prompt.body.model, { providerID: "p", modelID: "m" })
  assert.deepEqual(asked.prompt.body.parts, [{ type: "text", text: "Do it" }])
})

test("stopping the parent stops the child", async () => {
  const abort = new AbortController()
  const { asked, delegates } = host(() => {
    abort.abort()
    return { info: { error: { name: "MessageAbortedError" } }, parts: [] }
  })
  const { output } = await delegates.execute({}, context(abort))
  assert.deepEqual(asked.abort, { path: { id: "ses_child" } })
  assert.equal(output, "ses_child was stopped")
})

test("the error of a child is reported", async () => {
  const error = { name: "APIError", data: { message: "no credit" } }
  const failed = host(() => ({ info: { error }, parts: [{ type: "text", text: "I begin" }] }))
  assert.equal((await failed.delegates.execute({}, context())).output, "ses_child returned false: APIError: no credit")
  const broken = host(() => {
    throw new Error("no connection")
  })
  assert.equal((await broken.delegates.execute({}, context())).output, "ses_child returned false: Error: no connection")
})
