// Runs a program in a terminal of its own, for OpenCode's own program, which is a Bun:
// `opencode run pty.mjs COLUMNS ROWS PROGRAM ARGUMENT...`. What is written here is typed there, and
// what is drawn there comes out here.

const [columns, rows, ...command] = process.argv.slice(2)
const { BUN_BE_BUN: _, ...env } = process.env
const terminal = {
  cols: Number(columns),
  rows: Number(rows),
  data: (_terminal, bytes) => void process.stdout.write(bytes),
}
const child = Bun.spawn(command, { env, terminal })
process.stdin.on("data", (keys) => child.terminal.write(keys))
process.stdin.on("end", () => child.kill())
process.exit(await child.exited)
