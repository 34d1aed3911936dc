//! Files as people write them, without a grammar: labels without blank lines, dates of all kinds,
//! stages that have not begun, approvals in tables.

use flamestack_brief::workflow::Workflows;
use flamestack_brief::{Commit, Git, Heading, Sources};

use super::{Files, said, under};

#[test]
fn labels_below_each_other() {
    const TREE: &str = r"
=== SESSION.md
# SESSION
## 2 April 2026
**Focus**: payment retries
**Open Work**:
- rewrite the retry loop
  with backoff
- add metrics
**Pending Tests**: e2e of the retry
**Blockers**
None at the moment.
**Decisions**:
1. Back off exponentially
Rationale: the rate limit
2. Cap at 5
## April 1, 2026
Focus: something old
Open Work: old stuff
Blockers: waiting for keys
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      payment retries  [SESSION.md:3]
    Current Step
      Current open work: rewrite the retry loop with backoff  [SESSION.md:5]
    Status
      Active — working on payment retries.  [SESSION.md:3]
    Remaining
      rewrite the retry loop with backoff  [SESSION.md:5]
      add metrics  [SESSION.md:7]
      Pending tests: e2e of the retry  [SESSION.md:8]
    Decisions
      Back off exponentially Rationale: the rate limit  [SESSION.md:12]
      Cap at 5  [SESSION.md:14]
    Next Action
      rewrite the retry loop with backoff  [SESSION.md:5]
    ");
}

#[test]
fn entries_with_numbers_above_their_focus() {
    const TREE: &str = r"
=== SESSION.md
# Session notes
### Entry 1
[Focus: alpha]
- did a
Blockers: the keys
### Entry 2
[Focus: beta]
- did b
Open Work: finish beta
Blockers: Unblocked since the keys arrived
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      finish beta  [SESSION.md:9]
    Current Step
      Current open work: finish beta  [SESSION.md:9]
    Status
      Active — working on beta.  [SESSION.md:7]
    Completed
      did b  [SESSION.md:8]
    Remaining
      finish beta  [SESSION.md:9]
    Next Action
      finish beta  [SESSION.md:9]
    ");
}

#[test]
fn boxes_and_nothing_else() {
    const TREE: &str = r"
=== SESSION.md
# Notes
What I did today, in prose.

- [ ] write docs
- [x] code
- [ ] ~~the old way~~

Next: release
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      write docs  [SESSION.md:4]
    Current Step
      Current open work: write docs  [SESSION.md:4]
    Completed
      code  [SESSION.md:5]
    Remaining
      write docs  [SESSION.md:4]
      release  [SESSION.md:8]
    Next Action
      release  [SESSION.md:8]
    ");
}

const SPEC: &str = r"
=== .codex/specs/login/requirements.md
# Requirements
Users can log in.
=== .codex/specs/login/design.md
# Design
Tokens.
=== .codex/specs/login/tasks.md
- [ ] 1. Token type
- [ ] 2. Login form
";

#[test]
fn a_stage_that_has_not_begun() {
    let log = "=== SESSION.md\n[Focus: login]\n- spec-design is done, now spec-tasks\n- do not start spec-execute until I say so\n";
    let brief = Files::drawn(format!("{SPEC}{log}")).brief();
    assert_eq!(brief.workflow.unwrap().stage, "spec-tasks");
}

#[test]
fn a_list_of_stages_in_the_log() {
    let log = "=== SESSION.md\nStages: spec-create -> spec-design -> spec-tasks -> spec-execute\n\n[Focus: css]\nOpen Work: more css\n";
    let brief = Files::drawn(format!("{SPEC}{log}")).brief();
    assert_eq!(brief.workflow, None);
}

#[test]
fn an_approved_file_opens_the_next_stage() {
    let log = "=== SESSION.md\n[Focus: login] spec-tasks\n| file | state |\n|---|---|\n| tasks.md | approved by Kim |\n| design.md | pending approval |\n";
    let brief = Files::drawn(format!("{SPEC}{log}")).brief();
    assert_eq!(
        under(&brief, Heading::NextAction),
        ["spec-execute is open: 1 — Token type"]
    );
    let approved = under(&brief, Heading::Approved);
    assert_eq!(
        approved,
        [
            "login: approval of `requirements.md` is inferred from the presence of `design.md`; none is recorded.",
            "login: `tasks.md` is approved, recorded in SESSION.md:4: “| tasks.md | approved by Kim |”"
        ]
    );
    let pending = under(&brief, Heading::Pending);
    assert_eq!(
        pending,
        [
            "login: `design.md` is not approved according to SESSION.md:5: “| design.md | pending approval |”"
        ]
    );
}

