// Suggestions and acts of Flamestack itself: once, with evidence, for the right session, and undone by one command.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { Lab } from "./lab/opencode.mjs"

const CHECK = "node --test ok.test.mjs"
const call = (name, args) => ({ calls: [{ name, args }] })
const bash = (command) => call("bash", { command, description: "Work" })
const push = (title) => call("stack_frame_push", { title, successCriteria: `${CHECK} passes` })

/** Gives a project a test that passes. */
const prepare = (project) => writeFileSync(join(project, "ok.test.mjs"), 'import test from "node:test"\ntest("ok", () => {})\n')
/** The texts of all toasts so far. */
const toasts = (lab) => lab.happened.filter(({ type }) => type === "tui.toast.show").map(({ properties }) => properties.message)
const suggestions = (lab, session) => JSON.parse(lab.flame(["autonomy", "suggestions", "--json", "--session", `opencode:${session}`]))
const settled = () => new Promise((resolve) => setTimeout(resolve, 1_500))
/** Waits until the sidecar, which works on after the host has its answer, has got somewhere. */
async function until(found) {
  for (let tries = 0; tries < 100; tries += 1) {
    const value = found()
    if (value) return value
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return found()
}

/** Keeps what a server sends to the listeners of all its directories. Returns a function that ends that. */
async function hearAll(lab, heard) {
  const ended = new AbortController()
  const stream = await fetch(`${lab.url}/global/event`, { signal: ended.signal, headers: { connection: "close" } })
  const reading = (async () => {
    let rest = ""
    for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n\n")
      rest = lines.pop()
      for (const line of lines) heard.push(JSON.parse(line.replace(/^data: /, "")))
    }
  })().catch(() => {})
  return async () => {
    ended.abort()
    await reading
  }
}

/** Acts after a stop that the user did not cause: notices, prompts, sessions, answers of the model. */
const acts = (happened, stopped) =>
  happened.slice(stopped).filter(({ type, properties }) => {
    if (["tui.toast.show", "session.created", "tui.prompt.append", "tui.command.execute"].includes(type)) return true
    return type === "message.updated" && (properties.info.role === "user" || !properties.info.error)
  })

