//! A builder for the project trees that the tests of briefs read.
//!
//! The texts of specs and bugs are always the same ones, so a test shows only what differs:
//!
//! ```text
//! SpecTree::new()
//!     .session_log(&["[Focus: billing] 2026-03-11", "- Drew the tables."])
//!     .spec("login").design().tasks()
//!     .spec("billing").design()
//! ```
//!
//! Files are written in the order of the calls, which matters where the newest file decides.

const REQUIREMENTS: &str = "# Requirements\nUsers can log in.\n";
const DESIGN: &str = "# Design\nTokens last an hour.\n";
/// One of three tasks is done.
const TASKS: &str = "\
# Tasks
## Batch 1 — Base
- [x] 1. Token type
- [ ] 2. Login form
## Batch 2 — Hardening
- [ ] 3. Rate limit
";
const CONTEXT: &str = "\
# Context
## Status
Last completed batch: 1
## Key Discoveries
- [Batch 1] Sessions are in Redis.
- [Batch 1] The form is server-rendered.
## Decisions Made
- [Batch 1] Decision: JWT — Rationale: no lookups
  on each request.
- [Batch 1] Decision: one hour
## Utilities Created
- `src/auth/token.rs`: sign and verify
## Carry-Forward Warnings
- The clock of staging is off
";
const REPORT: &str = "# Report\nLogin crashes on expired tokens.\n";
const ANALYSIS: &str = "\
# Analysis
## Root Cause
No null check.
## Risks / Trade-offs
- The minimal fix in the refresh path, nothing else.
";

/// A project tree as a drawing: `=== path`, then the text of the file, for each file.
#[derive(Default)]
pub(crate) struct SpecTree {
    drawing: String,
    /// The folder of the spec or bug that the following calls add to.
    folder: String,
}

impl SpecTree {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a file by its path in the project.
    pub(crate) fn file(self, path: &str, lines: &[&str]) -> Self {
        self.text(path, &format!("{}\n", lines.join("\n")))
    }

    pub(crate) fn session_log(self, lines: &[&str]) -> Self {
        self.file("SESSION.md", lines)
    }

    pub(crate) fn agents(self, lines: &[&str]) -> Self {
        self.file("AGENTS.md", lines)
    }

    /// Begins a spec, with its requirements.
    pub(crate) fn spec(self, name: &str) -> Self {
        self.inside(format!(".codex/specs/{name}"))
            .part("requirements.md", REQUIREMENTS)
    }

    pub(crate) fn design(self) -> Self {
        self.part("design.md", DESIGN)
    }

    pub(crate) fn tasks(self) -> Self {
        self.part("tasks.md", TASKS)
    }

    pub(crate) fn finished_tasks(self) -> Self {
        self.part("tasks.md", &TASKS.replace("[ ]", "[x]"))
    }

    pub(crate) fn context(self) -> Self {
        self.part("context.md", CONTEXT)
    }

    /// Begins a bug, with its report.
    pub(crate) fn bug(self, name: &str) -> Self {
        self.inside(format!(".codex/bugs/{name}"))
            .part("report.md", REPORT)
    }

    pub(crate) fn analysis(self) -> Self {
        self.part("analysis.md", ANALYSIS)
    }

    /// Adds a file with the given text to the spec or bug.
    pub(crate) fn with(self, file: &str, lines: &[&str]) -> Self {
        let path = format!("{}/{file}", self.folder);
        self.file(&path, lines)
    }

    fn inside(mut self, folder: String) -> Self {
        self.folder = folder;
        self
    }

    fn part(self, file: &str, text: &str) -> Self {
        let path = format!("{}/{file}", self.folder);
        self.text(&path, text)
    }

    fn text(mut self, path: &str, text: &str) -> Self {
        self.drawing.push_str(&format!("=== {path}\n{text}"));
        self
    }
}

impl AsRef<str> for SpecTree {
    fn as_ref(&self) -> &str {
        &self.drawing
    }
}
