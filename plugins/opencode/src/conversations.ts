// What the shim remembers of each conversation: what the sidecar has seen of it, and what it said.

import { type Marking, Memory, type Seen } from "./memory.js"
import type { Message, Model, Prepared } from "./protocol.js"
import type { Sidecar } from "./sidecar.js"

/** For how many conversations the messages are remembered; of others all messages cross again. */
const REMEMBERED = 64

/** One conversation. There is no "current" one. */
export type Conversation = {
  id: string
  /** The process that was told of its messages. */
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

/** How a host's messages are known again and put into the protocol's words. */
export type Reading<M, K> = Marking<M, K> & { message: (host: M) => Message }

/** A question about the messages of a request, while it is being answered. */
export type Preparing = { seen: Seen; answered: Promise<Prepared> }

export class Conversations<M, K> {
  readonly #reading: Reading<M, K>
  #all = new Map<string, Conversation>()
  /** What was told of each one's messages, the latest used last. */
  #memories = new Map<string, Memory<M, K>>()

  constructor(reading: Reading<M, K>) {
    this.#reading = reading
  }

  /** The conversation of an id, made if it is new. */
  of(id: string): Conversation {
    let found = this.#all.get(id)
    if (!found) {
      found = {
        id,
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
    this.#memories.delete(id)
  }

  /** A message of a conversation was edited. */
  edited(id: string, message: string): void {
    this.#memories.get(id)?.changed(message)
  }

  /** Asks what to do with the messages of a request. Without an answer the plan stays what it was. */
  prepare(sidecar: Sidecar, conversation: Conversation, list: M[]): Preparing {
    sidecar.start()
    const memory = this.#memory(conversation)
    if (conversation.generation !== sidecar.generation) memory.forget()
    conversation.generation = sidecar.generation
    // Looking at thousands of messages takes as long as an answer does: that is done meanwhile.
    const likely = memory.likely(list)
    let looked: Seen | undefined
    const asked = this.#ask(sidecar, conversation, list, likely, () => (looked = memory.keep(list)))
    const seen = looked ?? memory.keep(list)
    const answered = asked.then((answer) => {
      // A sidecar that has lost its place is told everything.
      if (answer.resync) return this.#ask(sidecar, conversation, list, 0)
      if (seen.known < likely) return this.#ask(sidecar, conversation, list, seen.known)
      return answer
    })
    return { seen, answered }
  }

  /** Asks what to leave out of a summary. It is made of other messages, and changes no plan. */
  async prepareSummary(sidecar: Sidecar, { id, model }: Conversation, list: M[]): Promise<Prepared> {
    const messages = list.map(this.#reading.message)
    const question = { session: id, known: 0, messages, compacting: true, ...(model && { model }) }
    return usable(await sidecar.ask("prepare", question))
  }

  async #ask(
    sidecar: Sidecar,
    conversation: Conversation,
    list: M[],
    known: number,
    meanwhile?: () => void,
  ): Promise<Prepared> {
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
      if (answer.resync) this.#memories.delete(session)
      else keep(usable(answer))
    }
    const has = conversation.plan?.plan
    const asked = { session, known, messages, ...(has && { has }), ...(model && { model }) }
    const answer = usable(await sidecar.ask("prepare", asked, undefined, late, meanwhile))
    keep(answer)
    return answer
  }

  #memory({ id }: Conversation): Memory<M, K> {
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

/** An answer of the shape that the protocol promises, or an error. */
function usable(answer: Prepared): Prepared {
  const lists = [answer.drop, answer.strip, answer.insert]
  if (answer.resync || lists.every(Array.isArray)) return answer
  throw new Error("the sidecar's answer makes no sense")
}
