// The sidecar process: starting it, asking it within a deadline, and continuing without it.
//
// Nothing here knows about OpenCode. A request is answered in time or rejected; the process is
// started again when it is gone, at growing intervals, the next time it is needed.

import { type ChildProcess, spawn } from "node:child_process"
import { basename, resolve } from "node:path"
import type {
  CallParams,
  ChildResult,
  DelegateParams,
  DelegateResult,
  HelloParams,
  HostEvent,
  Notice,
  ObserveParams,
  PrepareParams,
  PromptParams,
  PromptResult,
  RequestPlan,
  ResumeParams,
  ResumeResult,
  ShowParams,
  ShowResult,
  SummarizeParams,
  SummarizeResult,
  SummaryReplacement,
  SummaryText,
  ToolResult,
  Welcome,
} from "./protocol.js"
import type { Stats } from "./stats.js"

/** The default deadline of a hook, in milliseconds. */
const DEADLINE = 250
/** The deadline of a tool call, in milliseconds: the model waits anyway, and a busy store may need a moment. */
export const CALL_DEADLINE = 5_000
/** A process that has not answered for this time is replaced, in milliseconds. */
const HUNG = 30_000
/** Maximum number of bytes that wait for a process that does not read. */
const BACKLOG = 32 * 1024 * 1024
/** Maximum length of an answer. */
const LONGEST_LINE = 64 * 1024 * 1024
/** The shortest and the longest time between two starts. */
const BACK_OFF = { first: 500, most: 60_000 }

/** The methods, each with its parameters and its result. */
type Methods = {
  hello: [HelloParams, Welcome]
  prompt: [PromptParams, PromptResult]
  prepare: [PrepareParams, RequestPlan]
  call: [CallParams, ToolResult]
  delegate: [DelegateParams, DelegateResult]
  childEnded: [ChildResult, ToolResult]
  summarize: [SummarizeParams, SummarizeResult]
  summarized: [SummaryText, SummaryReplacement]
  show: [ShowParams, ShowResult]
  resume: [ResumeParams, ResumeResult]
}

type Pending = { since: number; settle: (answer: { result?: unknown; error?: { message?: string } }) => void }

/** The error of a request that was not answered. */
export class Unanswered extends Error {
  override name = "Unanswered"
}

/** The configuration of a sidecar. */
export type Setup = {
  /** The program and its arguments. */
  command: string[]
  /** The first request; the process is started in its directory. */
  hello: HelloParams
  /** The deadline of a hook, in milliseconds. */
  deadline?: number
  /** Called once for each loss of the process. */
  lost: (why: string) => void
  /** Called for each answer to `hello`. */
  welcome?: (welcome: Welcome) => void
  /** Called for what the sidecar wants the user to read. */
  notice?: (notice: Notice) => void
  /** The clock, in milliseconds; tests have one of their own. */
  now?: () => number
}

export class Sidecar {
  /** The number of the process; a new one knows nothing of what its predecessor was sent. */
  generation = 0

  readonly #setup: Setup
  readonly #now: () => number
  #child: ChildProcess | undefined
  #pending = new Map<number, Pending>()
  #nextId = 1
  #startedAt = Number.NEGATIVE_INFINITY
  #backOff = BACK_OFF.first
  #answeredAt = 0
  /** True after a missed deadline, until the next answer: requests are then not waited for. */
  #silent = false
  #reported = false
  #closed = false
  #welcome: Promise<Welcome> = Promise.reject(new Unanswered("the sidecar was not started"))

  constructor(setup: Setup) {
    this.#setup = setup
    this.#now = setup.now ?? (() => performance.now())
    this.#welcome.catch(() => {})
  }

  /** The deadline of a hook, in milliseconds. */
  get deadline(): number {
    return this.#setup.deadline ?? DEADLINE
  }

  /** Returns the sidecar's answer to `hello`. */
  welcomed(): Promise<Welcome> {
    this.start()
    return this.#welcome
  }

