//! Edits: which text of which file a call replaced with which other text.

use std::borrow::Cow;

use flamestack_core::transcript::{Answer, Call, CallKind};
use serde_json::Value;

use super::runs::is_refusal;
use crate::arguments;

/// A replaced passage of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
    /// True if the whole file was written or added.
    pub(super) whole: bool,
    /// True if the file was deleted.
    pub(super) deleted: bool,
}

/// Parts of the answers to edits that changed nothing.
const FAILURES: [&str; 6] = [
    "verification failed",
    "Failed to find expected lines",
    "Script failed",
    "patch rejected",
    "invalid patch",
    "Failed to read file to update",
];
/// Names of the arguments with the old and the new text.
const OLD: [&str; 4] = ["old_string", "oldString", "oldText", "old_str"];
const NEW: [&str; 6] = [
    "new_string",
    "newString",
    "newText",
    "new_str",
    "content",
    "file_text",
];
/// Names of the arguments with a patch.
const PATCHES: [&str; 3] = ["patchText", "input", "patch"];

/// Returns true if a call changed files: it is an edit, and its answer says that it succeeded.
pub(super) fn succeeded(call: &Call, answer: &Answer) -> bool {
    let head = answer.text.get(..answer.text.floor_char_boundary(600));
    let head = head.unwrap_or_default();
    matches!(call.kind, CallKind::Edit | CallKind::Write)
        && answer.ok
        && !is_refusal(&answer.text)
        && !FAILURES.iter().any(|failure| head.contains(failure))
}

/// Returns the replacements of an edit.
pub(super) fn replacements(call: &Call) -> Vec<Replacement> {
    let value: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    if call.arguments.contains("*** Begin Patch") {
        let patch = PATCHES.iter().find_map(|name| value.get(name)?.as_str());
        let text = match patch {
            Some(patch) => Cow::Borrowed(patch),
            None => arguments::text(&call.arguments),
        };
        // A script holds the patch as a string literal.
        let text = if text.contains("\\n*** ") {
            let text = text.replace("\\n", "\n").replace("\\t", "\t");
            text.replace("\\\"", "\"").replace("\\\\", "\\").into()
        } else {
            text
        };
        return patched(&text, &call.paths);
    }
    let whole = call.kind == CallKind::Write;
    let Some(path) = call.paths.first() else {
        return Vec::new();
    };
    let one = |value: &Value| Replacement {
        path: path.clone(),
        old: string(value, &OLD),
        new: string(value, &NEW),
        whole,
        deleted: false,
    };
    match value.get("edits").and_then(Value::as_array) {
        Some(edits) => edits.iter().map(one).collect(),
        None => vec![one(&value)],
    }
}

fn string(value: &Value, names: &[&str]) -> String {
    let found = names.iter().find_map(|name| value.get(name)?.as_str());
    found.unwrap_or_default().to_owned()
}

/// Returns the replacements of a patch in Codex's format. Its paths may be absolute; `paths` has them
/// relative to the project.
fn patched(text: &str, paths: &[String]) -> Vec<Replacement> {
    let mut hunks = Hunks::default();
    for line in text.lines() {
        let file = [("Update", false), ("Add", true), ("Delete", false)]
            .iter()
            .find_map(|(verb, whole)| {
                let rest = line.strip_prefix("*** ")?.strip_prefix(verb)?;
                Some((rest.strip_prefix(" File: ")?, *whole))
            });
        if let Some((path, whole)) = file {
            hunks.end();
            let path = path.trim();
            let known = paths.iter().find(|known| path.ends_with(known.as_str()));
            hunks.path = known.cloned().unwrap_or_else(|| path.to_owned());
            hunks.whole = whole;
            hunks.deleted = line.starts_with("*** Delete");
            hunks.named = false;
        } else if let Some(context) = line.strip_prefix("@@") {
            hunks.end();
            hunks.both(context.trim());
        } else if let Some(line) = line.strip_prefix('+') {
            hunks.new.push(line);
        } else if let Some(line) = line.strip_prefix('-').filter(|_| !line.starts_with("---")) {
            hunks.old.push(line);
        } else if let Some(line) = line.strip_prefix(' ') {
            hunks.both(line);
        }
    }
    hunks.end();
    hunks.all
}

