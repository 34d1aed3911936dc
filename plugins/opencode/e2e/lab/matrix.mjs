// The crash matrix of `flame run` in the real OpenCode: `kill -9` of the driver, the server and both, before,
// during and after the steps of the run of twelve frames.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Crossing } from "./crossing.mjs"
import { OPENCODE } from "./install.mjs"
import { RunLab, TOOLS, left } from "./run.mjs"
import { EXPECTED, answer, asked, titleOf } from "./shop.mjs"

export const VICTIMS = ["driver", "server", "both"]
export const MOMENTS = ["before", "during", "after"]
const KINDS = ["session", "context", "prompt", "turn"]
/** Every victim at every moment, so that neighbours differ in both. */
const DEATHS = VICTIMS.flatMap((_, shift) => MOMENTS.map((moment, at) => ({ moment, victim: VICTIMS[(at + shift) % 3] })))
const OPTIONS = ["--strategy", "parallel", "--jobs", "2"]
const BETWEEN = fileURLToPath(new URL("./between.mjs", import.meta.url))

const isCrashPrompt = (text) => text.includes("was interrupted by a crash")

/** Waits until something is as wanted. */
async function until(wanted, what) {
  for (let left = 30_000; left > 0; left -= 1) {
    const found = await wanted()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error(`it did not happen: ${what}`)
}

/**
 * A run in which processes die at every `stride`th step, the first death being number `first` of the list. With `own`,
 * the server is the one that `flame run` starts: it has to go with the driver, and to be started again without it.
 */
export class CrashRun {
  /** Deaths, as `{kind, victim, moment}`. */
  deaths = []
  /** Figures that must stay 0. */
  faults = { promptsTwice: 0, resultsLost: 0, executedAgain: 0, otherTrees: 0 }
  /** Requests whose answer died with the server, and prompts that continue such a turn. */
  cut = 0
  continued = 0
  #seen = new Set()
  #lost = new Map()
  #recorded = []
  #dying = false
  #later = Promise.resolve()

  constructor({ first = 0, stride = 1, most = Infinity, own = false } = {}) {
    Object.assign(this, { first, stride, most, own })
  }

  async play() {
    const script = (request) => this.#model(request)
    const env = { FLAME_RUN_INTERRUPTED: "continue" }
    this.runs = await RunLab.start({ script, serve: !this.own, config: this.own ? {} : TOOLS, env })
    this.lab = this.runs.lab
    this.crossing = new Crossing()
    await this.crossing.start(this.own ? () => this.#server().url : () => this.lab.url)
    this.crossing.watch = (call) => this.#call(call)
    try {
      this.driver = this.#drive(["--plan", this.runs.plan, ...OPTIONS])
      const ended = await this.#end()
      await this.#later
      await this.#judge(ended)
    } finally {
      this.crossing.stop()
      await this.runs.stop()
    }
    return this
  }

  #drive(words) {
    if (!this.own) return this.runs.run([...words, "--server", this.crossing.url])
    const env = { FLAME_OPENCODE: BETWEEN, LAB_OPENCODE: OPENCODE, LAB_CROSSING: this.crossing.url, LAB_SERVER: join(this.lab.root, "server") }
    return this.runs.run(words, { env })
  }

  /** Address and process of the server that the driver has started. */
  #server() {
    return JSON.parse(readFileSync(join(this.lab.root, "server"), "utf8"))
  }

  /** The end of the driver that was not killed. */
  async #end() {
    for (;;) {
      const driver = this.driver
      const ended = await driver.ended
      if (ended.signal === "SIGKILL") {
        await until(() => this.driver !== driver, "a resumed driver")
      } else if (ended.code === 1 && !ended.out.includes(`"event":"started"`)) {
        // The server died when the driver had not begun: the user starts it again.
        this.driver = this.#drive(["--resume"])
      } else {
        return ended
      }
    }
  }

  /** Returns the death that is due at a step, if one is. A step that is repeated is left alone. */
  #due(kind, name) {
    if (this.#seen.has(name)) return undefined
    this.#seen.add(name)
    const number = this.#seen.size - 1
    const is = number % this.stride === this.stride - 1 || this.stride === 1
    if (!is || this.#dying || this.deaths.length >= this.most) return undefined
    const death = { kind, ...DEATHS[(this.first + this.deaths.length) % DEATHS.length] }
    this.deaths.push(death)
    this.#dying = true
    return death
  }

  #call({ kind, name }) {
    const death = this.#due(kind, name)
    if (!death) return undefined
    const step = this.runs.journal().at(-1)?.step
    const happen = async () => {
      if (death.moment === "after") await this.#outcome(step)
      await this.#kill(death)
    }
    return { moment: death.moment, happen }
  }

  async #outcome(step) {
    const isOutcome = (record) => record.record === "outcome" && record.step === step
    await until(() => this.runs.journal().some(isOutcome), `outcome ${step}`)
  }

  /** Answers the model's requests, before, in the middle or after the death that is due. */
  async #model(request) {
    const name = `turn ${request.session} ${asked(request)} ${request.messages.at(-1).role}`
    const death = this.#due("turn", name)
    const reply = answer(request)
    if (!death) return reply
    // The test cannot look into a server whose password it does not know.
    if (this.own && death.moment === "after") death.moment = "during"
    this.crossing.hold()
    if (death.moment === "before") {
      await this.#kill(death)
      return reply
    }
    if (death.moment === "during") {
      return { ...reply, pause: () => this.#kill(death) }
    }
    const { session } = request
    const begun = this.lab.model.work(session).length - (this.#lost.get(session) ?? 0)
    const whole = until(async () => (await this.#stored(session)) >= begun, "an answer that is stored")
    this.#later = whole.then(() => this.#kill(death))
    return reply
  }

  /** Number of whole answers that a session has stored. */
  async #stored(session) {
    const messages = await this.lab.messages(session)
    return messages.filter(({ info }) => info.role === "assistant" && info.time.completed && !info.error).length
  }

  async #kill({ victim }) {
    if (victim !== "server") {
      this.driver.kill("SIGKILL")
      await this.driver.ended
    }
    if (this.own) await this.#endOwn(victim)
    else if (victim !== "driver") {
      await this.lab.crash()
      await this.lab.serve()
      await this.#countCut()
    }
    const results = this.runs.frames().filter(([, status]) => ["completed", "failed", "invalidated"].includes(status))
    this.#recorded.push({ results, requests: this.lab.model.requests.length })
    this.#dying = false
    this.crossing.open()
    if (victim !== "server") this.driver = this.#drive(["--resume"])
  }

  /** Kills the server that the driver has started, or sees that it goes with the driver. */
  async #endOwn(victim) {
    const { pid } = this.#server()
    if (victim !== "driver") process.kill(pid, "SIGKILL")
    if (victim === "server") return
    await until(() => left(this.lab).length === 0, "a server that is gone with its driver")
  }

  /** Counts the requests whose answers died with the server. */
  async #countCut() {
    for (const session of new Set(this.lab.model.work().map((request) => request.session))) {
      const asked = this.lab.model.work(session).length
      const lost = asked - (await this.#stored(session))
      this.cut += lost - (this.#lost.get(session) ?? 0)
      this.#lost.set(session, lost)
    }
  }

  async #judge({ code, out, err }) {
    const { model } = this.lab
    const frames = this.runs.frames()
    if (code !== 0 || JSON.stringify(frames) !== JSON.stringify(EXPECTED)) this.#fault("otherTrees", `exit ${code} ${err}${out}`, frames)
    assert.deepEqual(model.problems, [])
    for (const { results, requests } of this.#recorded) {
      for (const [title, status, text] of results) {
        const now = frames.find(([other]) => other === title)
        if (JSON.stringify(now) !== JSON.stringify([title, status, text])) this.#fault("resultsLost", title, now)
        const again = model.requests.slice(requests).filter((request) => request.kind === "work" && titleOf(request) === title)
        if (again.length > 0) this.#fault("executedAgain", title, again.length)
      }
    }
    if (this.own) assert.deepEqual(left(this.lab), [], "a server was left")
    if (this.own) await this.lab.serve()
    await this.#judgePrompts()
  }

  /** Each request is answered once, except those that died with the server; each prompt is stored once. */
  async #judgePrompts() {
    const { model } = this.lab
    const prompts = []
    for (const session of new Set(model.work().map((request) => request.session))) {
      const requests = model.work(session)
      const stored = await this.#stored(session)
      // Every death takes the own server with it.
      const lost = this.own ? Math.min(requests.length - stored, this.deaths.length) : (this.#lost.get(session) ?? 0)
      if (this.own) this.cut += lost
      if (requests.length !== stored + lost) {
        this.#fault("promptsTwice", titleOf(requests[0]), { requests: requests.length, stored, lost })
      }
      const bodies = requests.map((request) => JSON.stringify(request.messages))
      const repeated = bodies.length - new Set(bodies).size
      if (repeated > lost) this.#fault("promptsTwice", titleOf(requests[0]), { repeated, lost })
      for (const { info, parts } of await this.lab.messages(session)) {
        if (info.role !== "user") continue
        const texts = parts.filter((part) => part.type === "text").map((part) => part.text)
        if (new Set(texts).size !== texts.length) this.#fault("promptsTwice", "a part", texts)
        if (isCrashPrompt(texts.join())) this.continued += 1
        else prompts.push(texts.at(-1).split("\n")[0])
      }
    }
    const wanted = JSON.stringify(PROMPTS)
    if (JSON.stringify(prompts.sort()) !== wanted) this.#fault("promptsTwice", "prompts", prompts)
  }

  #fault(name, what, found) {
    this.faults[name] += 1
    console.error(`${name}: ${what}: ${JSON.stringify(found)}; deaths: ${JSON.stringify(this.deaths)}`)
  }
}

