//! Files that are refused: the error names the file and the frame, and a hint says what to do.

use flamestack_core::FrameId;
use flamestack_engine::Redactor;
use flamestack_hosts::legacy::{ImportTarget, Layout};

use crate::support::{dir_with, read_text};

fn refusal(state: &str) -> String {
    let dir = dir_with(state);
    let error = Layout::find(dir.path())
        .unwrap()
        .read(&Redactor::default())
        .unwrap_err();
    let place = dir.path().to_str().unwrap();
    let hint = error.hint().unwrap();
    format!("{}\nhint: {hint}", error.to_string().replace(place, "DIR"))
}

fn frames(frames: &str) -> String {
    refusal(&format!(
        "{{\"version\":1,\"rootFrameIDs\":[],\"frames\":{{{frames}}}}}"
    ))
}

#[test]
fn files_that_are_not_a_state() {
    insta::assert_snapshot!(refusal(""), @"
    DIR/state.json: the file is empty
    hint: restore an earlier copy of the file and import that
    ");
    insta::assert_snapshot!(refusal("{\"version\": 1, \"frames\": {\"ses_1\": {\"sess"), @"
    DIR/state.json: the file ends in the middle of its JSON, at line 1, column 41
    hint: restore an earlier copy of the file and import that
    ");
    insta::assert_snapshot!(refusal("{\"frames\": {},\n\"x\" 1}"), @"
    DIR/state.json: expected `:` (line 2, column 5)
    hint: correct the file and import it again, or name another directory if this is not the file of a stack
    ");
    insta::assert_snapshot!(refusal("{\"version\": 4, \"resources\": []}"), @"
    DIR/state.json: missing field `frames` (line 1, column 31)
    hint: correct the file and import it again, or name another directory if this is not the file of a stack
    ");
    insta::assert_snapshot!(refusal("{\"frames\": {}, \"rootFrameIDs\": {}}"), @"
    DIR/state.json: `rootFrameIDs` is invalid: expected a list, not an object
    hint: correct the file and import it again, or name another directory if this is not the file of a stack
    ");
    insta::assert_snapshot!(refusal("{\"frames\": {}, \"activeFrameID\": 3}"), @"
    DIR/state.json: `activeFrameID` is invalid: expected a string, not the number `3`
    hint: correct the file and import it again, or name another directory if this is not the file of a stack
    ");
    insta::assert_snapshot!(refusal("{\"frames\": {}, \"updatedAt\": \"today\"}"), @"
    DIR/state.json: `updatedAt` is invalid: expected a JSON number, not the text \"today\"
    hint: correct the file and import it again, or name another directory if this is not the file of a stack
    ");
    insta::assert_snapshot!(refusal("{\"frames\": {}, \"flamestack\": {\"format\": 9}}"), @"
    DIR/state.json: a newer Flamestack exported this (format 9; this version reads up to 1)
    hint: update Flamestack and import it again
    ");
    insta::assert_snapshot!(refusal("{\"frames\": {}, \"flamestack\": 1}"), @"
    DIR/state.json: the `flamestack` object is damaged: expected an object, not the number `1`
    hint: remove the `flamestack` object from the file: the rest can be imported without it
    ");
}

#[test]
fn invalid_frames() {
    insta::assert_snapshot!(frames(r#""ses_1":[]"#), @"
    DIR/state.json: frame `ses_1` is an array, not an object
    hint: correct this field in the file, or remove the frame, and import it again
    ");
    insta::assert_snapshot!(frames(r#""ses_1":{"status":"done"}"#), @"
    DIR/state.json: frame `ses_1` has the unknown status `done`; known are in_progress, blocked, planned, completed, failed, invalidated
    hint: put one of these into the file and import it again
    ");
    insta::assert_snapshot!(frames(r#""ses_1":{}"#), @"
    DIR/state.json: frame `ses_1` has no `status`
    hint: correct this field in the file, or remove the frame, and import it again
    ");
    insta::assert_snapshot!(frames(r#""ses_1":{"status":"planned","artifacts":["a",2]}"#), @"
    DIR/state.json: frame `ses_1` has an invalid `artifacts[1]`: expected a string, not the number `2`
    hint: correct this field in the file, or remove the frame, and import it again
    ");
    insta::assert_snapshot!(frames(r#""ses_1":{"status":"planned","createdAt":"1"}"#), @"
    DIR/state.json: frame `ses_1` has an invalid `createdAt`: expected a JSON number, not the text \"1\"
    hint: correct this field in the file, or remove the frame, and import it again
    ");
    insta::assert_snapshot!(frames(r#""ses_1":{"status":"planned","title":"a\u0000b"}"#), @"
    DIR/state.json: frame `ses_1` has an invalid `title`: it holds a NUL character (at byte 1)
    hint: correct this field in the file, or remove the frame, and import it again
    ");
    insta::assert_snapshot!(frames(r#""ses_1":{"status":"planned","flamestack":{"id":"x"}}"#), @"
    DIR/state.json: frame `ses_1` has a damaged `flamestack` object: `x` is not a frame id: eight lower-case letters and digits, starting with a letter
    hint: remove the `flamestack` object from the frame: the rest can be imported without it
    ");
    insta::assert_snapshot!(frames(r#""a\u0000":{"status":"planned"}"#), @r#"
    DIR/state.json: frame `a\u{0}` has a name that is empty, longer than 500 characters or not printable
    hint: rename the frame in the file and import it again
    "#);
    insta::assert_snapshot!(frames(r#""":{"status":"planned"}"#), @"
    DIR/state.json: frame `` has a name that is empty, longer than 500 characters or not printable
    hint: rename the frame in the file and import it again
    ");
    insta::assert_snapshot!(frames(r#""ses_1":{"status":"planned","sessionID":"ses_2"}"#), @"
    DIR/state.json: frame `ses_1` has another name as its `sessionID`: `ses_2`
    hint: make the frame's `sessionID` and its key in `frames` the same and import it again
    ");
}

#[test]
fn invalid_trees() {
    insta::assert_snapshot!(
        frames(r#""ses_1":{"status":"planned"},"ses_1":{"status":"failed"}"#), @"
    DIR/state.json: frame `ses_1` is there twice
    hint: remove or rename one of the two in the file and import it again
    ");
    insta::assert_snapshot!(frames(r#""ses_1":{"status":"planned","parentSessionID":"ses_0"}"#), @"
    DIR/state.json: frame `ses_1` has the parent `ses_0`, which is not in the file
    hint: add the parent to the file, or remove the frame's `parentSessionID` to make it a root, and import it again
    ");
    insta::assert_snapshot!(
        frames(
            r#""a":{"status":"planned","parentSessionID":"b"},
               "b":{"status":"planned","parentSessionID":"c"},
               "c":{"status":"planned","parentSessionID":"b"}"#
        ), @"
    DIR/state.json: frame `b` is its own ancestor: b → c → b
    hint: remove the `parentSessionID` of the one that is the root and import it again
    ");
}

#[test]
fn ten_megabytes_are_too_long_for_a_title() {
    let title = "x".repeat(10 << 20);
    let title_error = frames(&format!(
        "\"ses_1\":{{\"status\":\"planned\",\"title\":\"{title}\"}}"
    ));
    insta::assert_snapshot!(title_error, @"
    DIR/state.json: frame `ses_1` has an invalid `title`: it is 10485760 characters long; the limit for a title is 500
    hint: correct this field in the file, or remove the frame, and import it again
    ");
    let criteria = frames(&format!(
        "\"ses_1\":{{\"status\":\"planned\",\"title\":\"t\",\"successCriteria\":\"{title}\"}}"
    ));
    insta::assert_snapshot!(criteria, @"
    DIR/state.json: frame `ses_1` has an invalid `successCriteria`: it has 10485760 bytes and may have 1048576
    hint: correct this field in the file, or remove the frame, and import it again
    ");
    let name = frames(&format!("\"{title}\":{{\"status\":\"planned\"}}"));
    assert!(name.len() < 400, "{}", name.len());
}

#[test]
fn merely_unusual_files_are_accepted() {
    for state in [
        "\u{feff}{\"frames\":{\"ses_1\":{\"status\":\"planned\"}}}",
        "{\"frames\":{\"__proto__\":{\"status\":\"planned\"}}}",
        "{\"frames\":{\"ses_1\":{\"status\":\"planned\",\"createdAt\":1e300,\"title\":null}}}",
    ] {
        assert_eq!(read_text(state).unwrap().len(), 1, "{state}");
    }
}

#[test]
fn a_stuck_source_of_ids_is_detected() {
    let stack = read_text(
        "{\"frames\":{\"ses_1\":{\"status\":\"planned\"},\"ses_2\":{\"status\":\"planned\"}}}",
    )
    .unwrap();
    let mut target = ImportTarget {
        fresh: &mut || FrameId::from_entropy(1),
        known: &|_| None,
        last_rank: &|_| None,
    };
    let error = stack.import(&mut target).unwrap_err().to_string();
    assert!(error.contains("no unused frame id"), "{error}");
}
