//! The stored format is a contract: each of these lines was written by an earlier version.

use flamestack_core::transcript::{Answer, CallKind, Entry, EntryKind, TodoStatus};

use flamestack_redact::Redactor;

use super::{decode, encode, markdown, redacted};

/// Each kind of entry, with each optional field once present and once absent.
const LINES: &str = include_str!("lines.jsonl");

#[test]
fn entries_are_written_as_they_always_were() {
    for line in LINES.lines() {
        let entry = decode(line).unwrap_or_else(|| panic!("unreadable: {line}"));
        assert_eq!(encode(&entry), format!("{line}\n"));
    }
}

#[test]
fn names_of_a_later_version_have_a_fallback() {
    let call = r#"{"t":"call","call":"c","tool":"x","does":"dream","arguments":""}"#;
    let EntryKind::Call(call) = decode(call).unwrap().kind else {
        panic!("not a call");
    };
    assert_eq!(call.kind, CallKind::Other);
    let todos = r#"{"t":"todos","items":[{"text":"x","status":"postponed"}]}"#;
    let EntryKind::Todos(items) = decode(todos).unwrap().kind else {
        panic!("not a to-do list");
    };
    assert_eq!(
        items.first().map(|item| item.status),
        Some(TodoStatus::Pending)
    );
    assert!(decode(r#"{"t":"user","voice":"cat","text":"x"}"#).is_none());
    assert!(decode(r#"{"t":"dream","text":"x"}"#).is_none());
}

#[test]
fn secrets_are_removed_before_escapes_hide_them() {
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let line = format!(
        r#"{{"t":"call","call":"c","tool":"x","does":"other","arguments":"{{\"a\":\"\\n{secret}\"}}","paths":["{secret}"],"command":"{secret}"}}"#
    );
    let clean = |line: &str| encode(&redacted(&decode(line).unwrap(), &Redactor::default()));
    let written = clean(&line);
    assert!(!written.contains(secret), "{written}");
    let todo = format!(r#"{{"t":"todos","items":[{{"text":"{secret}","status":"done"}}]}}"#);
    assert!(!clean(&todo).contains(secret));
}

#[test]
fn long_answers_are_cut_in_the_middle() {
    let shown = |text: String| {
        let answer = EntryKind::Answer(Answer {
            call: "c1".to_owned(),
            ok: true,
            exit_code: None,
            text,
        });
        markdown(&encode(&Entry::from(answer)))
    };
    let (first, last) = ("é".repeat(1200), "ö".repeat(600));
    let whole = shown(format!("{first}{last}"));
    assert_eq!(whole, format!("### Answer\n\n```\n{first}{last}\n```\n\n"));
    let cut = shown(format!("{first}日日{last}"));
    assert_eq!(
        cut,
        format!("### Answer\n\n```\n{first}\n… 2 characters left out …\n{last}\n```\n\n")
    );
}
