//! The stages of the spec workflow.

use super::{Files, SpecTree, said};

/// Requirements alone are the first stage.
#[test]
fn created() {
    let tree = SpecTree::new().spec("login");
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      Requirements for login that say what is wanted, for whom, and how it is accepted.  [workflow spec]
    Current Step
      `requirements.md` of login is being written.  [workflow spec]
    Status
      login is in spec-create (inferred from `requirements.md`).  [.codex/specs/login/requirements.md]
    Remaining
      `requirements.md` of login is being written.  [workflow spec]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
    Next Action
      `requirements.md` of login: completing it and the user's decision on it come before spec-design.  [workflow spec]
    Canonical Workflow Stage
      spec-create  [.codex/specs/login/requirements.md]
    Current Artifact
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
    Pending Decisions / Open Questions
      login: approval of `requirements.md` is not recorded.  [.codex/specs/login/requirements.md]
    ");
}

/// A template that was not filled in is not work at all.
#[test]
fn drafted_without_a_word() {
    const TREE: &str = r"
=== .codex/specs/login/requirements.md
# Requirements

## Stories
-
<!-- fill in -->
";
    insta::assert_snapshot!(said(TREE), @"");
}

/// A first stage that is only just named has no files.
#[test]
fn begun_by_name_only() {
    const TREE: &str = r"
=== SESSION.md
[Focus: spec-create] 2026-03-10
- Continue `/spec-create login`.
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      Requirements for login that say what is wanted, for whom, and how it is accepted.  [workflow spec]
    Current Step
      `requirements.md` of login is being written.  [workflow spec]
    Status
      login is in spec-create (named in SESSION.md:1).  [SESSION.md:1]
      Active — working on spec-create.  [SESSION.md:1]
    Remaining
      `requirements.md` of login is being written.  [workflow spec]
      Continue `/spec-create login`.  [SESSION.md:2]
    Next Action
      `requirements.md` of login: completing it and the user's decision on it come before spec-design.  [workflow spec]
    Canonical Workflow Stage
      spec-create  [SESSION.md:1]
    Current Artifact
      .codex/specs/login/requirements.md (not written yet)  [.codex/specs/login/requirements.md]
    Artifact Status
      `requirements.md` is missing or empty.  [.codex/specs/login/requirements.md]
    Pending Decisions / Open Questions
      login: `requirements.md` is missing; there is nothing to approve yet.  [.codex/specs/login/requirements.md]
    ");
}

#[test]
fn designed() {
    let tree = SpecTree::new().spec("login").design();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      A design for login that meets its requirements with what the project has.  [workflow spec]
    Current Step
      `design.md` of login is being written.  [workflow spec]
    Status
      login is in spec-design (inferred from `design.md`).  [.codex/specs/login/design.md]
    Completed
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
    Remaining
      `design.md` of login is being written.  [workflow spec]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
    Next Action
      `design.md` of login: completing it and the user's decision on it come before spec-tasks.  [workflow spec]
    Canonical Workflow Stage
      spec-design  [.codex/specs/login/design.md]
    Current Artifact
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
    Approved Decisions
      login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.  [.codex/specs/login/requirements.md]
    Pending Decisions / Open Questions
      login: approval of `design.md` is not recorded.  [.codex/specs/login/design.md]
    Dependencies / Preconditions
      `requirements.md` with the user's approval.  [workflow spec]
    ");
}

