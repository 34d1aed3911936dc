/** @jsxImportSource @opentui/solid */
// The terminal's side of the plugin: `/status` and `/tree` without a model's turn, and the tree in
// the sidebar. It runs in another process than the hooks and has a sidecar of its own.

import type { TuiPlugin, TuiPluginModule } from "@opencode-ai/plugin/tui"
import { type Accessor, createSignal } from "solid-js"
import { sidecarCommand } from "./binary.js"
import { VERSION } from "./declared.js"
import { PROTOCOL } from "./protocol.js"
import { Sidecar } from "./sidecar.js"

/** A person waits longer than a hook may. */
const PATIENCE = 2_000

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

  const show = async (what: "status" | "tree", session?: string) => {
    const asked = { what, ...(session && { session }) }
    const answer = await sidecar.ask("show", asked, PATIENCE).catch(() => undefined)
    return answer?.text
  }
  const open = () => {
    const { current } = api.route
    const session = "params" in current ? current.params?.["sessionID"] : undefined
    return current.name === "session" && typeof session === "string" ? session : undefined
  }

  const command = (name: "status" | "tree", title: string) => ({
    name: `flamestack.${name}`,
    title,
    namespace: "palette",
    slashName: name,
    run: async () => {
      const message = (await show(name, open())) ?? "Flamestack does not answer: `flame doctor` says why."
      api.ui.dialog.replace(() => <api.ui.DialogAlert title={title} message={message} />)
    },
  })
  api.keymap.registerLayer({
    commands: [command("status", "Flamestack: where this session stands"), command("tree", "Flamestack: the tree")],
  })

  // One text a session, asked for again when a turn of it is over.
  type Shown = { text: Accessor<string>; refresh: () => Promise<void> }
  const trees = new Map<string, Shown>()
  const tree = (session: string): Shown => {
    let found = trees.get(session)
    if (!found) {
      const [text, set] = createSignal("")
      const refresh = async () => {
        const words = await show("status", session)
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
