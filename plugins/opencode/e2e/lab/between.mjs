#!/usr/bin/env node
// Starts the real server in place of `flame run`, which gets the address of a test's crossing; the test gets the
// server's own address and process.

import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"

const { LAB_OPENCODE, LAB_CROSSING, LAB_SERVER } = process.env
const server = spawn(LAB_OPENCODE, process.argv.slice(2), { stdio: ["ignore", "pipe", "inherit"] })
server.stdout.setEncoding("utf8").on("data", (text) => {
  const found = /listening on (http:\S+)/.exec(text)
  if (!found) return
  writeFileSync(LAB_SERVER, JSON.stringify({ url: found[1], pid: server.pid }))
  console.log(`opencode server listening on ${LAB_CROSSING}`)
})
server.on("exit", (code) => process.exit(code ?? 1))
