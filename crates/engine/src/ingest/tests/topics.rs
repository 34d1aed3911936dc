//! Frames by topic, and none at all.

use super::*;
use crate::ingest::topics::Track;

/// Enough words for a topic to be known by.
const COOKIE: &str = "The session cookie is written by the login handler in src/auth/cookie.rs. Its path \
    is wrong after the proxy: the handler takes the prefix of the request instead of the configured \
    base path, browsers therefore refuse to send it, and every request after the redirect looks \
    anonymous to the middleware. I changed the builder so that the configured base path wins, added a \
    regression test with a proxied request, checked the expiry and the secure flag, renamed the helper \
    that encodes the token, and updated the changelog with a short note about sessions and redirects.";

fn tracking(track: Track) -> TestSession {
    let mut observer = Observer::live(None);
    observer.set_track(track);
    TestSession::of(observer)
}

/// A conversation of two topics: three prompts about a cookie, one about invoices.
fn conversation(track: Track) -> TestSession {
    let mut session = tracking(track);
    session.turn("Fix the login cookie after the proxy", COOKIE);
    session.turn("go on", "The secure flag is set for the login cookie, too.");
    session.turn(
        "Does the middleware still see the session after the redirect?",
        "Yes, the regression test covers the redirect.",
    );
    session.turn(
        "Generate monthly PDF invoices with VAT totals for Austrian customers",
        "Invoices are generated.",
    );
    session
}

#[test]
fn prompts_of_one_topic_share_a_frame() {
    let session = conversation(Track::Auto);
    let tree = session.tree();
    let frames: Vec<&str> = tree
        .lines()
        .filter(|line| line.contains("[prompt]") || line.contains("[session]"))
        .collect();
    assert_eq!(
        frames,
        [
            "▶ Fix the login cookie after the proxy [session] ←",
            "  ✓ Fix the login cookie after the proxy [prompt]",
            "  ▶ Generate monthly PDF invoices with VAT totals for Austrian customers [prompt]",
        ],
        "{tree}"
    );
    assert!(
        tree.contains("= Yes, the regression test covers the redirect."),
        "the last words of the topic are its results: {tree}"
    );
    for said in ["go on", "Does the middleware still see"] {
        assert!(tree.contains(&format!("directive: {said}")), "{tree}");
    }
    let by_prompt = conversation(Track::Prompts).tree();
    assert_eq!(by_prompt.matches("[prompt]").count(), 4, "{by_prompt}");
}

#[test]
fn a_topic_ends_once_and_the_first_only_begins_the_list() {
    let mut session = conversation(Track::Auto);
    session.turn("now", COOKIE);
    session.turn(
        "Translate the onboarding guide into Portuguese and Japanese",
        "Translated.",
    );
    let tree = session.tree();
    let frames = tree.lines().filter(|line| line.contains("[prompt]"));
    assert_eq!(frames.count(), 3, "{tree}");
}

#[test]
fn an_item_that_is_done_has_the_models_last_words() {
    for (track, results) in [
        (Track::Auto, "= The parser accepts empty input."),
        (Track::Prompts, "= Ticked off on the to-do list."),
    ] {
        let mut session = tracking(track);
        session.user("Finish the parser");
        session.todos(&[("Empty input", TodoStatus::Active)]);
        session.saw(EntryKind::Assistant {
            text: "The parser accepts empty input.".to_owned(),
        });
        session.todos(&[("Empty input", TodoStatus::Done)]);
        assert!(session.tree().contains(results), "{}", session.tree());
    }
}

#[test]
fn nothing_but_the_session_is_tracked_if_tracking_is_off() {
    let mut session = conversation(Track::Off);
    session.todos(&[("Empty input", TodoStatus::Active)]);
    let tree = session.tree();
    assert_eq!(tree.matches('[').count(), 1, "{tree}");
    assert!(tree.contains("directive: Generate monthly"), "{tree}");
    // What a model pushes is a frame nevertheless.
    session.push("By hand");
    assert!(session.tree().contains("▶ By hand [asked] ←"));
}