  /** Starts the process if it does not run and it may be tried again. */
  start(): boolean {
    if (this.#child) return true
    const now = this.#now()
    if (this.#closed || now < this.#startedAt + this.#backOff) return false
    // After a minute of life the interval starts anew; it doubles while the process keeps dying.
    this.#backOff =
      now > this.#startedAt + BACK_OFF.most ? BACK_OFF.first : Math.min(this.#backOff * 2, BACK_OFF.most)
    this.#startedAt = now
    this.#answeredAt = now
    this.#silent = false
    this.generation += 1
    const [program, ...rest] = this.#setup.command
    let child: ChildProcess
    try {
      // One server serves many directories, and the sidecar's project is that of the directory it is started in.
      const cwd = this.#setup.hello.directory
      child = spawn(located(program ?? "flame"), rest, { cwd, stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
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
      this.#setup.welcome?.(welcome)
    }
    this.#welcome = this.#ask("hello", this.#setup.hello, this.deadline, greeted)
    this.#welcome.then(greeted, () => {})
    return true
  }

  /**
   * Sends a request and waits for the answer until the deadline. An answer that comes later goes to `late`.
   * `meanwhile` runs while the sidecar works on the answer.
   */
  async ask<M extends keyof Methods>(
    method: M,
    params: Methods[M][0],
    deadline = this.deadline,
    late?: (result: Methods[M][1]) => void,
    meanwhile?: () => void,
  ): Promise<Methods[M][1]> {
    if (!this.start()) throw new Unanswered("the sidecar is not running")
    if (this.#now() > this.#answeredAt + HUNG && this.#pending.size > 0) {
      this.#lose(this.#child, "it does not answer")
      throw new Unanswered("the sidecar does not answer")
    }
    return this.#ask(method, params, this.#silent ? 0 : deadline, late, meanwhile)
  }

  /** Reports events, and with the end of a turn how its hooks fared. A notification: it has no answer. */
  observe(session: string, events: HostEvent[], stats: Stats): void {
    if (events.some(({ kind }) => kind === "idle")) events.push({ kind: "hookStats", hooks: stats.report() })
    const params: ObserveParams = { session, events }
    if (this.start()) this.#write({ jsonrpc: "2.0", method: "observe", params })
  }

  /** Ends the process: by the end of its input, and by a signal if that does not help. */
  close(): void {
    this.#closed = true
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
      if (this.#pending.size === 0) this.#answeredAt = Math.max(this.#answeredAt, this.#now())
      this.#pending.set(id, {
        since: this.#now(),
        settle: (answer) => {
          clearTimeout(timer)
          if ("result" in answer && answer.result !== undefined) {
            const result = answer.result as Methods[M][1]
            if (waiting) return resolve(result)
            try {
              late?.(result)
            } catch {
              // A late answer of the wrong shape is ignored.
            }
          } else {
            reject(new Unanswered(answer.error?.message ?? `${method} was answered with nothing`))
          }
        },
      })
      this.#write({ jsonrpc: "2.0", id, method, params })
      meanwhile?.()
      if (deadline <= 0) return giveUp()
      timer = setTimeout(giveUp, deadline)
    })
  }

  #write(message: unknown): void {
    const child = this.#child
    if (!child?.stdin) return
    const line = `${JSON.stringify(message)}\n`
    child.stdin.write(line)
    if (child.stdin.writableLength > BACKLOG) this.#lose(child, "it does not read")
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

  /** Passes on what the user is to read, unless it has another shape. */
  #notify(params: unknown): void {
    const { session, text } = (params ?? {}) as Partial<Notice>
    if (typeof session !== "string" || typeof text !== "string") return
    try {
      this.#setup.notice?.({ session, text })
    } catch {
      // A host that cannot show it continues without.
    }
  }

  #hear(line: string): void {
    let answer: { id?: unknown; method?: unknown; params?: unknown; result?: unknown; error?: { message?: string } }
    try {
      answer = JSON.parse(line)
    } catch {
      return
    }
    if (typeof answer !== "object" || answer === null) return
    if (answer.method === "notice") return this.#notify(answer.params)
    if (typeof answer.id !== "number") return
    const pending = this.#pending.get(answer.id)
    if (!pending) return
    this.#pending.delete(answer.id)
    this.#answeredAt = this.#now()
    this.#silent = false
    this.#reported = false
    pending.settle(answer)
  }

  #lose(child: ChildProcess | undefined, why: string): void {
    if (child !== this.#child) return
    this.#child = undefined
    child?.kill("SIGKILL")
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const one of pending) one.settle({ error: { message: `the sidecar is gone: ${why}` } })
    if (this.#reported || this.#closed) return
    this.#reported = true
    this.#setup.lost(why)
  }
}

/** Returns a program whose path is relative to this process, not to the directory that it is started in. */
function located(program: string): string {
  return basename(program) === program ? program : resolve(program)
}
