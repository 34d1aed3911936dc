// The sidecar process: starting it, asking it within a deadline, and going on without it.
//
// Nothing here knows about OpenCode. A request is answered in time or rejected; the process is
// started again when it is gone, at growing intervals, the next time somebody needs it.

import { type ChildProcess, spawn } from "node:child_process"
import { DirectLine } from "./direct.js"
import type {
  Call,
  Called,
  Delegated,
  Delegating,
  Direct,
  Hello,
  Instructions,
  Observe,
  Prepare,
  Prepared,
  Prompt,
  Prompted,
  Returned,
  Rewritten,
  Show,
  Shown,
  Summarizing,
  Welcome,
  Written,
} from "./protocol.js"

/** How long a hook waits for an answer, in milliseconds, unless it is told otherwise. */
const DEADLINE = 250
/** How long a tool call waits: a model is waiting anyway, and a busy store may need a moment. */
export const CALL_DEADLINE = 5_000
/** A process that has answered nothing for this long is replaced. */
const HUNG = 30_000
/** Bytes that may wait for a process that does not read. */
const BACKLOG = 32 * 1024 * 1024
/** The longest line that is taken for an answer. */
const LONGEST_LINE = 64 * 1024 * 1024
/** The shortest and the longest time between two starts. */
const BACK_OFF = { first: 500, most: 60_000 }

/** What can be asked, and what the answer is. */
type Methods = {
  hello: [Hello, Welcome]
  prompt: [Prompt, Prompted]
  prepare: [Prepare, Prepared]
  call: [Call, Called]
  delegating: [Delegating, Delegated]
  returned: [Returned, Called]
  summarizing: [Summarizing, Instructions]
  written: [Written, Rewritten]
  show: [Show, Shown]
}

type Pending = { since: number; settle: (answer: { result?: unknown; error?: { message?: string } }) => void }

/** Why there is no answer. */
export class Unanswered extends Error {
  override name = "Unanswered"
}

/** What the sidecar needs to know about the shim that starts it. */
export type Setup = {
  /** The program and its arguments. */
  command: string[]
  hello: Hello
  /** How long a hook waits for an answer, in milliseconds. */
  deadline?: number
  /** Told once for each time the sidecar is lost. */
  lost: (why: string) => void
  /** Told of each welcome. */
  welcome?: (welcome: Welcome) => void
}

export class Sidecar {
  /** Goes up with each process: what one was told, the next does not know. */
  generation = 0

  readonly #setup: Setup
  #child: ChildProcess | undefined
  /** A shorter way to it, once it is laid. */
  #direct: DirectLine | undefined
  #pending = new Map<number, Pending>()
  #nextId = 1
  #startedAt = Number.NEGATIVE_INFINITY
  #backOff = BACK_OFF.first
  #answeredAt = 0
  /** A deadline was missed and nothing has been heard since: nobody waits for it any more. */
  #silent = false
  #reported = false
  #closed = false
  #welcome: Promise<Welcome> = Promise.reject(new Unanswered("the sidecar was not started"))

  constructor(setup: Setup) {
    this.#setup = setup
    this.#welcome.catch(() => {})
  }

  /** How long a hook waits for an answer, in milliseconds. */
  get deadline(): number {
    return this.#setup.deadline ?? DEADLINE
  }

  /** What the sidecar said when it was started last, within the deadline of a hook. */
  welcomed(): Promise<Welcome> {
    this.start()
    return this.#welcome
  }

