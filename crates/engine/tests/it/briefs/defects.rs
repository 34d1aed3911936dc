//! The defects of the predecessor, one by one.

use super::{SpecTree, said};

/// 27: entries are prepended, so the first mention is the newest.
#[test]
fn the_newest_entry_wins_on_top() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: spec-execute] 2026-03-12",
            "- `/spec-execute next login`",
            "[Focus: spec-create] 2026-03-10",
            "- `/spec-create login`",
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
      login is in spec-execute (named in SESSION.md:1); 1 task complete and 2 remaining.  [SESSION.md:1]
      Active — working on spec-execute.  [SESSION.md:1]
    Completed
      1 — Token type (Batch 1 — Base)  [.codex/specs/login/tasks.md:3]
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
      `design.md` exists and is inferred to be complete from the presence of `tasks.md`.  [.codex/specs/login/design.md]
      `tasks.md` exists and is inferred to be complete from finished tasks.  [.codex/specs/login/tasks.md]
    Remaining
      2 — Login form (Batch 1 — Base)  [.codex/specs/login/tasks.md:4]
      3 — Rate limit (Batch 2 — Hardening)  [.codex/specs/login/tasks.md:6]
      `/spec-execute next login`  [SESSION.md:2]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
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
      login: approval of `tasks.md` is inferred from finished tasks; none is recorded.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      `requirements.md`, `design.md` and `tasks.md` with the user's approval.  [workflow spec]
    ");
}

/// 27: and where they are appended, the last one is.
#[test]
fn the_newest_entry_wins_at_the_bottom() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: spec-execute] 2026-03-10",
            "- `/spec-execute next login`",
            "[Focus: spec-design] 2026-03-12",
            "- `/spec-design login` again",
        ])
        .spec("login")
        .design()
        .tasks();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      A design for login that meets its requirements with what the project has.  [workflow spec]
    Current Step
      `design.md` of login is being written.  [workflow spec]
    Status
      login is in spec-design (named in SESSION.md:3); 1 task complete and 2 remaining.  [SESSION.md:3]
      Active — working on spec-design.  [SESSION.md:3]
    Completed
      1 — Token type (Batch 1 — Base)  [.codex/specs/login/tasks.md:3]
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
      `design.md` exists and is inferred to be complete from the presence of `tasks.md`.  [.codex/specs/login/design.md]
      `tasks.md` exists and is inferred to be complete from finished tasks.  [.codex/specs/login/tasks.md]
    Remaining
      2 — Login form (Batch 1 — Base)  [.codex/specs/login/tasks.md:4]
      3 — Rate limit (Batch 2 — Hardening)  [.codex/specs/login/tasks.md:6]
      `/spec-design login` again  [SESSION.md:4]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Blockers / Risks
      spec-design was named in SESSION.md:3, but the files of login look like spec-execute.  [SESSION.md:3]
    Next Action
      `design.md` of login: completing it and the user's decision on it come before spec-tasks.  [workflow spec]
    Canonical Workflow Stage
      spec-design  [SESSION.md:3]
    Current Artifact
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
    Artifact Status
      login: 1 task complete, 2 remaining; next task is 2 — Login form (Batch 1 — Base).  [.codex/specs/login/tasks.md]
    Approved Decisions
      login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.  [.codex/specs/login/requirements.md]
      login: approval of `design.md` is inferred from the presence of `tasks.md`; none is recorded.  [.codex/specs/login/design.md]
      login: approval of `tasks.md` is inferred from finished tasks; none is recorded.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      `requirements.md` with the user's approval.  [workflow spec]
    ");
}

