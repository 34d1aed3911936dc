//! Conversations that their host winds back and forward again, or deletes.

use super::one_message::{pop, push, saying};
use super::*;

fn wind(story: &mut Story, messages: &[&str], earlier: &[&str]) {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let command = Command::Revert {
        messages: owned(messages),
        earlier: owned(earlier),
    };
    assert_eq!(story.does(&command), Ok(vec![]));
}

fn forward(story: &mut Story) {
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
        event: Event::SessionPrompted {
            session: actor.session,
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
fn back_and_forward_again() {
    let mut story = worked();
    wind(&mut story, &["m4"], &[]);
    assert_eq!(story.drawing(), "root* > inner+");
    forward(&mut story);
    assert_eq!(story.drawing(), "root > (inner+, next*)");
    wind(&mut story, &["m3"], &[]);
    assert_eq!(story.drawing(), "root > inner*");
    wind(&mut story, &["m1"], &[]);
    assert_eq!(story.drawing(), "root > inner*", "forward first");
    forward(&mut story);
    forward(&mut story);
    wind(&mut story, &["m1"], &[]);
    assert_eq!((story.drawing().as_str(), story.active()), ("", None));
    forward(&mut story);
    assert_eq!(story.drawing(), "root > (inner+, next*)");
}

#[test]
fn the_next_prompt_makes_it_final() {
    let mut story = worked();
    wind(&mut story, &["m3"], &[]);
    prompted(&mut story, "m5");
    forward(&mut story);
    assert_eq!(story.drawing(), "root > inner*");
    // What was taken back for good is not there to be taken back again.
    wind(&mut story, &["m4"], &[]);
    assert_eq!(story.drawing(), "root > inner*");
    wind(&mut story, &["m2"], &[]);
    assert_eq!(story.drawing(), "root*");
    forward(&mut story);
    assert_eq!(story.drawing(), "root > inner*");
}

#[test]
fn a_message_of_which_nothing_is_recorded_stands_for_those_behind_it() {
    let mut story = worked();
    wind(&mut story, &["silent", "m4"], &[]);
    assert_eq!(story.drawing(), "root* > inner+");
}

#[test]
fn what_is_late_of_an_earlier_message_stays() {
    let mut story = Story::new("");
    push(&mut story, "m1", "root").unwrap();
    prompted(&mut story, "m3");
    push(&mut story, "m2", "late").unwrap();
    wind(&mut story, &["m3"], &["m1", "m2"]);
    assert_eq!(story.drawing(), "root > late*");
}

#[test]
fn others_keep_what_they_have_built_on() {
    let mut story = worked();
    let under = Under::Frame(story.id("next"));
    story.draw("theirs");
    let push = Command::Push {
        id: story.id("theirs"),
        under,
        goal: goal("theirs"),
    };
    story.does_as(&actor("other"), &push).unwrap();
    wind(&mut story, &["m3"], &[]);
    assert_eq!(story.drawing(), "root > (inner*, next > theirs)");
    assert_eq!(story.active_of("other").as_deref(), Some("theirs"));
    forward(&mut story);
    assert_eq!(story.drawing(), "root > (inner+, next* > theirs)");
}

#[test]
fn nothing_is_open_below_what_others_have_finished() {
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
    wind(&mut story, &["m3"], &[]);
    assert_eq!(story.drawing(), "root+ > inner+");
}

#[test]
fn whoever_stands_on_what_is_gone_steps_up() {
    let mut story = worked();
    let frame = story.id("next");
    story
        .does_as(&actor("other"), &Command::Activate { frame })
        .unwrap();
    wind(&mut story, &["m4"], &[]);
    assert_eq!(story.active_of("other").as_deref(), Some("root"));
    assert_eq!(story.drawing(), "root* > inner+");
}

#[test]
fn an_undo_looks_past_what_was_wound_back() {
    let mut story = worked();
    wind(&mut story, &["m3"], &[]);
    story.does(&Command::Undo).unwrap();
    assert_eq!(story.drawing(), "root*");
}

#[test]
fn what_a_deleted_session_left_open_is_given_up_and_stays_readable() {
    let mut story = worked();
    let frame = story.id("root");
    story
        .does_as(&actor("other"), &Command::Activate { frame })
        .unwrap();
    assert_eq!(story.does(&Command::Archive), Ok(vec![]));
    assert_eq!(story.active(), None);
    assert_eq!(story.drawing(), "root > (inner+, next-)");
    let reason = story.tree.frames()[&story.id("next")].invalidation.clone();
    assert_eq!(reason.unwrap().reason.as_str(), "its session was deleted");
    assert_eq!(story.does(&Command::Archive), Ok(vec![]), "once");
}
