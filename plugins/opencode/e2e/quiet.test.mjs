// A model that never calls one of our tools: the tree, the results and what a new beginning needs
// are there all the same.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

let lab
// However short the subagent's run is, it is worth a frame here.
const env = { FLAME_TOOLS: "off", FLAME_FOLD: "auto", STACK_SUBAGENT_MIN_MESSAGES: "1" }
before(async () => (lab = await Lab.start({ plugin: { tools: "off" }, env })))
after(() => lab.stop())

const call = (name, args) => ({ calls: [{ name, args }] })
const todos = (...statuses) => {
  const items = ["Find the fault", "Mend it"].map((content, index) => ({ content, status: statuses[index], priority: "high" }))
  return call("todowrite", { todos: items })
}

test("a tree from prompts, to-dos and subagents alone", async () => {
  const session = await lab.session({ title: "Login" })
  lab.model.on(
    "Make the login work",
    todos("in_progress", "pending"),
    call("bash", { command: "echo made > made-by-bash.txt; echo raw-history", description: "Make a file" }),
    call("read", { filePath: `${lab.project}/missing.txt` }),
    call("read", { filePath: `${lab.project}/missing.txt` }),
    call("task", { description: "Run the tests", prompt: "Run all tests", subagent_type: "general" }),
    todos("completed", "in_progress"),
    { text: "The fault was in login.rs." },
  )
  lab.model.on("Run all tests", { text: "All 12 tests pass." })
  await lab.prompt(session, "Make the login work")

  const [first] = lab.model.work(session)
  assert.ok(!first.tools.some((tool) => tool.name.startsWith("stack_")), "no tools of ours")
  const tree = lab.flame(["tree"])
  for (const title of ["Login", "Find the fault", "Mend it", "Run the tests"]) assert.ok(tree.includes(title), tree)
  assert.match(tree, /✓ \w+ {2}Find the fault/)

  const context = lab.flame(["context", "--session", `opencode:${session}`])
  assert.match(context, /<directive>Make the login work<\/directive>/, "what the user asked for")
  assert.match(context, /<results>All 12 tests pass\.<\/results>/, "what the subagent answered, unwrapped")
  assert.match(context, /made-by-bash\.txt/, "the file that a command made")
  assert.match(context, /missing\.txt/, "what failed twice")

  const brief = lab.flame(["brief", "--session", `opencode:${session}`])
  for (const text of ["Make the login work", "Mend it", "made-by-bash.txt"]) assert.ok(brief.includes(text), brief)

  // `fold = auto`: what is finished folds when the user speaks again, with what it came to in its place.
  assert.ok(lab.model.work(session).at(-1).says("raw-history"))
  lab.model.on("And what else?", { text: "Nothing else." })
  await lab.prompt(session, "And what else?")
  const folded = lab.model.work(session).at(-1)
  assert.ok(!folded.says("raw-history"))
  assert.deepEqual([folded.userTexts[0], folded.userTexts.at(-1)], ["Make the login work", "And what else?"], "what the user said stays")
  assert.match(folded.userTexts.join("\n"), /<frame-results [^>]*>The fault was in login\.rs\.<\/frame-results>/)

  await lab.summarize(session)
  lab.model.on("Go on", { text: "On I go." })
  await lab.prompt(session, "Go on")
  const header = lab.model.work(session).at(-1).system.join("\n")
  assert.ok(header.includes("Mend it"), "after a compaction the prompt says what is open")
  assert.ok(header.includes("All 12 tests pass."), "and what came of the rest")
  assert.deepEqual(lab.model.problems, [])
})
