// `flame run` on a terminal: the live view, what is typed below it, and questions; and its lines without one.

import assert from "node:assert/strict"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, it } from "node:test"
import { FLAME, OPENCODE } from "./lab/install.mjs"
import { bash, done, gate, plan, toolResult, within } from "./lab/run.mjs"
import { titleOf } from "./lab/shop.mjs"
import { Terminal } from "./lab/terminal.mjs"

// The Bun inside of OpenCode has pseudo-terminals, but not on Windows.
const skip = process.platform === "win32"
const cost = { input: 3, output: 15 }

/** Runs `flame run` in a terminal, which is closed after the story. At the end, the shell says how the terminal was left. */
async function onTerminal(runs, words, { columns, rows = 24, env = {} }, story) {
  const script = `trap : INT; "$0" run "$@"; echo "exit $?"; stty -a | grep -ow -- '-\\?echo\\|-\\?icanon' | sort | paste -sd ' '; cat`
  const screen = new Terminal(runs.lab, { program: "/bin/sh", columns, rows, env: { FLAME_OPENCODE: OPENCODE, ...env } }, "-c", script, FLAME, ...words)
  try {
    await story(screen)
  } finally {
    await screen.close()
  }
}

const shows = (screen, ...texts) => screen.until(texts.join(", "), (text) => texts.every((one) => text.includes(one)))
const count = (text, part) => text.split(part).length - 1

