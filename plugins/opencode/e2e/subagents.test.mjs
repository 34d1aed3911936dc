// Subagents of subagents: what is known of each is what the host knows, at every moment.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => {
  const cost = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 }
  // By default OpenCode lets no subagent start another one.
  const agent = { general: { permission: { task: "allow" } } }
  const permission = { "*": "allow", bash: { "*": "allow", "echo ask*": "ask" } }
  lab = await Lab.start({ config: { subagent_depth: 4, agent, permission }, cost })
})
after(() => lab.stop())

const task = (prompt, more = {}) => ({
  name: "task",
  args: { description: prompt.slice(0, 24), prompt, subagent_type: "general", ...more },
})
const calls = (...list) => ({ calls: list })
const work = (word) => calls({ name: "bash", args: { command: `echo ${word}`, description: "Work" } })

const sessions = () => JSON.parse(lab.flame(["status", "--json"])).sessions
const standing = (session) => sessions().find((one) => one.session === `opencode:${session}`)
/** Statuses by goal. */
const statuses = (session) => Object.fromEntries(standing(session).subagents.map((one) => [one.goal, one.status]))

/** Asks until it is so: the sidecar receives events asynchronously, and nothing says when it has read them. */
async function settled(check) {
  for (let left = 200; ; left -= 1) {
    try {
      return check()
    } catch (error) {
      if (left === 0) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/** A gate that a model's answer waits at. */
function gate(reply) {
  let open
  let arrived
  const opened = new Promise((resolve) => (open = resolve))
  const reached = new Promise((resolve) => (arrived = resolve))
  const answer = async () => {
    arrived()
    await opened
    return reply
  }
  return { answer, open, reached }
}

const sum = (list) => {
  const total = { input: 0, output: 0, cost: 0 }
  for (const { info } of list.flat()) {
    if (info.role !== "assistant") continue
    total.input += info.tokens.input + info.tokens.cache.read + info.tokens.cache.write
    total.output += info.tokens.output
    total.cost += info.cost
  }
  return total
}

test("a tree three deep with subagents beside each other", async () => {
  const session = await lab.session({ title: "Tree" })
  const deepest = gate({ text: "The deepest has found it" })
  const beside = gate({ text: "Nothing on the left" })
  lab.model.on("Find the cause", calls(task("Look left"), task("Look right")), { text: "Found" })
  lab.model.on("Look left", work("left"), beside.answer)
  lab.model.on("Look right", work("right"), calls(task("Look deeper")), { text: "It is deeper" })
  lab.model.on("Look deeper", work("deeper"), calls(task("Look deepest")), { text: "It was deepest" })
  lab.model.on("Look deepest", work("deepest"), deepest.answer)
  await lab.begin(session, "Find the cause")
  await Promise.all([deepest.reached, beside.reached])

  const running = { "Look left": "running", "Look right": "running", "Look deeper": "running", "Look deepest": "running" }
  await settled(() => assert.deepEqual(statuses(session), running))
  const depths = Object.fromEntries(standing(session).subagents.map((one) => [one.goal, one.depth]))
  assert.deepEqual(depths, { "Look left": 0, "Look right": 0, "Look deeper": 1, "Look deepest": 2 })
  const brief = lab.flame(["brief", "--session", `opencode:${session}`])
  for (const goal of Object.keys(running)) assert.match(brief, new RegExp(`Subagent opencode:ses_\\w+: “${goal}”, running`))
  const context = lab.flame(["context", "--session", `opencode:${session}`])
  for (const goal of Object.keys(running)) assert.match(context, new RegExp(`<subagent [^>]*title="${goal}"[^>]*status="running"`))

  beside.open()
  await settled(() => assert.equal(statuses(session)["Look left"], "done"))
  assert.equal(statuses(session)["Look right"], "running")

  const idle = lab.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
  deepest.open()
  await idle
  await settled(() => assert.deepEqual(new Set(Object.values(statuses(session))), new Set(["done"])))
  const last = lab.model.work(session).at(-1)
  for (const found of ["Nothing on the left", "It is deeper"]) assert.ok(last.says(found), `the parent received ${found}`)

  // What the host says all of it cost.
  const family = [session, ...standing(session).subagents.map((one) => one.session.replace("opencode:", ""))]
  const host = sum(await Promise.all(family.map((id) => lab.messages(id))))
  const { spentWithSubagents: ours, spent } = standing(session)
  const inward = (usage) => usage.input + usage.cacheRead + usage.cacheWrite
  assert.ok(host.input > 0 && host.cost > 0)
  assert.equal(inward(ours), host.input)
  assert.equal(ours.output, host.output)
  assert.ok(Math.abs(ours.microDollars - host.cost * 1e6) < 20, `${ours.microDollars} and ${host.cost}`)
  assert.ok(inward(spent) < inward(ours))
  assert.match(lab.flame(["tree", "--all"]), /✓ \w+ {2}Look deepest/)
  assert.deepEqual(lab.model.problems, [])
})

test("a resumed subagent continues in its frame", async () => {
  const session = await lab.session({ title: "Resume" })
  const resume = async () => {
    const [child] = await lab.api("GET", `/session/${session}/children`)
    return calls(task("Now mend it", { task_id: child.id }))
  }
  lab.model.on("Mend the door", calls(task("See what is broken")), resume, { text: "Mended" })
  lab.model.on("See what is broken", work("see"), { text: "The hinge" })
  lab.model.on("Now mend it", work("mend"), { text: "The hinge is new" })
  await lab.prompt(session, "Mend the door")
  await settled(() => assert.equal(standing(session).subagents.at(0)?.attempts, 2))
  await settled(() => assert.equal(standing(session).subagents.at(0).status, "done"))
  const [only, ...more] = standing(session).subagents
  assert.deepEqual(more, [])
  const frame = lab.flame(["show", only.frame])
  assert.match(frame, /The hinge is new/)
  assert.doesNotMatch(frame, /directive/i)
})

test("what is short is only logged", async () => {
  const session = await lab.session({ title: "Short" })
  lab.model.on("Ask a subagent", calls(task("Say a word")), { text: "Asked" })
  lab.model.on("Say a word", { text: "Word" })
  await lab.prompt(session, "Ask a subagent")
  await settled(() => assert.equal(standing(session).subagents.at(0)?.status, "done"))
  const [short] = standing(session).subagents
  assert.deepEqual([short.frame, short.output], [null, "Word"])
  assert.ok(lab.model.work(session).at(-1).says("Word"))
  assert.doesNotMatch(lab.flame(["tree", "--all"]), /Say a word/)
})

test("the same task in another message is already running; in one message it is meant", async () => {
  const session = await lab.session({ title: "Twice" })
  const slow = gate({ text: "Counted" })
  lab.model.on("Count twice", calls(task("Count it"), task("Delegate the count")), { text: "Done" })
  lab.model.on("Delegate the count", work("delegate"), async () => {
    await slow.reached
    await settled(() => assert.equal(statuses(session)["Count it"], "running"))
    return calls(task("Count it"))
  }, { text: "It is being counted" })
  lab.model.on("Count it", work("count"), slow.answer)
  lab.model.on("Count beside", calls(task("Count there"), task("Count there")), { text: "Both" })
  lab.model.on("Count there", work("one"), { text: "One" }, work("two"), { text: "Two" })
  const idle = lab.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
  await lab.begin(session, "Count twice")
  const child = await settled(() => {
    const found = standing(session).subagents.find((one) => one.goal === "Delegate the count")
    assert.equal(found?.status, "done")
    return found.session.replace("opencode:", "")
  })
  assert.ok(lab.model.work(child).at(-1).says("already running: opencode:ses_"))
  slow.open()
  await idle
  assert.equal(standing(session).subagents.filter((one) => one.goal === "Count it").length, 1)

  await lab.prompt(session, "Count beside")
  await settled(() => assert.equal(standing(session).subagents.filter((one) => one.goal === "Count there").length, 2))
})

test("stopping goes down the tree", async () => {
  const session = await lab.session({ title: "Stop" })
  lab.model.on("Go down", calls(task("First floor")), { text: "Never" })
  lab.model.on("First floor", work("first"), calls(task("Second floor")), { text: "Never" })
  lab.model.on("Second floor", work("second"), { text: "I begin", hang: true })
  const working = lab.model.waits()
  await lab.begin(session, "Go down")
  await working
  await settled(() => assert.equal(statuses(session)["Second floor"], "running"))
  await lab.api("POST", `/session/${session}/abort`)
  await settled(() => assert.deepEqual(statuses(session), { "First floor": "aborted", "Second floor": "aborted" }))
})

test("a subagent that asks the user waits for the user", async () => {
  const session = await lab.session({ title: "Ask" })
  lab.model.on("Clean up", calls(task("Remove the rest")), { text: "Clean" })
  lab.model.on("Remove the rest", work("ask-rest"), work("ask-more"), { text: "Removed" })
  const asked = lab.next((event) => event.type === "permission.asked")
  const idle = lab.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
  await lab.begin(session, "Clean up")
  const { properties } = await asked
  await settled(() => assert.equal(statuses(session)["Remove the rest"], "waiting"))
  assert.match(standing(session).subagents[0].waitingFor, /permission bash/)
  const again = lab.next((event) => event.type === "permission.asked")
  await lab.api("POST", `/permission/${properties.id}/reply`, { reply: "once" })
  const { properties: second } = await again
  await lab.api("POST", `/permission/${second.id}/reply`, { reply: "once" })
  await idle
  await settled(() => assert.equal(statuses(session)["Remove the rest"], "done"))
})

test("a host that dies takes its subagents along", async () => {
  const session = await lab.session({ title: "Crash" })
  lab.model.on("Start it", calls(task("Never end")), { text: "Never" })
  lab.model.on("Never end", work("begin"), { text: "I begin", hang: true })
  const working = lab.model.waits()
  await lab.begin(session, "Start it")
  await working
  await settled(() => assert.equal(statuses(session)["Never end"], "running"))
  lab.events.abort()
  await lab.listening
  const ended = new Promise((resolve) => lab.server.once("exit", resolve))
  lab.server.kill("SIGKILL")
  await ended
  await lab.serve()
  lab.model.on("Where were we?", { text: "Here" })
  await lab.prompt(session, "Where were we?")
  await settled(() => assert.equal(statuses(session)["Never end"], "aborted"))
})
