// What a request costs inside the OpenCode process: `cargo xtask bench opencode [--quick]`.
//
// A session of 2,000 messages with most of its frames popped, in a project of 10,000 frames, continues:
// turn by turn a scripted model calls tools, and OpenCode makes its requests as it always does.

import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ROOT } from "../../plugins/opencode/e2e/lab/install.mjs"
import { Lab } from "../../plugins/opencode/e2e/lab/opencode.mjs"

const quick = process.argv.includes("--quick")
const flame = join(ROOT, "target/release/flame")
const echo = join(ROOT, "target/release/echo")
const plugin = join(ROOT, "plugins/opencode/dist/index.js")
const place = join(ROOT, "target/bench-opencode")
const PRUNER = "@tarquinen/opencode-dcp"
const FRAMES = quick ? 1_000 : 10_000
const MESSAGES = 2_000
/** Requests of a turn. */
const STEPS = 20
/** Turns that are not counted: code is compiled when it has run for a while. The pruner takes its time. */
const warm = (who) => (who === "pruner" ? 1 : 3)
/** The largest ratio to a bare echo over the same streams, for p50 and p99. */
const AIM = 1.5

/** Returns the pruning plugin from npm, or nothing if it cannot be installed. */
function pruner() {
  const folder = join(place, "node_modules", PRUNER)
  try {
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

/** A turn of the scripted model: one piece of work inside a frame, one outside. */
function steps(who) {
  const read = { calls: [{ name: "read", args: { filePath: "README.md" } }] }
  const replies = Array.from({ length: STEPS - 1 }, () => read)
  if (who === "ours") {
    replies[0] = { calls: [{ name: "stack_frame_push", args: { title: "Read it", successCriteria: "It is read" } }] }
    replies[STEPS / 2] = { calls: [{ name: "stack_frame_pop", args: { status: "completed", results: "It says that it is a shop" } }] }
  }
  return [...replies, { text: "Done" }]
}

/** Prints progress. */
const progress = (text) => process.stderr.isTTY && process.stderr.write(text)

/** The requests of a session that continues for some turns, with one plugin in the host. */
async function requests(who, turns, more = {}) {
  const [setting, results] = ["setting", "results"].map((name) => join(place, `${name}.json`))
  rmSync(results, { force: true })
  writeFileSync(setting, JSON.stringify({ who, messages: MESSAGES, plugin, flame, echo, results, ...more }))
  const inside = fileURLToPath(new URL("./inside.mjs", import.meta.url))
  const lab = await Lab.start({
    plugin: false,
    plugins: [inside],
    // Snapshots of files are not part of this, and the session is not to be compacted.
    config: { snapshot: false },
    limit: { context: 100_000_000, output: 8_000 },
    env: { BENCH_SETTING: setting, FLAME_BIN: flame },
  })
  try {
    const session = await lab.session({ title: "A long one" })
    if (who === "ours") plan(lab, session)
    const prompt = async (text, replies) => {
      lab.model.on(text, ...replies)
      await lab.prompt(session, text)
      lab.model.requests.length = 0
    }
    await prompt("Begin.", [{ text: "Begun" }])
    while (!existsSync(results)) await new Promise((resolve) => setTimeout(resolve, 50))
    const all = warm(who) + turns
    for (let turn = 0; turn < all; turn += 1) {
      await prompt(`Go on, for the ${turn}th time.`, steps(who))
      progress(`\r${who}: ${turn + 1} of ${all} turns `)
    }
    // What was measured last is written when the turn is over, a moment after its answer.
    const written = () => JSON.parse(readFileSync(results, "utf8")).filter((one) => one.messages > MESSAGES)
    while (written().length < all * STEPS) await new Promise((resolve) => setTimeout(resolve, 50))
    progress("\r\u001b[K")
    const [first, ...rest] = written()
    return { first, counted: rest.slice(warm(who) * STEPS - 1) }
  } finally {
    await lab.stop()
  }
}

/** A project of many frames. */
function plan(lab, session) {
  const run = (words) => execFileSync(flame, words, { cwd: lab.project, env: { ...lab.environment, FLAME_SESSION: `opencode:${session}` }, encoding: "utf8" })
  run(["push", "Build the shop", "--criteria", "Orders work"])
  for (let n = 0; n < FRAMES; n += 500) {
    const children = Array.from({ length: 500 }, (_, k) => ({ title: `Part ${n + k}`, successCriteria: `Part ${n + k} works` }))
    run(["tool", "stack_frame_plan_children", JSON.stringify({ children })])
  }
}

mkdirSync(place, { recursive: true })
const bare = await requests("bare", quick ? 10 : 25)
// Two sessions: a single one would have grown by half.
const sessions = [await requests("ours", quick ? 10 : 25)]
if (!quick) sessions.push(await requests("ours", 25))
const ours = { first: sessions[0].first, counted: sessions.flatMap((one) => one.counted) }
const found = quick ? undefined : pruner()
const pruned = found && (await requests("pruner", 2, { pruner: found.path }))

const at = (all, share) => all.map((one) => one.took).sort((a, b) => a - b)[Math.floor(all.length * share)]
const last = ours.counted.at(-1)
const bytes = bare.counted.map((one) => one.bytes[0]).sort((a, b) => a - b)[bare.counted.length >> 1]
console.log(`\n${MESSAGES} to ${last.messages} messages, of which ${last.kept} are left; ${FRAMES} frames`)
console.log(`a bare echo is asked ${bytes} and answers ${bare.counted[0].bytes[1]} bytes\n`)
console.log(`${"".padEnd(34)} requests   p50 ms    p90 ms    p99 ms   p50 × echo   p99 × echo`)
const mark = (holds) => (holds ? "✓" : "✗")
const rows = [
  ["bare echo", bare.counted],
  ["Flamestack", ours.counted, true],
  ["  when a frame was just popped", ours.counted.filter((one) => one.popped)],
  ["  the first request of a server", [ours.first]],
]
if (pruned) rows.push([`${PRUNER} ${found.version}`, pruned.counted])
for (const [name, all, aimed] of rows) {
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((share) => at(all, share))
  const times = [p50, p90, p99].map((time) => time.toFixed(2).padStart(8)).join("  ")
  const ratios = [p50 / at(bare.counted, 0.5), p99 / at(bare.counted, 0.99)]
  const beside = ratios.map((ratio) => `${ratio.toFixed(2).padStart(9)}× ${aimed ? mark(ratio <= AIM) : " "}`)
  console.log(`${name.padEnd(34)} ${String(all.length).padStart(8)} ${times} ${name === "bare echo" ? "" : beside.join(" ")}`)
}
console.log(`\naim: p50 and p99 within ${AIM}× of a bare echo over the same streams`)
