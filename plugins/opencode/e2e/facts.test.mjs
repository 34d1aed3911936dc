// What is recorded of a session: every kind of change and failure, once, however often a hook fires.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { Lab } from "./lab/opencode.mjs"

const stutterer = fileURLToPath(new URL("./lab/stutterer.mjs", import.meta.url))

let lab
before(async () => (lab = await Lab.start({ plugin: false, plugins: [[stutterer, { deadline: 20_000 }]] })))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const bash = (command) => call("bash", { command, description: "Work" })
const shown = (session) => JSON.parse(lab.flame(["show", `opencode:${session}`, "--json"]))
/** The headings of what was kept of a session, in order. */
const headings = (session) => {
  const { id, log } = shown(session)
  const pieces = log.map((_, index) => lab.flame(["log", `${id}#${index + 1}`]))
  return pieces.flatMap((text) => [...text.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading))
}

test("written, edited, patched, made by a command, failed and failed again: each once", async () => {
  const session = await lab.session({ title: "Files" })
  const path = (name) => `${lab.project}/${name}`
  const read = call("read", { filePath: path("nowhere.txt") })
  lab.model.on(
    "Change some files",
    call("write", { filePath: path("written.txt"), content: "one\n" }),
    call("edit", { filePath: path("README.md"), oldString: "A shop", newString: "The shop" }),
    // Nothing in the command says which file it makes: only the host's own look at the folder does.
    bash(`node -e 'require("fs").writeFileSync(["made","txt"].join("."), "x")'`),
    read,
    bash("exit 3"),
    read,
    bash("exit 3"),
    read,
    { text: "That was all of it." },
  )
  await lab.prompt(session, "Change some files")
  const patchText = ["*** Begin Patch", "*** Add File: added.txt", "+new", "*** Update File: written.txt", "@@", "-one", "+two", "*** End Patch"].join("\n")
  lab.model.on("Patch them", call("apply_patch", { patchText }), { text: "Patched." })
  // OpenCode gives this tool to models of that name.
  await lab.prompt(session, "Patch them", { model: { providerID: "mock", modelID: "gpt-mock" } })
  assert.ok(lab.model.work(session).at(-1).says("added.txt"), "the patch was applied")

  const check = (prompts, calls) => {
    const { artifacts, failedAttempts, evidence, directives, children, host } = shown(session)
    const second = children.find(({ title }) => title === "Patch them")
    const patched = JSON.parse(lab.flame(["show", second.id, "--json"])).artifacts
    assert.deepEqual([artifacts.sort(), patched.sort()], [["README.md", "made.txt", "written.txt"], ["added.txt", "written.txt"]])
    assert.deepEqual(failedAttempts.map(({ text }) => text), ["read nowhere.txt", "`exit 3`"])
    assert.deepEqual(evidence, [{ command: "exit 3", exitCode: 3 }])
    assert.deepEqual(directives, prompts)
    assert.deepEqual([host.prompts, host.calls, host.spent.input], [prompts.length, calls, calls * 1_000])
  }
  check(["Change some files", "Patch them"], 11)
  const kept = headings(session)
  for (const [heading, times] of [["write", 1], ["edit", 1], ["read", 3], ["bash", 3], ["Answer (failed)", 3], ["Title", 1], ["User", 1]]) {
    assert.equal(kept.filter((one) => one === heading).length, times, `${heading}: ${kept}`)
  }

  // Another process receives everything again.
  await lab.halt()
  await lab.serve()
  lab.model.on("What was that?", { text: "Files." })
  await lab.prompt(session, "What was that?")
  check(["Change some files", "Patch them", "What was that?"], 12)
  assert.equal(headings(session).filter((one) => one === "write").length, 1)
  assert.deepEqual(lab.model.problems, [])
  assert.deepEqual(lab.noise(), [])
})
