// The states of a session, reached by real actions and recorded with their causes: S1 to S5.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start({ config: { permission: { bash: "ask" } } })))
after(() => lab.stop())

const bash = (command) => ({ calls: [{ name: "bash", args: { command, description: "Work" } }] })

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const path = ({ stateHistory }) => stateHistory.map(({ to }) => to)

/** Each status says since when and why, and each change names its cause. */
function complete(found) {
  assert.ok(found.why && found.since, JSON.stringify(found))
  for (const { to, at, cause } of found.stateHistory) assert.ok(to && at && cause, JSON.stringify(found.stateHistory))
}

test("S1 beginning, executing and S3 between turns", async () => {
  const session = await lab.session({ title: "Shop" })
  complete(await lab.shown(session, "beginning"))
  lab.model.on("First", { text: "Done." })
  await lab.prompt(session, "First")
  const found = await lab.shown(session, "between_turn")
  assert.deepEqual(path(found), ["beginning", "executing", "between_turn"])
  assert.equal(found.previousState, "executing")
  assert.equal(found.level, 1)
  complete(found)
  const [listed] = JSON.parse(lab.flame(["session", "list", "--json"])).filter((one) => one.session === `opencode:${session}`)
  for (const key of ["session", "host", "state", "since", "why", "level", "parent", "frame"]) assert.ok(key in listed, key)
})

test("S2 compacted, with its history", async () => {
  const session = await lab.session({ title: "Cart" })
  lab.model.on("Second", { text: "Done." })
  await lab.prompt(session, "Second")
  await lab.summarize(session)
  const found = await lab.shown(session, "compacted")
  assert.deepEqual(path(found).slice(-2), ["compacting", "compacted"])
  complete(found)
  lab.model.on("Third", { text: "Done." })
  await lab.prompt(session, "Third")
  assert.equal((await lab.shown(session, "between_turn")).previousState, "executing")
})

test("waiting for the user, and S4 interrupted while a tool runs: B.2.4 only that turn stops", async () => {
  const session = await lab.session({ title: "Till" })
  const asked = lab.next((event) => event.type === "permission.asked" && event.properties.sessionID === session)
  lab.model.on("Fourth", bash("sleep 60"), { text: "Done." })
  await lab.begin(session, "Fourth")
  const { properties } = await asked
  const waiting = await lab.shown(session, "waiting_user")
  assert.match(waiting.why, /permission bash/)
  const runs = lab.next(
    ({ type, properties: { part } }) => type === "message.part.updated" && part?.tool === "bash" && part.state.status === "running",
  )
  await lab.api("POST", `/permission/${properties.id}/reply`, { reply: "once" })
  await runs
  await lab.shown(session, "executing")
  const idle = lab.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
  await lab.api("POST", `/session/${session}/abort`)
  await idle
  const found = await lab.shown(session, "interrupted")
  complete(found)
  assert.match(found.why, /user stopped/)
  // The frame keeps its goal, and nothing restarts automatically.
  assert.equal(found.checkpoint.frame, found.frame)
  const requests = lab.model.requests.length
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.equal(lab.model.requests.length, requests)
  assert.match(lab.flame(["tree", "--all"]), /→ \w{8} {2}Till/)
})

test("B.2.7 and failures: an error of the provider is a failure, not an end", async () => {
  const session = await lab.session({ title: "Bill" })
  lab.model.on("Fifth", { refuse: { message: "no credit" }, status: 400 })
  await lab.prompt(session, "Fifth")
  const found = await lab.shown(session, "failed")
  assert.match(found.why, /no credit/)
})

test("B.2.12 an empty turn is an error of the provider, not an end: the host asks again", async () => {
  const session = await lab.session({ title: "Void" })
  const { length } = lab.model.work()
  lab.model.on("Tenth", { breaksOff: true }, { breaksOff: true }, { text: "Said after all." })
  const answer = await lab.prompt(session, "Tenth")
  assert.equal(lab.model.work().length, length + 3)
  assert.equal(answer.info.finish, "stop")
  const found = await lab.shown(session, "between_turn")
  assert.deepEqual(path(found), ["beginning", "executing", "between_turn"])
  assert.deepEqual([found.metrics.turns, found.metrics.failures], [1, 0])
  // One that answers nothing for good never counts as the end of a turn; the user stops it.
  const empty = Array.from({ length: 500 }, () => ({ breaksOff: true }))
  lab.model.on("Eleventh", ...empty)
  await lab.begin(session, "Eleventh")
  for (let left = 100; lab.model.work().length < length + 6 && left > 0; left -= 1) await pause(50)
  assert.equal((await lab.shown(session)).state, "executing")
  await lab.api("POST", `/session/${session}/abort`)
  const stopped = await lab.shown(session, "interrupted")
  assert.equal(stopped.metrics.turns, 1)
  const tree = lab.flame(["tree", "--all"])
  assert.doesNotMatch(tree, /✓ \w{8} {2}Eleventh/)
})

