// OpenCode's events in the protocol's words.
//
// Events come often and are not awaited. They are translated immediately and sent together at the end of
// the tick, in order, one notification per session.

import type { Event, Message as HostInfo, Session } from "@opencode-ai/sdk"
import type { SessionState } from "./sessions.js"
import { describe, isFinal, message } from "./messages.js"
import type { HostEvent, SessionFacts } from "./protocol.js"

/** The key of this plugin's link in a session's metadata. */
export const LINK = "flamestack"

/** The title of a session that OpenCode has not named yet. */
const UNNAMED = /^(New|Child) session - \d{4}-\d\d-\d\dT/

/**
 * The session that the link was written for (a fork carries its original's), the session that it is a fork of,
 * and the frame that it was made for. With a run, it is the link of `flame run`, which finds its sessions by it.
 */
export type Link = { session?: string; copyOf?: string; frame?: string; run?: string }

/** The rest of the plugin, as translating needs it. */
export type Surroundings = {
  sessions: { of(id: string): SessionState; forget(id: string): void; edited(id: string, message: string): void }
  queue: EventQueue
  /** Writes the link into a session. */
  link: (session: SessionInfo, link: Link) => void
  /** Asks for the messages of the session that this one is a copy of. */
  copy: (session: string, original: string) => void
}

/** Collects the events of each session until the end of the tick. */
export class EventQueue {
  #waiting = new Map<string, HostEvent[]>()
  readonly #send: (session: string, events: HostEvent[]) => void

  constructor(send: (session: string, events: HostEvent[]) => void) {
    this.#send = send
  }

  add(session: string, event: HostEvent): void {
    const waiting = this.#waiting.get(session)
    if (waiting) {
      waiting.push(event)
      return
    }
    this.#waiting.set(session, [event])
    queueMicrotask(() => this.flush(session))
  }

  /** Sends what waits, so that it arrives before the next request. */
  flush(session: string): void {
    const events = this.#waiting.get(session)
    this.#waiting.delete(session)
    if (events) this.#send(session, events)
  }
}

/** A session as this version of OpenCode describes it; its types are older. */
export type SessionInfo = Session & { agent?: string; metadata?: Record<string, unknown> }

/** Events that the types lack. */
type Asking = {
  type: string
  properties?: {
    id?: string
    requestID?: string
    sessionID?: string
    permission?: string
    patterns?: string[]
    questions?: { question?: string }[]
  }
}

type Tracked = { facts: string; revert: string | undefined }

export class Events {
  readonly #around: Surroundings
  #messages = new Map<string, HostInfo>()
  #sessions = new Map<string, Tracked>()
  #prompted = new Set<string>()
  /** The message of each call to a subagent that may still be asked about. */
  #calls = new Map<string, string>()
  /** The calls that were reported while they ran. */
  #begun = new Set<string>()
  /** The questions that each session waits for, by the host's id. */
  #asked = new Map<string, Map<string, string>>()
  #driven = new Set<string>()
  /** The sessions that wait to ask the provider again. */
  #retrying = new Set<string>()

  constructor(around: Surroundings) {
    this.#around = around
  }

  /** Notes a user's message that the sidecar has got already. */
  prompted(id: string): void {
    this.#prompted.add(id)
  }

  /** Returns the message that holds a call. */
  messageOf(call: string): string | undefined {
    return this.#calls.get(call)
  }