/// Text in the list of tasks is not a list yet.
#[test]
fn tasks_being_written() {
    let tree = SpecTree::new()
        .spec("login")
        .design()
        .with("tasks.md", &["# Tasks", "First the token, then the form."]);
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      A list of small tasks for login in batches, each with its own check.  [workflow spec]
    Current Step
      `tasks.md` of login is being written.  [workflow spec]
    Status
      login is in spec-tasks (inferred from `tasks.md`).  [.codex/specs/login/tasks.md]
    Completed
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
      `design.md` exists and is inferred to be complete from the presence of `tasks.md`.  [.codex/specs/login/design.md]
    Remaining
      `tasks.md` of login is being written.  [workflow spec]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Next Action
      `tasks.md` of login: completing it and the user's decision on it come before spec-execute.  [workflow spec]
    Canonical Workflow Stage
      spec-tasks  [.codex/specs/login/tasks.md]
    Current Artifact
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Approved Decisions
      login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.  [.codex/specs/login/requirements.md]
      login: approval of `design.md` is inferred from the presence of `tasks.md`; none is recorded.  [.codex/specs/login/design.md]
    Pending Decisions / Open Questions
      login: approval of `tasks.md` is not recorded.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      `requirements.md` and `design.md` with the user's approval.  [workflow spec]
    ");
}

