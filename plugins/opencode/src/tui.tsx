/** @jsxImportSource @opentui/solid */
// The terminal's side of the plugin: `/flame-status`, `/tree` and `/flame` without a model's turn, and the
// status in the sidebar. It runs in another process than the hooks, with its own sidecar.

import { type ChildProcess, spawn } from "node:child_process"
import type { TuiPlugin, TuiPluginModule } from "@opencode-ai/plugin/tui"
import { type Accessor, createSignal } from "solid-js"
import { sidecarCommand } from "./binary.js"
import { VERSION } from "./declared.js"
import { PROTOCOL } from "./protocol.js"
import { Sidecar } from "./sidecar.js"

/** The deadline of a view, in milliseconds: a user waits longer than a hook may. */
const PATIENCE = 2_000
/** A dialog begins below the first quarter of the screen, and has a title and edges. */
const room = (height: number) => Math.max(Math.floor((height * 3) / 4) - 6, 3)

const tui: TuiPlugin = async (api, options = {}) => {
  const sidecar = new Sidecar({
    command: sidecarCommand(options["command"]),
    hello: {
      protocol: PROTOCOL,
      host: "opencode",
      hostVersion: api.app.version,
      directory: api.state.path.directory,
      shimVersion: VERSION,
    },
    lost: () => {},
  })
  api.lifecycle.onDispose(() => sidecar.close())

  const show = async (what: "status" | "tree" | "sidebar", session?: string) => {
    const asked = { what, ...(session && { session }) }
    const answer = await sidecar.ask("show", asked, PATIENCE).catch(() => undefined)
    return answer?.text
  }
  const open = () => {
    const { current } = api.route
    const session = "params" in current ? current.params?.["sessionID"] : undefined
    return current.name === "session" && typeof session === "string" ? session : undefined
  }

  // The host's own dialog for a text is narrow, and what is longer than the screen leaves it.
  const read = (title: string, words: string) => {
    const { text, textMuted } = api.theme.current
    const lines = Math.min(words.split("\n").length, room(api.renderer.height))
    api.ui.dialog.replace(() => (
      <box paddingLeft={2} paddingRight={2} paddingBottom={1} gap={1}>
        <box flexDirection="row" justifyContent="space-between">
          <text fg={text}>{title}</text>
          <text fg={textMuted}>esc</text>
        </box>
        <scrollbox focused height={lines}>
          <text fg={text} wrapMode="none">
            {words}
          </text>
        </scrollbox>
      </box>
    ))
    api.ui.dialog.setSize("xlarge")
  }

  // The host has a `/status` of its own, which ours must not hide.
  const command = (name: "status" | "tree", slashName: string, title: string) => ({
    name: `flamestack.${name}`,
    title,
    namespace: "palette",
    slashName,
    run: async () => {
      read(title, (await show(name, open())) ?? "Flamestack does not answer: `flame doctor` says why.")
    },
  })
  // The live page, until OpenCode ends. Its address works once, so each call starts a server of its own.
  let page: ChildProcess | undefined
  api.lifecycle.onDispose(() => void page?.kill())
  const address = () =>
    new Promise<string | undefined>((done) => {
      page?.kill()
      const [program = "flame"] = sidecarCommand(options["command"])
      page = spawn(program, ["ui"], { cwd: api.state.path.directory, stdio: ["ignore", "pipe", "ignore"] })
      page.on("error", () => done(undefined))
      page.on("exit", () => done(undefined))
      page.stdout?.on("data", (line: Buffer) => done(line.toString().trim()))
    })
  const flame = {
    name: "flamestack.page",
    title: "Flamestack: the live page",
    namespace: "palette",
    slashName: "flame",
    run: async () => {
      const found = await address()
      const words = found
        ? `It opens in your browser. If it does not:\n\n${found}\n\nIn another terminal, \`flame tui\` shows the same.`
        : "The page could not be started: `flame ui` in a terminal says why."
      read(flame.title, words)
    },
  }
  api.keymap.registerLayer({
    commands: [
      flame,
      command("status", "flame-status", "Flamestack: status of this session"),
      command("tree", "tree", "Flamestack: the tree"),
    ],
  })

  // One text per session, renewed at the end of each turn.
  type Shown = { text: Accessor<string>; refresh: () => Promise<void> }
  const trees = new Map<string, Shown>()
  const tree = (session: string): Shown => {
    let found = trees.get(session)
    if (!found) {
      const [text, set] = createSignal("")
      const refresh = async () => {
        const words = await show("sidebar", session)
        if (words !== undefined) set(words)
      }
      found = { text, refresh }
      trees.set(session, found)
      void found.refresh()
    }
    return found
  }
  api.event.on("session.idle", (event) => void trees.get(event.properties.sessionID)?.refresh())
  api.event.on("session.deleted", (event) => void trees.delete(event.properties.info.id))
  api.slots.register({
    slots: {
      sidebar_content: (context, { session_id }) => (
        <text fg={context.theme.current.textMuted}>{tree(session_id).text()}</text>
      ),
    },
  })
}

const plugin: TuiPluginModule = { id: "flamestack", tui }
export default plugin