test("B.2.8 a stop while OpenCode waits to ask a busy provider again is an interruption, once", async () => {
  const session = await lab.session({ title: "Queue" })
  const busy = { refuse: { message: "overloaded" }, status: 503, headers: { "retry-after-ms": "60000" } }
  lab.model.on("Twelfth", bash("echo priced > price.txt"), busy)
  const asked = lab.next((event) => event.type === "permission.asked" && event.properties.sessionID === session)
  const retries = lab.next(({ type, properties }) => type === "session.status" && properties.status.type === "retry")
  await lab.begin(session, "Twelfth")
  await lab.api("POST", `/permission/${(await asked).properties.id}/reply`, { reply: "once" })
  await retries
  assert.equal((await lab.shown(session)).state, "executing")
  const requests = lab.model.requests.length
  const idle = lab.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
  await lab.api("POST", `/session/${session}/abort`)
  await idle
  const found = await lab.shown(session, "interrupted")
  complete(found)
  assert.deepEqual(path(found).filter((state) => state !== "waiting_user").slice(-2), ["executing", "interrupted"])
  assert.match(found.why, /user stopped/)
  assert.deepEqual([found.metrics.interruptions, found.metrics.failures, found.metrics.turns], [1, 0, 0])
  assert.equal(found.checkpoint.cause, "abort")
  assert.equal(found.checkpoint.frame, found.frame)
  assert.ok(found.checkpoint.lastMessage && found.checkpoint.git.head, JSON.stringify(found.checkpoint))
  assert.deepEqual(found.checkpoint.inFlight, [])
  await pause(500)
  assert.equal(lab.model.requests.length, requests, "the stop ends all attempts")
  // The user goes on, and the stop still counts once.
  lab.model.on("Thirteenth", { text: "Done." })
  await lab.prompt(session, "Thirteenth")
  assert.equal((await lab.shown(session, "between_turn")).metrics.interruptions, 1)
  assert.match(lab.flame(["tree", "--all"]), /✗ \w{8} {2}Twelfth/)
})

test("B.2.4 a stop of the foreground leaves other sessions running, and a subagent resumable", async () => {
  const session = await lab.session({ title: "Front" })
  const beside = await lab.session({ title: "Beside", parentID: session })
  let waits = lab.model.waits()
  lab.model.on("Eighth beside", { text: "This goes on", hang: true })
  await lab.begin(beside, "Eighth beside")
  await waits
  waits = lab.model.waits()
  const task = (more) => ({ name: "task", args: { description: "Part", subagent_type: "general", ...more } })
  lab.model.on("Eighth in front", { calls: [task({ prompt: "Eighth below" })] })
  lab.model.on("Eighth below", { text: "This is cut off", hang: true })
  const made = lab.next((event) => event.type === "session.created" && event.properties.info.parentID === session)
  await lab.begin(session, "Eighth in front")
  const child = (await made).properties.info.id
  await waits
  await lab.shown(session, "waiting_child")
  await lab.api("POST", `/session/${session}/abort`)
  const stopped = await lab.shown(session, "interrupted")
  assert.equal((await lab.shown(child, "interrupted")).parent, `opencode:${session}`)
  assert.equal((await lab.shown(beside)).state, "executing", "only that turn stops")
  // The user goes on, and the subagent with its own history.
  lab.model.on("Ninth in front", { calls: [task({ prompt: "Ninth below", task_id: child })] }, { text: "Done." })
  lab.model.on("Ninth below", { text: "Found after all." })
  await lab.prompt(session, "Ninth in front")
  const resumed = await lab.shown(child, "completed")
  const states = path(resumed)
  // Its own end may be heard before that of its call.
  const since = states.slice(states.lastIndexOf("interrupted")).filter((state) => state !== "between_turn")
  assert.deepEqual(since, ["interrupted", "executing", "completed"])
  assert.equal((await lab.shown(session, "between_turn")).frame !== null && stopped.frame !== null, true)
  await lab.api("POST", `/session/${beside}/abort`)
  await lab.shown(beside, "interrupted")
})

test("S5 custom: /session-new makes a linked session with purpose, agent and phase", async () => {
  const session = await lab.session({ title: "Plan" })
  lab.model.on("Sixth", { text: "Done." })
  await lab.prompt(session, "Sixth")
  const commands = await lab.api("GET", "/command")
  assert.ok(commands.some(({ name }) => name === "session-new"))
  lab.model.on("Confirm it in one line", { text: "It is there." })
  const made = lab.next((event) => event.type === "session.created")
  const idle = lab.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
  const words = "Write the docs --agent plan --phase review"
  await lab.api("POST", `/session/${session}/command`, { command: "session-new", arguments: words, model: "mock/mock-1" })
  const child = (await made).properties.info
  await idle
  assert.equal(child.parentID, undefined, "the user can type into it")
  const found = await lab.shown(child.id, "custom")
  complete(found)
  assert.deepEqual(found.custom, { purpose: "Write the docs", agent: "plan", phase: "review", from: `opencode:${session}` })
  const links = JSON.stringify(found.links)
  assert.ok(links.includes("hand_off") && links.includes(session), links)
  lab.model.on("Seventh", { text: "Done." })
  await lab.prompt(child.id, "Seventh")
  assert.deepEqual(path(await lab.shown(child.id, "between_turn")).slice(-3), ["custom", "executing", "between_turn"])
})
