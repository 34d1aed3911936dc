// The tools and commands that are offered until the sidecar has answered.

import { COMMANDS, CORE, TOOLS, VERSION } from "./generated.js"
import type { ToolDeclaration } from "./protocol.js"

export { COMMANDS as commands, VERSION }

/** Returns the tools of a profile; an unknown profile counts as the default one. */
export function toolsOf(profile: unknown): ToolDeclaration[] {
  if (profile === "off") return []
  if (profile === "full") return TOOLS
  return TOOLS.filter((tool) => CORE.includes(tool.name))
}
