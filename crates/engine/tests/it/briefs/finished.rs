//! Finished work beside open work: it is never preferred, and hides nothing.

use std::time::{Duration, SystemTime};

use flamestack_brief::Heading;

use super::{Files, spoken, under, write};

const FINISHED: usize = 40;

/// A project with many finished specifications, the first of which was written last of all.
fn with_finished(drawing: &str) -> Files {
    let files = Files::drawn(drawing);
    for n in 0..FINISHED {
        let name = format!("old-{n}");
        write(
            files.root(),
            &format!(
                "=== .codex/specs/{name}/tasks.md\n- [x] 1. Begin {name}\n- [x] 2. End {name}\n"
            ),
        );
        written(&files, &name, 10_000 - n);
    }
    files
}

/// Sets when the list of tasks of a specification was written, in seconds.
fn written(files: &Files, name: &str, seconds: usize) {
    let path = format!(".codex/specs/{name}/tasks.md");
    let file = fs_err::OpenOptions::new()
        .append(true)
        .open(files.root().join(path))
        .unwrap();
    let seconds = Duration::from_secs(seconds.try_into().unwrap());
    let moment = SystemTime::UNIX_EPOCH + seconds;
    file.into_file().set_modified(moment).unwrap();
}

fn unit(files: &Files) -> Option<String> {
    files.brief().workflow.and_then(|workflow| workflow.item)
}

#[test]
fn what_was_written_last_is_found_among_many() {
    let files = with_finished("=== .codex/specs/under-way/tasks.md\n- [x] 1. a\n- [ ] 2. b\n");
    written(&files, "under-way", 20_000);
    let brief = files.brief();
    assert_eq!(brief.workflow.unwrap().item.as_deref(), Some("under-way"));
    // Its own list and those of the five that were written last before it.
    assert_eq!(brief.read.files, 6);
}

#[test]
fn a_finished_one_is_seen_when_it_is_opened_again() {
    let files = with_finished("=== notes.md\n");
    assert_eq!(unit(&files), None);
    // In place, so that no folder has changed; and the list is as long as it was.
    let again = "=== .codex/specs/old-33/tasks.md\n- [x] 1. Begin old-33\n- [ ] 2. End old-33\n";
    write(files.root(), again);
    written(&files, "old-33", 20_000);
    assert_eq!(unit(&files).as_deref(), Some("old-33"));
}

/// A log that mentions only finished work does not hide the open work.
#[test]
fn a_log_of_finished_work_leaves_the_choice_to_the_files() {
    let files = Files::drawn(
        "=== SESSION.md\n## 2026-03-12\n- Finished the last task of `.codex/specs/login`.\n\
         === .codex/specs/login/tasks.md\n- [x] 1. Form\n\
         === .codex/specs/search/tasks.md\n- [x] 1. Index\n- [ ] 2. Ranking\n",
    );
    insta::assert_snapshot!(spoken(&files.brief()), @"
    Primary Objective
      The current batch of search with minimal drift, validated, `context.md` up to date, and a hand-off that can be resumed.  [workflow spec]
    Current Step
      Current task in `tasks.md`: 2 — Ranking.  [.codex/specs/search/tasks.md:2]
    Status
      search is in spec-execute (inferred from `tasks.md`); 1 task complete and 1 remaining.  [.codex/specs/search/tasks.md]
    Completed
      1 — Index  [.codex/specs/search/tasks.md:1]
      `tasks.md` exists and is inferred to be complete from finished tasks.  [.codex/specs/search/tasks.md]
      Finished the last task of `.codex/specs/login`.  [SESSION.md:2]
    Remaining
      2 — Ranking  [.codex/specs/search/tasks.md:2]
    Active Files
      .codex/specs/search/tasks.md  [.codex/specs/search/tasks.md]
    Next Action
      2 — Ranking — next in spec-execute of search.  [.codex/specs/search/tasks.md:2]
    Canonical Workflow Stage
      spec-execute  [.codex/specs/search/tasks.md]
    Current Artifact
      .codex/specs/search/tasks.md  [.codex/specs/search/tasks.md]
    Artifact Status
      search: 1 task complete, 1 remaining; next task is 2 — Ranking.  [.codex/specs/search/tasks.md]
      `requirements.md` is missing or empty.  [.codex/specs/search/requirements.md]
      `design.md` is missing or empty.  [.codex/specs/search/design.md]
    Approved Decisions
      search: approval of `tasks.md` is inferred from finished tasks; none is recorded.  [.codex/specs/search/tasks.md]
    Dependencies / Preconditions
      `requirements.md`, `design.md` and `tasks.md` with the user's approval.  [workflow spec]
    ");
}

/// The log names what is meant, though it is finished: the files of others say nothing.
#[test]
fn a_finished_one_that_is_named_is_the_one_that_is_meant() {
    let files = Files::drawn(
        "=== SESSION.md\n[Focus: login] 2026-03-12\n- Open Work: release `.codex/specs/login`.\n\
         === .codex/specs/login/tasks.md\n- [x] 1. Form\n\
         === .codex/specs/search/tasks.md\n- [x] 1. Index\n- [ ] 2. Ranking\n",
    );
    assert_eq!(unit(&files).as_deref(), Some("login"));
}

/// If the log says that the session is about something else, no file is even opened.
#[test]
fn a_session_about_something_else_reads_no_specification() {
    let files = with_finished(
        "=== SESSION.md\n[Focus: upgrade] 2026-03-12\n- Finished `.codex/specs/old-1`.\n\
         - Open Work: upgrade the compiler.\n\
         === .codex/specs/search/tasks.md\n- [ ] 1. Index\n",
    );
    let brief = files.brief();
    assert_eq!(brief.workflow, None);
    assert_eq!(
        under(&brief, Heading::NextAction),
        ["upgrade the compiler."]
    );
    // The log, and the tasks of the item that it mentions.
    assert_eq!(brief.read.files, 2);
}

/// The log mentions more finished items than are read: the open one after them is found.
#[test]
fn many_finished_ones_in_the_log_do_not_use_up_what_is_read() {
    let mut log = String::from("=== SESSION.md\n## 2026-03-12\n- Began `.codex/specs/search`.\n");
    for n in 0..8 {
        log.push_str(&format!("- Finished `.codex/specs/old-{n}`.\n"));
    }
    log.push_str(
        "=== .codex/specs/search/tasks.md\n- [x] 1. Index\n- [ ] 2. Ranking\n\
         === .codex/specs/other/tasks.md\n- [ ] 1. Something else\n",
    );
    assert_eq!(unit(&with_finished(&log)).as_deref(), Some("search"));
}
