import assert from "node:assert/strict"
import { delimiter } from "node:path"
import { test } from "node:test"
import { searchPath } from "../dist/binary.js"

test("the folder of a program that is not on the path is added after the others", () => {
  const usual = ["/usr/bin", "/bin"].join(delimiter)
  assert.equal(searchPath("/opt/flame/flame", usual), [usual, "/opt/flame"].join(delimiter))
  assert.equal(searchPath("/opt/flame/flame", ""), "/opt/flame")
  assert.equal(searchPath("/usr/bin/flame", usual), undefined)
  assert.equal(searchPath("flame", usual), undefined)
  assert.equal(searchPath("/usr/bin/node", ""), undefined, "that folder has no `flame`")
  assert.equal(searchPath(undefined, usual), undefined)
})
