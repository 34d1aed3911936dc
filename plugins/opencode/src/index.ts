// Flamestack inside OpenCode: one module for OpenCode 1 (`server`) and OpenCode 2 (`setup`).

import type { Plugin } from "@opencode-ai/plugin"
import { hooks } from "./hooks.js"
import { setup } from "./v2.js"

const server: Plugin = async (input, options) => hooks(input, options)

export default { id: "flamestack", server, setup }
