// A workflow's stage survives a summariser that forgets: by hand and automatically, again and again.

import assert from "node:assert/strict"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

/** So much is too much for a model of 200,000 tokens: OpenCode compacts automatically. */
const FULL = 199_000
const FORGETFUL = "## Objective\n- Some work was done.\n\n## Next Move\n- Nothing in particular."

let lab
before(async () => (lab = await Lab.start()))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const bash = (command) => call("bash", { command, description: "Work" })

function write(path, ...lines) {
  const place = join(lab.project, path)
  mkdirSync(dirname(place), { recursive: true })
  writeFileSync(place, `${lines.join("\n")}\n`)
}

/** Turns that fill a session with text that is not needed later. */
async function chatter(session, turns) {
  for (let n = 1; n <= turns; n += 1) {
    const said = `Look around, ${session} ${n}`
    lab.model.on(said, bash(`seq ${n} ${400 + n}`), { text: `Looked around for the ${n}. time` })
    await lab.prompt(session, said)
  }
}

/** Returns what the model is sent after a manual compaction. */
async function afterManual(session) {
  await lab.summarize(session)
  const said = `Go on, ${session} ${lab.model.requests.length}`
  lab.model.on(said, { text: "On it" })
  await lab.prompt(session, said)
  return lab.model.work(session).at(-1)
}

/** Returns what the model is sent after a compaction that OpenCode makes because the window is full. */
async function afterAutomatic(session) {
  const said = `Read all of it, ${session} ${lab.model.requests.length}`
  lab.model.on(said, { ...bash("echo all-of-it"), tokens: FULL }, { text: "Never said" })
  lab.model.on("Continue if you have next steps", { text: "Going on" })
  const before = lab.model.requests.length
  await lab.prompt(session, said)
  const since = lab.model.requests.slice(before)
  const summary = since.findIndex((one) => one.kind === "summary")
  assert.ok(summary > 0, "OpenCode compacted automatically")
  const next = since.slice(summary).find((one) => one.kind === "work" && one.session === session)
  assert.ok(next, "and the work continued")
  return next
}

/** A request without JSON's marks, so that its text can be searched for as it is written. */
const text = (request) =>
  [...request.system, ...request.messages.map((one) => JSON.stringify(one.content))].join("\n").replaceAll("\\n", "\n")

/** Returns one section of the brief in a request. */
function section(request, heading) {
  const briefs = text(request).split("## Stage-Aware Continuation")
  assert.equal(briefs.length, 2, "there is one brief, not none and not several")
  const behind = briefs[1].split(`\n## ${heading}\n`)[1]
  assert.ok(behind !== undefined, `there is a section ${heading}`)
  return behind.split("\n## ")[0]
}

function tells(request, wanted) {
  for (const [heading, texts] of Object.entries(wanted)) {
    for (const one of texts) assert.ok(section(request, heading).includes(one), `${heading}: ${one}\n${section(request, heading)}`)
  }
}

test("a long session that works through a specification", async () => {
  lab.model.summary = FORGETFUL
  const spec = ".codex/specs/012-guest-checkout"
  write(`${spec}/requirements.md`, "# Requirements", "Guests can pay.", "", "## Open Questions", "- Are gift cards for guests too?")
  write(`${spec}/design.md`, "# Design", "A cart without an account.")
  const tasks = (done) =>
    write(
      `${spec}/tasks.md`,
      "# Tasks",
      "## Batch 1 — Cart",
      ...["Store carts by cookie", "Merge carts at login", "Expire old carts", "Mail the receipt"].map(
        (title, at) => `- [${at < done ? "x" : " "}] ${at + 1}. ${title}`,
      ),
    )
  tasks(1)
  write(
    `${spec}/context.md`,
    "## Decisions Made",
    "- [Batch 1] Carts live 30 days — Rationale: the law of returns",
    "## Carry-Forward Warnings",
    "- The cookie must stay below 4 kB",
  )
  write("SESSION.md", "# Log", "[Focus: guest checkout] 2026-03-10", "- Continue `/spec-execute next 012-guest-checkout`.")
  const session = await lab.session()
  await chatter(session, 6)

  const always = {
    "Workflow Type": ["- spec"],
    "Canonical Workflow Stage": ["- spec-execute"],
    "Current Artifact": [`${spec}/tasks.md`],
    "Pending Decisions / Open Questions": ["Are gift cards for guests too?"],
    Decisions: ["Carts live 30 days"],
    "Blockers / Risks": ["The cookie must stay below 4 kB"],
  }
  const at = (task, title) => ({
    ...always,
    "Transition Gate": [`.codex/scripts/harness.sh spec gate 012-guest-checkout ${task}`],
    "Next Action": [`${task} — ${title}`],
  })

  const first = await afterManual(session)
  const summary = lab.model.requests.findLast((one) => one.kind === "summary")
  assert.ok(summary.says("spec-execute") && summary.says("Merge carts at login"), "the summariser was given the stage")
  tells(first, at(2, "Merge carts at login"))

  tasks(2)
  await chatter(session, 2)
  tells(await afterAutomatic(session), at(3, "Expire old carts"))

  tasks(3)
  const third = await afterManual(session)
  tells(third, at(4, "Mail the receipt"))
  assert.ok(!section(third, "Next Action").includes("Expire old carts"), "what is done is not to be done")

  // Another agent is handed the same, without knowing the session's name.
  const handed = JSON.parse(lab.flame(["brief", "--json"]))
  assert.equal(handed.session, `opencode:${session}`)
  assert.equal(handed.workflow.stage, "spec-execute")
  assert.equal(handed.workflow.nextTask, "4 — Mail the receipt (Batch 1 — Cart)")
  assert.ok(handed.tokens <= handed.budget)
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})

test("a long session that mends a bug", async () => {
  lab.model.summary = "(none)"
  const bug = ".codex/bugs/double-charge"
  write("SESSION.md", "# Log", "[Focus: double-charge] 2026-03-12", "- bug-fix of double-charge is under way.")
  write(`${bug}/report.md`, "# Report", "Two charges with a slow network.")
  write(`${bug}/analysis.md`, "# Analysis", "The key of the request is made twice.", "## Open Questions", "- Refund the old ones?")
  write(`${bug}/harness/progress.md`, "- reproduced in a test", "- bug-fix begun")
  const session = await lab.session()
  await chatter(session, 5)
  const fixing = {
    "Canonical Workflow Stage": ["- bug-fix"],
    "Current Artifact": [`${bug}/analysis.md`],
    "Transition Gate": ["regression tests are in", "opens bug-verify"],
    "Pending Decisions / Open Questions": ["Refund the old ones?"],
    "Next Action": ["The fix of double-charge"],
  }
  tells(await afterAutomatic(session), fixing)
  tells(await afterManual(session), fixing)

  write("SESSION.md", readFileSync(join(lab.project, "SESSION.md"), "utf8").replace("bug-fix of", "bug-verify of"))
  write(`${bug}/verification.md`, "# Verification", "The steps are being repeated.")
  lab.model.summary = FORGETFUL
  tells(await afterAutomatic(session), {
    "Canonical Workflow Stage": ["- bug-verify"],
    "Current Artifact": [`${bug}/verification.md`],
    "Next Action": ["The original reproduction of double-charge"],
  })
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})
