//! Workflows of others: shipped ones, and what a team declares.

use super::{Files, SpecTree, said};

#[test]
fn spec_kit() {
    const TREE: &str = r"
=== .specify/memory/constitution.md
x
=== specs/001-photos/spec.md
# Spec
**Status**: Draft
- FR-1: albums
- FR-2: [NEEDS CLARIFICATION: how long are photos kept?]
=== specs/001-photos/plan.md
Rust and SQLite.
=== specs/001-photos/tasks.md
## Phase 1: Setup
- [x] T001 Create the crate
- [ ] T002 [P] Linting
## Phase 2: Albums
- [ ] T003 [US1] Album model
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      The tasks of 001-photos, phase by phase.  [workflow spec-kit]
    Current Step
      Current task in `tasks.md`: T002 — [P] Linting (Phase 1: Setup).  [specs/001-photos/tasks.md:3]
    Status
      001-photos is in speckit.implement (inferred from `tasks.md`); 1 task complete and 2 remaining.  [specs/001-photos/tasks.md]
    Completed
      T001 — Create the crate (Phase 1: Setup)  [specs/001-photos/tasks.md:2]
      `spec.md` exists and is inferred to be complete from the presence of `plan.md`.  [specs/001-photos/spec.md]
      `plan.md` exists and is inferred to be complete from the presence of `tasks.md`.  [specs/001-photos/plan.md]
      `tasks.md` exists and is inferred to be complete from finished tasks.  [specs/001-photos/tasks.md]
    Remaining
      T002 — [P] Linting (Phase 1: Setup)  [specs/001-photos/tasks.md:3]
      T003 — [US1] Album model (Phase 2: Albums)  [specs/001-photos/tasks.md:5]
    Active Files
      specs/001-photos/spec.md  [specs/001-photos/spec.md]
      specs/001-photos/plan.md  [specs/001-photos/plan.md]
      specs/001-photos/tasks.md  [specs/001-photos/tasks.md]
    Next Action
      T002 — [P] Linting (Phase 1: Setup) — next in speckit.implement of 001-photos.  [specs/001-photos/tasks.md:3]
    Canonical Workflow Stage
      speckit.implement  [specs/001-photos/tasks.md]
    Current Artifact
      specs/001-photos/tasks.md  [specs/001-photos/tasks.md]
    Artifact Status
      001-photos: 1 task complete, 2 remaining; next task is T002 — [P] Linting (Phase 1: Setup).  [specs/001-photos/tasks.md]
    Approved Decisions
      001-photos: approval of `spec.md` is inferred from the presence of `plan.md`; none is recorded.  [specs/001-photos/spec.md]
      001-photos: approval of `plan.md` is inferred from the presence of `tasks.md`; none is recorded.  [specs/001-photos/plan.md]
      001-photos: approval of `tasks.md` is inferred from finished tasks; none is recorded.  [specs/001-photos/tasks.md]
    Pending Decisions / Open Questions
      how long are photos kept?  [specs/001-photos/spec.md:4]
    Dependencies / Preconditions
      `spec.md`, `plan.md` and `tasks.md`.  [workflow spec-kit]
    ");
}

#[test]
fn a_folder_called_specs_is_not_spec_kit() {
    const TREE: &str = r"
=== specs/models/spec.md
# Spec
Words.
";
    insta::assert_snapshot!(said(TREE), @"");
}