  /** Starts the process if there is none and it may be tried again. */
  start(): boolean {
    if (this.#child) return true
    const now = performance.now()
    if (this.#closed || now < this.#startedAt + this.#backOff) return false
    // A process that lived for long earns a fresh start; one that keeps dying is left alone longer.
    this.#backOff =
      now > this.#startedAt + BACK_OFF.most ? BACK_OFF.first : Math.min(this.#backOff * 2, BACK_OFF.most)
    this.#startedAt = now
    this.#answeredAt = now
    this.#silent = false
    this.generation += 1
    const [program, ...rest] = this.#setup.command
    let child: ChildProcess
    try {
      child = spawn(program ?? "flame", rest, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    } catch (error) {
      this.#lose(undefined, String(error))
      return false
    }
    this.#child = child
    child.on("error", (error) => this.#lose(child, error.message))
    child.on("exit", (code, signal) => this.#lose(child, `it ended (${signal ?? code})`))
    child.stdin?.on("error", (error) => this.#lose(child, error.message))
    child.stdout?.on("error", () => {})
    this.#listen(child)
    // The host must be able to end while the sidecar lives; the end of its input then ends it.
    child.unref()
    for (const stream of [child.stdin, child.stdout]) (stream as { unref?: () => void } | null)?.unref?.()
    const greeted = (welcome: Welcome) => {
      if (child !== this.#child || this.#closed) return
      if (welcome.direct) this.#turnTo(child, welcome.direct)
      this.#setup.welcome?.(welcome)
    }
    this.#welcome = this.#ask("hello", this.#setup.hello, this.deadline, greeted)
    this.#welcome.then(greeted, () => {})
    return true
  }

  /**
   * Asks, and waits no longer than the deadline. `late` is given the answer that comes after it:
   * what was said then still counts. `meanwhile` is done between question and answer.
   */
  async ask<M extends keyof Methods>(
    method: M,
    params: Methods[M][0],
    deadline = this.deadline,
    late?: (result: Methods[M][1]) => void,
    meanwhile?: () => void,
  ): Promise<Methods[M][1]> {
    if (!this.start()) throw new Unanswered("the sidecar is not running")
    if (performance.now() > this.#answeredAt + HUNG && this.#pending.size > 0) {
      this.#lose(this.#child, "it does not answer")
      throw new Unanswered("the sidecar does not answer")
    }
    return this.#ask(method, params, this.#silent ? 0 : deadline, late, meanwhile)
  }

  /** Tells what happened; nobody waits for it. */
  tell(observe: Observe): void {
    if (this.start()) this.#write({ jsonrpc: "2.0", method: "observe", params: observe })
  }

  /** Ends the process: the end of its input is its signal, a kill follows if it does not go. */
  close(): void {
    this.#closed = true
    this.#direct?.close()
    this.#direct = undefined
    const child = this.#child
    if (!child) return
    child.stdin?.end()
    setTimeout(() => child.kill("SIGKILL"), 2_000).unref()
  }

  #ask<M extends keyof Methods>(
    method: M,
    params: Methods[M][0],
    deadline: number,
    late?: (result: Methods[M][1]) => void,
    meanwhile?: () => void,
  ): Promise<Methods[M][1]> {
    return new Promise((resolve, reject) => {
      const id = this.#nextId++
      let waiting = true
      const giveUp = () => {
        waiting = false
        this.#silent = true
        reject(new Unanswered(`${method} was not answered in time`))
      }
      let timer: ReturnType<typeof setTimeout> | undefined
      if (this.#pending.size === 0) this.#answeredAt = Math.max(this.#answeredAt, performance.now())
      this.#pending.set(id, {
        since: performance.now(),
        settle: (answer) => {
          clearTimeout(timer)
          if ("result" in answer && answer.result !== undefined) {
            const result = answer.result as Methods[M][1]
            if (waiting) return resolve(result)
            try {
              late?.(result)
            } catch {
              // Nobody waits for it: an answer that makes no sense is no answer.
            }
          } else {
            reject(new Unanswered(answer.error?.message ?? `${method} was answered with nothing`))
          }
        },
      })
      this.#write({ jsonrpc: "2.0", id, method, params })
      meanwhile?.()
      if (deadline <= 0) return giveUp()
      if (method === "prepare") this.#direct?.listen(() => !this.#pending.has(id), (line) => this.#hear(line))
      if (this.#pending.has(id)) timer = setTimeout(giveUp, deadline)
    })
  }

  #write(message: unknown): void {
    const child = this.#child
    if (!child?.stdin) return
    const line = `${JSON.stringify(message)}\n`
    if (this.#direct) this.#direct.write(line)
    else child.stdin.write(line)
    if ((this.#direct?.waiting ?? child.stdin.writableLength) > BACKLOG) this.#lose(child, "it does not read")
  }

  /** From now on everything is written to the direct line; where it cannot be opened, all stays as it was. */
  #turnTo(child: ChildProcess, direct: Direct): void {
    try {
      const line = new DirectLine(direct)
      child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", method: "direct" })}\n`)
      this.#direct = line
    } catch {
      // Standard input and output do as well.
    }
  }

  #listen(child: ChildProcess): void {
    let rest = ""
    child.stdout?.setEncoding("utf8")
    child.stdout?.on("data", (chunk: string) => {
      if (child !== this.#child) return
      // Only the new chunk is searched: a long answer comes in many.
      let from = 0
      let end = chunk.indexOf("\n")
      while (end >= 0) {
        this.#hear(rest + chunk.slice(from, end))
        rest = ""
        from = end + 1
        end = chunk.indexOf("\n", from)
      }
      rest += chunk.slice(from)
      if (rest.length > LONGEST_LINE) this.#lose(child, "its answer has no end")
    })
  }

  #hear(line: string): void {
    let answer: { id?: unknown; result?: unknown; error?: { message?: string } }
    try {
      answer = JSON.parse(line)
    } catch {
      return
    }
    if (typeof answer !== "object" || answer === null || typeof answer.id !== "number") return
    const pending = this.#pending.get(answer.id)
    if (!pending) return
    this.#pending.delete(answer.id)
    this.#answeredAt = performance.now()
    this.#silent = false
    this.#reported = false
    pending.settle(answer)
  }

  #lose(child: ChildProcess | undefined, why: string): void {
    if (child !== this.#child) return
    this.#child = undefined
    this.#direct?.close()
    this.#direct = undefined
    child?.kill("SIGKILL")
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const one of pending) one.settle({ error: { message: `the sidecar is gone: ${why}` } })
    if (this.#reported || this.#closed) return
    this.#reported = true
    this.#setup.lost(why)
  }
}
