//! Stacks whose state is lost but whose frame files are there.

use flamestack_engine::Redactor;
use flamestack_hosts::legacy::Layout;

use crate::support::{Project, fixture};

#[test]
fn an_unreadable_state_is_reported_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let stack = dir.path().join(".opencode/stack");
    fs_err::create_dir_all(stack.join("frames")).unwrap();
    fs_err::write(stack.join("frames/ses_1.json"), "{}").unwrap();
    for state in [Some(""), Some("{\"frames\": {"), Some("nonsense"), None] {
        let file = stack.join("state.json");
        match state {
            Some(text) => fs_err::write(&file, text).unwrap(),
            None => fs_err::remove_file(&file).unwrap(),
        }
        let error = Layout::find(dir.path())
            .unwrap()
            .read(&Redactor::default())
            .unwrap_err();
        assert!(error.to_string().contains("state.json"), "{error}");
        let hint = error.hint().unwrap();
        assert!(
            hint.starts_with("there is 1 frame file next to it: `--frames-only`"),
            "{hint}"
        );
    }
}

#[test]
fn frame_files_alone_make_a_stack() {
    let layout = Layout::find(&fixture("stack")).unwrap();
    let stack = layout.read_frames_only(&Redactor::default()).unwrap();
    assert_eq!((stack.len(), stack.unreadable.len()), (9, 1));
    let mut project = Project::default();
    project.import(&stack);
    // The stale file of the frame that has begun holds its old content under its new name.
    insta::assert_snapshot!(project.outline(), @"
    Session ses_4b0e [blocked]
    Public API for orders [in_progress]
      Token check [completed]
      Rate limit [planned]
        Limit survives a restart [planned]
      Cancel an order [planned]
      GraphQL endpoint [invalidated]
        GraphQL schema [invalidated]
      Page through orders [planned]
    ");
    let begun = project.frame("ses_4b1f770aaffeRate9Gh4Jk1Mz6");
    assert_eq!(begun.aliases[1..], ["plan-1766400000500-1-zz81"]);
    assert!(begun.session.is_some());
}

#[test]
fn our_frame_files_alone_make_a_stack() {
    let mut project = Project::default();
    project.import(
        &Layout::find(&fixture("odd"))
            .unwrap()
            .read(&Redactor::default())
            .unwrap(),
    );
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in project.export().frames() {
        fs_err::create_dir_all(dir.path().join("frames")).unwrap();
        fs_err::write(dir.path().join("frames").join(name), content).unwrap();
    }
    let stack = Layout::find(dir.path())
        .unwrap()
        .read_frames_only(&Redactor::default())
        .unwrap();
    assert!(stack.unreadable.is_empty(), "{:?}", stack.unreadable);
    let mut other = Project::default();
    other.import(&stack);
    assert_eq!(other.outline(), project.outline());
}

#[test]
fn if_no_frame_can_be_read_the_first_error_is_returned() {
    let dir = tempfile::tempdir().unwrap();
    fs_err::create_dir(dir.path().join("frames")).unwrap();
    fs_err::write(dir.path().join("frames/ses_1.json"), "{\"status\": 1}").unwrap();
    let layout = Layout::find(dir.path()).unwrap();
    let error = layout
        .read_frames_only(&Redactor::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with(
            "frame `ses_1` has an invalid `status`: expected a string, not the number `1`"
        ),
        "{error}"
    );
}