#[derive(Default)]
struct Hunks<'a> {
    path: String,
    whole: bool,
    deleted: bool,
    /// True once a hunk of the file was added.
    named: bool,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    all: Vec<Replacement>,
}

impl<'a> Hunks<'a> {
    fn both(&mut self, line: &'a str) {
        if !line.is_empty() {
            self.old.push(line);
            self.new.push(line);
        }
    }

    /// Ends a hunk, or a file that has none.
    fn end(&mut self) {
        let (old, new) = (std::mem::take(&mut self.old), std::mem::take(&mut self.new));
        let is_empty = old.is_empty() && new.is_empty();
        if self.path.is_empty() || (is_empty && self.named) {
            return;
        }
        let is_first = self.all.last().is_none_or(|last| last.path == self.path);
        if is_empty && is_first && !self.deleted {
            return;
        }
        self.named = true;
        self.all.push(Replacement {
            path: self.path.clone(),
            old: old.join("\n"),
            new: new.join("\n"),
            whole: self.whole,
            deleted: self.deleted,
        });
    }
}

/// Words before the keyword of a definition.
const MODIFIERS: [&str; 15] = [
    "export",
    "default",
    "pub",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "async",
    "abstract",
    "final",
    "override",
    "unsafe",
    "declare",
    "const",
];
/// Keywords that are followed by the name of a type or function.
const KEYWORDS: [&str; 14] = [
    "fn",
    "def",
    "function",
    "function*",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "record",
    "protocol",
    "type",
    "mod",
    "macro_rules!",
];

