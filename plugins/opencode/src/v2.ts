// OpenCode 2: the same protocol behind its `setup(ctx)`.
//
// Its packages cannot be relied on yet, so the few shapes that are used are declared here, as they
// were recorded from a running server. What a version does not have is left alone: hooks with
// unknown names are registered silently there and never fire.

import { sidecarCommand } from "./binary.js"
import { Conversations } from "./conversations.js"
import { commands, toolsOf, VERSION } from "./declared.js"
import { Figures } from "./figures.js"
import { same } from "./messages.js"
import { PROTOCOL, type Happening, type Message, type Part, type Prepared } from "./protocol.js"
import { CALL_DEADLINE, Sidecar } from "./sidecar.js"

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
type HostEvent = { type: string; location?: { directory?: string }; data: Record<string, unknown> }

/**
 * What is used of the context that OpenCode 2 hands to a plugin. OpenCode 1.18 calls `setup` too,
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
  tool: { transform(run: (draft: { add(tool: V2Tool): void }) => void): unknown }
  command?: { transform(run: (draft: { update?(name: string, edit: (command: V2Command) => void): void }) => void): unknown }
  event?: { subscribe(): AsyncIterable<HostEvent> }
}
type V2Tool = {
  name: string
  description: string
  input: Record<string, unknown>
  options: { codemode: false }
  execute(input: unknown, call: ToolCall): Promise<{ content: string }>
}
type V2Command = { template?: string; description?: string }

/** Registers everything; returns what undoes it. */
export function setup(context: V2Context): () => void {
  const { session, tool } = context
  return session && tool ? register({ ...context, session, tool }) : () => {}
}

function register(context: Whole): () => void {
  const options = context.options ?? {}
  const directory = context.location?.directory ?? process.cwd()
  const figures = new Figures()
  const conversations = new Conversations<Message, Message>({
    id: ({ id }) => id,
    mark: (one) => one,
    alike: same,
    message: (one) => one,
  })
  const sidecar = new Sidecar({
    command: sidecarCommand(options["command"]),
    ...(typeof options["deadline"] === "number" && { deadline: options["deadline"] }),
    hello: { protocol: PROTOCOL, host: "opencode", hostVersion: "2", directory, shimVersion: VERSION, direct: true },
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
    for (const { name, template, description } of commands) {
      draft.update?.(name, (command) => {
        command.template ??= template
        command.description ??= description
      })
    }
  })

  context.session.hook(
    "prompt",
    figures.guard("prompt", async (event) => {
      const part: Part = { kind: "text", id: `${event.messageID}:0`, text: event.prompt.text }
      const message: Message = { id: event.messageID, role: "user", parts: [part] }
      const { append } = await sidecar.ask("prompt", { session: event.sessionID, message })
      if (append) event.prompt.text = `${event.prompt.text}\n\n${append}`
    }),
  )

  context.session.hook(
    "context",
    figures.guard("context", async (event) => {
      const conversation = conversations.of(event.sessionID)
      if (event.model) conversation.model = { name: `${event.model.providerID}/${event.model.id}` }
      try {
        const messages = event.messages.flatMap(neutral(event.messages))
        await conversations.prepare(sidecar, conversation, messages).answered
      } finally {
        if (conversation.plan) apply(event, conversation.plan)
      }
    }),
  )

  context.session.hook(
    "compaction",
    figures.guard("compaction", async (event) => {
      const { instructions } = await sidecar.ask("summarizing", { session: event.sessionID })
      const plan = conversations.of(event.sessionID).plan
      if (plan) apply(event, { drop: plan.drop, strip: [], insert: plan.insert })
      for (const text of instructions) event.system.push({ type: "text", text })
      const { compaction } = await sidecar.welcomed()
      if (compaction !== "own") return
      const written = { session: event.sessionID, message: "", summary: true, text: "" }
      const { text } = await sidecar.ask("written", written)
      // With a summary of ours, no model is asked for one.
      if (text) event.result = { summary: text }
    }),
  )

  const ended = new AbortController()
  void listen(context, directory, ended.signal, (session, happening) => {
    const happenings = [happening]
    if (happening.kind === "idle") happenings.push({ kind: "shim", hooks: figures.report() })
    sidecar.tell({ session, happenings })
  })
  return () => {
    ended.abort()
    sidecar.close()
  }
}

