// OpenCode's messages and parts in the protocol's words, and what of them is new.

import type { Message as HostInfo, Part as HostPart } from "@opencode-ai/sdk"
import type { Message, Part, Usage } from "./protocol.js"

/** A message as OpenCode's hooks hold it. */
export type HostMessage = { info: HostInfo; parts: HostPart[] }

/** A message of OpenCode in the protocol's words. */
export function message(info: HostInfo, parts: HostPart[]): Message {
  const result: Message = { id: info.id, role: info.role, at: info.time.created, parts: [] }
  for (const one of parts) {
    const mapped = part(one)
    if (mapped) result.parts.push(mapped)
  }
  if (info.role === "assistant") {
    if (info.summary === true) result.summary = true
    if (info.time.completed !== undefined) result.usage = usage(info)
    if (info.error) result.error = info.error.name === "MessageAbortedError" ? "aborted" : describe(info.error)
  }
  return result
}

/** A part of OpenCode in the protocol's words; `undefined` for what the protocol has no word for. */
export function part(host: HostPart): Part | undefined {
  switch (host.type) {
    case "text":
      if (host.ignored) return undefined
      return host.synthetic
        ? { kind: "text", id: host.id, text: host.text, synthetic: true }
        : { kind: "text", id: host.id, text: host.text }
    case "reasoning":
      return { kind: "thinking", id: host.id, text: host.text }
    case "patch":
      return { kind: "changed", id: host.id, paths: host.files }
    case "compaction":
      return { kind: "compaction", id: host.id, automatic: host.auto }
    case "tool":
      return call(host)
    default:
      return undefined
  }
}

function call(host: Extract<HostPart, { type: "tool" }>): Part {
  const { state } = host
  const result: Extract<Part, { kind: "call" }> = {
    kind: "call",
    id: host.id,
    call: host.callID,
    tool: host.tool,
    state: state.status === "completed" || state.status === "error" ? state.status : "running",
    input: state.input,
  }
  if (state.status === "completed") result.output = host.tool === "task" ? taskResult(state.output) : state.output
  if (state.status === "error") result.output = state.error
  const metadata = state.status === "pending" ? undefined : state.metadata
  if (metadata) {
    const exit = metadata["exit"]
    if (typeof exit === "number" && Number.isInteger(exit)) result.exitCode = exit
    if (host.tool === "task" && typeof metadata["sessionId"] === "string") {
      result.session = metadata["sessionId"]
      if ("time" in state) {
        result.began = state.time.start
        if ("end" in state.time) result.ended = state.time.end
      }
    }
    if (state.status === "completed") {
      const changed = changedFiles(host.tool, state.input, metadata)
      if (changed.length > 0) result.changed = changed
    }
  }
  return result
}

/** What a subagent answered, without what OpenCode wraps around it. */
function taskResult(output: string): string {
  return /<task_result>\n?([\s\S]*?)\n?<\/task_result>/.exec(output)?.[1] ?? output
}

/** The files that a tool changed, by its own account. */
function changedFiles(tool: string, input: Record<string, unknown>, metadata: Record<string, unknown>): string[] {
  switch (tool) {
    case "write":
    case "edit":
      return typeof input["filePath"] === "string" ? [input["filePath"]] : []
    case "apply_patch": {
      const files = Array.isArray(metadata["files"]) ? (metadata["files"] as Record<string, unknown>[]) : []
      const paths = files.map((file) => file["movePath"] ?? file["filePath"])
      return paths.filter((path): path is string => typeof path === "string")
    }
    default:
      return []
  }
}

function usage(info: Extract<HostInfo, { role: "assistant" }>): Usage {
  const { tokens } = info
  return {
    input: tokens.input,
    output: tokens.output,
    reasoning: tokens.reasoning,
    cacheRead: tokens.cache.read,
    cacheWrite: tokens.cache.write,
    cost: info.cost,
  }
}

function describe(error: { name: string; data?: { message?: unknown } }): string {
  const words = error.data?.message
  return typeof words === "string" && words !== "" ? `${error.name}: ${words}` : error.name
}

/** Whether a part will not change any more while its message is being written. */
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

/** How many messages at the beginning are the same in both lists. */
export function unchanged<M>(before: M[], now: M[], alike: (a: M, b: M) => boolean): number {
  const most = Math.min(before.length, now.length)
  let count = 0
  while (count < most && alike(before[count] as M, now[count] as M)) count += 1
  return count
}

/**
 * Whether two messages of the host are the same, by their ids, states and lengths. This runs over a
 * whole conversation before every request, so it looks at little; an edit that keeps all of these is
 * told by its event.
 */
export function alike(a: HostMessage, b: HostMessage): boolean {
  // The very same object may have been changed since.
  if (a === b || a.info.id !== b.info.id || a.parts.length !== b.parts.length) return false
  if (a.info.role === "assistant" && b.info.role === "assistant") {
    if (a.info.time.completed !== b.info.time.completed || a.info.error?.name !== b.info.error?.name) return false
  }
  for (let index = 0; index < a.parts.length; index += 1) {
    if (!alikeParts(a.parts[index] as HostPart, b.parts[index] as HostPart)) return false
  }
  return true
}

function alikeParts(a: HostPart, b: HostPart): boolean {
  if (a.id !== b.id) return false
  if (a.type === "text" && b.type === "text") return a.text.length === b.text.length && a.ignored === b.ignored
  if (a.type !== "tool" || b.type !== "tool") return a.type === b.type
  if (a.state.status === "completed" && b.state.status === "completed")
    return a.state.output.length === b.state.output.length
  // What still runs is told again, and what has ended otherwise is rare.
  return a.state.status === "error" && b.state.status === "error"
}

/** Whether two values are the same all through. */
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
