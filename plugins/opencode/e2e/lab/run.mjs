// `flame run` in a lab: started, watched and killed.

import { spawn } from "node:child_process"
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { FLAME, OPENCODE } from "./install.mjs"
import { Lab } from "./opencode.mjs"
import { PLAN, answer } from "./shop.mjs"

/** Configuration by which a server that `flame run` does not start offers our tools. */
export const TOOLS = { mcp: { stack: { type: "local", command: [FLAME, "run-server", "tools"], enabled: true } } }

export class RunLab {
  /** `serve`: true keeps the lab's own server, for `--server`. `script` answers every request. */
  static async start({ script = answer, plan = PLAN, serve = false, ...lab } = {}) {
    const self = new RunLab()
    self.lab = await Lab.start({ plugin: false, ...lab })
    if (!serve) await self.lab.halt()
    self.lab.model.always(script)
    self.plan = join(self.lab.root, "plan.json")
    writeFileSync(self.plan, plan)
    return self
  }

  /** Starts `flame run --json`; `ended` resolves with its exit code, its output and its events. */
  run(words, { env = {}, json = true } = {}) {
    const environment = { ...this.lab.environment, FLAME_OPENCODE: OPENCODE, ...env }
    const command = ["run", ...(json ? ["--json"] : []), ...words]
    const child = spawn(FLAME, command, { cwd: this.lab.project, env: environment, stdio: ["ignore", "pipe", "pipe"] })
    const said = { out: "", err: "" }
    child.said = said
    child.stdout.setEncoding("utf8").on("data", (chunk) => (said.out += chunk))
    child.stderr.setEncoding("utf8").on("data", (chunk) => (said.err += chunk))
    const events = () => said.out.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))
    child.ended = new Promise((resolve) => {
      child.on("close", (code, signal) => resolve({ code, signal, ...said, events: json ? events() : [] }))
    })
    /** The first event that matches. */
    child.event = (matches) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const whole = said.out.slice(0, said.out.lastIndexOf("\n") + 1)
          const found = whole.split("\n").filter(Boolean).map((line) => JSON.parse(line)).find(matches)
          if (found) resolve(found)
        }
        child.stdout.on("data", look)
        child.on("close", () => reject(new Error(`flame ended first: ${said.err}${said.out}`)))
        look()
      })
    return child
  }

  /** Title, status and results of every frame. */
  frames() {
    const { lines } = JSON.parse(this.lab.flame(["tree", "--all", "--json"]))
    const frames = lines.filter((line) => line.kind === "frame")
    const found = frames.map(({ id, title, status }) => [title, status, JSON.parse(this.lab.flame(["show", id, "--json"])).results ?? null])
    return found.sort((a, b) => (a[0] < b[0] ? -1 : 1))
  }

  /** The records of the newest run's journal. */
  journal() {
    const place = this.journalPath()
    if (!place) return []
    const text = readFileSync(place, "utf8")
    return text.slice(0, text.lastIndexOf("\n") + 1).split("\n").filter(Boolean).map((line) => JSON.parse(line))
  }

  journalPath() {
    if (!existsSync(this.lab.state)) return undefined
    const names = readdirSync(this.lab.state, { recursive: true }).filter((name) => /runs\/[^/.]+\.jsonl$/.test(name))
    return names.length > 0 ? join(this.lab.state, names.sort().at(-1)) : undefined
  }

  async stop() {
    await this.lab.stop()
  }
}

/** Processes of a lab's servers, by the folder that their environment names. */
export function left(lab) {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, "utf8")
      return line.includes("opencode") && line.includes("serve") && readFileSync(`/proc/${name}/environ`, "utf8").includes(lab.root)
    } catch {
      return false
    }
  })
}

/** A plan of frames, by title or whole. */
export const plan = (...frames) => JSON.stringify({ goal: "Goal", frames: frames.map((one) => (typeof one === "string" ? { title: one } : one)) })
/** An answer that ends its frame. */
export const done = (text) => ({ text: `Some words.\n\nFRAME_COMPLETE: ${text}` })
/** The output of the tool that a request brings; none if it brings none. */
export const toolResult = (request) => {
  const last = request.messages.at(-1)
  return last.role === "tool" ? String(last.content) : undefined
}
/** A call of the shell. */
export const bash = (command) => ({ calls: [{ name: "bash", args: { command, description: "Runs it" } }] })

/** Something that is waited for until it is let. */
export function gate() {
  let open
  const opened = new Promise((resolve) => (open = resolve))
  return { open, opened }
}

/** Runs something in a lab that is stopped afterwards. */
export async function within(options, story) {
  const runs = await RunLab.start(options)
  try {
    await story(runs)
  } finally {
    await runs.stop()
  }
}