/** Messages in the protocol's words: a tool's results join the call they belong to. */
function neutral(all: V2Message[]): (message: V2Message) => Message[] {
  const results = new Map<string, { type: string; value: unknown }>()
  for (const { content } of all) {
    for (const one of content) if (one.type === "tool-result") results.set(one.id, one.result)
  }
  return ({ id, role, content }) => {
    if (id === undefined || (role !== "user" && role !== "assistant")) return []
    const parts = content.flatMap((one, index): Part[] => {
      const name = `${id}:${index}`
      switch (one.type) {
        case "text":
          return [{ kind: "text", id: name, text: one.text }]
        case "reasoning":
          return [{ kind: "thinking", id: name, text: one.text }]
        case "tool-call": {
          const found = results.get(one.id)
          const state = found === undefined ? "running" : found.type === "error" ? "error" : "completed"
          const output = typeof found?.value === "string" ? found.value : JSON.stringify(found?.value)
          const call = { kind: "call", id: name, call: one.id, tool: one.name, state, input: one.input } as const
          return [found === undefined ? call : { ...call, output }]
        }
        default:
          return []
      }
    })
    return [{ id, role, parts }]
  }
}

/** Applies a plan: a dropped call takes its results along, which are messages without an id. */
function apply(event: { system: Text[]; messages: V2Message[] }, plan: Prepared): void {
  const drop = new Set(plan.drop)
  const calls = new Set<string>()
  for (const { id, content } of event.messages) {
    if (id === undefined || !drop.has(id)) continue
    for (const one of content) if (one.type === "tool-call") calls.add(one.id)
  }
  const result: V2Message[] = []
  for (const message of event.messages) {
    for (const { before, text } of plan.insert) {
      if (before === message.id) result.push({ role: "user", content: [{ type: "text", text }] })
    }
    if (message.id !== undefined && drop.has(message.id)) continue
    const content = message.content.filter((one) => one.type !== "tool-result" || !calls.has(one.id))
    if (content.length > 0) result.push(content.length < message.content.length ? { ...message, content } : message)
  }
  event.messages.splice(0, event.messages.length, ...result)
  if (plan.system) event.system.push({ type: "text", text: plan.system })
  const newest = event.messages.findLastIndex((message) => message.role === "user")
  const last = event.messages[newest]
  if (plan.tail && last) event.messages[newest] = { ...last, content: [...last.content, { type: "text", text: plan.tail }] }
}

/** Events of this directory, as happenings: each subscriber gets those of all directories. */
async function listen(
  context: Whole,
  directory: string,
  ended: AbortSignal,
  tell: (session: string, happening: Happening) => void,
): Promise<void> {
  try {
    for await (const event of context.event?.subscribe() ?? []) {
      if (ended.aborted) return
      const session = event.data["sessionID"]
      if (typeof session !== "string") continue
      if (event.location?.directory !== undefined && event.location.directory !== directory) continue
      const happening = happened(event)
      if (happening) tell(session, happening)
    }
  } catch {
    // The subscription ends with the host.
  }
}

function happened({ type, data }: HostEvent): Happening | undefined {
  const text = (name: string) => (typeof data[name] === "string" ? (data[name] as string) : undefined)
  switch (type) {
    case "session.created": {
      const [title, parent, agent] = [text("title"), text("parentID"), text("agent")]
      return { kind: "session", ...(title && { title }), ...(parent && { parent }), ...(agent && { agent }) }
    }
    case "session.execution.interrupted":
      return { kind: "interrupted" }
    case "session.execution.succeeded":
    case "session.execution.failed":
      return { kind: "idle" }
    case "session.compaction.ended":
      return { kind: "compacted" }
    default:
      return undefined
  }
}
