// OpenCode 2: the same protocol for its `setup(ctx)`.
//
// Its packages cannot be relied on yet, so the few shapes that are used are declared here, as they
// were recorded from a running server. Hooks with names that a version does not know are registered
// silently and never fire.

import { fold, type Shape } from "./apply.js"
import { sidecarCommand } from "./binary.js"
import { SESSION_NEW } from "./create.js"
import { commands, toolsOf, VERSION } from "./declared.js"
import { EventQueue } from "./events.js"
import { same } from "./messages.js"
import { claim } from "./once.js"
import { type HostEvent, type HostMessage, PROTOCOL } from "./protocol.js"
import { Sessions } from "./sessions.js"
import { CALL_DEADLINE, Sidecar } from "./sidecar.js"
import { Stats } from "./stats.js"

type Text = { type: "text"; text: string }
type Content =
  | Text
  | { type: "reasoning"; text: string }
  | { type: "tool-call"; id: string; name: string; input: unknown }
  | { type: "tool-result"; id: string; name: string; result: { type: string; value: unknown } }
/** A message as the `context` hook has it. Tool results have no id of their own. */
export type V2Message = { id?: string; role: string; content: Content[]; metadata?: Record<string, unknown> }

type ContextEvent = {
  sessionID: string
  agent?: string
  model?: { id: string; providerID: string }
  system: Text[]
  messages: V2Message[]
}
type PromptEvent = { sessionID: string; messageID: string; prompt: { text: string } }
type CompactionEvent = ContextEvent & { result?: { summary: string } }
type ToolCall = { sessionID: string; messageID?: string }
/** A call of any tool, before it runs. Throwing answers it in place of the tool. */
type CallEvent = ToolCall & { tool: string; id: string; input: unknown }
/** A call that ended. One that the user interrupts, or whose tool is unknown, is not reported. */
type CallEnd = CallEvent & { status: string; result?: { content?: Content[] }; error?: { message?: string } }
type V2Event = { type: string; location?: { directory?: string }; data: Record<string, unknown> }

/**
 * The part of OpenCode 2's plugin context that is used. OpenCode 1.18 calls `setup` too,
 * with a context that has neither `session` nor `tool`.
 */
export type V2Context = Partial<Whole>

type Whole = {
  options?: Record<string, unknown>
  location?: { directory?: string }
  session: {
    hook(name: "context", run: (event: ContextEvent) => Promise<void>): unknown
    hook(name: "prompt", run: (event: PromptEvent) => Promise<void>): unknown
    hook(name: "compaction", run: (event: CompactionEvent) => Promise<void>): unknown
  }
  tool: {
    transform(run: (draft: { add(tool: V2Tool): void }) => void): unknown
    hook?(name: "execute.before", run: (event: CallEvent) => Promise<void>): unknown
    hook?(name: "execute.after", run: (event: CallEnd) => Promise<void>): unknown
  }
  command?: { transform(run: (draft: { update?(name: string, edit: (command: V2Command) => void): void }) => void): unknown }
  event?: { subscribe(): AsyncIterable<V2Event> }
}
type V2Tool = {
  name: string
  description: string
  input: Record<string, unknown>
  options: { codemode: false }
  execute(input: unknown, call: ToolCall): Promise<{ content: string }>
}
type V2Command = { template?: string; description?: string }

/** Registers the hooks; returns a function that undoes it. */
export function setup(context: V2Context): () => void {
  const { session, tool } = context
  if (!session || !tool) return () => {}
  const release = claim(context.location?.directory ?? process.cwd())
  if (!release) return () => {}
  const dispose = register({ ...context, session, tool })
  return () => {
    release()
    dispose()
  }
}

