// Work that repeats itself is found in the real host and shown to the user; what only looks like it is not.

import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => {
  const bash = { "*": "allow", "rm *": "ask" }
  lab = await Lab.start({ config: { permission: { "*": "allow", bash, doom_loop: "allow" } }, plugin: { tools: "full" } })
  // A check that fails in the same way as long as `fixed` is missing, and an error that moves with its line.
  const check = `import { existsSync } from "node:fs"
if (existsSync("fixed")) console.log("1 passed"), process.exit(0)
console.log("✗ adds up: expected 4, got 5\\n7 passed\\n1 failed"), process.exit(1)`
  writeFileSync(join(lab.project, "check.mjs"), check)
  writeFileSync(join(lab.project, "package.json"), JSON.stringify({ scripts: { test: "node check.mjs" } }))
  writeFileSync(join(lab.project, "broken.sh"), 'echo "src/a.rs:$1:7: error: no field x" >&2; exit 1\n')
  writeFileSync(join(lab.project, "a.txt"), "0")
})
after(() => lab.stop())

const bash = (command) => ({ calls: [{ name: "bash", args: { command, description: "Work" } }] })
const write = (content) => ({
  calls: [{ name: "write", args: { filePath: join(lab.project, "a.txt"), content } }],
})
const times = (count, reply) => Array.from({ length: count }, (_, nth) => reply(nth))
const done = { text: "I give up for now." }

/** Runs a turn and returns the stall that is shown after it. */
async function stall(title, ...replies) {
  const session = await lab.session({ title })
  lab.model.on(`Do ${title}`, ...replies, done)
  await lab.prompt(session, `Do ${title}`)
  return { session, stall: shown(session).stall }
}
const shown = (session) => JSON.parse(lab.flame(["session", "show", `opencode:${session}`, "--json"]))

test("the same call with the same answer three times", async () => {
  const two = await stall("two reads", ...times(2, () => bash("cat README.md")))
  assert.equal(two.stall, null)
  const { session, stall: found } = await stall("three reads", ...times(3, () => bash("cat README.md")))
  assert.deepEqual([found.kind, found.times], ["same_call", 3])
  assert.match(found.sentence, /cat README\.md/)
  // The user sees it; the model does not, and nothing was stopped.
  assert.match(lab.flame(["status", "--session", `opencode:${session}`]), /repeats itself: the same call with the same answer 3 times/)
  assert.ok(!lab.model.work(session).some((one) => one.says("repeats itself")))
  // A prompt of the user ends it.
  lab.model.on("Another way", done)
  await lab.prompt(session, "Another way")
  assert.equal(shown(session).stall, null)
})

test("the same error at the same place three times, with other commands", async () => {
  const { stall: found } = await stall("errors", ...times(3, (nth) => bash(`sh broken.sh ${nth}`)))
  assert.deepEqual([found.kind, found.times], ["same_error", 3])
  assert.match(found.sentence, /src\/a\.rs/)
})

test("the same issues in four runs of a check, edits in between", async () => {
  const rounds = (count) => times(count, (nth) => [bash("npm test"), write(String(nth))]).flat()
  const three = await stall("three checks", ...rounds(3))
  assert.equal(three.stall, null)
  const { stall: found } = await stall("four checks", ...rounds(4))
  assert.deepEqual([found.kind, found.times], ["same_issues", 4])
  const { stall: mended } = await stall("mended", ...rounds(4), bash("touch fixed"), bash("npm test"))
  assert.equal(mended, null)
})

test("an edit in between is another attempt", async () => {
  const edited = times(4, (nth) => [bash("sh broken.sh 1"), write(`edit ${nth}`)]).flat()
  assert.equal((await stall("edits", ...edited)).stall, null)
})

test("polling is waiting", async () => {
  const polls = times(5, () => bash("sleep 0.01; cat README.md"))
  assert.equal((await stall("polls", ...polls)).stall, null)
})

test("calls that the user rejects are no evidence", async () => {
  const session = await lab.session({ title: "rejections" })
  for (let nth = 0; nth < 4; nth += 1) {
    const words = `Remove it, try ${nth}`
    const asked = lab.next(({ type, properties }) => type === "permission.asked" && properties.sessionID === session)
    lab.model.on(words, bash("rm a.txt"), done)
    const turn = lab.prompt(session, words)
    await lab.api("POST", `/permission/${(await asked).properties.id}/reply`, { reply: "reject" })
    await turn
  }
  const found = shown(session)
  assert.equal(found.stall, null)
  assert.equal(found.metrics.refusedCalls, 4)
  assert.equal(found.metrics.failedCalls, 0)
})

test("errors of the provider are no evidence", async () => {
  const busy = { refuse: { message: "overloaded", type: "overloaded" }, status: 503 }
  const { session, stall: found } = await stall("busy", ...times(4, () => busy))
  assert.equal(found, null)
  assert.equal(shown(session).state, "between_turn")
  const refused = await lab.session({ title: "refused" })
  for (let nth = 0; nth < 3; nth += 1) {
    lab.model.on(`Ask ${nth}`, { refuse: { message: "no credit" }, status: 400 })
    await lab.prompt(refused, `Ask ${nth}`)
  }
  assert.deepEqual([shown(refused).stall, shown(refused).state], [null, "failed"])
})

test("the model learns of it where the user allows that", async () => {
  const informed = await Lab.start({ env: { FLAME_STALLS_SHOW_MODEL: "on" } })
  try {
    const session = await informed.session({ title: "Shown" })
    const status = { calls: [{ name: "stack_status", args: {} }] }
    informed.model.on("Read it", ...times(3, () => bash("cat README.md")), status, done)
    await informed.prompt(session, "Read it")
    assert.ok(informed.model.work(session).at(-1).says("repeats itself: the same call with the same answer 3 times"))
  } finally {
    await informed.stop()
  }
})