/// 27: instructions that list all stages say nothing about this session.
#[test]
fn a_list_of_stages_in_the_instructions() {
    let tree = SpecTree::new()
        .agents(&[
            "Stages: spec-create, spec-design, spec-tasks, spec-execute; \
             bug-create, bug-analyze, bug-fix, bug-verify.",
        ])
        .spec("login");
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

/// 27: one that names a single stage is believed before the files.
#[test]
fn instructions_that_name_one_stage() {
    let tree = SpecTree::new()
        .agents(&["This branch is in spec-tasks."])
        .spec("login")
        .design();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      A list of small tasks for login in batches, each with its own check.  [workflow spec]
    Current Step
      `tasks.md` of login is being written.  [workflow spec]
    Status
      login is in spec-tasks (named in AGENTS.md:1).  [AGENTS.md:1]
    Completed
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
    Remaining
      `tasks.md` of login is being written.  [workflow spec]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
    Next Action
      `tasks.md` of login: completing it and the user's decision on it come before spec-execute.  [workflow spec]
    Canonical Workflow Stage
      spec-tasks  [AGENTS.md:1]
    Current Artifact
      .codex/specs/login/tasks.md (not written yet)  [.codex/specs/login/tasks.md]
    Artifact Status
      `tasks.md` is missing or empty.  [.codex/specs/login/tasks.md]
    Approved Decisions
      login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.  [.codex/specs/login/requirements.md]
    Pending Decisions / Open Questions
      login: approval of `design.md` is not recorded.  [.codex/specs/login/design.md]
      login: `tasks.md` is missing; there is nothing to approve yet.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      `requirements.md` and `design.md` with the user's approval.  [workflow spec]
    ");
}

/// 28: a stage that is named approves nothing that is not there.
#[test]
fn no_approval_without_a_file() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: spec-execute] 2026-03-11",
            "- `/spec-execute next login`",
        ])
        .spec("login")
        .with("design.md", &["# Design"]);
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      The current batch of login with minimal drift, validated, `context.md` up to date, and a hand-off that can be resumed.  [workflow spec]
    Current Step
      `tasks.md` of login is missing or has no tasks.  [.codex/specs/login/tasks.md]
    Status
      login is in spec-execute (named in SESSION.md:1).  [SESSION.md:1]
      Active — working on spec-execute.  [SESSION.md:1]
    Remaining
      `/spec-execute next login`  [SESSION.md:2]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
    Blockers / Risks
      spec-execute was named in SESSION.md:1, but the files of login look like spec-create.  [SESSION.md:1]
    Next Action
      `tasks.md` of login: spec-execute needs it first.  [.codex/specs/login/tasks.md]
    Canonical Workflow Stage
      spec-execute  [SESSION.md:1]
    Current Artifact
      .codex/specs/login/tasks.md (not written yet)  [.codex/specs/login/tasks.md]
    Artifact Status
      `design.md` is missing or empty.  [.codex/specs/login/design.md]
      `tasks.md` is missing or empty.  [.codex/specs/login/tasks.md]
    Pending Decisions / Open Questions
      login: approval of `requirements.md` is not recorded.  [.codex/specs/login/requirements.md]
      login: `tasks.md` is missing; there is nothing to approve yet.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      `requirements.md`, `design.md` and `tasks.md` with the user's approval.  [workflow spec]
    ");
}

/// 29: `debug-fix` is not a stage.
#[test]
fn words_are_whole() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: debug-fix] 2026-03-11",
            "- Open Work: the debug-fix helper on `feature/bug-fix`",
        ])
        .bug("crash")
        .analysis();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      the debug-fix helper on `feature/bug-fix`  [SESSION.md:2]
    Current Step
      Current open work: the debug-fix helper on `feature/bug-fix`  [SESSION.md:2]
    Status
      Active — working on debug-fix.  [SESSION.md:1]
    Remaining
      the debug-fix helper on `feature/bug-fix`  [SESSION.md:2]
    Next Action
      the debug-fix helper on `feature/bug-fix`  [SESSION.md:2]
    ");
}

