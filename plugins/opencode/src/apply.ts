// Doing to OpenCode's list of messages and system prompt what the sidecar said.
//
// The host hands out its own objects: lists are changed in place, because that is what it reads
// afterwards, and messages are copied before anything in them changes, because it may keep them.

import type { Part as HostPart, TextPart, UserMessage } from "@opencode-ai/sdk"
import type { Seen } from "./memory.js"
import type { HostMessage } from "./messages.js"
import type { Prepared } from "./protocol.js"

/** How a text that Flamestack added to a message begins. */
const UPDATE = "<stack-update"

/** Providers whose APIs take a system prompt in several blocks; the others get a single one. */
const TAKES_BLOCKS = new Set([
  "@ai-sdk/anthropic",
  "@ai-sdk/amazon-bedrock",
  "@ai-sdk/azure",
  "@ai-sdk/google",
  "@ai-sdk/google-vertex",
  "@ai-sdk/google-vertex/anthropic",
  "@ai-sdk/openai",
])

/** Leaves out, puts in and appends; a request that is answered, not summarised. */
export function applyToRequest(messages: HostMessage[], plan: Prepared, seen?: Seen): void {
  if (plan.insert.length > 0) replace(messages, folded(messages, plan, seen))
  else if (plan.drop.length > 0) leaveOut(messages, worked(messages, plan, seen).stays)
  if (plan.tail === undefined) return
  const index = messages.findLastIndex((message) => message.info.role === "user")
  const newest = messages[index]
  if (newest) messages[index] = { info: newest.info, parts: [...newest.parts, words(newest, "tail", plan.tail)] }
}

/** Leaves out what is folded and what Flamestack added itself; nothing is told to a summariser. */
export function applyToSummary(messages: HostMessage[], plan: Prepared | undefined): void {
  const strip = new Set(plan?.strip)
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.type === "text" && part.synthetic && part.text.startsWith(UPDATE)) strip.add(part.id)
    }
  }
  const left = plan ? folded(messages, plan) : messages
  replace(messages, strip.size > 0 ? left.flatMap((message) => stripped(message, strip)) : left)
  const rewrite = new Map(plan?.rewrite?.map(({ part, text }) => [part, text]))
  if (rewrite.size === 0) return
  for (const [index, message] of messages.entries()) {
    if (!message.parts.some((part) => rewrite.has(part.id))) continue
    const parts = message.parts.map((part) => {
      const text = part.type === "text" ? rewrite.get(part.id) : undefined
      return text === undefined ? part : { ...part, text }
    }) as HostPart[]
    messages[index] = { info: message.info, parts }
  }
}

/** Puts the end of the system prompt in its place. */
export function applyToSystem(system: string[], text: string | undefined, provider: string | undefined): void {
  if (text === undefined || text === "") return
  if (system.length > 0 && !TAKES_BLOCKS.has(provider ?? "")) system[0] = `${system[0]}\n${text}`
  else system.push(text)
}

/** What of a message stays without some of its parts. */
function stripped(message: HostMessage, strip: Set<string>): HostMessage[] {
  if (!message.parts.some((part) => strip.has(part.id))) return [message]
  const parts = message.parts.filter((part) => !strip.has(part.id))
  return parts.length > 0 ? [{ info: message.info, parts }] : []
}

function replace(messages: HostMessage[], by: HostMessage[]): void {
  if (messages === by) return
  for (let index = 0; index < by.length; index += 1) messages[index] = by[index] as HostMessage
  messages.length = by.length
}

/** Moves what stays to the front. Nothing is made for that: garbage would be collected while a request waits. */
function leaveOut(messages: HostMessage[], stays: number[]): void {
  for (let index = 0; index < stays.length; index += 1) messages[index] = messages[stays[index] as number] as HostMessage
  messages.length = stays.length
}

/** What stays of a list of messages, and what is put in. */
function folded(messages: HostMessage[], plan: Prepared, seen?: Seen): HostMessage[] {
  const { insert, stays } = worked(messages, plan, seen)
  const host = insert.size > 0 ? messages.find((message) => message.info.role === "user") : undefined
  const result: HostMessage[] = []
  for (const place of stays) {
    const message = messages[place] as HostMessage
    if (host) for (const one of insert.get(message.info.id) ?? []) result.push(inserted(host, one.id, one.text))
    result.push(message)
  }
  return result
}

/** A plan, and which places of a list stay, as far as was found out. */
type Worked = {
  drop: Set<string>
  insert: Map<string, Prepared["insert"]>
  stays: number[]
  /** How many messages were looked at, and of which list. */
  through: number
  list: number | undefined
}
const works = new WeakMap<Prepared, Worked>()

/** The same plan is applied to request after request: only what is new is looked up. */
function worked(messages: HostMessage[], plan: Prepared, seen: Seen | undefined): Worked {
  let work = works.get(plan)
  if (!work) {
    work = { drop: new Set(plan.drop), insert: new Map(), stays: [], through: 0, list: undefined }
    for (const one of plan.insert) work.insert.set(one.before, [...(work.insert.get(one.before) ?? []), one])
    works.set(plan, work)
  }
  const { drop, stays, through, list } = work
  const from = seen && seen.before === list ? Math.min(seen.known, through) : 0
  while (stays.length > 0 && (stays.at(-1) as number) >= from) stays.pop()
  for (let place = from; place < messages.length; place += 1) {
    if (!drop.has((messages[place] as HostMessage).info.id)) stays.push(place)
  }
  work.through = messages.length
  work.list = seen?.list
  return work
}

/** A message of the user's side that exists in this request only, shaped like one of the host's. */
function inserted(host: HostMessage, id: string, text: string): HostMessage {
  const info: UserMessage = { ...(host.info as UserMessage), id: `msg_${id}` }
  const message: HostMessage = { info, parts: [] }
  return { info, parts: [words(message, id, text)] }
}

/** A text part for a message that sorts behind the parts that are there. */
export function words(message: HostMessage, name: string, text: string): TextPart {
  const last = message.parts.reduce((most, part) => (part.id > most ? part.id : most), "")
  return {
    id: last === "" ? `prt_${name}` : `${last}${name}`,
    sessionID: message.info.sessionID,
    messageID: message.info.id,
    type: "text",
    text,
    synthetic: true,
  }
}

/** Appends words to a user's message for good, as a part of their own. */
export function appendTo(message: UserMessage, parts: HostPart[], text: string): void {
  parts.push(words({ info: message, parts }, "flame", text))
}