describe("flame run on a terminal", { skip }, () => {
  it("shows the tree with activity and cost, keeps what is typed, and passes it on", async () => {
    const said = gate()
    const script = async (request) => {
      const title = titleOf(request)
      if (title === "Goal") return done("all is there")
      if (title === "Schema") return toolResult(request) === undefined ? bash("until test -e go; do sleep 0.1; done") : done("the schema is there")
      if (!request.says("Use port 8080")) await said.opened
      return request.says("Use port 8080") ? done("it listens on 8080") : { text: "I am at it." }
    }
    const frames = ["Schema", { title: "API", children: [{ title: "Login" }] }, { title: "Docs", after: ["Schema"] }]
    await within({ script, plan: plan(...frames), cost }, async (runs) => {
      await onTerminal(runs, ["--plan", runs.plan, "--strategy", "parallel"], { columns: 80 }, async (screen) => {
        const text = await shows(screen, "▶", "Schema · bash", "0 of 5 finished", "type to the running frame")
        const line = (part) => text.split("\n").findLast((one) => one.includes(part))
        assert.match(line("Ctrl-C pauses"), /0 of 5 finished · \d turns? · Ctrl-C pauses · type to the running frame/)
        assert.match(text, /^ +self +total$/m)
        assert.match(line("Goal"), /^… \w{8} Goal\b/)
        assert.match(line("Login"), /^ {4}▶ \w{8} Login/)
        assert.match(line("Docs"), /^ {2}○ \w{8} Docs$/)
        const login = /▶ (\w{8}) Login/.exec(text)[1]
        // Keys are shown at once, and stay while the view is drawn again.
        screen.press(`${login}: Use port 8081\x7f0`)
        await shows(screen, `> ${login}: Use port 8080`)
        writeFileSync(join(runs.lab.project, "go"), "")
        await screen.until("a drawing", (now) => now.includes("Schema completed") || /✓ \w{8} Schema/.test(now))
        const drawn = await shows(screen, "▶", `> ${login}: Use port 8080`)
        assert.equal(count(drawn, "Ctrl-C pauses"), 1, drawn)
        screen.press("\r")
        await shows(screen, "your message goes to")
        said.open()
        const end = await shows(screen, "exit 0", "echo")
        assert.match(end, /Completed: every frame has its result · \d+ s/)
        assert.match(end, /^✓ \w{8} Goal \(claimed\) +1020 {2}\$0\.0033 +\d+ {2}\$0\.0\d+$/m)
        assert.match(end, /^echo icanon$/m, "the terminal is as it was")
        assert.doesNotMatch(end, /Ctrl-C pauses/)
      })
      assert.equal(runs.frames().find(([title]) => title === "Login")[2], "it listens on 8080")
    })
  })

  it("fits forty columns, without colour too, and asks for permission below the tree", async () => {
    const script = (request) => {
      const result = toolResult(request)
      if (titleOf(request) === "Goal") return done("all is there")
      return result === undefined ? bash("echo yes > made.txt") : done("it is made")
    }
    const config = { permission: { "*": "allow", bash: "ask" } }
    await within({ script, config, plan: plan("A piece of work with a long title", "Docs") }, async (runs) => {
      await onTerminal(runs, ["--plan", runs.plan], { columns: 40, env: { NO_COLOR: "1" } }, async (screen) => {
        const text = await shows(screen, "Allow bash: echo yes > made.txt?", "[N]o", "\n>")
        assert.equal(count(text, "Ctrl-C pauses"), 1, text)
        assert.match(text, /^ {2}▶ A piece of… · bash$/m)
        screen.press("y\r")
        await screen.until("the second question", (now) => now.includes("it is made") || (now.includes("▶ Docs") && now.includes("[N]o")))
        assert.ok(existsSync(join(runs.lab.project, "made.txt")))
        screen.press("\r")
        const end = await shows(screen, "exit 0")
        assert.match(end, /declined/)
      })
    })
  })

  it("pauses by Ctrl-C, and says how to go on", async () => {
    const wait = gate()
    const script = async (request) => {
      await wait.opened
      return done(`${titleOf(request)} is done`)
    }
    await within({ script, plan: plan("a", "b") }, async (runs) => {
      await onTerminal(runs, ["--plan", runs.plan], { columns: 80 }, async (screen) => {
        await shows(screen, "▶", "0 of 3 finished")
        screen.press("\x03")
        await shows(screen, "pausing: what runs may finish; Ctrl-C again stops immediately")
        wait.open()
        const end = await shows(screen, "exit 1", "echo icanon")
        assert.match(end, /Paused · \d+ s/)
        assert.match(end, /`flame run --resume` goes on\./)
      })
    })
  })

  it("prints plain lines where there is no terminal", async () => {
    const script = (request) => ({ text: `FRAME_BLOCKED: ${titleOf(request) === "a" ? "no key" : "waits for a"}` })
    await within({ script, plan: plan("a", "b"), cost }, async (runs) => {
      const { code, out, err } = await runs.run(["--plan", runs.plan], { json: false }).ended
      assert.equal(err, "")
      assert.equal(code, 1, out)
      assert.ok(!out.includes("\x1b") && !out.includes("Ctrl-C"), JSON.stringify(out))
      const id = "\\w{8}"
      const spent = "\\(1 turn, 1,020 tokens, \\$0\\.0033\\)"
      const expected = [
        "OpenCode at http://127\\.0\\.0\\.1:\\d+",
        `Running \\d{8}-\\d{6}-${id}`,
        `${id} a: begin`,
        `${id} a: blocked: no key ${spent}`,
        `${id} Goal: begin`,
        `${id} Goal: blocked: waits for a ${spent}`,
        "",
        `! ${id} Goal · 1 turn, 1,020 tokens, \\$0\\.0033 · total 2 turns, 2,040 tokens, \\$0\\.0066`,
        `  ! ${id} a · 1 turn, 1,020 tokens, \\$0\\.0033`,
        `  ○ ${id} b`,
        `Blocked: .* · \\d+ s, 2 turns, 2,040 tokens, \\$0\\.0066`,
        `To decide: ${id} Goal: waits for a`,
        `To decide: ${id} a: no key`,
        "`flame run --resume` goes on\\.",
        "",
      ]
      const lines = out.split("\n")
      expected.forEach((pattern, at) => assert.match(lines[at], new RegExp(`^${pattern}$`)))
    })
  })
})