const CONTEXT = "The state of the work that your task is part of, for information. The task itself comes in the next message."
/** First lines of all messages to sessions, as in a run in which nothing dies. */
const PROMPTS = [
  ...["API", "Auth", "Auth", "Build the shop", "Docs", "Limits", "New importer", "Old importer", "Old importer"],
  ...["Read routes", "Routes", "Schema", "Write routes"],
]
  .flatMap((title) => [`Begin work on: ${title}`, CONTEXT])
  .concat(["API", "API", "Build the shop", "Routes"].map((title) => `Continue with: ${title}`))
  .concat("`Limits` is no longer blocked. Check what it waited for, then continue.")
  .sort()

/** The table of deaths, and the figures below it. */
export function table(runs) {
  const all = runs.flatMap((run) => run.deaths.map((death) => ({ ...death, victim: run.own ? `${death.victim}, own server` : death.victim })))
  const names = [...new Set(all.map((death) => death.victim))].sort((a, b) => a.length - b.length)
  const count = (wanted) => all.filter((death) => Object.entries(wanted).every(([key, value]) => death[key] === value)).length
  const lines = [
    `| killed | ${KINDS.flatMap((kind) => MOMENTS.map((moment) => `${moment} ${kind}`)).join(" | ")} |`,
    `|---|${KINDS.flatMap(() => MOMENTS.map(() => "---:|")).join("")}`,
    ...names.map((victim) => `| ${victim} | ${KINDS.flatMap((kind) => MOMENTS.map((moment) => count({ victim, kind, moment }))).join(" | ")} |`),
  ]
  const sum = (name) => runs.reduce((total, run) => total + (run.faults[name] ?? run[name]), 0)
  const figures = [
    `${all.length} deaths in ${runs.length} runs of twelve frames`,
    `${sum("promptsTwice")} prompts sent twice`,
    `${sum("resultsLost")} results lost`,
    `${sum("executedAgain")} frames executed again after their results were recorded`,
    `${sum("otherTrees")} other final trees`,
    `${sum("cut")} answers died with the server and were asked for again`,
    `${sum("continued")} turns were continued after unknown effects`,
  ]
  return `${lines.join("\n")}\n\n${figures.join(", ")}`
}