describe("suggest", () => {
  let lab
  before(async () => (lab = await Lab.start({ env: { STACK_ENABLED_HEURISTICS: "goal_completion" } })))
  after(() => lab.stop())

  test("a suggestion is shown once, and dismissed it stays dismissed for its evidence", async () => {
    prepare(lab.project)
    const session = await lab.session({ title: "Once" })
    lab.model.on("Make the cart", push("Make the cart"), bash(CHECK), { text: "The cart works." })
    await lab.prompt(session, "Make the cart")
    const [toast] = await until(() => toasts(lab).length > 0 && toasts(lab))
    assert.match(toast, /^Suggestion: close this frame as completed: recorded evidence covers all criteria \(1 of 1\) \(95%\)/)
    const [pending] = suggestions(lab, session)
    assert.equal(pending.state, "pending")
    assert.equal(pending.outcome, "completed")
    assert.match(lab.flame(["status"]), /suggestion: close this frame as completed/)
    assert.ok(!lab.model.work(session).some((request) => request.says("STACK SUGGESTION")), "models are not nagged")

    lab.model.on("What is left?", bash(CHECK), { text: "Nothing." })
    await lab.prompt(session, "What is left?")
    await settled()
    assert.equal(toasts(lab).length, 1, "it is not repeated")
    lab.flame(["autonomy", "dismiss", "--session", `opencode:${session}`])
    lab.model.on("Check it again", bash(CHECK), { text: "It still works." })
    await lab.prompt(session, "Check it again")
    await settled()
    assert.equal(toasts(lab).length, 1, "nor made again once it is dismissed")
    assert.deepEqual(suggestions(lab, session).map(({ state }) => state), ["dismissed"])
    assert.match(lab.flame(["autonomy", "stats"]), /goal_completion: 1 suggestion, 0 acted on, 0 confirmed, 1 dismissed/)
    assert.deepEqual(lab.model.problems, [])
    assert.deepEqual(lab.noise(), [])
  })

  test("nothing is suggested after the user has stopped the model", async () => {
    const known = toasts(lab).length
    const session = await lab.session({ title: "Stopped" })
    lab.model.on("Make the mails", push("Make the mails"), bash(CHECK), { text: "I think", hang: true })
    const thinking = lab.model.waits()
    await lab.begin(session, "Make the mails")
    await thinking
    const stopped = lab.next(({ type, properties }) => type === "message.updated" && properties.info?.sessionID === session && properties.info?.error)
    await lab.api("POST", `/session/${session}/abort`)
    await stopped
    const mark = lab.happened.length
    await settled()
    assert.equal(toasts(lab).length, known)
    assert.deepEqual(suggestions(lab, session), [])
    assert.deepEqual(acts(lab.happened, mark), [], "the host is left alone")
  })

  test("two projects and four sessions at once: each gets its own", async () => {
    const other = join(lab.root, "other")
    mkdirSync(other)
    prepare(other)
    const git = (...words) => execFileSync("git", words, { cwd: other, env: lab.environment, stdio: "pipe" })
    git("init", "--quiet", "--initial-branch=main")
    git("add", ".")
    git("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "-m", "Begin there")
    const at = async (directory, path, body) => {
      const url = `${lab.url}${path}?directory=${encodeURIComponent(directory)}`
      const headers = { connection: "close", "content-type": "application/json" }
      const answer = await fetch(url, { method: "POST", body: JSON.stringify(body), headers })
      assert.ok(answer.ok, `${path}: ${answer.status}`)
      return answer.json()
    }
    const heard = []
    const hush = await hearAll(lab, heard)
    const model = { providerID: "mock", modelID: "mock-1" }
    const names = ["near done", "near open", "far done", "far open"]
    const sessions = await Promise.all(
      names.map(async (name) => {
        const directory = name.startsWith("near") ? lab.project : other
        const { id } = await at(directory, "/session", { title: name })
        const replies = name.endsWith("done") ? [push(name), bash(CHECK), { text: "Done." }] : [push(name), { text: "Begun." }]
        lab.model.on(`Work on ${name}`, ...replies)
        return { name, directory, id }
      }),
    )
    await Promise.all(
      sessions.map(({ name, directory, id }) =>
        at(directory, `/session/${id}/message`, { model, parts: [{ type: "text", text: `Work on ${name}` }] }),
      ),
    )
    const listed = ({ directory, id }) =>
      JSON.parse(lab.flame(["-C", directory, "autonomy", "suggestions", "--json", "--session", `opencode:${id}`]))
    for (const session of sessions) {
      const expected = session.name.endsWith("done") ? 1 : 0
      await until(() => listed(session).length >= expected)
    }
    await settled()
    const found = sessions.map((session) => [session.name, listed(session).length])
    assert.deepEqual(found, [["near done", 1], ["near open", 0], ["far done", 1], ["far open", 0]])
    const there = JSON.parse(lab.flame(["-C", other, "autonomy", "suggestions", "--all", "--json"]))
    assert.equal(there.length, 1, "a project knows its own alone")
    for (const [directory, own, others] of [[lab.project, "near", "far"], [other, "far", "near"]]) {
      const tree = lab.flame(["-C", directory, "tree", "--all"])
      for (const name of names) assert.equal(tree.includes(name), name.startsWith(own), `${name} in ${directory}`)
      const known = JSON.parse(lab.flame(["-C", directory, "session", "list", "--json", "--all"]))
      const ids = JSON.stringify(known)
      for (const { name, id } of sessions) assert.equal(ids.includes(id), name.startsWith(own), `${name} is stored once`)
      const contexts = sessions.filter(({ name }) => name.startsWith(own)).flatMap(({ id }) => lab.model.work(id))
      assert.ok(contexts.length > 0 && !contexts.some((request) => request.says(`${others} done`) || request.says(`${others} open`)))
    }
    await hush()
    const shown = heard.filter(({ payload }) => payload.type === "tui.toast.show")
    assert.deepEqual(new Set(shown.map(({ directory }) => directory)), new Set([lab.project, other]), "each is shown where it belongs")
  })
})

describe("auto", () => {
  let lab
  const env = {
    STACK_AUTONOMY_LEVEL: "auto",
    STACK_PUSH_THRESHOLD: "60",
    STACK_ENABLED_HEURISTICS: "failure_boundary,goal_completion",
  }
  before(async () => (lab = await Lab.start({ env })))
  after(() => lab.stop())

  /** The frames of the tree, without times. */
  const frames = (session) => {
    const tree = lab.flame(["tree", "--all", "--json", "--session", `opencode:${session}`])
    return JSON.parse(tree, (key, value) => (/At$/.test(key) ? undefined : value))
  }

  test("a frame is closed on evidence, and one undo restores the exact state", async () => {
    prepare(lab.project)
    const session = await lab.session({ title: "Closes" })
    const flame = (...words) => lab.flame(words, { FLAME_SESSION: `opencode:${session}` })
    let open
    lab.model.on("Make the cart", push("Make the cart"), bash(CHECK), () => {
      open = frames(session)
      return { text: "The cart works." }
    })
    await lab.prompt(session, "Make the cart")
    const toast = await until(() => toasts(lab).find((text) => /^Closed the frame/.test(text)))
    assert.match(toast ?? "", /recorded evidence covers all criteria .*`flame undo` takes it back/)
    assert.match(flame("tree", "--all"), /✓ \w+ {2}Make the cart/)
    flame("undo")
    assert.deepEqual(frames(session), open, "as if nothing had happened")
    lab.model.on("And now?", { text: "Nothing." })
    await lab.prompt(session, "And now?")
    await settled()
    assert.match(flame("tree", "--all"), /Make the cart/)
    assert.doesNotMatch(flame("tree", "--all"), /✓ \w+ {2}Make the cart/, "what was undone is not done again")
    assert.deepEqual(suggestions(lab, session).map(({ state, automatic }) => [state, automatic]), [["contradicted", true]])
  })

  test("nothing is done after the user has stopped the model", async () => {
    const session = await lab.session({ title: "Stops" })
    lab.model.on("Make the list", push("Make the list"), bash(CHECK), { text: "I think", hang: true })
    const thinking = lab.model.waits()
    await lab.begin(session, "Make the list")
    await thinking
    const before = frames(session)
    const stopped = lab.next(({ type, properties }) => type === "message.updated" && properties.info?.sessionID === session && properties.info?.error)
    await lab.api("POST", `/session/${session}/abort`)
    await stopped
    const mark = lab.happened.length
    await settled()
    assert.deepEqual(frames(session), before, "no frame is opened or closed")
    assert.deepEqual(suggestions(lab, session), [])
    assert.deepEqual(acts(lab.happened, mark), [])
  })

  test("an error that comes again and again gets a frame of its own", async () => {
    const session = await lab.session({ title: "Opens" })
    const failing = bash("node missing-script.mjs")
    let open
    lab.model.on("Mend the mails", push("Mend the mails"), failing, failing, failing, failing, () => {
      open = frames(session)
      return { text: "It fails." }
    })
    await lab.prompt(session, "Mend the mails")
    const toast = await until(() => toasts(lab).find((text) => /^Opened a frame for “Fix:/.test(text)))
    assert.match(toast ?? "", /the same error 4 times/)
    const flame = (...words) => lab.flame(words, { FLAME_SESSION: `opencode:${session}` })
    assert.match(flame("tree", "--all"), /Fix: /)
    const [act] = suggestions(lab, session)
    assert.deepEqual([act.state, act.automatic, act.kind], ["acted on", true, "push"])
    assert.match(act.evidence, /the same error 4 times/, "its evidence is recorded")
    flame("undo")
    assert.deepEqual(frames(session), open, "as if nothing had happened")
    assert.deepEqual(lab.model.problems, [])
  })
})
