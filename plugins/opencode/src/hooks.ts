// OpenCode's hooks, translated into the protocol.
//
// A hook never throws and never waits longer than its deadline. When the sidecar does not answer, its
// last plan for the session is applied again: a prompt that was folded stays folded.

import type { Hooks, PluginInput, PluginOptions } from "@opencode-ai/plugin"
import { searchPath, sidecarCommand } from "./binary.js"
import { commands, toolsOf, VERSION } from "./declared.js"
import { makeSession, SESSION_NEW } from "./create.js"
import { EventQueue, Events, LINK, type SessionInfo } from "./events.js"
import { alike, type HostMessage, type Mark, mark, message } from "./messages.js"
import { PROTOCOL, type RequestPlan, type ToolDeclaration } from "./protocol.js"
import { Resumer } from "./resume.js"
import { Sessions } from "./sessions.js"
import { appendTo, applyToSummary, applyToSystem, shape } from "./shape.js"
import { Sidecar } from "./sidecar.js"
import { Stats } from "./stats.js"
import { MODEL, PROVIDER, Summariser } from "./summariser.js"
import { toolMap } from "./tools.js"

/** The beginnings of the system prompts of OpenCode's own calls: titles and summaries. Known here, because
 * the hook that needs them has no time to ask. */
const OWN_CALLS = ["You are a title generator", "You are a context summarization agent"]

/** The name under which summaries without a model are counted. */
const SUMMARY = "summary without a model"

