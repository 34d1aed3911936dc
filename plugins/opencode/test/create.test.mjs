import assert from "node:assert/strict"
import { test } from "node:test"
import { wanted } from "../dist/create.js"
import { Resumer } from "../dist/resume.js"

test("the words after the command are a purpose and two options", () => {
  assert.deepEqual(wanted("Write the docs"), { purpose: "Write the docs" })
  assert.deepEqual(wanted('Write --agent plan the docs --phase="code review"'), {
    purpose: "Write the docs",
    agent: "plan",
    phase: "code review",
  })
  assert.equal(wanted("--agent plan").purpose, "")
})

const settled = () => new Promise((resolve) => setTimeout(resolve, 5))

test("sessions are continued once per start, with their agent and model", async () => {
  const prompts = []
  const client = { session: { promptAsync: async (prompt) => void prompts.push(prompt) } }
  const sessions = [{ session: "s", prompt: "Go on", agent: "build", model: "a/b/c" }]
  const resumer = new Resumer(client, { ask: async () => ({ sessions }) }, () => {})
  resumer.begin(["flamestack-opencode"])
  resumer.begin([])
  await settled()
  assert.deepEqual(prompts, [
    {
      path: { id: "s" },
      body: { agent: "build", model: { providerID: "a", modelID: "b/c" }, parts: [{ type: "text", text: "Go on" }] },
    },
  ])
})

test("beside another plugin that resumes, nothing is asked", async () => {
  let asked = 0
  const sidecar = { ask: async () => ((asked += 1), { sessions: [] }) }
  for (const plugin of ["opencode-auto-resume@1", ["oh-my-opencode", {}], "file:///x/oh-my-openagent/index.js"]) {
    new Resumer({}, sidecar, () => {}).begin([plugin])
  }
  await settled()
  assert.equal(asked, 0)
})
