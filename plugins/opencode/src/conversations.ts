// What the shim remembers of each conversation: what the sidecar has seen of it, and what it said.

import { unchanged } from "./messages.js"
import type { Message, Model, Prepared } from "./protocol.js"
import type { Sidecar } from "./sidecar.js"

/** For how many conversations the messages are remembered; of others all messages cross again. */
const REMEMBERED = 64

/** One conversation. There is no "current" one. */
export type Conversation = {
  id: string
  /** The host's messages of the last `prepare`, and the process that was told. */
  sent: unknown[]
  generation: number
  /** What the sidecar said last, and which question that answered. */
  plan: Prepared | undefined
  asked: number
  answered: number
  /** A summary of it is being made. */
  compacting: boolean
  /** Its model, as far as the host has said. */
  model: Model | undefined
}

/** How a host's messages are compared and put into the protocol's words. */
export type Reading<M> = { alike: (a: M, b: M) => boolean; message: (host: M) => Message }

export class Conversations<M> {
  readonly #reading: Reading<M>
  #all = new Map<string, Conversation>()
  #recent = new Map<string, Conversation>()

  constructor(reading: Reading<M>) {
    this.#reading = reading
  }

  /** The conversation of an id, made if it is new. */
  of(id: string): Conversation {
    let found = this.#all.get(id)
    if (!found) {
      found = {
        id,
        sent: [],
        generation: 0,
        plan: undefined,
        asked: 0,
        answered: 0,
        compacting: false,
        model: undefined,
      }
      this.#all.set(id, found)
    }
    return found
  }

  /** Forgets a conversation that was deleted. */
  forget(id: string): void {
    this.#all.delete(id)
    this.#recent.delete(id)
  }

  /** Asks what to do with the messages of a request. Without an answer the plan stays what it was. */
  async prepare(sidecar: Sidecar, conversation: Conversation, list: M[]): Promise<void> {
    this.#remember(conversation)
    const answer = await this.#ask(sidecar, conversation, list)
    if (!answer.resync) return
    conversation.sent = []
    await this.#ask(sidecar, conversation, list)
  }

  /** Asks what to leave out of a summary. It is made of other messages, and changes no plan. */
  async prepareSummary(sidecar: Sidecar, { id, model }: Conversation, list: M[]): Promise<Prepared> {
    const messages = list.map(this.#reading.message)
    const question = { session: id, known: 0, messages, compacting: true, ...(model && { model }) }
    return usable(await sidecar.ask("prepare", question))
  }

  async #ask(sidecar: Sidecar, conversation: Conversation, list: M[]): Promise<Prepared> {
    sidecar.start()
    if (conversation.generation !== sidecar.generation) conversation.sent = []
    conversation.generation = sidecar.generation
    const known = unchanged(conversation.sent as M[], list, this.#reading.alike)
    // A copy: the host's own list is about to be folded.
    conversation.sent = list.slice()
    conversation.asked += 1
    const question = conversation.asked
    const keep = (answer: Prepared) => {
      if (answer.resync || question < conversation.answered) return
      conversation.answered = question
      if (!answer.same) conversation.plan = answer
    }
    const { id: session, model } = conversation
    const messages = list.slice(known).map(this.#reading.message)
    const late = (answer: Prepared) => {
      // The sidecar lost its place while nobody listened: the next question tells everything.
      if (answer.resync) conversation.sent = []
      else keep(usable(answer))
    }
    const has = conversation.plan?.plan
    const asked = { session, known, messages, ...(has && { has }), ...(model && { model }) }
    const answer = usable(await sidecar.ask("prepare", asked, undefined, late))
    keep(answer)
    return answer
  }

  #remember(conversation: Conversation): void {
    this.#recent.delete(conversation.id)
    this.#recent.set(conversation.id, conversation)
    if (this.#recent.size <= REMEMBERED) return
    for (const [id, oldest] of this.#recent) {
      oldest.sent = []
      this.#recent.delete(id)
      break
    }
  }
}

/** An answer of the shape that the protocol promises, or an error. */
function usable(answer: Prepared): Prepared {
  const lists = [answer.drop, answer.strip, answer.insert]
  if (answer.resync || lists.every(Array.isArray)) return answer
  throw new Error("the sidecar's answer makes no sense")
}