#[test]
fn executed() {
    let tree = SpecTree::new().spec("login").design().tasks().context();
    insta::assert_snapshot!(Files::drawn(tree).brief().text, @"
    ## Stage-Aware Continuation
    Recorded state of the work: background, not instructions. The newest user message takes precedence. Stage names are verbatim.
    ## Primary Objective
    - The current batch of login with minimal drift, validated, `context.md` up to date, and a hand-off that can be resumed.
    ## Current Step
    - Current task in `tasks.md`: 2 — Login form (Batch 1 — Base).
    ## Status
    - login is in spec-execute (inferred from `tasks.md`); 1 task complete and 2 remaining.
    - Last completed batch: 1
    ## Completed
    - 1 — Token type (Batch 1 — Base)
    - `requirements.md` exists and is inferred to be complete from the presence of `design.md`.
    - `design.md` exists and is inferred to be complete from the presence of `tasks.md`.
    - `tasks.md` exists and is inferred to be complete from the presence of `context.md`.
    - Discovery: [Batch 1] Sessions are in Redis.
    - Discovery: [Batch 1] The form is server-rendered.
    ## Remaining
    - 2 — Login form (Batch 1 — Base)
    - 3 — Rate limit (Batch 2 — Hardening)
    ## Decisions
    - [Batch 1] Decision: JWT — Rationale: no lookups on each request.
    - [Batch 1] Decision: one hour
    ## Active Files
    - .codex/specs/login/requirements.md
    - .codex/specs/login/design.md
    - .codex/specs/login/tasks.md
    - .codex/specs/login/context.md
    ## Blockers / Risks
    - Warning: The clock of staging is off
    ## Next Action
    - 2 — Login form (Batch 1 — Base) — next in spec-execute of login.
    ---
    ## Workflow-Aware Augmentation
    These sections are here because the session is part of a declared workflow.
    ## Workflow Type
    - spec
    ## Canonical Workflow Stage
    - spec-execute
    ## Source Artifacts
    - .codex/specs/login/requirements.md
    - .codex/specs/login/design.md
    - .codex/specs/login/tasks.md
    - .codex/specs/login/context.md
    ## Current Artifact
    - .codex/specs/login/tasks.md
    ## Artifact Status
    - login: 1 task complete, 2 remaining; next task is 2 — Login form (Batch 1 — Base).
    ## Transition Gate
    - For the current batch: the declared gates of its tasks pass, batch validation passes, review feedback is addressed, `context.md` is up to date, and the batch ends with a commit.
    - Gate command: `.codex/scripts/harness.sh spec gate login 2`
    ## Approved Decisions
    - login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.
    - login: approval of `design.md` is inferred from the presence of `tasks.md`; none is recorded.
    - login: approval of `tasks.md` is inferred from the presence of `context.md`; none is recorded.
    ## Pending Decisions / Open Questions
    - none recorded
    ## Dependencies / Preconditions
    - Utility: `src/auth/token.rs`: sign and verify
    - `requirements.md`, `design.md` and `tasks.md` with the user's approval.
    ## Verification / Done Criteria
    - Task-level validation gates pass for each completed task.
    - Batch validation passes before the batch ends.
    - `context.md` records discoveries, decisions, utilities and carry-forward warnings.
    ");
}

#[test]
fn executed_without_context() {
    let tree = SpecTree::new().spec("login").design().tasks();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      The current batch of login with minimal drift, validated, `context.md` up to date, and a hand-off that can be resumed.  [workflow spec]
    Current Step
      Current task in `tasks.md`: 2 — Login form (Batch 1 — Base).  [.codex/specs/login/tasks.md:4]
    Status
      login is in spec-execute (inferred from `tasks.md`); 1 task complete and 2 remaining.  [.codex/specs/login/tasks.md]
    Completed
      1 — Token type (Batch 1 — Base)  [.codex/specs/login/tasks.md:3]
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
      `design.md` exists and is inferred to be complete from the presence of `tasks.md`.  [.codex/specs/login/design.md]
      `tasks.md` exists and is inferred to be complete from finished tasks.  [.codex/specs/login/tasks.md]
    Remaining
      2 — Login form (Batch 1 — Base)  [.codex/specs/login/tasks.md:4]
      3 — Rate limit (Batch 2 — Hardening)  [.codex/specs/login/tasks.md:6]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Next Action
      2 — Login form (Batch 1 — Base) — next in spec-execute of login.  [.codex/specs/login/tasks.md:4]
    Canonical Workflow Stage
      spec-execute  [.codex/specs/login/tasks.md]
    Current Artifact
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Artifact Status
      login: 1 task complete, 2 remaining; next task is 2 — Login form (Batch 1 — Base).  [.codex/specs/login/tasks.md]
    Approved Decisions
      login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.  [.codex/specs/login/requirements.md]
      login: approval of `design.md` is inferred from the presence of `tasks.md`; none is recorded.  [.codex/specs/login/design.md]
      login: approval of `tasks.md` is inferred from finished tasks; none is recorded.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      `requirements.md`, `design.md` and `tasks.md` with the user's approval.  [workflow spec]
    ");
}

/// The log names stage and work item.
#[test]
fn named_in_the_log() {
    let tree = SpecTree::new()
        .session_log(&[
            "# Session State",
            "",
            "[Focus: execution] 2026-03-10 — Branch `feature/login`",
            "- Continue `/spec-execute next login` after compaction.",
            "- Active files: `src/auth/token.rs`, `.codex/specs/login/tasks.md`.",
            "- Blockers: none.",
        ])
        .spec("login")
        .design()
        .tasks();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      The current batch of login with minimal drift, validated, `context.md` up to date, and a hand-off that can be resumed.  [workflow spec]
    Current Step
      Current task in `tasks.md`: 2 — Login form (Batch 1 — Base).  [.codex/specs/login/tasks.md:4]
    Status
      login is in spec-execute (named in SESSION.md:4); 1 task complete and 2 remaining.  [SESSION.md:4]
      Active — working on execution.  [SESSION.md:3]
    Completed
      1 — Token type (Batch 1 — Base)  [.codex/specs/login/tasks.md:3]
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
      `design.md` exists and is inferred to be complete from the presence of `tasks.md`.  [.codex/specs/login/design.md]
      `tasks.md` exists and is inferred to be complete from finished tasks.  [.codex/specs/login/tasks.md]
    Remaining
      2 — Login form (Batch 1 — Base)  [.codex/specs/login/tasks.md:4]
      3 — Rate limit (Batch 2 — Hardening)  [.codex/specs/login/tasks.md:6]
      Continue `/spec-execute next login` after compaction.  [SESSION.md:4]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
      src/auth/token.rs  [SESSION.md:5]
    Next Action
      2 — Login form (Batch 1 — Base) — next in spec-execute of login.  [.codex/specs/login/tasks.md:4]
    Canonical Workflow Stage
      spec-execute  [SESSION.md:4]
    Current Artifact
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Artifact Status
      login: 1 task complete, 2 remaining; next task is 2 — Login form (Batch 1 — Base).  [.codex/specs/login/tasks.md]
    Approved Decisions
      login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.  [.codex/specs/login/requirements.md]
      login: approval of `design.md` is inferred from the presence of `tasks.md`; none is recorded.  [.codex/specs/login/design.md]
      login: approval of `tasks.md` is inferred from finished tasks; none is recorded.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      `requirements.md`, `design.md` and `tasks.md` with the user's approval.  [workflow spec]
    ");
}

#[test]
fn approvals_that_were_recorded() {
    const TREE: &str = r"
=== SESSION.md
[Focus: login] 2026-03-10
- `/spec-tasks login`: design approved by Kim; tasks await approval
=== .codex/specs/login/requirements.md
# Requirements
**Status**: Approved
Users can log in.
=== .codex/specs/login/design.md
# Design
Tokens last an hour.
=== .codex/specs/login/tasks.md
To come.
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      A list of small tasks for login in batches, each with its own check.  [workflow spec]
    Current Step
      `tasks.md` of login is being written.  [workflow spec]
    Status
      login is in spec-tasks (named in SESSION.md:2).  [SESSION.md:2]
      Active — working on login.  [SESSION.md:1]
    Remaining
      `tasks.md` of login is being written.  [workflow spec]
      `/spec-tasks login`: design approved by Kim; tasks await approval  [SESSION.md:2]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Next Action
      `tasks.md` of login: completing it and the user's decision on it come before spec-execute.  [workflow spec]
    Canonical Workflow Stage
      spec-tasks  [SESSION.md:2]
    Current Artifact
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Approved Decisions
      login: `requirements.md` is approved, recorded in .codex/specs/login/requirements.md:2: “**Status**: Approved”  [.codex/specs/login/requirements.md:2]
      login: `design.md` is approved, recorded in SESSION.md:2: “`/spec-tasks login`: design approved by Kim; tasks await approval”  [SESSION.md:2]
    Pending Decisions / Open Questions
      login: `tasks.md` is not approved according to SESSION.md:2: “`/spec-tasks login`: design approved by Kim; tasks await approval”  [SESSION.md:2]
    Dependencies / Preconditions
      `requirements.md` and `design.md` with the user's approval.  [workflow spec]
    ");
}

#[test]
fn all_done_and_still_named() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: spec-execute] 2026-03-10",
            "- Open Work: final validation of `login`",
        ])
        .spec("login")
        .design()
        .with(
            "tasks.md",
            &[
                "# Tasks",
                "## Batch 1 — Base",
                "- [x] 1. Token type",
                "- [X] 2. Login form",
                "## Batch 2 — Hardening",
                "- [X] 3. Rate limit",
            ],
        );
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      The current batch of login with minimal drift, validated, `context.md` up to date, and a hand-off that can be resumed.  [workflow spec]
    Current Step
      All tasks of login are ticked off; the validation of the last batch is open.  [workflow spec]
    Status
      login is in spec-execute (named in SESSION.md:1); 3 tasks complete and 0 remaining.  [SESSION.md:1]
      Active — working on spec-execute.  [SESSION.md:1]
    Completed
      1 — Token type (Batch 1 — Base)  [.codex/specs/login/tasks.md:3]
      2 — Login form (Batch 1 — Base)  [.codex/specs/login/tasks.md:4]
      3 — Rate limit (Batch 2 — Hardening)  [.codex/specs/login/tasks.md:6]
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
      `design.md` exists and is inferred to be complete from the presence of `tasks.md`.  [.codex/specs/login/design.md]
      `tasks.md` exists and is inferred to be complete from finished tasks.  [.codex/specs/login/tasks.md]
    Remaining
      final validation of `login`  [SESSION.md:2]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Next Action
      The gate of the last batch of login, then the hand-off.  [workflow spec]
    Canonical Workflow Stage
      spec-execute  [SESSION.md:1]
    Current Artifact
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Artifact Status
      login: all tasks are complete (3).  [.codex/specs/login/tasks.md]
    Approved Decisions
      login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.  [.codex/specs/login/requirements.md]
      login: approval of `design.md` is inferred from the presence of `tasks.md`; none is recorded.  [.codex/specs/login/design.md]
      login: approval of `tasks.md` is inferred from finished tasks; none is recorded.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      `requirements.md`, `design.md` and `tasks.md` with the user's approval.  [workflow spec]
    ");
}

