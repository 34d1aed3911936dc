//! Sessions that their host reverts and restores, or deletes.

use super::one_message::{pop, push, saying};
use super::*;

fn revert(story: &mut Story, messages: &[&str], earlier: &[&str]) {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let command = Command::Revert {
        messages: owned(messages),
        earlier: owned(earlier),
    };
    assert_eq!(story.does(&command), Ok(vec![]));
}

fn restore(story: &mut Story) {
    assert_eq!(story.does(&Command::Unrevert), Ok(vec![]));
}

fn prompted(story: &mut Story, message: &str) {
    let actor = saying(message);
    let seq = Seq(i64::try_from(story.tree.journal().len()).unwrap() + 1);
    story.tree.apply(Recorded {
        seq,
        batch: seq,
        at: Timestamp(seq.0),
        session: actor.session.clone(),
        message: actor.message,
        by: actor.by,
        event: Event::SessionPrompted {
            session: actor.session,
            queued: None,
        },
    });
}

/// `root` is pushed in m1, `inner` in m2; m3 pops it and m4 pushes `next`.
fn worked() -> Story {
    let mut story = Story::new("");
    push(&mut story, "m1", "root").unwrap();
    push(&mut story, "m2", "inner").unwrap();
    pop(&mut story, "m3").unwrap();
    push(&mut story, "m4", "next").unwrap();
    assert_eq!(story.drawing(), "root > (inner+, next*)");
    story
}

#[test]
fn revert_and_restore() {
    let mut story = worked();
    revert(&mut story, &["m4"], &[]);
    assert_eq!(story.drawing(), "root* > inner+");
    restore(&mut story);
    assert_eq!(story.drawing(), "root > (inner+, next*)");
    revert(&mut story, &["m3"], &[]);
    assert_eq!(story.drawing(), "root > inner*");
    revert(&mut story, &["m1"], &[]);
    assert_eq!(story.drawing(), "root > inner*", "restore first");
    restore(&mut story);
    restore(&mut story);
    revert(&mut story, &["m1"], &[]);
    assert_eq!((story.drawing().as_str(), story.active()), ("", None));
    restore(&mut story);
    assert_eq!(story.drawing(), "root > (inner+, next*)");
}

#[test]
fn the_next_prompt_makes_it_final() {
    let mut story = worked();
    revert(&mut story, &["m3"], &[]);
    prompted(&mut story, "m5");
    restore(&mut story);
    assert_eq!(story.drawing(), "root > inner*");
    // What was taken back for good is not there to be taken back again.
    revert(&mut story, &["m4"], &[]);
    assert_eq!(story.drawing(), "root > inner*");
    revert(&mut story, &["m2"], &[]);
    assert_eq!(story.drawing(), "root*");
    restore(&mut story);
    assert_eq!(story.drawing(), "root > inner*");
}

#[test]
fn a_message_without_events_stands_for_the_later_ones() {
    let mut story = worked();
    revert(&mut story, &["silent", "m4"], &[]);
    assert_eq!(story.drawing(), "root* > inner+");
}

#[test]
fn late_events_of_an_earlier_message_stay() {
    let mut story = Story::new("");
    push(&mut story, "m1", "root").unwrap();
    prompted(&mut story, "m3");
    push(&mut story, "m2", "late").unwrap();
    revert(&mut story, &["m3"], &["m1", "m2"]);
    assert_eq!(story.drawing(), "root > late*");
}

#[test]
fn other_sessions_keep_what_they_have_built_on() {
    let mut story = worked();
    let under = Under::Frame(story.id("next"));
    story.draw("theirs");
    let push = Command::Push {
        id: story.id("theirs"),
        under,
        goal: goal("theirs"),
    };
    story.does_as(&actor("other"), &push).unwrap();
    revert(&mut story, &["m3"], &[]);
    assert_eq!(story.drawing(), "root > (inner*, next > theirs)");
    assert_eq!(story.active_of("other").as_deref(), Some("theirs"));
    restore(&mut story);
    assert_eq!(story.drawing(), "root > (inner+, next* > theirs)");
}

#[test]
fn nothing_is_open_below_a_frame_finished_by_another_session() {
    let mut story = Story::new("");
    push(&mut story, "m1", "root").unwrap();
    push(&mut story, "m2", "inner").unwrap();
    pop(&mut story, "m3").unwrap();
    let done = Command::Pop {
        frame: Some(story.id("root")),
        outcome: Outcome::Completed,
        results: results("all of it"),
    };
    story.does_as(&actor("other"), &done).unwrap();
    revert(&mut story, &["m3"], &[]);
    assert_eq!(story.drawing(), "root+ > inner+");
}

#[test]
fn sessions_on_masked_frames_move_up() {
    let mut story = worked();
    let frame = story.id("next");
    story
        .does_as(&actor("other"), &Command::Activate(frame))
        .unwrap();
    revert(&mut story, &["m4"], &[]);
    assert_eq!(story.active_of("other").as_deref(), Some("root"));
    assert_eq!(story.drawing(), "root* > inner+");
}

#[test]
fn undo_skips_reverted_commands() {
    let mut story = worked();
    revert(&mut story, &["m3"], &[]);
    story.does(&Command::Undo).unwrap();
    assert_eq!(story.drawing(), "root*");
}

#[test]
fn open_frames_of_a_deleted_session_are_given_up_and_stay_readable() {
    let mut story = worked();
    let frame = story.id("root");
    story
        .does_as(&actor("other"), &Command::Activate(frame))
        .unwrap();
    assert_eq!(story.does(&Command::Archive), Ok(vec![]));
    assert_eq!(story.active(), None);
    assert_eq!(story.drawing(), "root > (inner+, next-)");
    let reason = story.tree.frames()[&story.id("next")].invalidation.clone();
    assert_eq!(reason.unwrap().reason.as_str(), "its session was deleted");
    assert_eq!(story.does(&Command::Archive), Ok(vec![]), "once");
}