/// 29: work that is done, stale or in the attic leaves a session alone.
#[test]
fn finished_work_hijacks_nothing() {
    let tree = SpecTree::new()
        .session_log(&[
            "# Session State",
            "",
            "[Focus: refactor-auth] 2026-03-11 — Branch `refactor/auth`",
            "- Extracted token validation into `src/auth/validate.ts`.",
            "- Removed duplicate middleware from `src/routes/api.ts`.",
            "- Decision: keep the old exports until v3.",
            "",
            "Reality Check — tests rerun? yes",
            "",
            "Next Operator Brief",
            "",
            "- Open Work: migrate the callers of `validateSession()`.",
            "- Pending Tests: integration tests for the validator.",
            "- Blockers: none.",
        ])
        .spec("login")
        .design()
        .finished_tasks()
        .spec("stale-idea")
        .design()
        .tasks()
        .spec("attic")
        .design()
        .with(
            "old/requirements.md",
            &["# Requirements", "Users can log in."],
        )
        .with("old/design.md", &["# Design", "Tokens last an hour."]);
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      migrate the callers of `validateSession()`.  [SESSION.md:12]
    Current Step
      Current open work: migrate the callers of `validateSession()`.  [SESSION.md:12]
    Status
      Active — working on refactor-auth.  [SESSION.md:3]
    Completed
      Extracted token validation into `src/auth/validate.ts`.  [SESSION.md:4]
      Removed duplicate middleware from `src/routes/api.ts`.  [SESSION.md:5]
    Remaining
      migrate the callers of `validateSession()`.  [SESSION.md:12]
      Pending tests: integration tests for the validator.  [SESSION.md:13]
    Decisions
      Decision: keep the old exports until v3.  [SESSION.md:6]
    Active Files
      src/auth/validate.ts  [SESSION.md:4]
      src/routes/api.ts  [SESSION.md:5]
    Next Action
      migrate the callers of `validateSession()`.  [SESSION.md:12]
    ");
}

/// 30: all decisions and discoveries are there.
#[test]
fn sections_are_read_whole() {
    let tree = SpecTree::new().spec("login").design().tasks().context();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      The current batch of login with minimal drift, validated, `context.md` up to date, and a hand-off that can be resumed.  [workflow spec]
    Current Step
      Current task in `tasks.md`: 2 — Login form (Batch 1 — Base).  [.codex/specs/login/tasks.md:4]
    Status
      login is in spec-execute (inferred from `tasks.md`); 1 task complete and 2 remaining.  [.codex/specs/login/tasks.md]
      Last completed batch: 1  [.codex/specs/login/context.md:3]
    Completed
      1 — Token type (Batch 1 — Base)  [.codex/specs/login/tasks.md:3]
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
      `design.md` exists and is inferred to be complete from the presence of `tasks.md`.  [.codex/specs/login/design.md]
      `tasks.md` exists and is inferred to be complete from the presence of `context.md`.  [.codex/specs/login/tasks.md]
      Discovery: [Batch 1] Sessions are in Redis.  [.codex/specs/login/context.md:5]
      Discovery: [Batch 1] The form is server-rendered.  [.codex/specs/login/context.md:6]
    Remaining
      2 — Login form (Batch 1 — Base)  [.codex/specs/login/tasks.md:4]
      3 — Rate limit (Batch 2 — Hardening)  [.codex/specs/login/tasks.md:6]
    Decisions
      [Batch 1] Decision: JWT — Rationale: no lookups on each request.  [.codex/specs/login/context.md:8]
      [Batch 1] Decision: one hour  [.codex/specs/login/context.md:10]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
      .codex/specs/login/context.md  [.codex/specs/login/context.md]
    Blockers / Risks
      Warning: The clock of staging is off  [.codex/specs/login/context.md:14]
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
      login: approval of `tasks.md` is inferred from the presence of `context.md`; none is recorded.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      Utility: `src/auth/token.rs`: sign and verify  [.codex/specs/login/context.md:12]
      `requirements.md`, `design.md` and `tasks.md` with the user's approval.  [workflow spec]
    ");
}

