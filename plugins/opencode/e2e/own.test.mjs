// Our own summaries: no model is asked, and the brief holds what must survive.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
before(async () => (lab = await Lab.start({ env: { FLAME_COMPACTION_MODE: "own" } })))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const CONTINUE = "Continue if you have next steps"
const KEPT = [
  "Mend the login for all customers",
  "no redirect loop in Safari and in Firefox",
  "Never touch legacy.rs, whatever happens",
  "Keep the cookie name sid_v2 because mobile clients depend on it",
  "Clearing all cookies on the client",
  "Write the regression test",
]

test("five compactions without a model call keep everything", async () => {
  const id = await lab.session()
  lab.model.on(
    "Mend it",
    call("stack_frame_push", { title: KEPT[0], successCriteria: KEPT[1] }),
    call("stack_add_decision", { decision: KEPT[3] }),
    call("stack_frame_plan_children", { children: [{ title: KEPT[5], successCriteria: "it fails without the fix" }] }),
    { text: "Planned." },
  )
  await lab.prompt(id, `Mend it. ${KEPT[2]}`)
  const [, goal] = new RegExp(`([a-z0-9]{8}) “${KEPT[0]}”`).exec(lab.model.work(id).at(-1).raw)
  lab.flame(["note", "failed", KEPT[4], "--frame", goal])
  for (let n = 1; n <= 5; n += 1) {
    if (n % 2 === 1) {
      await lab.summarize(id)
      lab.model.on(`After ${n}`, { text: "On it." })
      await lab.prompt(id, `After ${n}`)
    } else {
      lab.model.on(`Much work ${n}`, { ...call("bash", { command: "true", description: "Work" }), tokens: 195_000 })
      lab.model.on(CONTINUE, { text: "On it." })
      await lab.prompt(id, `Much work ${n}`)
    }
    const next = lab.model.work(id).at(-1)
    for (const text of KEPT) assert.ok(next.says(text), `compaction ${n} lost ${text}\n${next.raw}`)
    const summary = (await lab.messages(id)).findLast((one) => one.info.summary === true)
    const text = summary.parts.find((part) => part.type === "text").text
    assert.ok(text.startsWith(`<stack-restored compaction="${n}"`), text)
    for (const one of KEPT) assert.ok(text.includes(one), `the brief of compaction ${n} lacks ${one}\n${text}`)
    assert.equal(summary.info.providerID, "flamestack")
    assert.equal((await lab.messages(id)).at(-1).info.providerID, "mock", "the work continues with its own model")
    lab.model.on(`Steps ${n}`, ...Array.from({ length: 3 }, () => call("bash", { command: "true", description: "Work" })), { text: "Done." })
    await lab.prompt(id, `Steps ${n}`)
  }
  assert.equal(lab.model.requests.filter((request) => request.kind === "summary").length, 0, "no model was asked")
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})

test("only who knows the token is answered", async () => {
  const { providers } = await lab.api("GET", "/config/providers")
  const ours = providers.find((one) => one.id === "flamestack")
  const url = `${ours.options.baseURL}/chat/completions`
  const body = JSON.stringify({ messages: [{ role: "user", content: "Hello" }] })
  for (const authorization of [undefined, "Bearer wrong", "Bearer none"]) {
    const answer = await fetch(url, { method: "POST", body, headers: { connection: "close", ...(authorization && { authorization }) } })
    assert.equal(answer.status, 401)
  }
})
