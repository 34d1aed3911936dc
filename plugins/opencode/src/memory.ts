// Finds the messages of a request that the sidecar has got already.
//
// A host makes its messages anew for every request, so all of them are compared every time. Little is
// kept of each one, and little is compared.

/** Recognises a message by its id and a mark. */
export type Marking<M, K> = {
  id: (host: M) => string
  mark: (host: M) => K
  alike: (host: M, mark: K) => boolean
}

/** The comparison of a list of messages with the list before it. */
export type Seen = {
  /** The number of the list, and of the one before it. */
  list: number
  before: number
  /** Number of messages at its beginning that are unchanged. */
  known: number
}

/** Number of lists so far, of all sessions. */
let lists = 0

/** The messages of one session, as they were last sent. */
export class Memory<M, K> {
  readonly #marking: Marking<M, K>
  #marks: K[] = []
  #ids: string[] = []
  #places = new Map<string, number>()
  #changed = new Set<number>()
  #list = 0

  constructor(marking: Marking<M, K>) {
    this.#marking = marking
  }

  /** Guesses the number of unchanged messages from the last of them; `keep` compares all. */
  likely(list: M[]): number {
    const most = Math.min(this.#marks.length, list.length, ...this.#changed)
    const last = list[most - 1]
    if (last === undefined) return 0
    return this.#marking.id(last) === this.#ids[most - 1] ? most : this.#known(list)
  }

  /** Remembers this list as the one that was sent. */
  keep(list: M[]): Seen {
    const known = this.#known(list)
    for (const id of this.#ids.splice(known)) this.#places.delete(id)
    this.#marks.length = known
    this.#changed.clear()
    for (let place = known; place < list.length; place += 1) {
      const message = list[place] as M
      const id = this.#marking.id(message)
      this.#places.set(id, place)
      this.#ids.push(id)
      this.#marks.push(this.#marking.mark(message))
    }
    const before = this.#list
    this.#list = lists += 1
    return { list: this.#list, before, known }
  }

  /** Notes a change in a message that its mark may not show. */
  changed(id: string): void {
    const place = this.#places.get(id)
    if (place !== undefined) this.#changed.add(place)
  }

  /** Forgets all messages. */
  forget(): void {
    this.keep([])
  }

  #known(list: M[]): number {
    const { id, alike } = this.#marking
    const [ids, marks] = [this.#ids, this.#marks]
    const most = Math.min(marks.length, list.length, ...this.#changed)
    for (let place = 0; place < most; place += 1) {
      const message = list[place] as M
      if (id(message) !== ids[place] || !alike(message, marks[place] as K)) return place
    }
    return most
  }
}