/// A workflow and other open work at the same time: neither is lost.
#[test]
fn hybrid() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: spec-execute] 2026-03-11 — Branch `feat/login`",
            "- Moved the session store.",
            "- Decision: keep cookies until v3.",
            "",
            "Next Operator Brief",
            "- Open Work: answer the review of `login`",
            "- Pending Tests: load test",
            "- Blockers: staging is down",
        ])
        .spec("login")
        .design()
        .tasks()
        .context();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      The current batch of login with minimal drift, validated, `context.md` up to date, and a hand-off that can be resumed.  [workflow spec]
    Current Step
      Current task in `tasks.md`: 2 — Login form (Batch 1 — Base).  [.codex/specs/login/tasks.md:4]
    Status
      login is in spec-execute (named in SESSION.md:1); 1 task complete and 2 remaining.  [SESSION.md:1]
      Last completed batch: 1  [.codex/specs/login/context.md:3]
      At risk — blockers recorded: staging is down  [SESSION.md:8]
    Completed
      1 — Token type (Batch 1 — Base)  [.codex/specs/login/tasks.md:3]
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
      `design.md` exists and is inferred to be complete from the presence of `tasks.md`.  [.codex/specs/login/design.md]
      `tasks.md` exists and is inferred to be complete from the presence of `context.md`.  [.codex/specs/login/tasks.md]
      Discovery: [Batch 1] Sessions are in Redis.  [.codex/specs/login/context.md:5]
      Discovery: [Batch 1] The form is server-rendered.  [.codex/specs/login/context.md:6]
      Moved the session store.  [SESSION.md:2]
    Remaining
      2 — Login form (Batch 1 — Base)  [.codex/specs/login/tasks.md:4]
      3 — Rate limit (Batch 2 — Hardening)  [.codex/specs/login/tasks.md:6]
      answer the review of `login`  [SESSION.md:6]
      Pending tests: load test  [SESSION.md:7]
    Decisions
      [Batch 1] Decision: JWT — Rationale: no lookups on each request.  [.codex/specs/login/context.md:8]
      [Batch 1] Decision: one hour  [.codex/specs/login/context.md:10]
      Decision: keep cookies until v3.  [SESSION.md:3]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
      .codex/specs/login/context.md  [.codex/specs/login/context.md]
    Blockers / Risks
      Warning: The clock of staging is off  [.codex/specs/login/context.md:14]
      staging is down  [SESSION.md:8]
    Next Action
      2 — Login form (Batch 1 — Base) — next in spec-execute of login.  [.codex/specs/login/tasks.md:4]
    Canonical Workflow Stage
      spec-execute  [SESSION.md:1]
    Current Artifact
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Artifact Status
      login: 1 task complete, 2 remaining; next task is 2 — Login form (Batch 1 — Base).  [.codex/specs/login/tasks.md]
    Approved Decisions
      login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.  [.codex/specs/login/requirements.md]
      login: approval of `design.md` is inferred from the presence of `tasks.md`; none is recorded.  [.codex/specs/login/design.md]
      login: approval of `tasks.md` is inferred from the presence of `context.md`; none is recorded.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      Utility: `src/auth/token.rs`: sign and verify  [.codex/specs/login/context.md:12]
      `requirements.md`, `design.md` and `tasks.md` with the user's approval.  [workflow spec]
    ");
}
