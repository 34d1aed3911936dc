// A stand-in for the sidecar that misbehaves as it is told: `node double.mjs MODE [LOG]`.
//
// Told by the environment variable DOUBLE_PLAN, it answers `prepare` with that plan. A file named
// in DOUBLE_MODE_FILE, when it exists, holds another mode, so that a test can change it on the way.

import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { createInterface } from "node:readline"

const log = process.env.DOUBLE_LOG
const modeFile = process.env.DOUBLE_MODE_FILE
const mode = () => (modeFile && existsSync(modeFile) ? readFileSync(modeFile, "utf8").trim() : process.argv[2])
const plan = () => JSON.parse(process.env.DOUBLE_PLAN ?? '{"drop":[],"strip":[],"insert":[]}')

const ANSWERS = {
  hello: () => ({
    protocol: 1,
    version: "0.1.0",
    ...JSON.parse(process.env.DOUBLE_WELCOME ?? '{"tools":[],"commands":[],"placement":"auto","isolation":"inline"}'),
  }),
  prompt: () => ({}),
  prepare: () => plan(),
  call: (params) => JSON.parse(process.env.DOUBLE_CALLED ?? "null") ?? { output: `called ${params.name}`, refused: false, title: params.name },
  returned: (params) => ({ output: `returned: ${params.text}`, refused: false, title: "Returned" }),
  summarizing: () => ({ instructions: ["instructions of the double"] }),
  written: (params) => ({ text: `${params.text}\n(rewritten)` }),
  show: (params) => ({ text: `shown: ${params.what}` }),
}

if (log) appendFileSync(log, `${JSON.stringify({ started: process.pid })}\n`)
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (log) appendFileSync(log, `${line}\n`)
  const how = mode()
  if (how === "hung") continue
  if (how === "killed" && method === "prepare") process.kill(process.pid, "SIGKILL")
  if (id === undefined) continue
  const answer = () => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: ANSWERS[method](params) })}\n`)
  if (how === "garbage") process.stdout.write(`\u0000{"jsonrpc":"2.0","id":${id},"result":\n[1,2\nnull\n{"id":${id},"result":{"drop":7}}\n`)
  else if (how === "late") setTimeout(answer, 10_000)
  else answer()
}
