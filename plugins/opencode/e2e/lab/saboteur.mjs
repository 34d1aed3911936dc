// The real sidecar with a proxy before it that a test can break: `node saboteur.mjs DIRECTORY FLAME`.
//
// DIRECTORY/mode says what happens to what passes: `well` lets it through, `late` holds answers
// back until the mode changes, `hung` passes nothing on at all, `garbage` writes rubbish in the place
// of answers, `killed` dies at the next line. Each line that the host wrote is kept in
// DIRECTORY/heard.

import { spawn } from "node:child_process"
import { appendFileSync, mkdirSync, readFileSync, watch } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"

const [directory, flame] = process.argv.slice(2)
mkdirSync(directory, { recursive: true })
const mode = () => {
  try {
    return readFileSync(join(directory, "mode"), "utf8").trim()
  } catch {
    return "well"
  }
}
const sidecar = spawn(flame, ["sidecar"], { stdio: ["pipe", "pipe", "ignore"] })
let held = []

const release = () => {
  if (mode() !== "well") return
  for (const line of held) process.stdout.write(`${line}\n`)
  held = []
}
const end = () => {
  sidecar.kill("SIGKILL")
  process.kill(process.pid, "SIGKILL")
}
watch(directory, release).unref()

createInterface({ input: process.stdin })
  .on("line", (line) => {
    appendFileSync(join(directory, "heard"), `${line}\n`)
    if (mode() === "killed") end()
    if (mode() !== "hung") sidecar.stdin.write(`${line}\n`)
  })
  .on("close", () => sidecar.stdin.end())

createInterface({ input: sidecar.stdout })
  .on("line", (line) => {
    const { id } = JSON.parse(line)
    if (mode() === "late") held.push(line)
    else if (mode() === "garbage") process.stdout.write(`\u0000\n{"jsonrpc":\n[1,2\nnull\n{"id":${id},"result":{"drop":7}}\n`)
    else process.stdout.write(`${line}\n`)
  })
  .on("close", () => process.exit())
