// Flamestack inside OpenCode: one module for OpenCode 1 (`server`) and OpenCode 2 (`setup`).

import type { Plugin } from "@opencode-ai/plugin"
import { hooks } from "./hooks.js"
import { claim } from "./once.js"
import { setup } from "./v2.js"

const server: Plugin = async (input, options) => {
  // The server of `flame run`, which keeps the frames of its sessions itself.
  if (process.env.FLAME_RUN) return {}
  const release = claim(input.directory)
  if (!release) {
    const message = "the plugin is loaded twice; this copy does nothing (`flame doctor` says where)"
    input.client.app.log({ body: { service: "flamestack", level: "warn", message } }).catch(() => {})
    return {}
  }
  const made = hooks(input, options)
  const dispose = made.dispose
  return {
    ...made,
    dispose: async () => {
      release()
      await dispose?.()
    },
  }
}

export default { id: "flamestack", server, setup }
