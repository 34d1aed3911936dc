//! Exports written to disk.

use flamestack_core::FrameId;
use flamestack_core::command::{Command, PlanItem, Under};
use flamestack_core::event::Goal;
use flamestack_core::{Text, Title};
use flamestack_hosts::legacy::{ExportError, OnExisting, export};

use crate::support::{Project, fixture, read};

fn goal(title: &str) -> Goal {
    Goal {
        title: Title::new(title).unwrap(),
        criteria: None,
        criteria_compacted: None,
    }
}

fn small_project() -> Project {
    let mut project = Project::default();
    let root = FrameId::from_entropy(1);
    project.run(
        "claude:c1",
        &Command::Push {
            id: root,
            under: Under::Root,
            goal: Goal {
                criteria: Some(Text::new("All of it works.\nAnd is fast.").unwrap()),
                ..goal("Root")
            },
        },
    );
    project.run(
        "claude:c1",
        &Command::Plan {
            under: Under::Active,
            items: vec![PlanItem {
                id: FrameId::from_entropy(2),
                goal: goal("Next"),
                children: Vec::new(),
            }],
        },
    );
    let session = "claude:c1".parse().unwrap();
    project.run(
        "claude:c1",
        &Command::Bind {
            frame: root,
            session,
        },
    );
    project
}

#[test]
fn a_small_project_is_written_like_the_predecessor_does() {
    let project = small_project();
    let log = |frame: &flamestack_core::Frame| Some(format!("logs/{}.md", frame.id));
    let export = export(&project.frames(), &project.sessions(), None, &log);
    insta::assert_snapshot!(export.state_json(), @r#"
    {
      "version": 1,
      "frames": {
        "c1": {
          "sessionID": "c1",
          "status": "in_progress",
          "title": "Root",
          "successCriteria": "All of it works.\nAnd is fast.",
          "successCriteriaCompacted": "All of it works. And is fast.",
          "createdAt": 1800000000001,
          "updatedAt": 1800000000005,
          "artifacts": [],
          "decisions": [],
          "logPath": "logs/baaaaaaa.md",
          "plannedChildren": [
            "plan-caaaaaaa"
          ],
          "flamestack": {
            "criteriaDerived": true,
            "id": "baaaaaaa",
            "key": "c1",
            "rank": 0,
            "session": "claude:c1",
            "span": {
              "session": "claude:c1"
            }
          }
        },
        "plan-caaaaaaa": {
          "sessionID": "plan-caaaaaaa",
          "parentSessionID": "c1",
          "status": "planned",
          "title": "Next",
          "successCriteria": "",
          "successCriteriaCompacted": "",
          "createdAt": 1800000000004,
          "updatedAt": 1800000000004,
          "artifacts": [],
          "decisions": [],
          "logPath": "logs/caaaaaaa.md",
          "plannedChildren": [],
          "flamestack": {
            "id": "caaaaaaa",
            "key": "plan-caaaaaaa",
            "rank": 0
          }
        }
      },
      "activeFrameID": "c1",
      "rootFrameIDs": [
        "c1"
      ],
      "updatedAt": 1800000000005,
      "flamestack": {
        "format": 1,
        "sessions": [
          {
            "active": "baaaaaaa",
            "own": "baaaaaaa",
            "session": "claude:c1"
          }
        ]
      }
    }
    "#);
    let names: Vec<&str> = export.frames().map(|(name, _)| name).collect();
    assert_eq!(names, ["c1.json", "plan-caaaaaaa.json"]);
}

#[test]
fn an_existing_stack_is_not_overwritten() {
    let export = small_project().export();
    let dir = tempfile::tempdir().unwrap();
    let stack = export.write(dir.path(), OnExisting::Refuse).unwrap();
    assert_eq!(stack, dir.path().join(".opencode/stack"));
    let error = export.write(&stack, OnExisting::Refuse).unwrap_err();
    assert!(matches!(&error, ExportError::Exists(path) if path.ends_with("state.json")));
    assert!(error.hint().unwrap().contains("--force"));
    fs_err::remove_file(stack.join("state.json")).unwrap();
    let error = export.write(&stack, OnExisting::Refuse).unwrap_err();
    assert!(matches!(&error, ExportError::Exists(path) if path.ends_with("frames")));
    export.write(&stack, OnExisting::Replace).unwrap();

    let mut files: Vec<String> = fs_err::read_dir(&stack)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["frames", "state.json"]);
}

#[test]
fn stale_frame_files_of_ours_are_ignored() {
    let mut project = small_project();
    let dir = tempfile::tempdir().unwrap();
    project
        .export()
        .write(dir.path(), OnExisting::Refuse)
        .unwrap();
    let frame = FrameId::from_entropy(2);
    project.run("claude:c1", &Command::Delete(frame));
    let stack = project
        .export()
        .write(dir.path(), OnExisting::Replace)
        .unwrap();
    assert_eq!(fs_err::read_dir(stack.join("frames")).unwrap().count(), 2);
    let stack = read(dir.path());
    assert_eq!((stack.len(), stack.leftovers), (1, 0));
}

#[test]
fn frames_whose_file_names_clash_are_all_written() {
    let state = r#"{"version":1,"rootFrameIDs":[],"updatedAt":1,"frames":{
        "ses/a":{"sessionID":"ses/a","status":"planned","title":"one"},
        "ses_a":{"sessionID":"ses_a","status":"planned","title":"two"},
        "SES_A":{"sessionID":"SES_A","status":"planned","title":"three"}}}"#;
    let mut project = Project::default();
    project.import(&crate::support::read_text(state).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let stack = project
        .export()
        .write(dir.path(), OnExisting::Refuse)
        .unwrap();
    assert_eq!(fs_err::read_dir(stack.join("frames")).unwrap().count(), 3);
    let again = read(dir.path());
    assert_eq!((again.len(), again.leftovers), (3, 0));
}

#[test]
fn the_same_stack_gives_the_same_bytes() {
    let mut project = Project::default();
    project.import(&read(&fixture("stack")));
    let mut frames = project.frames();
    let mut sessions = project.sessions();
    let one = export(&frames, &sessions, None, &|_| None);
    frames.reverse();
    sessions.reverse();
    assert_eq!(one, export(&frames, &sessions, None, &|_| None));
}
