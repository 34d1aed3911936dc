// Asks a program that looks at nothing: the cost of a round trip in which no work is done.

import { spawn } from "node:child_process"

/** Asks through the streams of a child process, as the plugin does. */
export function echo(program, answer) {
  const child = spawn(program, [answer], { stdio: ["pipe", "pipe", "ignore"] })
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
