//! Trees that say nothing clearly, or contradict themselves.

use flamestack_brief::Heading;

use super::{Files, SpecTree, said, under};

#[test]
fn two_open_specs_and_no_word() {
    let tree = SpecTree::new()
        .spec("login")
        .design()
        .tasks()
        .spec("billing")
        .design();
    insta::assert_snapshot!(said(tree), @"
    Status
      Several work items are open and nothing says which one is meant: `.codex/specs/billing`, `.codex/specs/login`.  [.codex/specs/billing]
    ");
}

#[test]
fn two_open_specs_and_one_named() {
    let tree = SpecTree::new()
        .session_log(&["[Focus: billing] 2026-03-11", "- Drew the tables."])
        .spec("login")
        .design()
        .tasks()
        .spec("billing")
        .design();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      A design for billing that meets its requirements with what the project has.  [workflow spec]
    Current Step
      `design.md` of billing is being written.  [workflow spec]
    Status
      billing is in spec-design (inferred from `design.md`).  [.codex/specs/billing/design.md]
      Active — working on billing.  [SESSION.md:1]
    Completed
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/billing/requirements.md]
      Drew the tables.  [SESSION.md:2]
    Remaining
      `design.md` of billing is being written.  [workflow spec]
    Active Files
      .codex/specs/billing/requirements.md  [.codex/specs/billing/requirements.md]
      .codex/specs/billing/design.md  [.codex/specs/billing/design.md]
    Next Action
      `design.md` of billing: completing it and the user's decision on it come before spec-tasks.  [workflow spec]
    Canonical Workflow Stage
      spec-design  [.codex/specs/billing/design.md]
    Current Artifact
      .codex/specs/billing/design.md  [.codex/specs/billing/design.md]
    Approved Decisions
      billing: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.  [.codex/specs/billing/requirements.md]
    Pending Decisions / Open Questions
      billing: approval of `design.md` is not recorded.  [.codex/specs/billing/design.md]
    Dependencies / Preconditions
      `requirements.md` with the user's approval.  [workflow spec]
    ");
}

/// The stage that is named decides between them.
#[test]
fn spec_and_bug_and_a_stage() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: bug-fix] 2026-03-11",
            "- Active files: `.codex/specs/login/tasks.md`, `.codex/bugs/crash/analysis.md`.",
        ])
        .spec("login")
        .design()
        .tasks()
        .bug("crash")
        .analysis();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      The minimal safe fix of crash as `analysis.md` describes it, with regression coverage and no unrelated refactoring.  [workflow bug]
    Current Step
      The changes that `analysis.md` of crash describes, with format, lint, typecheck and tests.  [workflow bug]
    Status
      crash is in bug-fix (named in SESSION.md:1).  [SESSION.md:1]
      Active — working on bug-fix.  [SESSION.md:1]
    Completed
      `report.md` exists and is inferred to be complete from the presence of `analysis.md`.  [.codex/bugs/crash/report.md]
    Remaining
      The changes that `analysis.md` of crash describes, with format, lint, typecheck and tests.  [workflow bug]
    Decisions
      The minimal fix in the refresh path, nothing else.  [.codex/bugs/crash/analysis.md:5]
    Active Files
      .codex/bugs/crash/report.md  [.codex/bugs/crash/report.md]
      .codex/bugs/crash/analysis.md  [.codex/bugs/crash/analysis.md]
      .codex/specs/login/tasks.md  [SESSION.md:2]
    Next Action
      The fix of crash with regression coverage, then the hand-off to bug-verify.  [workflow bug]
    Canonical Workflow Stage
      bug-fix  [SESSION.md:1]
    Current Artifact
      .codex/bugs/crash/analysis.md  [.codex/bugs/crash/analysis.md]
    Approved Decisions
      crash: approval of `report.md` is inferred from the presence of `analysis.md`; none is recorded.  [.codex/bugs/crash/report.md]
    Pending Decisions / Open Questions
      crash: approval of `analysis.md` is not recorded.  [.codex/bugs/crash/analysis.md]
    Dependencies / Preconditions
      `analysis.md` with the user's approval.  [workflow bug]
    ");
}

#[test]
fn log_and_files_contradict() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: spec-design] 2026-03-11",
            "- Back to `/spec-design login`.",
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
      login is in spec-design (named in SESSION.md:1); 1 task complete and 2 remaining.  [SESSION.md:1]
      Active — working on spec-design.  [SESSION.md:1]
    Completed
      1 — Token type (Batch 1 — Base)  [.codex/specs/login/tasks.md:3]
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
      `design.md` exists and is inferred to be complete from the presence of `tasks.md`.  [.codex/specs/login/design.md]
      `tasks.md` exists and is inferred to be complete from finished tasks.  [.codex/specs/login/tasks.md]
      Back to `/spec-design login`.  [SESSION.md:2]
    Remaining
      2 — Login form (Batch 1 — Base)  [.codex/specs/login/tasks.md:4]
      3 — Rate limit (Batch 2 — Hardening)  [.codex/specs/login/tasks.md:6]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
      .codex/specs/login/tasks.md  [.codex/specs/login/tasks.md]
    Blockers / Risks
      spec-design was named in SESSION.md:1, but the files of login look like spec-execute.  [SESSION.md:1]
    Next Action
      `design.md` of login: completing it and the user's decision on it come before spec-tasks.  [workflow spec]
    Canonical Workflow Stage
      spec-design  [SESSION.md:1]
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

