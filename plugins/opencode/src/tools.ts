// The tools in OpenCode's form, and the child sessions that are made for frames.

import type { PluginInput, ToolContext, ToolDefinition, ToolResult } from "@opencode-ai/plugin"
import { acknowledgement } from "./driven.js"
import { LINK } from "./events.js"
import { describe } from "./messages.js"
import type { Delegation, ToolDeclaration, ToolResult as Answer } from "./protocol.js"
import { CALL_DEADLINE, type Sidecar } from "./sidecar.js"

const UNANSWERED =
  "Flamestack did not answer, so it is not known whether this took effect. Go on with the work; stack_status shows it."

/** Returns the map of tools that OpenCode reads. */
export function toolMap(
  declared: ToolDeclaration[],
  client: PluginInput["client"],
  sidecar: Sidecar,
  isDriven: (session: string) => boolean = () => false,
): Record<string, ToolDefinition> {
  const entries = declared.map((tool) => [tool.name, definition(tool, client, sidecar, isDriven)] as const)
  return Object.fromEntries(entries)
}

function definition(
  tool: ToolDeclaration,
  client: PluginInput["client"],
  sidecar: Sidecar,
  isDriven: (session: string) => boolean,
): ToolDefinition {
  const properties = tool.schema["properties"]
  return {
    description: tool.description,
    // Plain JSON Schema by property, all of them required: `tool.definition` puts the whole schema in its place.
    args: (typeof properties === "object" && properties !== null ? properties : {}) as ToolDefinition["args"],
    async execute(args, context): Promise<ToolResult> {
      try {
        const { sessionID: session, messageID } = context
        const noted = isDriven(session) ? acknowledgement(tool.name) : undefined
        if (noted !== undefined) return { title: tool.name, output: noted, metadata: {} }
        const called = await sidecar.ask(
          "call",
          { session, message: messageID, name: tool.name, arguments: args },
          CALL_DEADLINE,
        )
        if (called.summarize) summarize(client, context)
        return result(called.delegate ? await delegate(client, sidecar, context, called.delegate) : called)
      } catch {
        return { title: tool.name, output: UNANSWERED, metadata: {} }
      }
    },
  }
}

function result(called: Answer): ToolResult {
  if (typeof called.output !== "string") throw new Error("the sidecar's answer makes no sense")
  return { title: called.title, output: called.output, metadata: { refused: called.refused } }
}

/** Has the session summarised after this call. Not awaited: the session would wait for itself. */
function summarize(client: PluginInput["client"], context: ToolContext): void {
  const { model: named } = model(context)
  if (!named) return
  // `auto` is newer than the types: the work continues as after a compaction of the host's own.
  const body = { ...named, auto: true } as typeof named
  client.session.summarize({ path: { id: context.sessionID }, body }).catch(() => {})
}

/** Runs a session for a frame and reports its end to the sidecar. */
async function delegate(
  client: PluginInput["client"],
  sidecar: Sidecar,
  context: ToolContext,
  frame: Delegation,
): Promise<Answer> {
  const parent = await client.session.get({ path: { id: context.sessionID } })
  const permission = (parent.data as { permission?: unknown } | undefined)?.permission
  const made = await client.session.create({
    // Metadata and permission are newer than these types.
    body: {
      parentID: context.sessionID,
      title: frame.title,
      metadata: { [LINK]: { frame: frame.frame } },
      ...(permission !== undefined && { permission }),
    } as { parentID: string; title: string },
  })
  const child = made.data?.id
  if (child === undefined) throw new Error("the session could not be made")
  // OpenCode stops only the sessions that its own tools made.
  const stop = () => void client.session.abort({ path: { id: child } }).catch(() => {})
  context.abort.addEventListener("abort", stop, { once: true })
  if (context.abort.aborted) stop()
  const returned = { session: context.sessionID, frame: frame.frame, child, ok: false, text: "" }
  try {
    const answer = await client.session.prompt({
      path: { id: child },
      body: { agent: context.agent, ...model(context), parts: [{ type: "text", text: frame.prompt }] },
    })
    const words = (answer.data?.parts ?? []).filter((part) => part.type === "text")
    const error = answer.data ? answer.data.info.error : { name: "The host could not prompt it" }
    returned.ok = error === undefined
    returned.text = error ? describe(error) : (words.at(-1)?.text ?? "")
  } catch (error) {
    returned.text = String(error)
  } finally {
    context.abort.removeEventListener("abort", stop)
  }
  const stopped = context.abort.aborted && { ok: false, stopped: true, text: "" }
  return sidecar.ask("childEnded", { ...returned, ...stopped }, CALL_DEADLINE)
}

/** Returns the model of the calling session, for its child. */
function model(context: ToolContext): { model?: { providerID: string; modelID: string } } {
  const extra = (context as { extra?: { model?: { providerID?: unknown; id?: unknown } } }).extra?.model
  return typeof extra?.providerID === "string" && typeof extra.id === "string"
    ? { model: { providerID: extra.providerID, modelID: extra.id } }
    : {}
}