/// Returns the names of functions and types that a replacement changes: those defined on changed
/// lines, and those whose definition is the last before a changed line.
pub(super) fn touched(edit: &Replacement) -> Vec<String> {
    let is_script = edit.path.rsplit('.').next().is_some_and(|extension| {
        matches!(
            extension,
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "vue" | "svelte" | "astro"
        )
    });
    let mut names: Vec<String> = Vec::new();
    let old: std::collections::BTreeSet<&str> = edit.old.lines().collect();
    let new: std::collections::BTreeSet<&str> = edit.new.lines().collect();
    for (side, other) in [(&edit.new, &old), (&edit.old, &new)] {
        let mut current = None;
        for line in side.lines().take(MAX_LINES) {
            current = defined(line, is_script).or(current);
            let Some(name) = current.filter(|name| name.len() > 2) else {
                continue;
            };
            let changed = !line.trim().is_empty() && !other.contains(line);
            if changed && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// Number of lines of a replacement that are searched for names.
const MAX_LINES: usize = 2_000;

/// Returns the name of the function or type that a line defines.
fn defined(line: &str, is_script: bool) -> Option<&str> {
    let mut rest = line.trim_start();
    loop {
        let word = rest.split([' ', '(']).next()?;
        if !MODIFIERS.contains(&word) {
            break;
        }
        let after = rest.get(word.len()..)?;
        // `pub(crate)`
        let after = match after.strip_prefix('(') {
            Some(inside) => inside.split_once(')')?.1,
            None => after,
        };
        if word == "const" && !after.trim_start().starts_with("fn ") {
            return is_script
                .then(|| function_value(after.trim_start()))
                .flatten();
        }
        rest = after.trim_start();
    }
    let (keyword, after) = rest.split_once(' ')?;
    let after = after.trim_start();
    if keyword == "func" {
        let after = match after.strip_prefix('(') {
            Some(receiver) => receiver.split_once(')')?.1.trim_start(),
            None => after,
        };
        return name(after);
    }
    if matches!(keyword, "let" | "var") {
        return is_script.then(|| function_value(after)).flatten();
    }
    KEYWORDS.contains(&keyword).then(|| name(after)).flatten()
}

/// Returns the name of a variable that is given a function.
fn function_value(text: &str) -> Option<&str> {
    let found = name(text)?;
    let (_, value) = text.split_once('=')?;
    let value = value.trim_start();
    let value = value.strip_prefix("async").unwrap_or(value).trim_start();
    let is_function = value.starts_with('(')
        || value.starts_with("function")
        || value.starts_with("memo(")
        || value.starts_with("forwardRef")
        || value
            .split_once("=>")
            .is_some_and(|(parameter, _)| name(parameter.trim()).is_some());
    is_function.then_some(found)
}

fn name(text: &str) -> Option<&str> {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    text.get(..end).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: CallKind, paths: &[&str], arguments: &str) -> Call {
        Call {
            id: "1".to_owned(),
            tool: "edit".to_owned(),
            kind,
            arguments: arguments.to_owned(),
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            command: None,
        }
    }

    #[test]
    fn edits_of_all_hosts_are_read() {
        let arguments = r#"{"file_path":"a.rs","old_string":"x","new_string":"y"}"#;
        let edits = replacements(&call(CallKind::Edit, &["a.rs"], arguments));
        assert_eq!(
            edits.first().map(|it| (it.old.as_str(), it.new.as_str())),
            Some(("x", "y"))
        );

        let patch = "*** Begin Patch\n*** Update File: /w/src/a.rs\n@@ fn one\n-x\n+y\n\
                     *** Add File: /w/b.rs\n+new\n*** Delete File: /w/c.rs\n*** End Patch";
        let arguments = Value::from(patch).to_string();
        let edits = replacements(&call(
            CallKind::Edit,
            &["src/a.rs", "b.rs", "c.rs"],
            &arguments,
        ));
        let shown: Vec<_> = edits
            .iter()
            .map(|it| format!("{} {:?} {:?} {}", it.path, it.old, it.new, it.whole))
            .collect();
        insta::assert_debug_snapshot!(shown, @r#"
        [
            "src/a.rs \"fn one\\nx\" \"fn one\\ny\" false",
            "b.rs \"\" \"new\" true",
            "c.rs \"\" \"\" false",
        ]
        "#);
    }

    #[test]
    fn a_refused_or_failed_edit_changed_nothing() {
        let edit = call(CallKind::Edit, &["a.rs"], "{}");
        let answer = |ok, text: &str| Answer {
            call: "1".to_owned(),
            ok,
            exit_code: None,
            text: text.to_owned(),
        };
        assert!(succeeded(&edit, &answer(true, "done")));
        assert!(!succeeded(&edit, &answer(false, "no such text")));
        assert!(!succeeded(
            &edit,
            &answer(true, "apply_patch verification failed: x")
        ));
        assert!(!succeeded(&edit, &answer(true, "User rejected the call")));
    }

    #[test]
    fn names_around_changed_lines_are_found() {
        let edit = |path: &str, old: &str, new: &str| Replacement {
            path: path.to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
            whole: false,
            deleted: false,
        };
        for (edit, names) in [
            (
                edit(
                    "a.go",
                    "func (s *T) Save() {\n a\n}",
                    "func (s *T) Save() {\n b\n}",
                ),
                "Save",
            ),
            (
                edit(
                    "a.rs",
                    "x",
                    "pub(crate) const fn area() {\n x\n}\nstruct Wide;",
                ),
                "area Wide",
            ),
            (
                edit("a.py", "", "class Way:\n  def go(self):\n    pass"),
                "Way",
            ),
            (
                edit(
                    "a.ts",
                    "",
                    "export const send = async (x) => 1\nconst n = 1",
                ),
                "send",
            ),
            (edit("a.rs", "", "const LIMIT: usize = 3;"), ""),
        ] {
            assert_eq!(
                touched(&edit).first().map_or("", String::as_str),
                names.split(' ').next().unwrap_or(""),
                "{edit:?}"
            );
            assert!(
                names
                    .split(' ')
                    .all(|name| name.is_empty() || touched(&edit).iter().any(|it| it == name))
            );
        }
    }
}