#[test]
fn openspec() {
    const TREE: &str = r"
=== openspec/changes/add-2fa/proposal.md
## Why
Safer.
=== openspec/changes/add-2fa/tasks.md
## 1. Server
- [x] 1.1 Secret
- [ ] 1.2 Verify
=== openspec/changes/archive/2026-01-01-old/proposal.md
Old.
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      The tasks of add-2fa, as proposed.  [workflow openspec]
    Current Step
      Current task in `tasks.md`: 1.2 — Verify (1. Server).  [openspec/changes/add-2fa/tasks.md:3]
    Status
      add-2fa is in openspec-apply (inferred from `tasks.md`); 1 task complete and 1 remaining.  [openspec/changes/add-2fa/tasks.md]
    Completed
      1.1 — Secret (1. Server)  [openspec/changes/add-2fa/tasks.md:2]
      `proposal.md` exists and is inferred to be complete from the presence of `tasks.md`.  [openspec/changes/add-2fa/proposal.md]
    Remaining
      1.2 — Verify (1. Server)  [openspec/changes/add-2fa/tasks.md:3]
    Active Files
      openspec/changes/add-2fa/proposal.md  [openspec/changes/add-2fa/proposal.md]
      openspec/changes/add-2fa/tasks.md  [openspec/changes/add-2fa/tasks.md]
    Next Action
      1.2 — Verify (1. Server) — next in openspec-apply of add-2fa.  [openspec/changes/add-2fa/tasks.md:3]
    Canonical Workflow Stage
      openspec-apply  [openspec/changes/add-2fa/tasks.md]
    Current Artifact
      openspec/changes/add-2fa/tasks.md  [openspec/changes/add-2fa/tasks.md]
    Artifact Status
      add-2fa: 1 task complete, 1 remaining; next task is 1.2 — Verify (1. Server).  [openspec/changes/add-2fa/tasks.md]
    Approved Decisions
      add-2fa: approval of `proposal.md` is inferred from the presence of `tasks.md`; none is recorded.  [openspec/changes/add-2fa/proposal.md]
    Dependencies / Preconditions
      A proposal that the user accepted.  [workflow openspec]
    ");
}

#[test]
fn openspec_ready_for_the_archive() {
    const TREE: &str = r"
=== openspec/changes/add-2fa/proposal.md
## Why
Safer.
=== openspec/changes/add-2fa/tasks.md
- [x] 1.1 Secret
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      The deltas of add-2fa merged into the specs, and the change archived.  [workflow openspec]
    Current Step
      All tasks of add-2fa are ticked off; the change is not archived.  [workflow openspec]
    Status
      add-2fa is in openspec-archive (inferred from `tasks.md`); 1 task complete and 0 remaining.  [openspec/changes/add-2fa/tasks.md]
    Completed
      1.1 — Secret  [openspec/changes/add-2fa/tasks.md:1]
      `proposal.md` exists and is inferred to be complete from the presence of `tasks.md`.  [openspec/changes/add-2fa/proposal.md]
    Active Files
      openspec/changes/add-2fa/proposal.md  [openspec/changes/add-2fa/proposal.md]
      openspec/changes/add-2fa/tasks.md  [openspec/changes/add-2fa/tasks.md]
    Next Action
      The archive of add-2fa, once it is deployed.  [workflow openspec]
    Canonical Workflow Stage
      openspec-archive  [openspec/changes/add-2fa/tasks.md]
    Artifact Status
      add-2fa: all tasks are complete (1).  [openspec/changes/add-2fa/tasks.md]
    Approved Decisions
      add-2fa: approval of `proposal.md` is inferred from the presence of `tasks.md`; none is recorded.  [openspec/changes/add-2fa/proposal.md]
    Dependencies / Preconditions
      All tasks of add-2fa ticked off.  [workflow openspec]
    ");
}

#[test]
fn a_plan_of_the_team() {
    const TREE: &str = r"
=== .flamestack/workflows/plan.toml
name = 'plan'
folder = 'docs'
finished_by = [{ file = 'plan.md', has = 'all-tasks-done' }]
[[artifact]]
file = 'plan.md'
role = 'tasks'
[[stage]]
name = 'planning'
objective = 'A plan.'
current_step = 'Writing it.'
next_action = 'Boxes.'
current_artifact = 'plan.md'
[[stage]]
name = 'doing'
objective = 'The plan of the team.'
current_step = 'Ticking boxes.'
next_action = 'The next box.'
current_artifact = 'plan.md'
markers = [{ file = 'plan.md', has = 'tasks' }]
gate = 'just check <task>'
=== docs/plan.md
# Plan
- [x] Draw it
- [ ] Build it
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      The plan of the team.  [workflow plan]
    Current Step
      Current task in `plan.md`: Build it.  [docs/plan.md:3]
    Status
      plan is in doing (inferred from `plan.md`); 1 task complete and 1 remaining.  [docs/plan.md]
    Completed
      Draw it  [docs/plan.md:2]
    Remaining
      Build it  [docs/plan.md:3]
    Active Files
      docs/plan.md  [docs/plan.md]
    Next Action
      Build it — next in doing of plan.  [docs/plan.md:3]
    Canonical Workflow Stage
      doing  [docs/plan.md]
    Current Artifact
      docs/plan.md  [docs/plan.md]
    Artifact Status
      plan: 1 task complete, 1 remaining; next task is Build it.  [docs/plan.md]
    ");
}