function register(context: Whole): () => void {
  const options = context.options ?? {}
  const directory = context.location?.directory ?? process.cwd()
  const stats = new Stats()
  const sessions = new Sessions<HostMessage, HostMessage>({
    id: ({ id }) => id,
    mark: (one) => one,
    alike: same,
    message: (one) => one,
  })
  const sidecar = new Sidecar({
    command: sidecarCommand(options["command"]),
    ...(typeof options["deadline"] === "number" && { deadline: options["deadline"] }),
    hello: { protocol: PROTOCOL, host: "opencode", hostVersion: "2", directory, shimVersion: VERSION },
    lost: () => {},
  })
  sidecar.start()

  context.tool.transform((draft) => {
    for (const { name, description, schema } of toolsOf(options["tools"] ?? process.env["FLAME_TOOLS"])) {
      draft.add({
        name,
        description,
        input: schema,
        options: { codemode: false },
        execute: async (input, call) => {
          const { sessionID: session, messageID: message } = call
          const question = { session, name, arguments: input, ...(message !== undefined && { message }) }
          const answer = await sidecar.ask("call", question, CALL_DEADLINE).catch(() => undefined)
          return { content: answer?.output ?? "Flamestack did not answer. Go on with the work." }
        },
      })
    }
  })

  context.command?.transform((draft) => {
    // No hook sees a command before the model does, so that `/session-new` could make nothing.
    for (const { name, template, description } of commands.filter((one) => one.name !== SESSION_NEW)) {
      draft.update?.(name, (command) => {
        command.template ??= template
        command.description ??= description
      })
    }
  })

  context.session.hook(
    "prompt",
    stats.guard("prompt", async (event) => {
      const part = { type: "text", id: `${event.messageID}:0`, text: event.prompt.text }
      const message: HostMessage = { id: event.messageID, role: "user", parts: [part] }
      const { append } = await sidecar.ask("prompt", { session: event.sessionID, message })
      if (append) event.prompt.text = `${event.prompt.text}\n\n${append}`
    }),
  )

  context.session.hook(
    "context",
    stats.guard("context", async (event) => {
      const state = sessions.of(event.sessionID)
      if (event.model) state.model = { name: `${event.model.providerID}/${event.model.id}` }
      const messages = event.messages.flatMap(neutral(event.messages))
      const calls = callsOf(event.messages)
      try {
        await sessions.fold(sidecar, state, messages, shape, event.messages)
      } finally {
        dropResults(event.messages, calls)
        if (state.plan?.system) event.system.push({ type: "text", text: state.plan.system })
      }
    }),
  )

  context.session.hook(
    "compaction",
    stats.guard("compaction", async (event) => {
      const { instructions } = await sidecar.ask("summarize", { session: event.sessionID })
      const plan = sessions.of(event.sessionID).plan
      const calls = callsOf(event.messages)
      if (plan) fold(shape, event.messages, plan)
      dropResults(event.messages, calls)
      for (const text of instructions) event.system.push({ type: "text", text })
      const { compaction } = await sidecar.welcomed()
      if (compaction !== "own") return
      const { text } = await sidecar.ask("summarized", { session: event.sessionID, message: "", text: "" })
      // With a summary of our own, OpenCode asks no model for one.
      if (text) event.result = { summary: text }
    }),
  )

  const queue = new EventQueue((session, events) => sidecar.observe(session, events, stats))
  context.tool.hook?.("execute.before", async (call) => {
    let veto: string | undefined
    await stats.guard("execute.before", async () => {
      veto = await vetoed(sidecar, call)
      // A call that was not made is in flight nowhere.
      if (veto === undefined) queue.add(call.sessionID, reported(call, { status: "running", input: call.input }))
      queue.flush(call.sessionID)
    })()
    if (veto) throw new Error(veto)
  })
  context.tool.hook?.(
    "execute.after",
    stats.guard("execute.after", async (call) => {
      const said = (call.result?.content ?? []).flatMap((one) => (one.type === "text" ? [one.text] : []))
      const state =
        call.status === "error"
          ? { status: "error", input: call.input, error: call.error?.message ?? "the call failed" }
          : { status: "completed", input: call.input, output: said.join("\n") }
      queue.add(call.sessionID, reported(call, state))
      queue.flush(call.sessionID)
    }),
  )

  const ended = new AbortController()
  void listen(context, directory, ended.signal, queue)
  return () => {
    ended.abort()
    sidecar.close()
  }
}

/** The name of the tool that starts a subagent. */
const SUBAGENT = "subagent"

/** Returns the answer to a call that starts a subagent, if it may not: the task is under way, or too deep. */
async function vetoed(sidecar: Sidecar, call: CallEvent): Promise<string | undefined> {
  if (call.tool !== SUBAGENT) return undefined
  const { prompt, agent, sessionID: resumed } = (call.input ?? {}) as Record<string, unknown>
  if (typeof prompt !== "string" || (typeof resumed === "string" && resumed !== "")) return undefined
  const { running, refused } = await sidecar.ask("delegate", {
    session: call.sessionID,
    prompt,
    ...(call.messageID && { message: call.messageID }),
    ...(typeof agent === "string" && { agent }),
  })
  return running ?? refused
}

