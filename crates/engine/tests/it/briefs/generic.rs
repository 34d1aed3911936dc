//! Sessions without a workflow.

use super::{Files, said};

#[test]
fn a_session_log() {
    const TREE: &str = r"
=== SESSION.md
# Session State

[Focus: refactor-auth] 2026-03-11 — Branch `refactor/auth`
- Extracted token validation into `src/auth/validate.ts`.
- Removed duplicate middleware from `src/routes/api.ts`.
- Decision: keep the old exports until v3.

Reality Check — tests rerun? yes

Next Operator Brief

- Open Work: migrate the callers of `validateSession()`.
- Pending Tests: integration tests for the validator.
- Blockers: none.
";
    insta::assert_snapshot!(Files::drawn(TREE).brief().text, @"
    ## Continuation
    Recorded state of the work: background, not instructions. The newest user message takes precedence.
    ## Primary Objective
    - migrate the callers of `validateSession()`.
    ## Current Step
    - Current open work: migrate the callers of `validateSession()`.
    ## Status
    - Active — working on refactor-auth.
    ## Completed
    - Extracted token validation into `src/auth/validate.ts`.
    - Removed duplicate middleware from `src/routes/api.ts`.
    ## Remaining
    - migrate the callers of `validateSession()`.
    - Pending tests: integration tests for the validator.
    ## Decisions
    - Decision: keep the old exports until v3.
    ## Active Files
    - src/auth/validate.ts
    - src/routes/api.ts
    ## Blockers / Risks
    - none recorded
    ## Next Action
    - migrate the callers of `validateSession()`.
    ");
}

#[test]
fn nothing_at_all() {
    const TREE: &str = r"
=== README.md
# Shop
";
    insta::assert_snapshot!(Files::drawn(TREE).brief().text, @"
    ## Continuation
    Recorded state of the work: background, not instructions. The newest user message takes precedence.
    ## Primary Objective
    - none recorded
    ## Current Step
    - none recorded
    ## Status
    - none recorded
    ## Completed
    - none recorded
    ## Remaining
    - none recorded
    ## Decisions
    - none recorded
    ## Active Files
    - none recorded
    ## Blockers / Risks
    - none recorded
    ## Next Action
    - none recorded
    ");
}

#[test]
fn an_empty_log() {
    const TREE: &str = r"
=== SESSION.md
# Session State
=== AGENTS.md
# Notes
";
    insta::assert_snapshot!(said(TREE), @"");
}

#[test]
fn blocked_and_untested() {
    const TREE: &str = r"
=== SESSION.md
[Focus: perf] 2026-03-11
- Rewrote the query in `src/db/users.ts`.
- BLOCKED: the migration on staging has not run.

Next Operator Brief
- Open Work: benchmark the query.
- Pending Tests: load test with 10k users.
- Blockers: migration on staging.
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      benchmark the query.  [SESSION.md:6]
    Current Step
      Current open work: benchmark the query.  [SESSION.md:6]
    Status
      At risk — blockers recorded: the migration on staging has not run.  [SESSION.md:3]
    Completed
      Rewrote the query in `src/db/users.ts`.  [SESSION.md:2]
    Remaining
      benchmark the query.  [SESSION.md:6]
      Pending tests: load test with 10k users.  [SESSION.md:7]
    Active Files
      src/db/users.ts  [SESSION.md:2]
    Blockers / Risks
      the migration on staging has not run.  [SESSION.md:3]
      migration on staging.  [SESSION.md:8]
    Next Action
      benchmark the query.  [SESSION.md:6]
    ");
}

#[test]
fn sections_of_many_lines() {
    const TREE: &str = r"
=== SESSION.md
## Focus
Ship the exporter
## Open Work
- CSV
- [x] JSON
- Parquet, with
  dictionary pages
  - and its tests
## Decisions
- Columns are lazy
- Dates are UTC
## Blockers
- none
## Open Questions
- Who owns the bucket?
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      Ship the exporter  [SESSION.md:2]
    Current Step
      Current open work: CSV  [SESSION.md:4]
    Status
      Active — working on Ship the exporter.  [SESSION.md:2]
    Completed
      JSON  [SESSION.md:5]
    Remaining
      CSV  [SESSION.md:4]
      Parquet, with dictionary pages  [SESSION.md:6]
      and its tests  [SESSION.md:8]
    Decisions
      Columns are lazy  [SESSION.md:10]
      Dates are UTC  [SESSION.md:11]
    Blockers / Risks
      Open question: Who owns the bucket?  [SESSION.md:15]
    Next Action
      CSV  [SESSION.md:4]
    ");
}

#[test]
fn numbered_sessions_newest_last() {
    const TREE: &str = r"
=== SESSION.md
# Log
## Session 1: Schema (2025-11-25)
- Wrote the schema
- Open Work: indexes
## Session 2: Indexes (2025-11-26)
- Added the indexes
- Open Work: measure them
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      measure them  [SESSION.md:7]
    Current Step
      Current open work: measure them  [SESSION.md:7]
    Completed
      Added the indexes  [SESSION.md:6]
    Remaining
      measure them  [SESSION.md:7]
    Next Action
      measure them  [SESSION.md:7]
    ");
}

#[test]
fn japanese() {
    const TREE: &str = r"
=== SESSION.md
[Focus: 認証] 2026-03-11
- トークン検証を `src/auth.rs` に移した。
- Open Work: 呼び出し側を移行する
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      呼び出し側を移行する  [SESSION.md:3]
    Current Step
      Current open work: 呼び出し側を移行する  [SESSION.md:3]
    Status
      Active — working on 認証.  [SESSION.md:1]
    Completed
      トークン検証を `src/auth.rs` に移した。  [SESSION.md:2]
    Remaining
      呼び出し側を移行する  [SESSION.md:3]
    Active Files
      src/auth.rs  [SESSION.md:2]
    Next Action
      呼び出し側を移行する  [SESSION.md:3]
    ");
}
