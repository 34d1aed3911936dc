// OpenCode's messages as the sidecar gets them, and the marks by which unchanged ones are recognised.
//
// The sidecar reads OpenCode's own JSON. What it has no use for stays here: diffs, copies of outputs and
// attached files can be megabytes.

import type { Message as HostInfo, Part as HostPart } from "@opencode-ai/sdk"
import type { HostMessage as SentMessage } from "./protocol.js"

/** A message as OpenCode's hooks hold it. */
export type HostMessage = { info: HostInfo; parts: HostPart[] }

/** Returns a message with the fields that the sidecar reads. */
export function message(info: HostInfo, parts: HostPart[]): SentMessage {
  const { id, role, time } = info
  const sent: SentMessage = { id, role, time, parts: parts.flatMap(trimmed) }
  if (info.role === "user") return sent
  Object.assign(sent, pick(info, "summary", "finish", "tokens", "cost"))
  if (info.error) sent["error"] = { name: info.error.name, data: pick(info.error.data ?? {}, "message") }
  return sent
}

/** Returns a part with the fields that the sidecar reads; nothing of a part that it does not know. */
function trimmed(part: HostPart): object[] {
  switch (part.type) {
    case "text":
      return part.ignored ? [] : [pick(part, "id", "type", "text", "synthetic")]
    case "reasoning":
      return [pick(part, "id", "type", "text")]
    case "patch":
      return [pick(part, "id", "type", "files")]
    case "compaction":
      return [pick(part, "id", "type", "auto")]
    case "file":
      return [{ ...pick(part, "id", "type", "filename"), source: pick(part.source ?? {}, "path") }]
    case "tool": {
      const state = pick(part.state, "status", "input", "output", "error", "time")
      const metadata = ("metadata" in part.state && part.state.metadata) || {}
      const kept = pick(metadata, "exit", "sessionId")
      const files = metadata["files"]
      if (Array.isArray(files)) kept["files"] = files.map((file) => pick(file ?? {}, "movePath", "filePath", "relativePath"))
      return [{ ...pick(part, "id", "type", "callID", "tool"), state: { ...state, metadata: kept } }]
    }
    default:
      return []
  }
}

function pick(from: object, ...keys: string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {}
  for (const key of keys) {
    const value = (from as Record<string, unknown>)[key]
    if (value !== undefined) picked[key] = value
  }
  return picked
}

/** Returns an error of the host as a text. */
export function describe(error: { name: string; data?: { message?: unknown } }): string {
  const words = error.data?.message
  return typeof words === "string" && words !== "" ? `${error.name}: ${words}` : error.name
}

/** Returns true if a part will not change any more while its message is being written. */
export function isFinal(host: HostPart, role: string): boolean {
  switch (host.type) {
    case "text":
    case "reasoning":
      return role === "user" || host.time?.end !== undefined
    case "tool":
      return host.state.status === "completed" || host.state.status === "error"
    default:
      return true
  }
}

/** The mark of a message: the number of its parts, or all of it as JSON. */
export type Mark = number | string

/**
 * Returns the mark of a message. A finished message changes only by losing or gaining parts, and an event
 * reports every part that is edited; an unfinished one is kept whole.
 */
export function mark(host: HostMessage): Mark {
  const { info, parts } = host
  const finished = info.role === "user" || info.time.completed !== undefined
  const settled = finished && parts.every((one) => one.type !== "tool" || isFinal(one, info.role))
  return settled ? parts.length : JSON.stringify(host)
}

/** Returns true if a message still has its mark. */
export function alike(host: HostMessage, before: Mark): boolean {
  return typeof before === "number" ? host.parts.length === before : JSON.stringify(host) === before
}

/** Returns true if two values are deeply equal. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let index = 0; index < a.length; index += 1) if (!same(a[index], b[index])) return false
    return true
  }
  const left = a as Record<string, unknown>
  const right = b as Record<string, unknown>
  let keys = 0
  for (const key in left) {
    if (!same(left[key], right[key])) return false
    keys += 1
  }
  for (const _ in right) keys -= 1
  return keys === 0
}
