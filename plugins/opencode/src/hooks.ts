// OpenCode's hooks, each one a translation into the protocol.
//
// A hook never throws and never waits longer than its deadline. What the sidecar said last for a
// conversation is applied again when it does not answer: a prompt that was folded stays folded.

import type { Hooks, PluginInput, PluginOptions } from "@opencode-ai/plugin"
import { appendTo, applyToRequest, applyToSummary, applyToSystem } from "./apply.js"
import { sidecarCommand } from "./binary.js"
import { Conversations } from "./conversations.js"
import { commands, toolsOf, VERSION } from "./declared.js"
import { Events, LINK, type SessionInfo } from "./events.js"
import { Figures } from "./figures.js"
import type { Seen } from "./memory.js"
import { alike, type HostMessage, type Mark, mark, message } from "./messages.js"
import { type Prepared, PROTOCOL, type ToolDeclaration } from "./protocol.js"
import { Sidecar } from "./sidecar.js"
import { MODEL, PROVIDER, Summariser } from "./summariser.js"
import { toolMap } from "./tools.js"

/** How OpenCode's own calls begin that are no work of the agent: naming a session, summarising it. */
const OWN_CALLS = ["You are a title generator", "You are a context summarization agent"]

/** The name under which summaries are counted that no model was asked for. */
const SUMMARY = "summary without a model"