#[test]
fn progress_under_headings() {
    const TREE: &str = r"
=== .codex/bugs/crash/report.md
It crashes.
=== .codex/bugs/crash/analysis.md
Root cause: a null.
=== .codex/bugs/crash/harness/progress.md
# Progress
Status: bug-fix in progress
## Completed
- [x] a failing test
- the patch
## Remaining
- run the suite
- [ ] bug-verify
## Blockers
- none
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      The minimal safe fix of crash as `analysis.md` describes it, with regression coverage and no unrelated refactoring.  [workflow bug]
    Current Step
      The changes that `analysis.md` of crash describes, with format, lint, typecheck and tests.  [workflow bug]
    Status
      crash is in bug-fix (inferred from `harness/progress.md`).  [.codex/bugs/crash/harness/progress.md]
      Progress notes: bug-fix in progress  [.codex/bugs/crash/harness/progress.md:2]
    Completed
      a failing test  [.codex/bugs/crash/harness/progress.md:4]
      the patch  [.codex/bugs/crash/harness/progress.md:5]
      `report.md` exists and is inferred to be complete from the presence of `analysis.md`.  [.codex/bugs/crash/report.md]
      `analysis.md` exists and is inferred to be complete from the presence of `harness/progress.md`.  [.codex/bugs/crash/analysis.md]
    Remaining
      The changes that `analysis.md` of crash describes, with format, lint, typecheck and tests.  [workflow bug]
      run the suite  [.codex/bugs/crash/harness/progress.md:7]
      bug-verify  [.codex/bugs/crash/harness/progress.md:8]
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
      crash: bug-fix in progress  [.codex/bugs/crash/harness/progress.md:2]
    Approved Decisions
      crash: approval of `report.md` is inferred from the presence of `analysis.md`; none is recorded.  [.codex/bugs/crash/report.md]
      crash: approval of `analysis.md` is inferred from the presence of `harness/progress.md`; none is recorded.  [.codex/bugs/crash/analysis.md]
    Dependencies / Preconditions
      `analysis.md` with the user's approval.  [workflow bug]
    ");
}

#[test]
fn a_verdict_in_bold_ends_a_bug() {
    const TREE: &str = r"
=== .codex/bugs/crash/report.md
It crashes.
=== .codex/bugs/crash/verification.md
## Result
**Status**: ✅ Verified
";
    assert_eq!(Files::drawn(TREE).brief().workflow, None);
}

#[test]
fn the_latest_of_many_is_shown() {
    let mut log = String::from("=== SESSION.md\n[Focus: a]\n");
    for n in 1..=30 {
        log.push_str(&format!("- step {n}\n"));
    }
    let brief = Files::drawn(&log).brief();
    let done = under(&brief, Heading::Completed);
    assert_eq!(done.last().unwrap(), "step 30");
    let section = brief.section(Heading::Completed).unwrap();
    assert_eq!(section.lines.len() + section.omitted, 30);
}

#[test]
fn the_newest_commit_shows_what_is_in_progress() {
    let commit = |id: &str, name: &str| Commit {
        id: id.to_owned(),
        subject: name.to_owned(),
        paths: vec![format!(".codex/specs/{name}/tasks.md")],
    };
    let sources = Sources {
        git: Some(Git {
            commits: vec![commit("b2", "zebra"), commit("a1", "alpha")],
            ..Git::default()
        }),
        ..Sources::default()
    };
    let declared = Workflows::built_in().declared;
    let spec = declared
        .iter()
        .find(|known| known.item_path("x") == ".codex/specs/x")
        .unwrap();
    let units = ["alpha", "zebra"].map(|name| (spec.name.as_str(), name));
    let candidates = flamestack_brief::plan_reading(&declared, units, &sources).candidates;
    let names: Vec<&str> = candidates
        .iter()
        .map(|candidate| candidate.name.as_str())
        .collect();
    assert_eq!(names, ["zebra", "alpha"]);
}
