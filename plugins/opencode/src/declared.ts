// What is on offer before the sidecar has said so.

import { COMMANDS, CORE, TOOLS, VERSION } from "./generated.js"
import type { ToolDeclaration } from "./protocol.js"

export { COMMANDS as commands, VERSION }

/** The tools of a profile; a profile that there is not counts as the default one. */
export function toolsOf(profile: unknown): ToolDeclaration[] {
  if (profile === "off") return []
  if (profile === "full") return TOOLS
  return TOOLS.filter((tool) => CORE.includes(tool.name))
}
