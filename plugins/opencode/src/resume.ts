// Sessions that were cut off with the host are continued once, if the user has set `session.resume = auto`.

import type { PluginInput } from "@opencode-ai/plugin"
import type { Sidecar } from "./sidecar.js"

/** Plugins that resume sessions themselves. Two resumers fight, so with one of them we only observe. */
const OTHERS = /auto-resume|oh-my-open|todo-continuation|todo-enforcer/i

/** The deadline of the question, in milliseconds: no hook waits for it. */
const PATIENCE = 10_000

export class Resumer {
  readonly #client: PluginInput["client"]
  readonly #sidecar: Sidecar
  readonly #log: (text: string) => void
  #begun = false

  constructor(client: PluginInput["client"], sidecar: Sidecar, log: (text: string) => void) {
    this.#client = client
    this.#sidecar = sidecar
    this.#log = log
  }

  /** Continues what is to be continued, once per start of the host. Not awaited: the host is not ready yet. */
  begin(plugins: unknown[]): void {
    if (this.#begun) return
    this.#begun = true
    const names = plugins.map((one) => (Array.isArray(one) ? one[0] : one))
    if (names.some((one) => typeof one === "string" && OTHERS.test(one))) return
    setTimeout(() => void this.#continue().catch((error) => this.#log(`nothing is resumed: ${error}`)), 0)
  }

  async #continue(): Promise<void> {
    const { sessions } = await this.#sidecar.ask("resume", {}, PATIENCE)
    for (const { session, prompt, agent, model } of sessions) {
      const [providerID, ...rest] = (model ?? "").split("/")
      const modelID = rest.join("/")
      await this.#client.session.promptAsync({
        path: { id: session },
        body: {
          ...(agent && { agent }),
          ...(providerID && modelID && { model: { providerID, modelID } }),
          parts: [{ type: "text", text: prompt }],
        },
      })
    }
  }
}