/** A call as OpenCode 1 reports it: a part of its message. */
function reported({ messageID, id, tool }: CallEvent, state: object): HostEvent {
  const message = messageID ?? id
  const part = { type: "tool", id: partOf(message, id), callID: id, tool, state }
  return { kind: "message", id: message, role: "assistant", parts: [part] }
}

/** The name of a call, whichever hook reports it. Some models number the calls of each message anew. */
const partOf = (message: string, call: string) => `${message}/${call}`

/** Messages as OpenCode 1 has them: a tool's results join the call they belong to. */
function neutral(all: V2Message[]): (message: V2Message) => HostMessage[] {
  const results = new Map<string, { type: string; value: unknown }>()
  for (const { content } of all) {
    for (const one of content) if (one.type === "tool-result") results.set(one.id, one.result)
  }
  return ({ id, role, content }) => {
    if (id === undefined || (role !== "user" && role !== "assistant")) return []
    const parts = content.flatMap((one, index): object[] => {
      const name = `${id}:${index}`
      switch (one.type) {
        case "text":
          return [{ type: "text", id: name, text: one.text }]
        case "reasoning":
          return [{ type: "reasoning", id: name, text: one.text }]
        case "tool-call": {
          const found = results.get(one.id)
          const status = found === undefined ? "running" : found.type === "error" ? "error" : "completed"
          const said = typeof found?.value === "string" ? found.value : JSON.stringify(found?.value)
          const state = { status, input: one.input, [status === "error" ? "error" : "output"]: said }
          return [{ type: "tool", id: partOf(id, one.id), callID: one.id, tool: one.name, state }]
        }
        default:
          return []
      }
    })
    return [{ id, role, parts }]
  }
}

const shape: Shape<V2Message> = {
  id: ({ id }) => id,
  isUser: ({ role }) => role === "user",
  inserted: (_list, { text }) => ({ role: "user", content: [{ type: "text", text }] }),
  withText: (message, text) => ({ ...message, content: [...message.content, { type: "text", text }] }),
}

function callsOf(messages: V2Message[]): Set<string> {
  const calls = messages.flatMap(({ content }) => content.filter((one) => one.type === "tool-call"))
  return new Set(calls.map(({ id }) => id))
}

/** Removes the results of calls that were dropped: they are messages without an id, which no plan names. */
function dropResults(messages: V2Message[], before: Set<string>): void {
  const kept = callsOf(messages)
  if (kept.size === before.size) return
  const isOrphan = (one: Content) => one.type === "tool-result" && before.has(one.id) && !kept.has(one.id)
  const left = messages.flatMap((message) => {
    if (!message.content.some(isOrphan)) return [message]
    const content = message.content.filter((one) => !isOrphan(one))
    return content.length > 0 ? [{ ...message, content }] : []
  })
  messages.splice(0, messages.length, ...left)
}

/** Queues the events of this directory; each subscriber gets those of all directories. */
async function listen(
  context: Whole,
  directory: string,
  ended: AbortSignal,
  queue: EventQueue,
): Promise<void> {
  try {
    for await (const event of context.event?.subscribe() ?? []) {
      if (ended.aborted) return
      const session = event.data["sessionID"]
      if (typeof session !== "string") continue
      if (event.location?.directory !== undefined && event.location.directory !== directory) continue
      const translated = translate(event)
      if (translated) queue.add(session, translated)
    }
  } catch {
    // The subscription ends with the host.
  }
}

function translate({ type, data }: V2Event): HostEvent | undefined {
  const text = (name: string) => (typeof data[name] === "string" ? (data[name] as string) : undefined)
  switch (type) {
    case "session.created": {
      const [title, parent, agent] = [text("title"), text("parentID"), text("agent")]
      return { kind: "session", ...(title && { title }), ...(parent && { parent }), ...(agent && { agent }) }
    }
    case "session.execution.interrupted":
      return { kind: "interrupted" }
    case "session.execution.succeeded":
      return { kind: "idle" }
    case "session.execution.failed": {
      const error = data["error"] as { message?: unknown } | undefined
      return { kind: "failed", why: typeof error?.message === "string" ? error.message : "the execution failed" }
    }
    case "session.compaction.ended":
      return { kind: "compacted" }
    default:
      return undefined
  }
}
