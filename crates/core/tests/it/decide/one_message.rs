//! Several calls in one message: all are meant from where the message began.

use super::*;

pub(super) fn saying(message: &str) -> Actor {
    Actor {
        message: Some(message.to_owned()),
        ..me()
    }
}

pub(super) fn push(story: &mut Story, message: &str, name: &str) -> Answer {
    story.draw(name);
    let id = story.id(name);
    let command = Command::Push {
        id,
        under: Under::Active,
        goal: goal(name),
    };
    story.does_as(&saying(message), &command)
}

pub(super) fn pop(story: &mut Story, message: &str) -> Answer {
    let command = Command::Pop {
        frame: None,
        outcome: Outcome::Completed,
        results: results("result"),
    };
    story.does_as(&saying(message), &command)
}

#[test]
fn the_first_push_starts_and_the_others_are_planned_beside_it() {
    let mut story = Story::new("root*");
    assert_eq!(push(&mut story, "m1", "first"), Ok(vec![]));
    let remarks = push(&mut story, "m1", "second").unwrap();
    assert!(
        matches!(&remarks[..], [Remark::PlannedBeside(begun)] if begun.title.as_str() == "first")
    );
    push(&mut story, "m1", "third").unwrap();
    assert_eq!(story.drawing(), "root > (first*, second?, third?)");
    push(&mut story, "m2", "inner").unwrap();
    assert_eq!(story.drawing(), "root > (first > inner*, second?, third?)");
}

#[test]
fn the_first_pushes_of_a_session_are_roots() {
    let mut story = Story::new("");
    push(&mut story, "m1", "first").unwrap();
    push(&mut story, "m1", "second").unwrap();
    assert_eq!(story.drawing(), "(first*, second?)");
}

#[test]
fn a_pop_beside_a_push_is_refused_in_either_order() {
    let mut story = Story::new("root > work*");
    push(&mut story, "m1", "inner").unwrap();
    let expected = "a pop and a push in one message: the order is ambiguous";
    assert_eq!(refused(&mut story, |story| pop(story, "m1")), expected);
    pop(&mut story, "m2").unwrap();
    assert_eq!(
        refused(&mut story, |story| push(story, "m2", "next")),
        expected
    );
    pop(&mut story, "m3").unwrap();
    assert_eq!(story.drawing(), "root* > work+ > inner+");
}

#[test]
fn a_second_pop_in_one_message_does_not_end_the_parent() {
    let mut story = Story::new("root > work*");
    pop(&mut story, "m1").unwrap();
    assert_eq!(
        refused(&mut story, |story| pop(story, "m1")),
        "<work> “work” is completed already"
    );
    assert_eq!(story.drawing(), "root* > work+");
}

#[test]
fn without_message_ids_every_call_stands_alone() {
    let mut story = Story::new("root*");
    story.push("first", Under::Active).unwrap();
    story.push("second", Under::Active).unwrap();
    assert_eq!(story.drawing(), "root > first > second*");
}