#[test]
fn a_stage_without_its_work() {
    const TREE: &str = r"
=== SESSION.md
[Focus: spec-execute] 2026-03-11
- On it.
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      spec-execute  [SESSION.md:1]
    Current Step
      spec-execute  [SESSION.md:1]
    Status
      `spec-execute` is named, but no files of that workflow show which work item is meant.  [SESSION.md:1]
      Active — working on spec-execute.  [SESSION.md:1]
    Completed
      On it.  [SESSION.md:2]
    ");
}

#[test]
fn approved_and_not_approved() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: login] 2026-03-11",
            "- `/spec-design login`: requirements approved, design not approved yet.",
        ])
        .spec("login")
        .design();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      A design for login that meets its requirements with what the project has.  [workflow spec]
    Current Step
      `design.md` of login is being written.  [workflow spec]
    Status
      login is in spec-design (named in SESSION.md:2).  [SESSION.md:2]
      Active — working on login.  [SESSION.md:1]
    Remaining
      `design.md` of login is being written.  [workflow spec]
      `/spec-design login`: requirements approved, design not approved yet.  [SESSION.md:2]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
    Next Action
      `design.md` of login: completing it and the user's decision on it come before spec-tasks.  [workflow spec]
    Canonical Workflow Stage
      spec-design  [SESSION.md:2]
    Current Artifact
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
    Approved Decisions
      login: `requirements.md` is approved, recorded in SESSION.md:2: “`/spec-design login`: requirements approved, design not approved yet.”  [SESSION.md:2]
    Pending Decisions / Open Questions
      login: `design.md` is not approved according to SESSION.md:2: “`/spec-design login`: requirements approved, design not approved yet.”  [SESSION.md:2]
    Dependencies / Preconditions
      `requirements.md` with the user's approval.  [workflow spec]
    ");
}

#[test]
fn every_older_entry_speaks_of_another() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: login] 2026-03-12",
            "- `/spec-tasks login` is on.",
            "[Focus: crash] 2026-03-11",
            "- `/bug-fix crash` is on.",
            "- Open Work: the fix",
        ])
        .spec("login")
        .design()
        .bug("crash")
        .analysis();
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      A list of small tasks for login in batches, each with its own check.  [workflow spec]
    Current Step
      `tasks.md` of login is being written.  [workflow spec]
    Status
      login is in spec-tasks (named in SESSION.md:2).  [SESSION.md:2]
      Active — working on login.  [SESSION.md:1]
    Completed
      `requirements.md` exists and is inferred to be complete from the presence of `design.md`.  [.codex/specs/login/requirements.md]
    Remaining
      `tasks.md` of login is being written.  [workflow spec]
      `/spec-tasks login` is on.  [SESSION.md:2]
    Active Files
      .codex/specs/login/requirements.md  [.codex/specs/login/requirements.md]
      .codex/specs/login/design.md  [.codex/specs/login/design.md]
    Next Action
      `tasks.md` of login: completing it and the user's decision on it come before spec-execute.  [workflow spec]
    Canonical Workflow Stage
      spec-tasks  [SESSION.md:2]
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

/// An approval of one work item is not an approval of another, wherever it is written.
#[test]
fn an_approval_of_another_specification() {
    const LOG: &str = r"
=== SESSION.md
[Focus: 012-search] 2026-03-12
- 011-login is done: requirements approved, design approved.
- Open Work: the design of 012-search.
=== .codex/specs/011-login/tasks.md
- [x] 1. Form
=== .codex/specs/012-search/requirements.md
Users find things.
";
    let approved = |drawing: &str| under(&Files::drawn(drawing).brief(), Heading::Approved);
    assert_eq!(approved(LOG), Vec::<String>::new());
    // A separate line that names no item may be about either.
    let apart = LOG.replace(
        ": requirements approved, design approved.",
        ".\n- requirements approved",
    );
    assert_eq!(approved(&apart), Vec::<String>::new());
    let clear = apart.replace(
        "- requirements approved",
        "- 012-search: requirements approved",
    );
    insta::assert_snapshot!(approved(&clear).join("\n"), @"012-search: `requirements.md` is approved, recorded in SESSION.md:3: “012-search: requirements approved”");
}
