// What the plugin remembers of each session: the messages the sidecar has seen, and its last plan.

import { applyToRequest, type Shape } from "./apply.js"
import { type Marking, Memory, type Seen } from "./memory.js"
import type { HostMessage, ModelInfo, RequestPlan } from "./protocol.js"
import type { Sidecar } from "./sidecar.js"

/** Number of sessions whose messages are remembered; all messages of any other one are sent again. */
const REMEMBERED = 64

/** The state of one session. There is no "current" one. */
export type SessionState = {
  id: string
  /** The sidecar process that has seen its messages. */
  generation: number
  /** The sidecar's last plan, and the number of the request that it answered. */
  plan: RequestPlan | undefined
  asked: number
  answered: number
  /** True while a summary of it is being made. */
  compacting: boolean
  /** Its model, if the host has named one. */
  model: ModelInfo | undefined
}

/** Recognises a host's messages and turns them into the protocol's. */
export type Reading<M, K> = Marking<M, K> & { message: (host: M) => HostMessage }

/** A request about messages that is being answered. */
export type Preparing = { seen: Seen; answered: Promise<RequestPlan> }

export class Sessions<M, K> {
  readonly #reading: Reading<M, K>
  #all = new Map<string, SessionState>()
  /** The messages that were sent of each session, the last used one at the end. */
  #memories = new Map<string, Memory<M, K>>()

  constructor(reading: Reading<M, K>) {
    this.#reading = reading
  }

  /** Returns the state of a session, a new one if it is unknown. */
  of(id: string): SessionState {
    let state = this.#all.get(id)
    if (!state) {
      state = {
        id,
        generation: 0,
        plan: undefined,
        asked: 0,
        answered: 0,
        compacting: false,
        model: undefined,
      }
      this.#all.set(id, state)
    }
    return state
  }

  /** Forgets a session that was deleted. */
  forget(id: string): void {
    this.#all.delete(id)
    this.#memories.delete(id)
  }

  /** Notes that a message of a session was edited. */
  edited(id: string, message: string): void {
    this.#memories.get(id)?.changed(message)
  }

  /**
   * Asks for a plan and applies it to the messages of a request, `target`. Without an answer in time the
   * last plan is applied again, so that a folded prompt stays folded.
   */
  async fold<T>(sidecar: Sidecar, state: SessionState, list: M[], shape: Shape<T>, target: T[]): Promise<void> {
    let seen: Seen | undefined
    try {
      const preparing = this.prepare(sidecar, state, list)
      // What was found out about one list says nothing about the places in another.
      if ((list as unknown[]) === target) seen = preparing.seen
      await preparing.answered
    } finally {
      if (state.plan) applyToRequest(shape, target, state.plan, seen)
    }
  }

  /** Asks for a plan for the messages of a request. Without an answer the last plan stays. */
  prepare(sidecar: Sidecar, state: SessionState, list: M[]): Preparing {
    sidecar.start()
    const memory = this.#memory(state)
    if (state.generation !== sidecar.generation) memory.forget()
    state.generation = sidecar.generation
    // Comparing thousands of messages takes as long as an answer does, so both happen concurrently.
    const likely = memory.likely(list)
    let looked: Seen | undefined
    const asked = this.#ask(sidecar, state, list, likely, () => (looked = memory.keep(list)))
    const seen = looked ?? memory.keep(list)
    const answered = asked.then((answer) => {
      // A sidecar that does not know the session is sent all messages.
      if (answer.resync) return this.#ask(sidecar, state, list, 0)
      if (seen.known < likely) return this.#ask(sidecar, state, list, seen.known)
      return answer
    })
    return { seen, answered }
  }

  /** Asks for a plan for the messages of a summary, which is a list of its own and changes no plan. */
  async prepareSummary(sidecar: Sidecar, { id, model }: SessionState, list: M[]): Promise<RequestPlan> {
    const messages = list.map(this.#reading.message)
    const request = { session: id, known: 0, messages, compacting: true, ...(model && { model }) }
    return checked(await sidecar.ask("prepare", request))
  }

  async #ask(
    sidecar: Sidecar,
    state: SessionState,
    list: M[],
    known: number,
    meanwhile?: () => void,
  ): Promise<RequestPlan> {
    state.asked += 1
    const request = state.asked
    const keep = (answer: RequestPlan) => {
      if (answer.resync || request < state.answered) return
      state.answered = request
      if (!answer.same) state.plan = answer
    }
    const { id: session, model } = state
    const messages = list.slice(known).map(this.#reading.message)
    const late = (answer: RequestPlan) => {
      // The sidecar did not know the session: the next request sends all messages.
      if (answer.resync) this.#memories.delete(session)
      else keep(checked(answer))
    }
    const has = state.plan?.plan
    const asked = { session, known, messages, ...(has && { has }), ...(model && { model }) }
    const answer = checked(await sidecar.ask("prepare", asked, undefined, late, meanwhile))
    keep(answer)
    return answer
  }

  #memory({ id }: SessionState): Memory<M, K> {
    const memory = this.#memories.get(id) ?? new Memory(this.#reading)
    this.#memories.delete(id)
    this.#memories.set(id, memory)
    if (this.#memories.size > REMEMBERED) {
      for (const oldest of this.#memories.keys()) {
        this.#memories.delete(oldest)
        break
      }
    }
    return memory
  }
}

/** Throws if an answer does not have the shape that the protocol promises. */
function checked(answer: RequestPlan): RequestPlan {
  const lists = [answer.drop, answer.strip, answer.insert]
  if (answer.resync || lists.every(Array.isArray)) return answer
  throw new Error("the sidecar's answer makes no sense")
}
