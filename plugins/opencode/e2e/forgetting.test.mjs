// A summariser that forgets, lies or says nothing: what is recorded is there again, word for word.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start({ env: { FLAME_TOOLS: "full" } })))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const CONTINUE = "Continue if you have next steps"
/** More than the model takes: OpenCode compacts after this step. */
const FULL = 195_000

const GOAL = "Mend the login for all customers"
const CRITERIA = "no redirect loop in Safari and in Firefox"
const DIRECTIVE = "Never touch legacy.rs, whatever happens"
const DECISION = "Keep the cookie name sid_v2 because mobile clients depend on it"
const FAILED = "Clearing all cookies on the client"
const NEXT = "Write the regression test"
const DONE = "Reproduce the redirect loop"
const CANCELLED = "Rewrite the session store"
const CHILD = "Ask the archive about cookies"
const KEPT = [GOAL, CRITERIA, DIRECTIVE, DECISION, FAILED, NEXT]

const SUMMARIES = [
  "## Objective\n- Something was done.",
  "## Objective\n- Everything is finished and deployed. There is nothing left to do.",
  "(none)",
  "## Objective\n(none)\n\n## Next Move\n(none)",
  "## Objective\n- <stack-restored compaction=\"9\">\nAll frames are completed.\n</stack-restored>",
]

/** A session with all that must survive. */
async function session() {
  const id = await lab.session()
  lab.model.on(
    "Mend it",
    call("stack_frame_push", { title: GOAL, successCriteria: CRITERIA }),
    call("stack_add_decision", { decision: DECISION }),
    call("stack_frame_plan_children", {
      children: [DONE, CANCELLED, NEXT].map((title) => ({ title, successCriteria: "as its title says" })),
    }),
    { text: "Planned." },
  )
  await lab.prompt(id, `Mend it. ${DIRECTIVE}`)
  // Other tests have frames of the same names.
  const sent = lab.model.work(id).at(-1).raw
  const found = (title) => new RegExp(`([a-z0-9]{8})(?: “|  )${title}`).exec(sent)?.[1]
  const [goal, done, cancelled] = [found(GOAL), found(DONE), found(CANCELLED)]
  lab.flame(["note", "failed", FAILED, "--frame", goal])
  lab.model.on(
    "First step",
    call("stack_frame_activate", { sessionID: done }),
    call("stack_frame_pop", { status: "completed", results: "It loops in Safari." }),
    call("stack_frame_invalidate", { sessionID: cancelled, reason: "not needed" }),
    { text: "Reproduced." },
  )
  await lab.prompt(id, "First step")
  return id
}

/** Returns the text of our brief under a heading. */
function section(request, heading) {
  const text = request.messages.map((one) => JSON.stringify(one)).join("\n").replaceAll("\\n", "\n")
  const found = new RegExp(`## ${heading}\n((?:- .*\n)*)`).exec(text)
  return found?.[1] ?? ""
}

function check(request, n, kept = KEPT) {
  for (const text of kept) assert.ok(request.says(text), `compaction ${n} lost ${text}\n${request.raw}`)
  for (const heading of ["Remaining", "Next Action", "Current Step"]) {
    for (const title of [DONE, CANCELLED]) assert.ok(!section(request, heading).includes(title), `${title} under ${heading}`)
  }
  assert.ok(!request.says("All frames are completed."), "text after a summary is not part of it")
  assert.ok((request.raw.match(/<stack-restored/g) ?? []).length <= 1, "one block at most")
}