#[test]
fn stories_that_are_files() {
    const TREE: &str = r"
=== .flamestack/workflows/bmad.toml
name = 'bmad'
folder = 'docs'
pieces = 'stories/<name>.md'
finished_by = [{ file = 'stories/<name>.md', text = ['Status: Done'] }]
[[artifact]]
file = 'prd.md'
[[artifact]]
file = 'stories/<name>.md'
role = 'tasks'
approval = ['story']
[[stage]]
name = 'sm-draft'
objective = 'A story <name> that can be built.'
current_step = '<name> is being written.'
next_action = 'The approval of <name>.'
current_artifact = 'stories/<name>.md'
[[stage]]
name = 'dev-story'
objective = '<name>, task by task.'
current_step = 'The tasks of <name>.'
next_action = 'The review of <name>.'
current_artifact = 'stories/<name>.md'
markers = [{ file = 'stories/<name>.md', text = ['Status: InProgress'] }, { file = 'stories/<name>.md', has = 'tasks' }]
gate = 'QA'
commands = ['qa-gate <name>']
=== docs/prd.md
# PRD
A shop.
=== docs/stories/1.1.cart.md
# Story 1.1
## Status
Done
## Tasks / Subtasks
- [x] Table
- [ ] Nice to have
=== docs/stories/1.2.pay.md
# Story 1.2
## Status

InProgress
## Tasks / Subtasks
- [x] Form
- [ ] Provider (AC: 2)
  - [ ] Retry
";
    insta::assert_snapshot!(said(TREE), @"
    Primary Objective
      1.2.pay, task by task.  [workflow bmad]
    Current Step
      Current task in `stories/1.2.pay.md`: Retry (in Provider (AC: 2)).  [docs/stories/1.2.pay.md:8]
    Status
      1.2.pay is in dev-story (inferred from `stories/1.2.pay.md`); 1 task complete and 1 remaining.  [docs/stories/1.2.pay.md]
    Completed
      Form (Tasks / Subtasks)  [docs/stories/1.2.pay.md:6]
      `stories/1.2.pay.md` exists and is inferred to be complete from finished tasks.  [docs/stories/1.2.pay.md]
    Remaining
      Retry (in Provider (AC: 2))  [docs/stories/1.2.pay.md:8]
    Active Files
      docs/prd.md  [docs/prd.md]
      docs/stories/1.2.pay.md  [docs/stories/1.2.pay.md]
    Next Action
      Retry (in Provider (AC: 2)) — next in dev-story of 1.2.pay.  [docs/stories/1.2.pay.md:8]
    Canonical Workflow Stage
      dev-story  [docs/stories/1.2.pay.md]
    Current Artifact
      docs/stories/1.2.pay.md  [docs/stories/1.2.pay.md]
    Artifact Status
      1.2.pay: 1 task complete, 1 remaining; next task is Retry (in Provider (AC: 2)).  [docs/stories/1.2.pay.md]
    Approved Decisions
      1.2.pay: approval of `stories/1.2.pay.md` is inferred from finished tasks; none is recorded.  [docs/stories/1.2.pay.md]
    ");
}

#[test]
fn a_story_is_named_by_its_path() {
    let files = Files::drawn(
        r"
=== .flamestack/workflows/stories.toml
name = 'stories'
folder = 'stories'
pieces = '<name>.story.md'
[[artifact]]
file = '<name>.story.md'
role = 'tasks'
[[stage]]
name = 'doing'
objective = 'o'
current_step = 'c'
next_action = 'n'
current_artifact = '<name>.story.md'
=== stories/one.story.md
- [ ] a
=== stories/two.story.md
- [ ] b
=== stories/README.md
- [ ] no
=== SESSION.md
[Focus: two]
- Continue stories/two.story.md
",
    );
    let workflow = files.brief().workflow.unwrap();
    assert_eq!(workflow.item.as_deref(), Some("two"));
}

#[test]
fn a_bad_declaration_spoils_nothing() {
    let tree = SpecTree::new()
        .file(
            ".flamestack/workflows/bad.toml",
            &["name = 'bad'", "folder = '/etc'"],
        )
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
    note: A workflow declaration is left out. .flamestack/workflows/bad.toml:2: the path `/etc` does not stay inside the project; write it relative to the project, without `..`.
    ");
}
