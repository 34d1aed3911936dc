// Asking a program that looks at nothing, on standard output and by a direct line: what a round trip
// costs before anybody has done anything.

import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

/** Asks through the streams of a child process, as any plugin would. */
export async function bare({ echo }, answer) {
  const child = spawn(echo, [answer], { stdio: ["pipe", "pipe", "ignore"] })
  child.stdout.setEncoding("utf8")
  let heard
  let rest = ""
  child.stdout.on("data", (chunk) => {
    rest += chunk
    if (!rest.endsWith("\n")) return
    const answered = JSON.parse(rest)
    rest = ""
    heard(answered)
  })
  return (question) =>
    new Promise((resolve) => {
      heard = resolve
      child.stdin.write(`${JSON.stringify(question)}\n`)
    })
}

/** Asks by a direct line, with the plugin's own end of it. */
export async function direct({ echo, plugin }, answer) {
  const { DirectLine } = await import(new URL("direct.js", pathToFileURL(plugin)).href)
  const folder = mkdtempSync(join(tmpdir(), "echo-"))
  const pipes = { questions: join(folder, "questions"), answers: join(folder, "answers") }
  execFileSync("mkfifo", Object.values(pipes))
  const child = spawn(echo, [answer, pipes.questions, pipes.answers], { stdio: ["pipe", "pipe", "ignore"] })
  child.stdout.on("data", () => {})
  let line
  while (!line) {
    try {
      line = new DirectLine(pipes)
    } catch {
      // It has not opened its ends yet.
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  return async (question) => {
    let answered
    line.write(`${JSON.stringify(question)}\n`)
    while (!answered) line.listen(() => answered !== undefined, (heard) => (answered = JSON.parse(heard)))
    return answered
  }
}
