// A real OpenCode server in a home of its own, with the plugin and a scripted model.

import { execFileSync, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { FLAME, OPENCODE, PLUGIN, RIPGREP, install } from "./install.mjs"
import { ScriptedModel } from "./model.mjs"
import { WIRES } from "./wires.mjs"

/** Long, since a machine that is busy with other things is not a failure. */
const TURN = 180_000

/** A home, a project under git, a scripted model and a server. */
export class Lab {
  /**
   * `plugin`: false for none, or the options of ours. `sidecar`: a program in place of `flame`.
   * `config`: more of OpenCode's configuration. `env`: more environment. `limit` and `cost`: what the model takes.
   * `name`: the name of the project's folder. `seeded`: false leaves it to OpenCode, or to `flame init`, to prepare the folder of configuration.
   */
  static async start({ plugin = {}, config = {}, env = {}, plugins = [], limit, cost, name = "project", seeded = true } = {}) {
    install()
    const lab = new Lab()
    lab.root = realpathSync(mkdtempSync(join(tmpdir(), "flame-e2e-")))
    lab.project = join(lab.root, name)
    lab.state = join(lab.root, "state")
    lab.model = new ScriptedModel()
    await lab.model.start()
    lab.environment = lab.#environment(env)
    lab.#project()
    lab.#configure(plugin, plugins, config, limit, cost, seeded)
    await lab.serve()
    return lab
  }

  #environment(env) {
    const under = (name) => {
      const path = join(this.root, name)
      mkdirSync(path, { recursive: true })
      return path
    }
    return {
      PATH: `${RIPGREP}${delimiter}${process.env.PATH}`,
      HOME: under("home"),
      TMPDIR: under("tmp"),
      XDG_CONFIG_HOME: under("config"),
      XDG_DATA_HOME: under("data"),
      XDG_CACHE_HOME: under("cache"),
      XDG_STATE_HOME: under("xdg-state"),
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      // A program that tries to install something asks here, and the test sees it.
      npm_config_registry: this.model.url,
      FLAME_STATE_DIR: this.state,
      FLAME_BIN: FLAME,
      // Nothing of the machine's own settings may reach a test.
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      ...env,
    }
  }

  #project() {
    mkdirSync(this.project)
    const git = (...words) => execFileSync("git", words, { cwd: this.project, env: this.environment, stdio: "pipe" })
    git("init", "--quiet", "--initial-branch=main")
    writeFileSync(join(this.project, "README.md"), "# A shop\n")
    git("add", ".")
    git("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "-m", "Begin")
  }

  #configure(plugin, plugins, config, limit = { context: 200_000, output: 8_000 }, cost, seeded) {
    const provider = (npm) => ({
      npm,
      options: { baseURL: this.model.url, apiKey: "none" },
      models: { "mock-1": { name: "Mock", tool_call: true, limit, cost }, "gpt-mock": { name: "GPT mock", tool_call: true, limit, cost } },
    })
    // A debug build on a busy machine is not a measure: only tests of the deadline itself have the real one.
    const ours = plugin === false ? [] : [[PLUGIN, { deadline: 20_000, ...plugin }]]
    const text = JSON.stringify({
      $schema: "https://opencode.ai/config.json",
      model: WIRES.chat.model,
      small_model: WIRES.chat.model,
      autoupdate: false,
      share: "disabled",
      permission: { "*": "allow" },
      plugin: [...plugins, ...ours],
      provider: {
        mock: provider("@ai-sdk/openai-compatible"),
        anthropic: provider("@ai-sdk/anthropic"),
        openai: provider("@ai-sdk/openai"),
      },
      ...config,
    })
    const directory = join(this.environment.XDG_CONFIG_HOME, "opencode")
    if (seeded) seed(directory)
    else mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, "opencode.json"), text)
  }

  /** Starts the server; a test that stops it starts it again. */
  async serve() {
    this.server = spawn(OPENCODE, ["serve", "--port", "0", "--hostname", "127.0.0.1"], {
      cwd: this.project,
      env: this.environment,
      stdio: ["ignore", "pipe", "pipe"],
    })
    this.terminal = ""
    this.url = await new Promise((resolve, reject) => {
      const hear = (chunk) => {
        this.terminal += chunk
        const found = /listening on (http:\S+)/.exec(this.terminal)
        if (found) resolve(found[1])
      }
      this.server.stdout.on("data", hear)
      this.server.stderr.on("data", hear)
      this.server.on("exit", (code) => reject(new Error(`opencode ended (${code}): ${this.terminal}`)))
    })
    this.happened = []
    this.waiting = []
    // What happens before the stream is open would be missed.
    const connected = this.next((event) => event.type === "server.connected")
    this.listening = this.#listen()
    await Promise.race([connected, this.listening])
  }

  /** Ends the server and waits for it. */
  async halt() {
    if (this.server.exitCode !== null || this.server.signalCode !== null) return
    const ended = new Promise((resolve) => this.server.once("exit", resolve))
    this.events.abort()
    await this.listening
    this.server.kill()
    await ended
  }

  /** Kills the server as a crash does: it gets no chance to say anything. */
  async crash() {
    const ended = new Promise((resolve) => this.server.once("exit", resolve))
    this.events.abort()
    this.server.kill("SIGKILL")
    await ended
    await this.listening
  }

  async stop() {
    await this.halt()
    this.model.stop()
    // The sidecar ends a moment after its host and writes until then, so that a directory may fill up again.
    for (let left = 50; ; left -= 1) {
      try {
        return rmSync(this.root, { recursive: true, force: true })
      } catch (error) {
        if (left === 0) throw error
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }

  async #listen() {
    const ended = new AbortController()
    this.events = ended
    const url = `${this.url}/event?directory=${encodeURIComponent(this.project)}`
    try {
      const stream = await this.#connect(url, ended.signal)
      let rest = ""
      for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + chunk).split("\n\n")
        rest = lines.pop()
        for (const line of lines) this.#hear(JSON.parse(line.replace(/^data: /, "")))
      }
    } catch (error) {
      if (!ended.signal.aborted) throw error
    }
  }

  /** A server that was started again says that it listens a moment before it does. */
  async #connect(url, signal) {
    for (let left = 100; ; left -= 1) {
      try {
        return await fetch(url, { signal, headers: { connection: "close" } })
      } catch (error) {
        if (signal.aborted || left === 0) throw error
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  #hear(event) {
    this.happened.push(event)
    this.waiting = this.waiting.filter(({ matches, resolve }) => !(matches(event) && (resolve(event), true)))
  }

  /** The next event that matches. Ask before doing what makes it happen. */
  next(matches) {
    return new Promise((resolve) => this.waiting.push({ matches, resolve }))
  }

  async api(method, path, body) {
    const mark = path.includes("?") ? "&" : "?"
    const ask = () => fetch(`${this.url}${path}${mark}directory=${encodeURIComponent(this.project)}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
      // A server that was started again may listen where the old one did: no connection is kept.
      headers: { connection: "close", "content-type": "application/json" },
      signal: AbortSignal.timeout(TURN),
    })
    // The pool may still hold a connection to an earlier server at the same port, which is reset at once.
    // What sends no prompt is asked again then.
    const repeats = method === "GET" || path === "/session"
    const answer = await ask().catch((error) => {
      if (repeats && error.cause?.code === "ECONNRESET") return ask()
      throw error
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === "" ? undefined : JSON.parse(text)
  }

  async session(body = {}) {
    return (await this.api("POST", "/session", body)).id
  }

  /** Prompts and waits for the end of the turn. */
  async prompt(session, text, { wire = "chat", ...more } = {}) {
    const idle = this.next((event) => event.type === "session.idle" && event.properties.sessionID === session)
    const answer = await this.api("POST", `/session/${session}/message`, this.#prompt(text, wire, more))
    await idle
    await this.#recorded(session)
    return answer
  }

  /** Waits a moment until the end of a turn is recorded: the sidecar hears of it when the test does. */
  async #recorded(session) {
    for (let left = 20; left > 0; left -= 1) {
      try {
        const { state } = JSON.parse(this.flame(["session", "show", `opencode:${session}`, "--json"]))
        if (state !== "executing") return
      } catch {
        // Without the plugin, or with another sidecar, nothing is recorded.
        return
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  /** Prompts and continues. */
  async begin(session, text, { wire = "chat", ...more } = {}) {
    await this.api("POST", `/session/${session}/prompt_async`, this.#prompt(text, wire, more))
  }

  #prompt(text, wire, more) {
    const [providerID, modelID] = WIRES[wire].model.split("/")
    return { model: { providerID, modelID }, parts: [{ type: "text", text }], ...more }
  }

  /** Compacts as a person would. */
  async summarize(session, wire = "chat") {
    const [providerID, modelID] = WIRES[wire].model.split("/")
    await this.api("POST", `/session/${session}/summarize`, { providerID, modelID })
  }

  messages(session) {
    return this.api("GET", `/session/${session}/message`)
  }

  /** Runs `flame` in the project, as the sessions see it. */
  flame(words, env = {}) {
    return execFileSync(FLAME, words, {
      cwd: this.project,
      env: { ...this.environment, ...env },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    })
  }

  /**
   * Returns a session as `flame session show` has it, once it is in `state`. An interrupted one is returned with
   * its checkpoint, which needs git and is recorded a moment after the state.
   */
  async shown(session, state) {
    for (let left = 100; ; left -= 1) {
      let found
      try {
        found = JSON.parse(this.flame(["session", "show", `opencode:${session}`, "--json"]))
      } catch (error) {
        if (left === 0) throw error
      }
      if (found && (state === undefined || found.state === state) && (state !== "interrupted" || found.checkpoint)) return found
      if (left === 0) throw new Error(`${session} is ${found?.state}, not ${state}: ${found?.why}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  /** Returns OpenCode's log. */
  log() {
    const directory = join(this.environment.XDG_DATA_HOME, "opencode/log")
    return readdirSync(directory)
      .map((name) => readFileSync(join(directory, name), "utf8"))
      .join("\n")
  }

  /** Returns the lines of that log that match, once there are at least `count`: OpenCode writes them asynchronously. */
  async logged(pattern, count = 1) {
    const found = () => this.log().split("\n").filter((line) => pattern.test(line))
    for (let tries = 0; found().length < count && tries < 200; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return found()
  }

  /** Returns what reached the terminal besides OpenCode's own first lines. */
  noise() {
    const own = [/^Warning: OPENCODE_SERVER_PASSWORD/, /^opencode server listening on/]
    return this.terminal.split("\n").filter((line) => line.trim() !== "" && !own.some((one) => one.test(line)))
  }
}

/** Keeps OpenCode from installing its plugin package first, which takes a minute offline. */
function seed(directory) {
  const dependencies = { "@opencode-ai/plugin": "1.18.33" }
  mkdirSync(join(directory, "node_modules"), { recursive: true })
  writeFileSync(join(directory, "package.json"), JSON.stringify({ dependencies }))
  writeFileSync(
    join(directory, "package-lock.json"),
    JSON.stringify({ lockfileVersion: 3, packages: { "": { dependencies } } }),
  )
}
