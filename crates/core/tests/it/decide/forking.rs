//! Sessions that their host forks.

use super::one_message::{pop, push, saying};
use super::*;
use flamestack_core::command::Fork;

/// Copies messages m1, m2, … of `main` as n1, n2, … of `copy`.
fn fork(story: &mut Story, copied: u8, later: &[&str]) -> Answer {
    let ids = (1..=9u64).map(|n| {
        story.drawn += 1;
        FrameId::from_entropy((story.drawn + n) * 0x51ed_270b)
    });
    let fork = Fork {
        from: me().session,
        messages: (1..=copied)
            .map(|n| (format!("m{n}"), format!("n{n}")))
            .collect(),
        later: later.iter().map(|&name| name.to_owned()).collect(),
        ids: ids.collect(),
    };
    story.does_as(&actor("copy"), &Command::Fork(Box::new(fork)))
}

/// `root` is pushed in m1, `inner` in m2 and popped in m3; m4 pushes `next`, with a plan below it.
fn worked() -> Story {
    let mut story = Story::new("");
    push(&mut story, "m1", "root").unwrap();
    push(&mut story, "m2", "inner").unwrap();
    pop(&mut story, "m3").unwrap();
    push(&mut story, "m4", "next").unwrap();
    story.draw("plan");
    let items = vec![PlanItem {
        id: story.id("plan"),
        goal: goal("plan"),
        children: vec![],
    }];
    let under = Under::Active;
    let plan = Command::Plan { under, items };
    story.does_as(&saying("m5"), &plan).unwrap();
    story
}

/// The spans of the frames of a session, by title.
fn spans(story: &Story, worktree: &str) -> Vec<String> {
    let frames = story.tree.frames().values();
    let mut spans: Vec<String> = frames
        .filter_map(|frame| {
            let span = frame.span.as_ref()?;
            let of = |message: &Option<String>| message.clone().unwrap_or_default();
            let line = format!("{} {}..{}", frame.title, of(&span.first), of(&span.last));
            (span.session == SessionRef::shell(worktree)).then_some(line)
        })
        .collect();
    spans.sort();
    spans
}

#[test]
fn open_frames_are_copied_and_finished_ones_are_known() {
    let mut story = worked();
    let decided = Note::Decision {
        text: prose("cookies"),
        why: None,
        by: me().by,
    };
    let frame = None;
    let note = decided.clone();
    story.does(&Command::Note { frame, note }).unwrap();
    fork(&mut story, 5, &[]).unwrap();
    assert_eq!(
        story.drawing(),
        "(root > (inner+, next* > plan?), root > (inner+, next > plan?))"
    );
    assert_eq!(story.active_of("copy").as_deref(), Some("next"));
    assert_eq!(
        spans(&story, "copy"),
        ["inner n2..n3", "next n4..", "root n1.."]
    );
    let frames = story.tree.frames().values();
    let noted = frames.filter(|frame| frame.notes.contains(&decided));
    assert_eq!(noted.count(), 2);

    // Both continue, and neither hears of the other.
    story.pop("plan", Outcome::Completed).unwrap_err();
    let active = story.tree.session(&actor("copy").session).unwrap().unwrap();
    let frame = active.active.unwrap();
    let reason = prose("another way");
    let invalidate = Command::Invalidate {
        frame: Some(frame),
        reason,
    };
    story.does_as(&actor("copy"), &invalidate).unwrap();
    assert_eq!(
        story.drawing(),
        "(root > (inner+, next* > plan?), root > (inner+, next- > plan-))"
    );
}

#[test]
fn a_fork_of_an_earlier_point_has_nothing_of_what_came_after() {
    for (copied, later, below) in [
        (3, vec!["m4", "m5"], "root > inner+"),
        (2, vec!["m3", "m4", "m5"], "root > inner"),
        (1, vec!["m2", "m3", "m4", "m5"], "root"),
    ] {
        let mut story = worked();
        fork(&mut story, copied, &later).unwrap();
        assert_eq!(
            story.drawing(),
            format!("(root > (inner+, next* > plan?), {below})")
        );
        let open = below.rsplit(" > ").find(|name| !name.ends_with('+'));
        assert_eq!(story.active_of("copy").as_deref(), open);
    }
}

#[test]
fn a_fork_is_recorded_once() {
    let mut story = worked();
    fork(&mut story, 5, &[]).unwrap();
    let after = story.drawing();
    assert_eq!(fork(&mut story, 5, &[]), Ok(vec![Remark::AlreadyRecorded]));
    assert_eq!(story.drawing(), after);
    // A fork is a fact about the host, not a command of a session.
    assert!(story.does_as(&actor("copy"), &Command::Undo).is_err());
}

#[test]
fn nothing_is_copied_from_an_unknown_session() {
    let mut story = Story::new("");
    assert_eq!(fork(&mut story, 3, &[]), Ok(vec![]));
    assert_eq!(story.tree.journal().len(), 0);
}
