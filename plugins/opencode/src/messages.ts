// OpenCode's messages and parts in the protocol's words, and by what they are known again.

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

/** An error of the host's in words. */
export function describe(error: { name: string; data?: { message?: unknown } }): string {
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

/** By what a message is known again: how many parts it has, or all that is in it. */
export type Mark = number | string

/**
 * What is kept of a message. One that is finished changes by losing or gaining parts; that a part of
 * it was edited is told by an event. What is not finished is kept whole.
 */
export function mark(host: HostMessage): Mark {
  const { info, parts } = host
  const finished = info.role === "user" || info.time.completed !== undefined
  const settled = finished && parts.every((one) => one.type !== "tool" || isFinal(one, info.role))
  return settled ? parts.length : JSON.stringify(host)
}

/** Whether a message of the same id is still what it was. */
export function alike(host: HostMessage, before: Mark): boolean {
  return typeof before === "number" ? host.parts.length === before : JSON.stringify(host) === before
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