export function hooks(input: PluginInput, options: PluginOptions = {}): Hooks {
  const { client } = input
  const figures = new Figures()
  const conversations = new Conversations<HostMessage, Mark>({
    id: ({ info }) => info.id,
    mark,
    alike,
    message: ({ info, parts }) => message(info, parts),
  })
  let offered: ToolDeclaration[] = toolsOf(options["tools"] ?? process.env["FLAME_TOOLS"])
  const ownCalls = [...OWN_CALLS]

  const log = (text: string) => {
    const body = { service: "flamestack", level: "warn" as const, message: text }
    client.app.log({ body }).catch(() => {})
  }
  /** Something that a person should know. */
  const notice = (text: string | undefined) => {
    if (!text) return
    log(text)
    client.tui.showToast({ body: { title: "Flamestack", message: text, variant: "warning" } }).catch(() => {})
  }
  /** What the next summary of a session is told. */
  const recorded = new Map<string, string>()
  const summariser = new Summariser(
    (session) => (session === undefined ? [...recorded.values()].at(-1) : recorded.get(session)),
    (begun, ok) => figures.count(SUMMARY, begun, ok),
  )
  const sidecar = new Sidecar({
    command: sidecarCommand(options["command"]),
    ...(typeof options["deadline"] === "number" && { deadline: options["deadline"] }),
    hello: {
      protocol: PROTOCOL,
      host: "opencode",
      hostVersion: null,
      directory: input.directory,
      shimVersion: VERSION,
      direct: true,
    },
    lost: (why) => log(`the sidecar is gone (${why}); sessions go on with what it said last`),
    welcome: (welcome) => {
      if (Array.isArray(welcome.tools)) offered = welcome.tools
    },
  })
  /** Sessions that are copies, while the messages of their originals are asked for. */
  const copying = new Map<string, Promise<unknown>>()
  const events = new Events({
    conversations,
    tell: (session, happenings) => {
      if (happenings.some((one) => one.kind === "idle")) happenings.push({ kind: "shim", hooks: figures.report() })
      sidecar.tell({ session, happenings })
    },
    link: (session, link) => {
      const metadata = { ...session.metadata, [LINK]: link }
      // Newer than the types: what is in `metadata` stays with the session and with its copies.
      const body = { metadata } as { title?: string }
      client.session.update({ path: { id: session.id }, body }).catch(() => {})
    },
    copy: (session, original) => {
      const asked = client.session.messages({ path: { id: original } }).then(
        ({ data }) => data && events.copied(session, original, data.map(({ info }) => info)),
        () => {},
      )
      copying.set(session, asked.then(() => copying.delete(session)))
    },
  })
  /** Describes a session that was there before the plugin was. */
  const introduce = async (session: string) => {
    if (!events.knows(session)) {
      const found = await client.session.get({ path: { id: session } }).catch(() => undefined)
      if (found?.data && !events.knows(session)) events.session(found.data as SessionInfo)
    }
    await copying.get(session)
  }

  /** What to tell a model that is about to start a subagent for what another one is at. */
  const sameTask = async (call: { tool: string; sessionID: string; callID: string }, args: unknown) => {
    if (call.tool !== "task") return undefined
    const { prompt, subagent_type: agent, task_id: resumed } = (args ?? {}) as Record<string, unknown>
    if (typeof prompt !== "string" || (typeof resumed === "string" && resumed !== "")) return undefined
    const message = events.messageOf(call.callID)
    const question = { session: call.sessionID, prompt, ...(message && { message }) }
    const known = typeof agent === "string" ? { ...question, agent } : question
    return (await sidecar.ask("delegating", known)).running
  }

  sidecar.start()

  return {
    // Read by OpenCode some time after this function: by then the sidecar has often said what it offers.
    get tool() {
      return toolMap(offered, client, sidecar)
    },

    "tool.definition": figures.guard("tool.definition", ({ toolID }, output) => {
      const tool = toolID.startsWith("stack_") ? offered.find((one) => one.name === toolID) : undefined
      if (!tool) return
      output.description = tool.description
      ;(output as { jsonSchema?: unknown }).jsonSchema = tool.schema
    }),

    config: figures.guard("config", async (config) => {
      config.command ??= {}
      for (const { name, template, description } of commands) config.command[name] ??= { template, description }
      for (const agent of ["title", "compaction"]) {
        const prompt = config.agent?.[agent]?.prompt
        if (prompt) ownCalls.push(prompt)
      }
      const { compaction } = await sidecar.welcomed()
      if (compaction !== "own") return
      const provider = await summariser.open()
      config.provider = { ...config.provider, [PROVIDER]: provider as NonNullable<typeof config.provider>[string] }
      config.agent = { ...config.agent, compaction: { ...config.agent?.["compaction"], model: `${PROVIDER}/${MODEL}` } }
    }),

    event: figures.guard("event", ({ event }) => events.take(event)),

    "chat.message": figures.guard("chat.message", async ({ sessionID, agent }, output) => {
      conversations.of(sessionID).compacting = false
      events.prompted(output.message.id)
      // Who it is a copy of is said before it begins, if that is known in time.
      const begun = performance.now()
      await inTime(introduce(sessionID), sidecar.deadline / 2)
      events.flush(sessionID)
      const prompt = { session: sessionID, message: message(output.message, output.parts), ...(agent && { agent }) }
      const { append } = await sidecar.ask("prompt", prompt, sidecar.deadline - (performance.now() - begun))
      if (append) appendTo(output.message, output.parts, append)
    }),

    "command.execute.before": figures.guard("command.execute.before", ({ sessionID }) => {
      introduce(sessionID)
    }),

    "experimental.chat.messages.transform": figures.guard(
      "experimental.chat.messages.transform",
      async (_input, { messages }) => {
        const session = messages[0]?.info.sessionID
        if (session === undefined) return
        const conversation = conversations.of(session)
        const newest = messages.findLast((one) => one.info.role === "user")?.info
        if (newest?.role === "user" && newest.model) {
          const name = `${newest.model.providerID}/${newest.model.modelID}`
          if (conversation.model?.name !== name) conversation.model = { name }
        }
        events.flush(session)
        if (conversation.compacting) {
          let plan: Prepared | undefined
          try {
            plan = await conversations.prepareSummary(sidecar, conversation, messages)
          } finally {
            applyToSummary(messages, plan ?? conversation.plan)
          }
          return
        }
        let seen: Seen | undefined
        try {
          const preparing = conversations.prepare(sidecar, conversation, messages)
          seen = preparing.seen
          await preparing.answered
        } finally {
          if (conversation.plan) applyToRequest(messages, conversation.plan, seen)
        }
      },
    ),

    "experimental.chat.system.transform": figures.guard(
      "experimental.chat.system.transform",
      ({ sessionID, model }, { system }) => {
        if (sessionID === undefined || ownCalls.some((beginning) => system[0]?.startsWith(beginning))) return
        const conversation = conversations.of(sessionID)
        if (conversation.compacting) return
        const name = `${model.providerID}/${model.id}`
        const window = usable(model.limit)
        if (conversation.model?.name === name && window > 0) conversation.model = { name, window }
        applyToSystem(system, conversation.plan?.system, model.api?.npm)
      },
    ),

    "tool.execute.before": async (call, output) => {
      let running: string | undefined
      await figures.guard("tool.execute.before", async () => {
        events.flush(call.sessionID)
        running = await sameTask(call, output.args)
      })()
      // The only way to answer a call in place of the tool: the model reads it as what the tool said.
      if (running) throw new Error(running)
    },

    "tool.execute.after": figures.guard("tool.execute.after", ({ sessionID }) => events.flush(sessionID)),

    "shell.env": figures.guard("shell.env", ({ sessionID, callID }, { env }) => {
      if (sessionID) env["FLAME_SESSION"] = `opencode:${sessionID}`
      if (callID) env["FLAME_CALL"] = callID
    }),

    "experimental.session.compacting": figures.guard(
      "experimental.session.compacting",
      async ({ sessionID }, output) => {
        conversations.of(sessionID).compacting = true
        events.flush(sessionID)
        recorded.delete(sessionID)
        const told = await sidecar.ask("summarizing", { session: sessionID })
        // `output.prompt` would lose the summary before this one.
        output.context.push(...told.instructions)
        if (told.instructions.length > 0) recorded.set(sessionID, told.instructions.join("\n\n"))
        notice(told.notice)
      },
    ),

    "experimental.text.complete": figures.guard(
      "experimental.text.complete",
      async ({ sessionID, messageID }, output) => {
        if (!conversations.of(sessionID).compacting) return
        const written = { session: sessionID, message: messageID, summary: true, text: output.text }
        const rewritten = await sidecar.ask("written", written)
        if (rewritten.text) output.text = rewritten.text
        recorded.delete(sessionID)
        notice(rewritten.notice)
      },
    ),

    dispose: async () => {
      sidecar.close()
      summariser.close()
    },
  }
}

/** Waits for something, but not for long. */
async function inTime(what: Promise<unknown>, deadline: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise((resolve) => (timer = setTimeout(resolve, deadline)))
  await Promise.race([what, late])
  clearTimeout(timer)
}

/** How many tokens a prompt may have before OpenCode compacts it, by its own rule. */
function usable(limit: { context: number; output: number; input?: number } | undefined): number {
  if (!limit) return 0
  const most = Math.min(limit.output || 32_000, 32_000)
  return limit.input ? limit.input - Math.min(20_000, most) : limit.context - most
}
