// The messages of OpenCode 1 and its system prompt, as a plan is applied to them.

import type { Part as HostPart, TextPart, UserMessage } from "@opencode-ai/sdk"
import { fold, isOwn, type Shape } from "./apply.js"
import type { HostMessage } from "./messages.js"
import type { RequestPlan } from "./protocol.js"

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

export const shape: Shape<HostMessage> = {
  id: ({ info }) => info.id,
  isUser: ({ info }) => info.role === "user",
  inserted: (list, { id, text }) => {
    const model = list.find(({ info }) => info.role === "user")
    if (!model) return undefined
    const info: UserMessage = { ...(model.info as UserMessage), id: `msg_${id}` }
    return { info, parts: [textPart({ info, parts: [] }, id, text)] }
  },
  withText: (message, text) => ({ info: message.info, parts: [...message.parts, textPart(message, "tail", text)] }),
}

/** Folds the messages of a summary and removes every text of Flamestack's; adds nothing. */
export function applyToSummary(messages: HostMessage[], plan: RequestPlan | undefined): void {
  const strip = new Set(plan?.strip)
  const rewrite = new Map(plan?.rewrite?.map(({ part, text }) => [part, text]))
  const stripped = (part: HostPart) =>
    strip.has(part.id) || (part.type === "text" && part.synthetic === true && isOwn(part.text))
  if (plan) fold(shape, messages, plan)
  const left = messages.flatMap((message): HostMessage[] => {
    if (!message.parts.some((part) => stripped(part) || rewrite.has(part.id))) return [message]
    const parts = message.parts.flatMap((part): HostPart[] => {
      if (stripped(part)) return []
      const text = part.type === "text" ? rewrite.get(part.id) : undefined
      return [text === undefined ? part : ({ ...part, text } as HostPart)]
    })
    return parts.length > 0 ? [{ info: message.info, parts }] : []
  })
  messages.splice(0, messages.length, ...left)
}

/** Adds the end of the system prompt, as a block of its own where the provider takes several. */
export function applyToSystem(system: string[], text: string | undefined, provider: string | undefined): void {
  if (text === undefined || text === "") return
  if (system.length > 0 && !TAKES_BLOCKS.has(provider ?? "")) system[0] = `${system[0]}\n${text}`
  else system.push(text)
}

/** Appends a text to a user's message for good, as a part of its own. */
export function appendTo(message: UserMessage, parts: HostPart[], text: string): void {
  parts.push(textPart({ info: message, parts }, "flame", text))
}

/** Makes a text part that sorts after the parts of a message. */
function textPart(message: HostMessage, name: string, text: string): TextPart {
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
