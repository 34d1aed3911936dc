// A sidecar for tests: `node double.mjs MODE [FILE]`. It echoes what it was asked, as far as MODE lets it, and
// keeps notifications in FILE.

import { appendFileSync } from "node:fs"
import { createInterface } from "node:readline"

const [mode, file] = process.argv.slice(2)
const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`)
const plan = { drop: [], strip: [], insert: [] }
let held = []

const input = createInterface({ input: process.stdin }).on("line", hear)
input.on("close", () => process.exit())

function hear(words) {
  if (words === "") return
  const { id, method, params } = JSON.parse(words)
  if (method === "hello") return answer(id, { protocol: 2, version: "0", tools: [], commands: [], placement: "auto", isolation: "inline" })
  if (mode === "hung") return
  if (mode === "dies") return process.exit(3)
  if (mode === "garbage") process.stdout.write(`\u0000\n{"jsonrpc":\n7\nnull\n{"id":"x"}\n`)
  // The first answer is held back until the second question comes.
  if (mode === "late" && held.length === 0) return held.push([id, { ...plan, system: "late" }])
  for (const [earlier, result] of held) if (earlier) answer(earlier, result)
  held = [[]]
  if (mode === "refuses") return process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: "no" } })}\n`)
  if (id === undefined) return file && appendFileSync(file, `${words}\n`)
  if (method === "delegate") return answer(id, params.prompt === "too deep" ? { refused: `This delegation was not made: ${params.agent}` } : {})
  if (method === "prepare") return answer(id, { ...plan, drop: params.messages.map((one) => one.id).filter((one) => one.startsWith("drop")), plan: "p", system: JSON.stringify({ known: params.known, sent: params.messages.length, has: params.has }) })
  if (method === "show") return answer(id, { text: params.what === "directory" ? process.cwd() : params.what })
  if (method === "prompt") return answer(id, { append: `<stack-update>${params.message.parts[0].text}</stack-update>` })
  if (method === "call") return answer(id, params.name === "delegates"
    ? { output: "", refused: false, title: "", delegate: { frame: "f1", title: "Child", prompt: "Do it" } }
    : { output: `called ${params.name} in ${params.message}`, refused: false, title: "Called" })
  if (method === "childEnded") return answer(id, { output: params.stopped ? `${params.child} was stopped` : `${params.child} returned ${params.ok}: ${params.text}`, refused: false, title: "Returned" })
  if (method === "summarize") return answer(id, { instructions: ["Keep the goal"] })
  if (method === "summarized") return answer(id, { text: `${params.text}, rewritten` })
}
