//! Import of files as the predecessors write them.

use flamestack_core::command::{Command, Place};
use flamestack_core::event::{Edit, Results};
use flamestack_core::{Author, Note, Outcome, Status, Text, Title};
use flamestack_hosts::legacy::{Layout, LayoutKind};
use serde_json::Value;

use crate::support::{Project, fixture, read, reread, reread_state, without_ours};

fn prose(text: &str) -> Text {
    Text::new(text).unwrap()
}

#[test]
fn the_newest_layout_is_imported() {
    let stack = read(&fixture("stack"));
    let mut project = Project::default();
    let prepared = project.import(&stack);
    insta::assert_snapshot!(project.outline(), @"
    Session ses_4b0e [blocked]
    Public API for orders [in_progress]
      Token check [completed]
      Rate limit [in_progress]
        Limit survives a restart [planned]
      Cancel an order [planned]
      GraphQL endpoint [invalidated]
        GraphQL schema [invalidated]
      Page through orders [planned]
    ");
    let root = project.frame("ses_4b1f77e2affeLz3Kq0m9Xw8Yt1");
    let active = project.frame("ses_4b1f770aaffeRate9Gh4Jk1Mz6");
    let session = "opencode:ses_4b1f77e2affeLz3Kq0m9Xw8Yt1".parse().unwrap();
    assert_eq!(root.session.as_ref(), Some(&session));
    assert_eq!(prepared.import.focus, [(session, active.id)]);
    assert_eq!(project.frame("plan-1766400000500-2-k7x2m9q").session, None);
    let done = project.frame("ses_4b1f77c90ffeAuth5Rt2Vb7Nc3");
    assert_eq!(done.notes.len(), 5);
    assert!(done.results.is_some() && done.results_compacted.is_some());
    let given_up = project.frame("plan-1766400000500-3-p0w4zr");
    let invalidation = given_up.invalidation.as_ref().unwrap();
    assert_eq!(invalidation.reason.as_str(), "The client uses REST only");
}

#[test]
fn frames_missing_from_the_state_are_imported_and_stale_ones_are_not() {
    let stack = read(&fixture("stack"));
    assert_eq!((stack.len(), stack.leftovers), (9, 1));
    let [cut] = stack.unreadable.as_slice() else {
        panic!("{:?}", stack.unreadable)
    };
    assert!(
        cut.to_string()
            .contains("plan-1766403000001-cut.json: the file ends in the middle")
    );
}

#[test]
fn the_earlier_generation_is_imported() {
    assert_eq!(
        Layout::find(&fixture("flame")).unwrap().kind,
        LayoutKind::OpencodeFlame
    );
    let mut project = Project::default();
    project.import(&read(&fixture("flame")));
    insta::assert_snapshot!(project.outline(), @"
    Move the build from Make to Ninja. [in_progress]
      Generate rules for the C++ targets [completed]
      Session ses_5c4 [failed]
    ");
    let root = project.frame("ses_5c2");
    assert!(
        root.criteria
            .as_ref()
            .unwrap()
            .as_str()
            .ends_with("builds with both.")
    );
    let child = project.frame("ses_5c3");
    assert!(
        child
            .results
            .as_ref()
            .unwrap()
            .as_str()
            .starts_with("gen.py writes")
    );
    assert!(child.foreign.as_ref().unwrap().contains("logs/ses_5c3.md"));
    // A frame without times gets the time of the state.
    assert_eq!(project.frame("ses_5c4").created_at, root.updated_at);
}

#[test]
fn odd_files_are_imported() {
    assert_eq!(
        Layout::find(&fixture("odd")).unwrap().kind,
        LayoutKind::Flame
    );
    let mut project = Project::default();
    let prepared = project.import(&read(&fixture("odd")));
    insta::assert_snapshot!(project.outline(), @"
    Session construc [planned]
      Mixed [in_progress]
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx [planned]
    Two lines [completed]
    I am not listed [invalidated]
    ");
    // The active frame is finished, so no session works on it.
    assert_eq!(prepared.import.focus, []);
    let odd = project.frame("ses/odd one");
    assert_eq!(odd.session, None, "not a valid session id");
    assert_eq!(odd.notes.len(), 3);
    assert_eq!(project.frame("ses_sub").results, Some(prose("newer words")));
    assert_eq!(
        project.frame("ses_sub").criteria,
        Some(prose("The newer criteria"))
    );
}

#[test]
fn imported_fields_are_exported_again() {
    for (name, file) in [
        ("stack", ".opencode/stack/state.json"),
        ("flame", ".opencode/flame/state.json"),
        ("odd", ".flame/state.json"),
    ] {
        let path = fixture(name).join(file);
        // A copy, so that there are no frame files beside the state.
        let alone = tempfile::tempdir().unwrap();
        fs_err::copy(&path, alone.path().join("state.json")).unwrap();
        let original: Value =
            serde_json::from_str(&fs_err::read_to_string(&path).unwrap()).unwrap();
        let mut project = Project::default();
        project.import(&read(alone.path()));
        let export = project.export();
        assert_eq!(without_ours(&export.state_json()), original, "{name}");

        // Once more, through our `flamestack` objects.
        let mut other = Project::default();
        other.import(&reread(&export));
        assert_eq!(
            without_ours(&other.export().state_json()),
            original,
            "{name}"
        );
    }
}

#[test]
fn an_export_reflects_changes_since_the_import() {
    let mut project = Project::default();
    project.import(&read(&fixture("stack")));
    let session = "opencode:ses_4b1f77e2affeLz3Kq0m9Xw8Yt1";
    let cancel = project.frame("plan-1766400000500-2-k7x2m9q").id;
    let limit = project.frame("ses_4b1f770aaffeRate9Gh4Jk1Mz6").id;
    let restart = project.frame("plan-1766402000000-b8d3").id;
    let paging = project.frame("plan-1766403000000-lost").id;
    project.run(session, &Command::Delete(restart));
    project.run(
        session,
        &Command::Note {
            frame: Some(limit),
            note: Note::Decision {
                text: prose("A sliding window"),
                why: Some(prose("no bursts at the full minute")),
                by: Author::default(),
            },
        },
    );
    project.run(
        session,
        &Command::Move {
            frame: paging,
            to: Place::Before(cancel),
        },
    );
    project.run(
        session,
        &Command::Edit {
            frame: Some(cancel),
            edit: Edit {
                title: Some(Title::new("Cancel orders").unwrap()),
                ..Edit::default()
            },
        },
    );
    project.run(
        session,
        &Command::Pop {
            frame: Some(limit),
            outcome: Outcome::Completed,
            results: Results {
                full: prose("429 from the 101st request on."),
                compacted: None,
            },
        },
    );
    project.run(session, &Command::Activate(cancel));
    project.run(
        session,
        &Command::Bind {
            frame: cancel,
            session: "opencode:ses_new".parse().unwrap(),
        },
    );

    let now = without_ours(&project.export().state_json());
    assert_eq!(now["activeFrameID"], "ses_new");
    assert!(now["updatedAt"].as_i64().unwrap() > 1_800_000_000_000);
    let frames = &now["frames"];
    assert!(frames.get("plan-1766402000000-b8d3").is_none());
    let root = &frames["ses_4b1f77e2affeLz3Kq0m9Xw8Yt1"];
    let planned: Vec<&str> = root["plannedChildren"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(
        planned,
        [
            "ses_4b1f77c90ffeAuth5Rt2Vb7Nc3",
            "ses_4b1f770aaffeRate9Gh4Jk1Mz6",
            "plan-1766403000000-lost",
            "ses_new",
            "plan-1766400000500-3-p0w4zr",
        ]
    );
    let limit = &frames["ses_4b1f770aaffeRate9Gh4Jk1Mz6"];
    assert_eq!(limit["plannedChildren"], serde_json::json!([]));
    assert_eq!(limit["status"], "completed");
    assert_eq!(
        limit["decisions"][0],
        "A sliding window — no bursts at the full minute"
    );
    assert_eq!(limit["resultsCompacted"], "429 from the 101st request on.");
    let cancel = &frames["ses_new"];
    assert_eq!(cancel["sessionID"], "ses_new");
    assert_eq!(cancel["title"], "Cancel orders");
    assert_eq!(cancel["status"], "in_progress");
}

#[test]
fn changes_by_a_predecessor_to_our_export_are_imported() {
    let mut project = Project::default();
    let work = "opencode:ses_root";
    let id = |entropy| flamestack_core::FrameId::from_entropy(entropy);
    let goal = |title: &str| flamestack_core::event::Goal {
        title: Title::new(title).unwrap(),
        criteria: Some(prose("It works")),
        criteria_compacted: None,
    };
    project.run(
        work,
        &Command::Push {
            id: id(7),
            under: flamestack_core::command::Under::Root,
            goal: goal("Root"),
        },
    );
    project.run(
        work,
        &Command::Plan {
            under: flamestack_core::command::Under::Active,
            items: vec![flamestack_core::command::PlanItem {
                id: id(8),
                goal: goal("Next"),
                children: Vec::new(),
            }],
        },
    );
    let state = project.export().state_json();
    let key = format!("plan-{}", id(8));
    assert!(state.contains(&key));

    // The predecessor starts the planned frame: it renames it to a session and adds a decision.
    let state = state.replace(&format!("\"{key}\": {{"), "\"ses_next\": {");
    let state = state.replace(
        &format!("\"sessionID\": \"{key}\""),
        "\"sessionID\": \"ses_next\"",
    );
    let mut state: Value = serde_json::from_str(&state).unwrap();
    let next = &mut state["frames"]["ses_next"];
    next["status"] = "in_progress".into();
    next["decisions"] = serde_json::json!(["Theirs"]);
    next["successCriteria"] = "It works well".into();

    let mut other = Project::default();
    other.import(&reread_state(&state.to_string()));
    let next = other.frame("ses_next");
    assert_eq!(next.id, id(8));
    assert_eq!(next.status, Status::InProgress);
    assert_eq!(next.session, Some("opencode:ses_next".parse().unwrap()));
    assert_eq!(next.notes.len(), 1);
    assert_eq!(next.criteria, Some(prose("It works well")));
    // The compacted criteria are no longer the ones that we derive.
    assert_eq!(next.criteria_compacted, Some(prose("It works")));
}