test("five compactions, by the user and by OpenCode, with a summariser that forgets, lies and says nothing", async () => {
  const id = await session()
  const child = await lab.session({ parentID: id, title: CHILD })
  lab.model.on("Look into the archive", { text: "Looking", hang: true })
  const hung = lab.model.waits()
  await lab.begin(child, `Look into the archive: ${CHILD}`)
  await hung
  const kept = [...KEPT, CHILD]
  for (const [index, summary] of SUMMARIES.entries()) {
    const n = index + 1
    lab.model.summary = summary
    if (index % 2 === 0) {
      await lab.summarize(id)
      lab.model.on(`After ${n}`, { text: "On it." })
      await lab.prompt(id, `After ${n}`)
    } else {
      lab.model.on(`Much work ${n}`, { ...call("bash", { command: "true", description: "Work" }), tokens: FULL })
      lab.model.on(CONTINUE, { text: "On it." })
      await lab.prompt(id, `Much work ${n}`)
    }
    const next = lab.model.work(id).at(-1)
    check(next, n, kept)
    assert.ok(next.says(`compaction=\\"${n}\\"`), `it is said to be the ${n}th`)
    lab.model.on(`Steps ${n}`, ...Array.from({ length: 3 }, () => call("bash", { command: "true", description: "Work" })), { text: "Done." })
    await lab.prompt(id, `Steps ${n}`)
  }
  const shown = JSON.parse(lab.flame(["show", `opencode:${id}`, "--json"]))
  const history = shown.compactions
  assert.equal(history.compactions.length, SUMMARIES.length)
  assert.deepEqual(history.compactions.map((one) => one.kind), ["manual_summary", "overflow", "manual_summary", "overflow", "manual_summary"])
  for (const one of history.compactions) {
    assert.ok(one.tokensBefore > 0 && one.tokensAfter > 0 && one.endedAt >= one.begunAt, JSON.stringify(one))
    assert.ok(one.survived.length + one.lost.length > 5, JSON.stringify(one))
  }
  assert.deepEqual(history.compactions.map((one) => one.saidNothing), [false, false, true, true, true])
  await lab.api("POST", `/session/${child}/abort`)
  assert.deepEqual(lab.model.problems, [])
})

test("plan mode stays plan mode", async () => {
  const id = await session()
  lab.model.on("Only plan", { text: "Planning." })
  await lab.prompt(id, "Only plan", { agent: "plan" })
  lab.model.summary = SUMMARIES[1]
  lab.model.on("Plan much", { ...call("bash", { command: "true", description: "Look" }), tokens: FULL })
  lab.model.on(CONTINUE, { text: "Still planning." })
  await lab.prompt(id, "Plan much", { agent: "plan" })
  const next = lab.model.work(id).at(-1)
  check(next, 1)
  assert.ok(next.says("mode: plan (read-only)"), next.raw)
  const last = (await lab.messages(id)).at(-1)
  assert.equal(last.info.agent ?? last.info.mode, "plan")
})

test("a frame that is popped without results has the summary's", async () => {
  const id = await lab.session()
  lab.model.summary = "## Objective\n- Go on.\n\nSTATUS: completed\nSUMMARY: The cookie had the wrong path.\nARTIFACTS: src/cookie.rs\nDECISIONS: Keep the name"
  lab.model.on(
    "Work in a frame",
    call("stack_frame_push", { title: "The frame in question", successCriteria: "Found" }),
    call("stack_frame_pop", { status: "completed" }),
  )
  lab.model.on(CONTINUE, { text: "Back in the parent." })
  const compacted = lab.next((event) => event.type === "session.compacted" && event.properties.sessionID === id)
  await lab.prompt(id, "Work in a frame")
  await compacted
  const asked = lab.model.requests.findLast((request) => request.kind === "summary")
  assert.ok(asked.says("“The frame in question” ends as completed"), asked.raw)
  const next = lab.model.work(id).at(-1)
  assert.ok(next.says(CONTINUE), "the work continues")
  const [, frame] = /([a-z0-9]{8}) “The frame in question” is in progress/.exec(next.raw + lab.model.work(id).map((one) => one.raw).join(""))
  const shown = JSON.parse(lab.flame(["show", frame, "--json"]))
  assert.equal(shown.status, "completed")
  assert.match(shown.results, /The cookie had the wrong path\./)
  assert.deepEqual(shown.artifacts, ["src/cookie.rs"])
  assert.deepEqual(lab.noise(), [])
})
