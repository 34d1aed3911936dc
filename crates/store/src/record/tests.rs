//! The journal's format is a contract: each of these lines was written by an earlier version.

use flamestack_core::event::Event;
use flamestack_core::{Author, SessionRef};

use super::{author, encode, encode_by};

fn decode(line: &str) -> Result<Event, String> {
    super::decode(line)
}

/// One event a line, each optional field once present and once absent.
const EVENTS: &str = include_str!("events.jsonl");

#[test]
fn events_are_written_as_they_always_were() {
    for line in EVENTS.lines() {
        let event = decode(line).unwrap_or_else(|problem| panic!("{problem}: {line}"));
        assert_eq!(encode(&event).unwrap(), line);
    }
}

#[test]
fn an_author_is_named_where_the_session_does_not_tell() {
    let (shell, host) = (SessionRef::shell("main"), "opencode:a".parse().unwrap());
    let event = decode(r#"{"kind":"frame_started","frame":"abcdefgh"}"#).unwrap();
    for (session, by, start) in [
        (&shell, Author::User, r#"{"kind":"#),
        (&shell, Author::Agent, r#"{"by":"model","kind":"#),
        (&host, Author::User, r#"{"by":"user","kind":"#),
        (&host, Author::Agent, r#"{"kind":"#),
    ] {
        let body = encode_by(&event, by, session).unwrap();
        assert!(body.starts_with(start), "{body}");
        assert_eq!(author(&body, session), by);
        assert_eq!(decode(&body).unwrap(), event);
    }
}

#[test]
fn every_kind_of_event_has_an_example() {
    let kinds: std::collections::BTreeSet<&str> = EVENTS
        .lines()
        .filter_map(|line| line.strip_prefix(r#"{"kind":""#)?.split('"').next())
        .collect();
    assert_eq!(kinds.len(), 52);
}

#[test]
fn fields_that_were_added_later_may_be_absent() {
    for line in [
        r#"{"kind":"session_focused","session":"opencode:a"}"#,
        r#"{"kind":"session_spent","session":"opencode:a"}"#,
        r#"{"kind":"compaction_checked"}"#,
        r#"{"kind":"frame_moved","frame":"abcdefgh","rank":3}"#,
    ] {
        decode(line).unwrap_or_else(|problem| panic!("{problem}: {line}"));
    }
}

#[test]
fn altered_events_are_refused() {
    for (line, problem) in [
        (r#"{"kind":"frame_started","frame":"x"}"#, "not a frame id"),
        (
            r#"{"kind":"session_prompted","session":"a"}"#,
            "names no host",
        ),
        (
            r#"{"kind":"frame_closed","frame":"abcdefgh","outcome":"blocked","results":"r"}"#,
            "blocked",
        ),
        (
            r#"{"kind":"session_witnessed","session":"opencode:a","marks":"00ff"}"#,
            "00ff",
        ),
        (
            r#"{"kind":"frame_renamed","frame":"abcdefgh"}"#,
            "frame_renamed",
        ),
    ] {
        let refused = decode(line).unwrap_err();
        assert!(refused.contains(problem), "{refused}");
    }
}
