// Knowing messages again: which of a request's messages the sidecar has been told already.
//
// A host makes its messages anew for every request, so all of them are looked at every time; of each
// one little is kept, and little looked at.

/** What is kept of a message besides its id to know it again, and how. */
export type Marking<M, K> = {
  id: (host: M) => string
  mark: (host: M) => K
  alike: (host: M, mark: K) => boolean
}

/** How a list of messages compares to the list before it. */
export type Seen = {
  /** Its name, and that of the list before. */
  list: number
  before: number
  /** How many messages at its beginning are as they were in the list before. */
  known: number
}

/** How many lists there were, of all conversations. */
let lists = 0

/** The messages of one conversation, as they were last told. */
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

  /** How many messages are known, unless something in their midst is another: that, `keep` finds out. */
  likely(list: M[]): number {
    const most = Math.min(this.#marks.length, list.length, ...this.#changed)
    const last = list[most - 1]
    if (last === undefined) return 0
    return this.#marking.id(last) === this.#ids[most - 1] ? most : this.#known(list)
  }

  /** From now on this list is what was told. */
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

  /** Something in a message has changed, which its mark may not show. */
  changed(id: string): void {
    const place = this.#places.get(id)
    if (place !== undefined) this.#changed.add(place)
  }

  /** Nothing was told. */
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
