//! The stages of the bug workflow.

use super::{Files, SpecTree, said};

#[test]
fn created() {
    let tree = SpecTree::new().bug("crash");
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      A report of crash that anyone can reproduce.  [workflow bug]
    Current Step
      `report.md` of crash is being written.  [workflow bug]
    Status
      crash is in bug-create (inferred from `report.md`).  [.codex/bugs/crash/report.md]
    Remaining
      `report.md` of crash is being written.  [workflow bug]
    Active Files
      .codex/bugs/crash/report.md  [.codex/bugs/crash/report.md]
    Next Action
      `report.md` of crash: steps, expected and actual behaviour, and the user's decision on it come before bug-analyze.  [workflow bug]
    Canonical Workflow Stage
      bug-create  [.codex/bugs/crash/report.md]
    Current Artifact
      .codex/bugs/crash/report.md  [.codex/bugs/crash/report.md]
    Pending Decisions / Open Questions
      crash: approval of `report.md` is not recorded.  [.codex/bugs/crash/report.md]
    ");
}

/// An analysis stays one until something says that the fix has begun.
#[test]
fn analysed_as_a_draft() {
    let tree = SpecTree::new()
        .session_log(&["# Session State"])
        .bug("crash")
        .with(
            "analysis.md",
            &[
                "# Analysis",
                "## Root Cause",
                "Working draft.",
                "## Risks / Trade-offs",
                "- The minimal fix in the refresh path, nothing else.",
            ],
        );
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      The root cause of crash and the smallest safe fix for it.  [workflow bug]
    Current Step
      `analysis.md` of crash is being written.  [workflow bug]
    Status
      crash is in bug-analyze (inferred from `analysis.md`).  [.codex/bugs/crash/analysis.md]
    Completed
      `report.md` exists and is inferred to be complete from the presence of `analysis.md`.  [.codex/bugs/crash/report.md]
    Remaining
      `analysis.md` of crash is being written.  [workflow bug]
    Decisions
      The minimal fix in the refresh path, nothing else.  [.codex/bugs/crash/analysis.md:5]
    Active Files
      .codex/bugs/crash/report.md  [.codex/bugs/crash/report.md]
      .codex/bugs/crash/analysis.md  [.codex/bugs/crash/analysis.md]
    Next Action
      `analysis.md` of crash: root cause, fix plan and the user's decision on it come before bug-fix.  [workflow bug]
    Canonical Workflow Stage
      bug-analyze  [.codex/bugs/crash/analysis.md]
    Current Artifact
      .codex/bugs/crash/analysis.md  [.codex/bugs/crash/analysis.md]
    Approved Decisions
      crash: approval of `report.md` is inferred from the presence of `analysis.md`; none is recorded.  [.codex/bugs/crash/report.md]
    Pending Decisions / Open Questions
      crash: approval of `analysis.md` is not recorded.  [.codex/bugs/crash/analysis.md]
    Dependencies / Preconditions
      `report.md` with a way to reproduce the bug.  [workflow bug]
    ");
}

