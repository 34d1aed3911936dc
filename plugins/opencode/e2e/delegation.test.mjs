// The depth of delegation: known from the tree of sessions, and vetoed with a reason where the user wants that.

import assert from "node:assert/strict"
import { test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

const task = (prompt) => ({
  calls: [{ name: "task", args: { description: prompt, prompt, subagent_type: "general" } }],
})
const work = (word) => ({ calls: [{ name: "bash", args: { command: `echo ${word}`, description: "Work" } }] })

/** A lab whose subagents may start others as far as OpenCode is concerned. */
const lab = (env, depth) =>
  Lab.start({
    env,
    config: { ...(depth && { subagent_depth: depth }), agent: { general: { permission: { task: "allow" } } } },
  })

/** Scripts a session whose subagent wants another one, and prompts it. */
async function delegate(lab) {
  const session = await lab.session({ title: "Shop" })
  lab.model.on("Build the shop", task("Build the till"), { text: "The shop is built" })
  lab.model.on("Build the till", work("till"), task("Build the drawer"), { text: "The till is built without help" })
  lab.model.on("Build the drawer", work("drawer"), { text: "The drawer is built" })
  await lab.prompt(session, "Build the shop")
  const [child] = await lab.api("GET", `/session/${session}/children`)
  return { session, child: child.id }
}

test("`deny` vetoes a delegation that is too deep, and the model reads why", async () => {
  const denying = await lab({ FLAME_DELEGATION_AT_LIMIT: "deny", FLAME_DELEGATION_MAX_DEPTH: "1" }, 4)
  try {
    const { session, child } = await delegate(denying)
    assert.deepEqual(await denying.api("GET", `/session/${child}/children`), [], "no session was made")
    const answer = JSON.stringify(denying.model.work(child).at(-1).messages)
    assert.match(answer, /This delegation was not made: it would be 2 deep \((\w+|opencode:\w+) > general > general\)/)
    assert.match(answer, /the limit is 1 \(`delegation\.max_depth`\)\. Do the work here/)
    assert.ok(denying.model.work(session).at(-1).says("The till is built without help"), "the subagent went on by itself")
    assert.equal(denying.model.work().filter((one) => one.userTexts.at(-1).includes("drawer")).length, 0)
    // A refused call is no failed one, and nothing of it is left open.
    const found = await denying.shown(child, "completed")
    assert.deepEqual([found.metrics.refusedCalls, found.metrics.failedCalls, found.metrics.delegations], [1, 0, 0])
    assert.deepEqual([found.level, found.leaf, found.ancestors], [2, true, [`opencode:${session}`]])
    assert.deepEqual(denying.model.problems, [])
  } finally {
    await denying.stop()
  }
})

test("`warn` lets it pass and shows the user the call stack of agents, once", async () => {
  const warning = await lab({ FLAME_DELEGATION_MAX_DEPTH: "1" }, 4)
  try {
    const { session, child } = await delegate(warning)
    const [grandchild] = await warning.api("GET", `/session/${child}/children`)
    assert.ok(warning.model.work(child).at(-1).says("The drawer is built"))
    const found = await warning.shown(grandchild.id, "completed")
    assert.deepEqual([found.level, found.depth, found.state], [3, 2, "completed"])
    assert.deepEqual(found.ancestors, [`opencode:${child}`, `opencode:${session}`])
    const toasts = warning.happened.filter(({ type }) => type === "tui.toast.show")
    const said = toasts.filter(({ properties }) => /Agents delegate 2 deep: .*general > general/.test(properties.message))
    assert.equal(said.length, 1, JSON.stringify(toasts))
    assert.ok(!warning.model.work().some((one) => one.says("delegation.max_depth")), "no model learns of it")
  } finally {
    await warning.stop()
  }
})

test("the limit that the user gave the host counts while ours is not set", async () => {
  const denying = await lab({ FLAME_DELEGATION_AT_LIMIT: "deny" }, 1)
  try {
    const { child } = await delegate(denying)
    assert.deepEqual(await denying.api("GET", `/session/${child}/children`), [])
    assert.match(JSON.stringify(denying.model.work(child).at(-1).messages), /the limit is 1/)
  } finally {
    await denying.stop()
  }
})