/// 31: nor is it pending when something was approved.
#[test]
fn unblocked_is_no_blocker() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: login] 2026-03-11",
            "- unblocked the deploy",
            "- requirements approved",
            "- `/spec-design login`",
            "- Blockers: none.",
        ])
        .spec("login")
        .design();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      A design for login that meets its requirements with what the project has.  [workflow spec]
    Current Step
      `design.md` of login is being written.  [workflow spec]
    Status
      login is in spec-design (named in SESSION.md:4).  [SESSION.md:4]
      Active — working on login.  [SESSION.md:1]
    Completed
      unblocked the deploy  [SESSION.md:2]
    Remaining
      `design.md` of login is being written.  [workflow spec]
      `/spec-design login`  [SESSION.md:4]
    Decisions
      requirements approved  [SESSION.md:3]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
    Next Action
      `design.md` of login: completing it and the user's decision on it come before spec-tasks.  [workflow spec]
    Canonical Workflow Stage
      spec-design  [SESSION.md:4]
    Current Artifact
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
    Approved Decisions
      login: `requirements.md` is approved, recorded in SESSION.md:3: “requirements approved”  [SESSION.md:3]
    Pending Decisions / Open Questions
      login: approval of `design.md` is not recorded.  [.codex/specs/login/design.md]
    Dependencies / Preconditions
      `requirements.md` with the user's approval.  [workflow spec]
    ");
}

/// 31: `[X]`, `*`, nested and unnumbered tasks; the latest that are done.
#[test]
fn boxes_of_all_kinds() {
    let tree = SpecTree::new().spec("login").design().with(
        "tasks.md",
        &[
            "# Tasks",
            "* [X] 1. One",
            "* [x] 2. Two",
            "- [X] 3. Three",
            "- [x] 4. Four",
            "- [x] 5. Five",
            "- [ ] 6. Six",
            "  - [x] first half",
            "  - [ ] second half",
            "- [ ] Seven, unnumbered",
            "- [ ] 8. Eight",
            "- [ ] 9. Nine",
            "- [ ] 10. Ten",
            "- [ ] 11. Eleven",
            "- [ ] 12. Twelve",
        ],
    );
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      The current batch of login with minimal drift, validated, `context.md` up to date, and a hand-off that can be resumed.  [workflow spec]
    Current Step
      Current task in `tasks.md`: second half (in 6).  [.codex/specs/login/tasks.md:9]
    Status
      login is in spec-execute (inferred from `tasks.md`); 6 tasks complete and 7 remaining.  [.codex/specs/login/tasks.md]
    Completed
      3 — Three  [.codex/specs/login/tasks.md:4]
      4 — Four  [.codex/specs/login/tasks.md:5]
      5 — Five  [.codex/specs/login/tasks.md:6]
      first half (in 6)  [.codex/specs/login/tasks.md:8]
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
      `design.md` exists and is inferred to be complete from the presence of `tasks.md`.  [.codex/specs/login/design.md]
      `tasks.md` exists and is inferred to be complete from finished tasks.  [.codex/specs/login/tasks.md]
      (2 more)
    Remaining
      second half (in 6)  [.codex/specs/login/tasks.md:9]
      Seven, unnumbered  [.codex/specs/login/tasks.md:10]
      8 — Eight  [.codex/specs/login/tasks.md:11]
      9 — Nine  [.codex/specs/login/tasks.md:12]
      10 — Ten  [.codex/specs/login/tasks.md:13]
      11 — Eleven  [.codex/specs/login/tasks.md:14]
      (1 more)
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Next Action
      second half (in 6) — next in spec-execute of login.  [.codex/specs/login/tasks.md:9]
    Canonical Workflow Stage
      spec-execute  [.codex/specs/login/tasks.md]
    Current Artifact
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Artifact Status
      login: 6 tasks complete, 7 remaining; next task is second half (in 6).  [.codex/specs/login/tasks.md]
    Approved Decisions
      login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.  [.codex/specs/login/requirements.md]
      login: approval of `design.md` is inferred from the presence of `tasks.md`; none is recorded.  [.codex/specs/login/design.md]
      login: approval of `tasks.md` is inferred from finished tasks; none is recorded.  [.codex/specs/login/tasks.md]
    Dependencies / Preconditions
      `requirements.md`, `design.md` and `tasks.md` with the user's approval.  [workflow spec]
    ");
}