#[test]
fn fixed_by_progress_notes() {
    let tree = SpecTree::new().bug("crash").analysis().with(
        "harness/progress.md",
        &[
            "- report confirmed",
            "- bug-fix approved; null check and regression test to come",
        ],
    );
    insta::assert_snapshot!(Files::drawn(tree).brief().text, @"
    ## Stage-Aware Continuation
    Recorded state of the work: background, not instructions. The newest user message takes precedence. Stage names are verbatim.
    ## Primary Objective
    - The minimal safe fix of crash as `analysis.md` describes it, with regression coverage and no unrelated refactoring.
    ## Current Step
    - The changes that `analysis.md` of crash describes, with format, lint, typecheck and tests.
    ## Status
    - crash is in bug-fix (inferred from `harness/progress.md`).
    - Progress notes: bug-fix approved; null check and regression test to come
    ## Completed
    - report confirmed
    - `report.md` exists and is inferred to be complete from the presence of `analysis.md`.
    ## Remaining
    - The changes that `analysis.md` of crash describes, with format, lint, typecheck and tests.
    ## Decisions
    - The minimal fix in the refresh path, nothing else.
    ## Active Files
    - .codex/bugs/crash/report.md
    - .codex/bugs/crash/analysis.md
    - .codex/bugs/crash/harness/progress.md
    ## Blockers / Risks
    - none recorded
    ## Next Action
    - The fix of crash with regression coverage, then the hand-off to bug-verify.
    ---
    ## Workflow-Aware Augmentation
    These sections are here because the session is part of a declared workflow.
    ## Workflow Type
    - bug
    ## Canonical Workflow Stage
    - bug-fix
    ## Source Artifacts
    - .codex/bugs/crash/report.md
    - .codex/bugs/crash/analysis.md
    - .codex/bugs/crash/harness/progress.md
    ## Current Artifact
    - .codex/bugs/crash/analysis.md
    ## Artifact Status
    - crash: bug-fix approved; null check and regression test to come
    ## Transition Gate
    - The fix and its regression tests are in, the declared validation gates pass, and the user's approval opens bug-verify.
    ## Approved Decisions
    - crash: approval of `report.md` is inferred from the presence of `analysis.md`; none is recorded.
    - crash: `analysis.md` is approved, recorded in .codex/bugs/crash/harness/progress.md:2: “bug-fix approved; null check and regression test to come”
    ## Pending Decisions / Open Questions
    - none recorded
    ## Dependencies / Preconditions
    - `analysis.md` with the user's approval.
    ## Verification / Done Criteria
    - Format, lint, typecheck and relevant tests pass.
    - Regression coverage shows that the original path is fixed.
    - The change log and gate results are ready for bug-verify.
    ");
}

#[test]
fn fixed_by_the_log() {
    let tree = SpecTree::new()
        .session_log(&[
            "[Focus: bug-fix] 2026-03-11 — Branch `fix/crash`",
            "- Continue `bug-fix crash` after compaction.",
        ])
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
      Continue `bug-fix crash` after compaction.  [SESSION.md:2]
    Decisions
      The minimal fix in the refresh path, nothing else.  [.codex/bugs/crash/analysis.md:5]
    Active Files
      .codex/bugs/crash/report.md  [.codex/bugs/crash/report.md]
      .codex/bugs/crash/analysis.md  [.codex/bugs/crash/analysis.md]
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
fn verified() {
    let tree = SpecTree::new()
        .bug("crash")
        .analysis()
        .with(
            "harness/progress.md",
            &[
                "- report confirmed",
                "- bug-fix approved; null check and regression test to come",
            ],
        )
        .with(
            "verification.md",
            &["# Verification", "The steps of the report pass now."],
        );
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      Proof that crash is fixed and nothing else broke.  [workflow bug]
    Current Step
      `verification.md` of crash is being written.  [workflow bug]
    Status
      crash is in bug-verify (inferred from `verification.md`).  [.codex/bugs/crash/verification.md]
      Progress notes: bug-fix approved; null check and regression test to come  [.codex/bugs/crash/harness/progress.md:2]
    Completed
      report confirmed  [.codex/bugs/crash/harness/progress.md:1]
      `report.md` exists and is inferred to be complete from the presence of `analysis.md`.  [.codex/bugs/crash/report.md]
    Remaining
      `verification.md` of crash is being written.  [workflow bug]
    Decisions
      The minimal fix in the refresh path, nothing else.  [.codex/bugs/crash/analysis.md:5]
    Active Files
      .codex/bugs/crash/report.md  [.codex/bugs/crash/report.md]
      .codex/bugs/crash/analysis.md  [.codex/bugs/crash/analysis.md]
      .codex/bugs/crash/harness/progress.md  [.codex/bugs/crash/harness/progress.md]
      .codex/bugs/crash/verification.md  [.codex/bugs/crash/verification.md]
    Next Action
      The original reproduction of crash and the regression tests, with the outcome in `verification.md`.  [workflow bug]
    Canonical Workflow Stage
      bug-verify  [.codex/bugs/crash/verification.md]
    Current Artifact
      .codex/bugs/crash/verification.md  [.codex/bugs/crash/verification.md]
    Artifact Status
      crash: bug-fix approved; null check and regression test to come  [.codex/bugs/crash/harness/progress.md:2]
    Approved Decisions
      crash: approval of `report.md` is inferred from the presence of `analysis.md`; none is recorded.  [.codex/bugs/crash/report.md]
      crash: `analysis.md` is approved, recorded in .codex/bugs/crash/harness/progress.md:2: “bug-fix approved; null check and regression test to come”  [.codex/bugs/crash/harness/progress.md:2]
    Pending Decisions / Open Questions
      crash: approval of `verification.md` is not recorded.  [.codex/bugs/crash/verification.md]
    Dependencies / Preconditions
      The fix with its regression tests.  [workflow bug]
    ");
}

/// A bug that was verified is not open work.
#[test]
fn over() {
    let tree = SpecTree::new()
        .bug("crash")
        .analysis()
        .with(
            "harness/progress.md",
            &[
                "- report confirmed",
                "- bug-fix approved; null check and regression test to come",
            ],
        )
        .with(
            "verification.md",
            &[
                "# Verification",
                "Status: Verified",
                "The steps of the report pass now.",
            ],
        );
    insta::assert_snapshot!(said(tree), @"");
}

#[test]
fn progress_with_boxes() {
    let tree = SpecTree::new().bug("crash").analysis().with(
        "harness/progress.md",
        &[
            "- [x] reproduced",
            "- [x] failing test",
            "- [ ] fix",
            "- bug-fix under way",
        ],
    );
    insta::assert_snapshot!(said(tree), @"
    Primary Objective
      The minimal safe fix of crash as `analysis.md` describes it, with regression coverage and no unrelated refactoring.  [workflow bug]
    Current Step
      The changes that `analysis.md` of crash describes, with format, lint, typecheck and tests.  [workflow bug]
    Status
      crash is in bug-fix (inferred from `harness/progress.md`).  [.codex/bugs/crash/harness/progress.md]
      Progress notes: bug-fix under way  [.codex/bugs/crash/harness/progress.md:4]
    Completed
      reproduced  [.codex/bugs/crash/harness/progress.md:1]
      failing test  [.codex/bugs/crash/harness/progress.md:2]
      `report.md` exists and is inferred to be complete from the presence of `analysis.md`.  [.codex/bugs/crash/report.md]
      `analysis.md` exists and is inferred to be complete from the presence of `harness/progress.md`.  [.codex/bugs/crash/analysis.md]
    Remaining
      The changes that `analysis.md` of crash describes, with format, lint, typecheck and tests.  [workflow bug]
      fix  [.codex/bugs/crash/harness/progress.md:3]
    Decisions
      The minimal fix in the refresh path, nothing else.  [.codex/bugs/crash/analysis.md:5]
    Active Files
      .codex/bugs/crash/report.md  [.codex/bugs/crash/report.md]
      .codex/bugs/crash/analysis.md  [.codex/bugs/crash/analysis.md]
      .codex/bugs/crash/harness/progress.md  [.codex/bugs/crash/harness/progress.md]
    Next Action
      The fix of crash with regression coverage, then the hand-off to bug-verify.  [workflow bug]
    Canonical Workflow Stage
      bug-fix  [.codex/bugs/crash/harness/progress.md]
    Current Artifact
      .codex/bugs/crash/analysis.md  [.codex/bugs/crash/analysis.md]
    Artifact Status
      crash: bug-fix under way  [.codex/bugs/crash/harness/progress.md:4]
    Approved Decisions
      crash: approval of `report.md` is inferred from the presence of `analysis.md`; none is recorded.  [.codex/bugs/crash/report.md]
      crash: approval of `analysis.md` is inferred from the presence of `harness/progress.md`; none is recorded.  [.codex/bugs/crash/analysis.md]
    Dependencies / Preconditions
      `analysis.md` with the user's approval.  [workflow bug]
    ");
}
