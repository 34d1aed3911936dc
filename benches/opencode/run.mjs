// What a request costs inside the OpenCode process: `cargo xtask bench opencode [--quick]`.
//
// A session of 2,000 messages with most of its frames popped, in a project of 10,000 frames.

import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ROOT } from "../../plugins/opencode/e2e/lab/install.mjs"
import { Lab } from "../../plugins/opencode/e2e/lab/opencode.mjs"

const quick = process.argv.includes("--quick")
const flame = join(ROOT, "target/release/flame")
const echo = join(ROOT, "target/release/echo")
const place = join(ROOT, "target/bench-opencode")
const PRUNER = "@tarquinen/opencode-dcp"
const FRAMES = quick ? 1_000 : 10_000

/** The pruning plugin from npm, or nothing where it cannot be had. */
function pruner() {
  const folder = join(place, "node_modules", PRUNER)
  try {
    mkdirSync(place, { recursive: true })
    if (!existsSync(folder)) {
      writeFileSync(join(place, "package.json"), "{}")
      execFileSync("npm", ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", PRUNER], { cwd: place, stdio: "pipe" })
    }
    const { main, exports: exported, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    const entry = exported?.["./server"] ?? exported?.["."] ?? main
    return { path: join(folder, entry?.import ?? entry?.default ?? entry), version }
  } catch (error) {
    console.log(`${PRUNER} could not be installed: ${String(error.message).split("\n")[0]}`)
    return undefined
  }
}

const found = quick ? undefined : pruner()
const inside = fileURLToPath(new URL("./inside.mjs", import.meta.url))
const setting = join(place, "setting.json")
const results = join(place, "results.json")
mkdirSync(place, { recursive: true })
const lab = await Lab.start({ plugin: false, plugins: [inside], env: { BENCH_SETTING: setting, FLAME_BIN: flame } })
try {
  const session = await lab.session({ title: "A long one" })
  const run = (words) => execFileSync(flame, words, { cwd: lab.project, env: { ...lab.environment, FLAME_SESSION: `opencode:${session}` }, encoding: "utf8" })
  run(["push", "Build the shop", "--criteria", "Orders work"])
  for (let n = 0; n < FRAMES; n += 500) {
    const children = Array.from({ length: 500 }, (_, k) => ({ title: `Part ${n + k}`, successCriteria: `Part ${n + k} works` }))
    run(["tool", "stack_frame_plan_children", JSON.stringify({ children })])
  }
  const plugin = join(ROOT, "plugins/opencode/dist/index.js")
  const rounds = quick ? 200 : 1_000
  writeFileSync(setting, JSON.stringify({ messages: 2_000, rounds, plugin, flame, echo, place, pruner: found?.path, results }))
  lab.model.on("Measure", { text: "Measured" })
  rmSync(results, { force: true })
  await lab.prompt(session, "Measure")
  // While it is measured the server may not answer for long.
  lab.events.abort()
  while (!existsSync(results)) await new Promise((resolve) => setTimeout(resolve, 200))
} finally {
  await lab.stop()
}

const measured = JSON.parse(readFileSync(results, "utf8"))
if (measured.error) throw new Error(measured.error)
const at = (times, share) => [...times].sort((a, b) => a - b)[Math.floor(times.length * share)]
const { times, bytes, pruned } = measured
const rows = [
  ["one new message: bare echo", times.echoOne, bytes.one],
  ["one new message: direct echo", times.directOne, bytes.one],
  ["one new message: Flamestack", times.one, bytes.one, times.echoOne, times.directOne],
  ["nothing new: bare echo", times.echoNothing, bytes.nothing],
  ["nothing new: direct echo", times.directNothing, bytes.nothing],
  ["nothing new: Flamestack", times.nothing, bytes.nothing, times.echoNothing, times.directNothing],
]
if (pruned) rows.push([`${PRUNER} ${found.version}`, times.pruner, undefined, times.echoOne])
console.log(`\n2,000 to ${measured.messages} messages, ${FRAMES} frames; ${measured.kept} messages left of the last request\n`)
console.log(`${"".padEnd(34)}   p50 ms    p90 ms    p99 ms    × echo, p50   × direct   bytes asked, answered`)
for (const [name, all, crossed, ...echoes] of rows) {
  const figures = [0.5, 0.9, 0.99].map((share) => at(all, share).toFixed(3).padStart(8)).join("  ")
  const ratio = (echoed) => (echoed ? (at(all, 0.5) / at(echoed, 0.5)).toFixed(2) : "")
  const [plain, direct] = [0, 1].map((n) => ratio(echoes[n]))
  console.log(`${name.padEnd(34)} ${figures}  ${plain.padStart(12)} ${direct.padStart(10)}   ${crossed?.join(", ") ?? ""}`)
}
