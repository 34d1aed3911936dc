//! Properties of import and export that hold for every stack and every file.

use flamestack_core::id::Seq;
use flamestack_core::{Frame, Text};
use flamestack_hosts::legacy::export;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::generated::{legacy_state, stack};
use crate::support::{Project, read_text, reread, without_ours};

fn by_id(mut frames: Vec<Frame>) -> Vec<Frame> {
    for frame in &mut frames {
        frame.changed = Seq::default();
        frame.closed = None;
    }
    frames.sort_by_key(|frame| frame.id);
    frames
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn an_imported_file_is_exported_unchanged(state in legacy_state()) {
        let mut project = Project::default();
        project.import(&read_text(&state.to_string()).unwrap());
        let export = project.export();
        prop_assert_eq!(&without_ours(&export.state_json()), &state);

        let mut other = Project::default();
        other.import(&reread(&export));
        prop_assert_eq!(by_id(other.frames()), by_id(project.frames()));
        prop_assert_eq!(&without_ours(&other.export().state_json()), &state);
    }

    #[test]
    fn our_export_is_imported_unchanged((frames, sessions) in stack()) {
        let export = export(&frames, &sessions, None, &|_| Some("log.md".to_owned()));
        let mut project = Project::default();
        let prepared = project.import(&reread(&export));
        prop_assert_eq!(&by_id(prepared.import.frames), &by_id(frames.clone()));
        prop_assert_eq!(&prepared.sessions, &sessions);
        prop_assert_eq!(by_id(project.frames()), by_id(frames));
    }

    #[test]
    fn nothing_is_imported_twice(state in legacy_state(), (frames, sessions) in stack()) {
        let ours = export(&frames, &sessions, None, &|_| None);
        for stack in [read_text(&state.to_string()).unwrap(), reread(&ours)] {
            let mut project = Project::default();
            project.import(&stack);
            let again = project.prepare(&stack);
            prop_assert_eq!(again.known, stack.len());
            prop_assert!(again.import.frames.is_empty() && again.import.focus.is_empty());
        }
    }

    #[test]
    fn a_second_import_adds_the_missing_frames(state in legacy_state()) {
        // The first half of the frames, then all of them.
        let mut half = state.clone();
        let all = state["frames"].as_object().unwrap();
        let frames = half["frames"].as_object_mut().unwrap();
        while frames.len() * 2 > all.len() {
            // Remove a frame without children.
            let is_leaf = |name: &String| {
                frames.values().all(|frame| frame.get("parentSessionID") != Some(&name.clone().into()))
            };
            let leaf = frames.keys().find(|name| is_leaf(name)).unwrap().clone();
            frames.remove(&leaf);
        }
        let mut project = Project::default();
        project.import(&read_text(&half.to_string()).unwrap());
        project.import(&read_text(&state.to_string()).unwrap());
        prop_assert_eq!(project.frames().len(), all.len());
        for (name, frame) in all {
            let parent = frame.get("parentSessionID").and_then(|name| name.as_str());
            let parent = parent.map(|name| project.frame(name).id);
            prop_assert_eq!(&project.frame(name).parent, &parent);
        }
    }
}

/// A state with names of its own for the tree, as `.flame/state.json` has them.
fn first_format() -> Value {
    json!({
        "frames": {
            "frame-1": {
                "id": "frame-1", "sessionId": null, "parentId": null, "status": "in_progress",
                "children": ["frame-3", "frame-2"], "goal": "Build the shop", "compaction": null,
            },
            "frame-2": {
                "id": "frame-2", "sessionId": "ses_2", "parentId": "frame-1", "status": "completed",
                "children": [], "goal": "Sign in", "artifacts": ["src/auth.rs"],
                "createdAt": 1000, "completedAt": 2000,
                "compaction": {
                    "summary": "Magic links", "artifacts": ["src/auth.rs", "src/mail.rs"],
                    "decisions": ["no passwords"], "status": "completed",
                },
            },
            "frame-3": {
                "id": "frame-3", "sessionId": "ses_3", "parentId": "frame-1",
                "status": "in_progress", "children": [], "goal": "Pay",
                "compaction": { "summary": "The form is there", "artifacts": [] },
            },
        },
        "current": "frame-3",
    })
}

#[test]
fn the_first_format_is_imported_whole() {
    let mut project = Project::default();
    let prepared = project.import(&read_text(&first_format().to_string()).unwrap());
    let [root, done, open] = ["frame-1", "frame-2", "frame-3"].map(|name| project.frame(name));
    assert_eq!((done.parent, open.parent), (Some(root.id), Some(root.id)));
    assert!(open.rank < done.rank, "in the order of `children`");
    let session = |frame: &Frame| frame.session.as_ref().map(ToString::to_string);
    assert_eq!(session(root), None);
    assert_eq!(session(done).as_deref(), Some("opencode:ses_2"));
    assert_eq!(done.results.as_ref().map(Text::as_str), Some("Magic links"));
    assert_eq!(done.updated_at.0, 2000);
    let notes: Vec<&str> = done.notes.iter().map(|note| note.text().as_str()).collect();
    assert_eq!(notes, ["src/auth.rs", "src/mail.rs", "no passwords"]);
    assert_eq!(open.results, None);
    assert_eq!(
        open.summary.as_ref().map(Text::as_str),
        Some("The form is there")
    );
    let focus: Vec<(String, _)> = prepared
        .import
        .focus
        .iter()
        .map(|(session, frame)| (session.to_string(), *frame))
        .collect();
    assert_eq!(focus, [("opencode:ses_3".to_owned(), open.id)]);

    let mut other = Project::default();
    other.import(&reread(&project.export()));
    assert_eq!(by_id(other.frames()), by_id(project.frames()));
}

/// The predecessor's own code took minutes for a wide tree and overflowed on a deep one.
#[test]
fn wide_and_deep_trees_are_fast() {
    const FRAMES: usize = 10_000;
    for is_deep in [true, false] {
        let frame = |index: usize| {
            let parent = if is_deep { index.checked_sub(1) } else { None };
            let parent = parent.map(|parent| format!("ses_{parent}"));
            let status = if is_deep { "in_progress" } else { "planned" };
            let frame = json!({ "status": status, "parentSessionID": parent });
            (format!("ses_{index}"), frame)
        };
        let frames: Map<String, Value> = (0..FRAMES).map(frame).collect();
        let roots = if is_deep { 1 } else { FRAMES };
        let roots: Vec<String> = (0..roots).map(|index| format!("ses_{index}")).collect();
        let last = format!("ses_{}", FRAMES - 1);
        let state = json!({ "frames": frames, "rootFrameIDs": roots, "activeFrameID": last });
        let mut project = Project::default();
        project.import(&read_text(&state.to_string()).unwrap());
        assert_eq!(without_ours(&project.export().state_json()), state);
    }
}
