// A run of twelve frames for `flame run`: nested, two at once, with a failure, a block, an invalidation and
// a retry. The model answers by what it is asked, so that it does not matter in which order frames run.

/** Text that a frame's own session says beside its result: raw history that no other frame may see. */
export const secret = (title) => `raw-history-of-${title.replaceAll(" ", "-")}`

export const GOAL = "Build the shop"

export const PLAN = JSON.stringify({
  goal: GOAL,
  frames: [
    { title: "Schema" },
    { title: "API" },
    { title: "Old importer" },
    { title: "Docs" },
    { title: "Screenshots", after: ["Old importer"] },
  ],
})

/** The tree that the run ends in: title, status and results. */
export const EXPECTED = [
  ["API", "completed", "the API answers"],
  ["Auth", "completed", "tokens expire"],
  [GOAL, "completed", "the shop is built"],
  ["Docs", "completed", "The docs are written."],
  ["Limits", "completed", "limits hold"],
  ["New importer", "completed", "New importer works"],
  ["Old importer", "failed", "the format is unknown"],
  ["Read routes", "completed", "Read routes works"],
  ["Routes", "completed", "all routes answer"],
  ["Schema", "completed", "Schema works"],
  ["Screenshots", "invalidated", null],
  ["Write routes", "completed", "Write routes works"],
]

const pop = (status, results) => ({ calls: [{ name: "stack_frame_pop", args: { status, results } }] })
const push = (...titles) => ({
  calls: [{ name: "stack_frame_plan_children", args: { children: titles.map((title) => ({ title })) } }],
})

/** The title of the frame that a request works on. */
export function titleOf(request) {
  const begun = request.userTexts.map((text) => /Begin work on: (.*)/.exec(text)?.[1]).find(Boolean)
  return begun ?? "?"
}

/** The newest prompt that says more than that something was interrupted. */
export function asked(request) {
  return request.userTexts.findLast((text) => !text.includes("was interrupted by a crash")) ?? ""
}

/** Answers a request of any frame. */
export function answer(request) {
  const title = titleOf(request)
  const last = request.messages.at(-1)
  const text = `I worked on it (${secret(title)}).`
  if (last.role === "tool") return { text }
  const newest = asked(request)
  const says = (part) => newest.includes(part)
  const attempt = /This is attempt (\d+)/.exec(request.userTexts.join("\n"))?.[1] ?? "1"
  const done = (results) => ({ text: `${text}\n\nFRAME_COMPLETE: ${results}` })
  switch (title) {
    case GOAL:
      if (says("Child frame failed: Old importer"))
        return {
          calls: [
            { name: "stack_frame_push", args: { title: "New importer" } },
            { name: "stack_frame_invalidate", args: { frameID: "Screenshots", reason: "nothing to show" } },
          ],
        }
      return pop("completed", "the shop is built")
    case "API":
      if (says("Begin work on: API")) return push("Auth", "Routes", "Limits")
      if (says("Child frame blocked: Limits"))
        return { calls: [{ name: "stack_frame_activate", args: { frameID: "Limits" } }] }
      return pop("completed", "the API answers")
    case "Auth":
      return attempt === "1" ? pop("failed", "the library is gone") : done("tokens expire")
    case "Routes":
      return says("Begin work on: Routes") ? push("Read routes", "Write routes") : done("all routes answer")
    case "Limits":
      return says("no longer blocked") ? done("limits hold") : { text: `${text}\n\nFRAME_BLOCKED: no key` }
    case "Old importer":
      return pop("failed", "the format is unknown")
    case "Docs":
      return { text: "The docs are written." }
    default:
      return done(`${title} works`)
  }
}