  /** Takes an event. */
  take(event: Event): void {
    this.#question(event as Asking)
    switch (event.type) {
      case "session.created":
        this.session(event.properties.info, true)
        break
      case "session.updated":
        this.session(event.properties.info)
        break
      case "session.deleted":
        this.#add(event.properties.info.id, { kind: "deleted" })
        this.#sessions.delete(event.properties.info.id)
        this.#driven.delete(event.properties.info.id)
        this.#asked.delete(event.properties.info.id)
        this.#retrying.delete(event.properties.info.id)
        this.#around.sessions.forget(event.properties.info.id)
        break
      case "message.updated":
        this.#message(event.properties.info)
        break
      case "message.removed":
        this.#removed(event.properties.sessionID, event.properties.messageID)
        break
      case "message.part.updated":
        this.#around.sessions.edited(event.properties.part.sessionID, event.properties.part.messageID)
        this.#part(event.properties.part)
        break
      case "message.part.removed":
        this.#around.sessions.edited(event.properties.sessionID, event.properties.messageID)
        break
      case "todo.updated":
        this.#add(event.properties.sessionID, {
          kind: "todos",
          items: event.properties.todos.map((todo) => ({ text: todo.content, status: todo.status })),
        })
        break
      case "session.compacted":
        this.#around.sessions.of(event.properties.sessionID).compacting = false
        this.#add(event.properties.sessionID, { kind: "compacted" })
        break
      case "session.status":
        this.#status(event.properties.sessionID, event.properties.status.type)
        break
      case "session.error":
        this.#failed(event.properties.sessionID, event.properties.error)
        break
      case "session.idle":
        this.#idle(event.properties.sessionID)
        break
    }
  }

  /** Takes the description of a session, from an event or an answer of the host. */
  session(info: SessionInfo, fresh = false): void {
    const link = (info.metadata?.[LINK] ?? {}) as Link
    if (link.run !== undefined || this.isDriven(info.parentID)) {
      this.#driven.add(info.id)
      return
    }
    const facts: SessionFacts = { directory: info.directory }
    if (!UNNAMED.test(info.title)) facts.title = info.title
    if (info.parentID) facts.parent = info.parentID
    if (info.agent) facts.agent = info.agent
    if (info.version) facts.hostVersion = info.version
    if (link.frame && !isCopy(link, info)) facts.frame = link.frame
    const original = isCopy(link, info) ? link.session : link.copyOf
    if (original !== undefined) facts.copyOf = original
    if (info.summary) facts.diff = [info.summary.additions, info.summary.deletions, info.summary.files]
    const before = this.#sessions.get(info.id)
    const text = JSON.stringify(facts)
    if (before?.facts !== text) this.#add(info.id, { kind: "session", ...facts })
    if (original !== undefined && before === undefined) this.#around.copy(info.id, original)
    if (link.session !== info.id) {
      // The frame that the original was made for is not its copy's.
      const { frame } = isCopy(link, info) ? {} : link
      this.#around.link(info, {
        session: info.id,
        ...(original !== undefined && { copyOf: original }),
        ...(frame && { frame }),
      })
    }
    const revert = info.revert?.messageID
    if (revert !== undefined && revert !== before?.revert) this.#add(info.id, { kind: "reverted", message: revert })
    // A session that is older than the plugin may have been reverted and restored unseen.
    if (revert === undefined && (before ? before.revert !== undefined : !fresh)) this.#add(info.id, { kind: "reverted" })
    this.#sessions.set(info.id, { facts: text, revert })
  }

  /** Takes the messages of the session that another one is a copy of. */
  copied(session: string, from: string, infos: HostInfo[]): void {
    const messages = infos.map(({ id, role, time }) => ({ id, role, at: time.created }))
    this.#add(session, { kind: "copied", from, messages })
    this.#around.queue.flush(session)
  }

  /** Returns true if a session was described already. */
  knows(session: string): boolean {
    return this.#sessions.has(session) || this.isDriven(session)
  }

  /** Returns true if `flame run` drives a session, or the one that started it. */
  isDriven(session: string | undefined): boolean {
    return session !== undefined && this.#driven.has(session)
  }

  #message(info: HostInfo): void {
    this.#messages.set(info.id, info)
    if (info.role === "assistant" && (info.time.completed !== undefined || info.error)) {
      this.#add(info.sessionID, { kind: "message", ...message(info, []) })
    }
  }

  #part(part: Extract<Event, { type: "message.part.updated" }>["properties"]["part"]): void {
    if (part.type === "tool" && part.tool === "task") this.#calls.set(part.callID, part.messageID)
    const info = this.#messages.get(part.messageID)
    if (!info || this.#prompted.has(part.messageID)) return
    // A call is reported while it runs, once: it may never return. A subagent's again, with its session.
    const runs = part.type === "tool" && part.state.status === "running"
    const linked = runs && part.tool === "task"
    const begins = runs && !this.#begun.has(part.callID)
    if (begins) this.#begun.add(part.callID)
    if (!linked && !begins && !isFinal(part, info.role)) return
    if (part.type === "tool" && !runs) this.#begun.delete(part.callID)
    const sent = message(info, [part])
    if (sent.parts.length > 0) this.#add(part.sessionID, { kind: "message", ...sent })
  }

  #removed(session: string, message: string): void {
    this.#add(session, { kind: "removed", message })
    const tracked = this.#sessions.get(session)
    // Reverted and then removed, which is final: the end of this revert is not a restore.
    if (tracked?.revert === message) tracked.revert = undefined
  }

  #failed(session: string | undefined, error: { name: string; data?: { message?: unknown } } | undefined): void {
    if (session === undefined) return
    this.#around.sessions.of(session).compacting = false
    this.#retrying.delete(session)
    if (error?.name === "MessageAbortedError") this.#add(session, { kind: "interrupted" })
    else if (error) {
      const unfinished = [...this.#messages.values()].findLast(
        (info) => info.sessionID === session && info.role === "assistant" && info.time.completed === undefined,
      )
      this.#add(session, { kind: "failed", why: describe(error), ...(unfinished && { message: unfinished.id }) })
    }
  }

  /** Takes permissions and questions, which are newer than the types and have no hooks. */
  #question({ type, properties }: Asking): void {
    const session = properties?.sessionID
    if (session === undefined) return
    const id = properties?.requestID ?? properties?.id ?? ""
    const open = this.#asked.get(session) ?? new Map<string, string>()
    const before = open.size
    if (type === "permission.asked") {
      open.set(id, `permission ${properties?.permission ?? ""} ${(properties?.patterns ?? []).join(", ")}`.trim())
    } else if (type === "question.asked") {
      const words = (properties?.questions ?? []).map(({ question }) => question ?? "")
      open.set(id, `answer ${words.join(" ")}`.trim())
    } else if (type === "permission.replied" || type === "question.replied" || type === "question.rejected") {
      open.delete(id)
    } else {
      return
    }
    this.#asked.set(session, open)
    const on = [...open.values()].at(-1)
    if (on !== undefined) this.#add(session, { kind: "waiting", on })
    else if (before > 0) this.#add(session, { kind: "waiting" })
  }

  #status(session: string, status: "idle" | "retry" | "busy"): void {
    if (status === "retry") this.#retrying.add(session)
    else if (status === "busy") this.#retrying.delete(session)
  }

  #idle(session: string): void {
    this.#asked.delete(session)
    this.#around.sessions.of(session).compacting = false
    // A wait for the provider ends with the next attempt, or with an error. OpenCode sends neither if the user
    // stops it: the message is complete, without an end and without an error, and the session is idle.
    const stopped = this.#retrying.delete(session)
    this.#add(session, stopped ? { kind: "idle", stopped } : { kind: "idle" })
    for (const [id, info] of this.#messages) {
      if (info.sessionID !== session) continue
      this.#messages.delete(id)
      this.#prompted.delete(id)
      for (const [call, message] of this.#calls) if (message === id) this.#calls.delete(call)
    }
  }

  #add(session: string, event: HostEvent): void {
    if (this.isDriven(session)) return
    this.#around.queue.add(session, event)
  }
}

function isCopy(link: Link, info: SessionInfo): boolean {
  return link.session !== undefined && link.session !== info.id
}
