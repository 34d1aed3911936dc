// Applies the sidecar's plan to a host's list of messages, whatever the messages look like.
//
// The host reads its own list afterwards, so lists are changed in place. It may keep its messages,
// so a message is copied before anything in it changes.

import { OWN_TEXTS } from "./generated.js"
import type { Seen } from "./memory.js"
import type { Insertion, RequestPlan } from "./protocol.js"

/** The properties of a host's messages that a plan needs. */
export type Shape<M> = {
  id: (message: M) => string | undefined
  isUser: (message: M) => boolean
  /** Makes a user message that exists in this request only. */
  inserted: (list: M[], insertion: Insertion) => M | undefined
  /** Returns the message with one more text at its end. */
  withText: (message: M, text: string) => M
}

/** Folds the messages of a request and appends the text that belongs at their end. */
export function applyToRequest<M>(shape: Shape<M>, messages: M[], plan: RequestPlan, seen?: Seen): void {
  fold(shape, messages, plan, seen)
  if (plan.tail === undefined) return
  const index = messages.findLastIndex(shape.isUser)
  const newest = messages[index]
  if (newest !== undefined) messages[index] = shape.withText(newest, plan.tail)
}

/** Drops the messages that a plan drops and puts the results of popped frames in their places. */
export function fold<M>(shape: Shape<M>, messages: M[], plan: RequestPlan, seen?: Seen): void {
  if (plan.drop.length === 0 && plan.insert.length === 0) return
  const { insert, kept } = applied(shape, messages, plan, seen)
  if (insert.size === 0) {
    // Moved to the front in place: a new list would be garbage, collected while a request waits.
    for (let index = 0; index < kept.length; index += 1) messages[index] = messages[kept[index] as number] as M
    messages.length = kept.length
    return
  }
  const folded: M[] = []
  for (const place of kept) {
    const message = messages[place] as M
    for (const insertion of insert.get(shape.id(message) ?? "") ?? []) {
      const inserted = shape.inserted(messages, insertion)
      if (inserted !== undefined) folded.push(inserted)
    }
    folded.push(message)
  }
  messages.splice(0, messages.length, ...folded)
}

/** A plan, and the places of a list that it keeps, for as much of the list as was looked at. */
type Applied = {
  drop: Set<string>
  insert: Map<string, Insertion[]>
  kept: number[]
  /** Number of messages that were looked at, and the list that they are in. */
  through: number
  list: number | undefined
}
const appliedPlans = new WeakMap<RequestPlan, Applied>()

/** The same plan is applied to request after request, so only new messages are looked up in it. */
function applied<M>(shape: Shape<M>, messages: M[], plan: RequestPlan, seen: Seen | undefined): Applied {
  let work = appliedPlans.get(plan)
  if (!work) {
    work = { drop: new Set(plan.drop), insert: new Map(), kept: [], through: 0, list: undefined }
    for (const one of plan.insert) work.insert.set(one.before, [...(work.insert.get(one.before) ?? []), one])
    appliedPlans.set(plan, work)
  }
  const { drop, kept, through, list } = work
  const from = seen && seen.before === list ? Math.min(seen.known, through) : 0
  while (kept.length > 0 && (kept.at(-1) as number) >= from) kept.pop()
  for (let place = from; place < messages.length; place += 1) {
    if (!drop.has(shape.id(messages[place] as M) ?? "")) kept.push(place)
  }
  work.through = messages.length
  work.list = seen?.list
  return work
}

/** Returns true if Flamestack added this text; known without the sidecar, which may not answer. */
export function isOwn(text: string): boolean {
  return OWN_TEXTS.some((start) => text.startsWith(start))
}