export function hooks(input: PluginInput, options: PluginOptions = {}): Hooks {
  const { client } = input
  const stats = new Stats()
  const sessions = new Sessions<HostMessage, Mark>({
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
  /** Shows something to the user. */
  const notice = (text: string | undefined) => {
    if (!text) return
    log(text)
    client.tui.showToast({ body: { title: "Flamestack", message: text, variant: "warning" } }).catch(() => {})
  }
  /** The instructions for the next summary of each session. */
  const recorded = new Map<string, string>()
  const summariser = new Summariser(
    (session) => (session === undefined ? [...recorded.values()].at(-1) : recorded.get(session)),
    (begun, ok) => stats.count(SUMMARY, begun, ok),
  )
  /** Notices of the sidecar that the user has seen. */
  const said = new Set<string>()
  const command = sidecarCommand(options["command"])
  const sidecar = new Sidecar({
    command,
    ...(typeof options["deadline"] === "number" && { deadline: options["deadline"] }),
    hello: {
      protocol: PROTOCOL,
      host: "opencode",
      hostVersion: null,
      directory: input.directory,
      shimVersion: VERSION,
    },
    notice: ({ text }) => {
      client.tui.showToast({ body: { title: "Flamestack", message: text, variant: "info" } }).catch(() => {})
    },
    lost: (why) => log(`the sidecar is gone (${why}); sessions continue with its last answers`),
    welcome: (welcome) => {
      if (Array.isArray(welcome.tools)) offered = welcome.tools
      // The sidecar is started again after a crash; what was said once is not said again.
      for (const text of welcome.notices ?? []) {
        if (!said.has(text)) notice(text)
        said.add(text)
      }
    },
  })
  /** Sessions that are copies, while the host is asked for the messages of their originals. */
  const copying = new Map<string, Promise<unknown>>()
  const queue = new EventQueue((session, events) => sidecar.observe(session, events, stats))
  const events = new Events({
    sessions,
    queue,
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
  /** Describes a session that is older than the plugin. */
  const introduce = async (session: string) => {
    if (!events.knows(session)) {
      const found = await client.session.get({ path: { id: session } }).catch(() => undefined)
      if (found?.data && !events.knows(session)) events.session(found.data as SessionInfo)
    }
    await copying.get(session)
  }

  /** The maximum depth of subagents that the user gave OpenCode. */
  let depth: number | undefined
  /** Returns the answer for a model that is about to start a subagent, if it may not: the task is under way, or too deep. */
  const vetoed = async (call: { tool: string; sessionID: string; callID: string }, args: unknown) => {
    if (call.tool !== "task" || events.isDriven(call.sessionID)) return undefined
    const { prompt, subagent_type: agent, task_id: resumed } = (args ?? {}) as Record<string, unknown>
    if (typeof prompt !== "string" || (typeof resumed === "string" && resumed !== "")) return undefined
    const message = events.messageOf(call.callID)
    const question = { session: call.sessionID, prompt, ...(message && { message }) }
    const known = { ...question, ...(typeof agent === "string" && { agent }), ...(depth !== undefined && { limit: depth }) }
    const { running, refused, notice: text } = await sidecar.ask("delegate", known)
    // Each level is worth one notice.
    if (text && !said.has(text)) notice(text)
    if (text) said.add(text)
    return running ?? refused
  }

  const resumer = new Resumer(client, sidecar, log)
  sidecar.start()

  return {
    // OpenCode reads this some time after the function has returned; by then the sidecar has often answered.
    get tool() {
      return toolMap(offered, client, sidecar, (session) => events.isDriven(session))
    },

    "tool.definition": stats.guard("tool.definition", ({ toolID }, output) => {
      const tool = toolID.startsWith("stack_") ? offered.find((one) => one.name === toolID) : undefined
      if (!tool) return
      output.description = tool.description
      ;(output as { jsonSchema?: unknown }).jsonSchema = tool.schema
    }),

    config: stats.guard("config", async (config) => {
      // Newer than the types.
      const limit = (config as { subagent_depth?: unknown }).subagent_depth
      if (typeof limit === "number") depth = limit
      config.command ??= {}
      for (const { name, template, description } of commands) config.command[name] ??= { template, description }
      for (const agent of ["title", "compaction"]) {
        const prompt = config.agent?.[agent]?.prompt
        if (prompt) ownCalls.push(prompt)
      }
      const { compaction } = await sidecar.welcomed()
      resumer.begin(config.plugin ?? [])
      if (compaction !== "own") return
      const provider = await summariser.open()
      config.provider = { ...config.provider, [PROVIDER]: provider as NonNullable<typeof config.provider>[string] }
      config.agent = { ...config.agent, compaction: { ...config.agent?.["compaction"], model: `${PROVIDER}/${MODEL}` } }
    }),

    event: stats.guard("event", ({ event }) => events.take(event)),

    "chat.message": stats.guard("chat.message", async ({ sessionID, agent }, output) => {
      sessions.of(sessionID).compacting = false
      events.prompted(output.message.id)
      // A copy is to be known as one before it begins, if the host answers in time.
      const begun = performance.now()
      await inTime(introduce(sessionID), sidecar.deadline / 2)
      if (events.isDriven(sessionID)) return
      queue.flush(sessionID)
      const prompt = { session: sessionID, message: message(output.message, output.parts), ...(agent && { agent }) }
      const { append } = await sidecar.ask("prompt", prompt, sidecar.deadline - (performance.now() - begun))
      if (append) appendTo(output.message, output.parts, append)
    }),

    "command.execute.before": stats.guard("command.execute.before", async ({ sessionID, command: name, arguments: words }) => {
      introduce(sessionID)
      if (name !== SESSION_NEW) return
      const made = await makeSession(client, sessionID, words)
      if (!made) return
      const { id, ...created } = made
      queue.add(id, { kind: "created", ...created })
      queue.flush(id)
      notice(`${id} was made: ${created.purpose}`)
    }),

    "experimental.chat.messages.transform": stats.guard(
      "experimental.chat.messages.transform",
      async (_input, { messages }) => {
        const session = messages[0]?.info.sessionID
        if (session === undefined || events.isDriven(session)) return
        const state = sessions.of(session)
        const newest = messages.findLast((one) => one.info.role === "user")?.info
        if (newest?.role === "user" && newest.model) {
          const name = `${newest.model.providerID}/${newest.model.modelID}`
          if (state.model?.name !== name) state.model = { name }
        }
        queue.flush(session)
        if (!state.compacting) return sessions.fold(sidecar, state, messages, shape, messages)
        let plan: RequestPlan | undefined
        try {
          plan = await sessions.prepareSummary(sidecar, state, messages)
        } finally {
          applyToSummary(messages, plan ?? state.plan)
        }
      },
    ),

    "experimental.chat.system.transform": stats.guard(
      "experimental.chat.system.transform",
      ({ sessionID, model }, { system }) => {
        if (sessionID === undefined || events.isDriven(sessionID) || ownCalls.some((beginning) => system[0]?.startsWith(beginning))) return
        const state = sessions.of(sessionID)
        if (state.compacting) return
        const name = `${model.providerID}/${model.id}`
        if (state.model?.name === name && model.limit) {
          const { context, output, input } = model.limit as { context: number; output: number; input?: number }
          state.model = { name, limit: { context, output, ...(input && { input }) } }
        }
        applyToSystem(system, state.plan?.system, model.api?.npm)
      },
    ),

    "tool.execute.before": async (call, output) => {
      let veto: string | undefined
      await stats.guard("tool.execute.before", async () => {
        queue.flush(call.sessionID)
        veto = await vetoed(call, output.args)
      })()
      // The only way to answer a call in place of the tool: the model reads the error as the tool's answer.
      if (veto) throw new Error(veto)
    },

    "tool.execute.after": stats.guard("tool.execute.after", ({ sessionID }) => queue.flush(sessionID)),

    "shell.env": stats.guard("shell.env", ({ sessionID, callID }, { env }) => {
      if (sessionID) env["FLAME_SESSION"] = `opencode:${sessionID}`
      if (callID) env["FLAME_CALL"] = callID
      // Headers and hints name `flame` commands, which the shell of a tool call has to find.
      const path = searchPath(command[0], env["PATH"] ?? process.env["PATH"])
      if (path !== undefined) env["PATH"] = path
    }),

    "experimental.session.compacting": stats.guard(
      "experimental.session.compacting",
      async ({ sessionID }, output) => {
        if (events.isDriven(sessionID)) return
        sessions.of(sessionID).compacting = true
        queue.flush(sessionID)
        recorded.delete(sessionID)
        const { instructions, notice: text } = await sidecar.ask("summarize", { session: sessionID })
        // `output.prompt` would lose the summary before this one.
        output.context.push(...instructions)
        if (instructions.length > 0) recorded.set(sessionID, instructions.join("\n\n"))
        notice(text)
      },
    ),

    "experimental.text.complete": stats.guard(
      "experimental.text.complete",
      async ({ sessionID, messageID }, output) => {
        if (!sessions.of(sessionID).compacting) return
        const summary = { session: sessionID, message: messageID, text: output.text }
        const replacement = await sidecar.ask("summarized", summary)
        if (replacement.text) output.text = replacement.text
        recorded.delete(sessionID)
        notice(replacement.notice)
      },
    ),

    dispose: async () => {
      sidecar.close()
      summariser.close()
    },
  }
}

/** Waits for something until a deadline. */
async function inTime(what: Promise<unknown>, deadline: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise((resolve) => (timer = setTimeout(resolve, deadline)))
  await Promise.race([what, late])
  clearTimeout(timer)
}
