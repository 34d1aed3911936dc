//! Prompts in a line: `P` the user's message, `h` the host's, `m` the model's, `S` a summary.

use proptest::prelude::*;

use super::*;

/// Messages named by their place from 1, each at that second.
fn prompt(notation: &str) -> PromptMessages {
    (1..)
        .zip(notation.chars())
        .map(|(place, kind)| PromptMessage {
            id: place.to_string(),
            at: Some(Timestamp(place * 1000)),
            kind: match kind {
                'P' => MessageKind::Person,
                'h' => MessageKind::Host,
                'S' => MessageKind::Summary,
                _ => MessageKind::Model,
            },
            calls: vec![format!("c{place}")],
        })
        .collect()
}

fn frame(n: u64) -> FrameId {
    FrameId::from_entropy(n)
}

fn spanning(begun: SpanEnd, ended: SpanEnd) -> Finished {
    Finished {
        frame: frame(1),
        has_result_message: !matches!(ended, SpanEnd::Moment(_)),
        begun,
        ended,
        after_prompt: false,
    }
}

fn messages(begun: &str, ended: &str) -> Finished {
    spanning(SpanEnd::recorded(begun), SpanEnd::recorded(ended))
}

fn ids(prompt: &PromptMessages, finished: &[Finished]) -> Vec<String> {
    let folding = fold(prompt, finished);
    folding
        .dropped(prompt)
        .map(|message| message.id.clone())
        .collect()
}

fn dropped(notation: &str, finished: &[Finished]) -> String {
    ids(&prompt(notation), finished).join(" ")
}

#[test]
fn messages_between_push_and_pop_leave_the_prompt() {
    assert_eq!(dropped("Pmmmmm", &[messages("2", "5")]), "3 4");
    assert_eq!(dropped("Pmm", &[messages("2", "3")]), "", "nothing between");
    assert_eq!(dropped("Pmm", &[messages("2", "2")]), "", "in one message");
    assert_eq!(dropped("Pmm", &[messages("3", "2")]), "", "backwards");
}

#[test]
fn the_users_messages_stay() {
    assert_eq!(dropped("PmmPmhmm", &[messages("2", "8")]), "3 5 6 7");
}

#[test]
fn frames_fold_inside_out() {
    let inner = messages("3", "5");
    let outer = messages("2", "7");
    assert_eq!(dropped("Pmmmmmmm", std::slice::from_ref(&inner)), "4");
    assert_eq!(dropped("Pmmmmmmm", &[inner, outer]), "3 4 5 6");
}

#[test]
fn a_call_from_the_command_line_is_found_by_the_message_it_ran_in() {
    assert_eq!(
        SpanEnd::recorded(&SpanEnd::in_call("c2")),
        SpanEnd::Call("c2".to_owned())
    );
    assert_eq!(dropped("Pmmmmm", &[messages("call:c2", "call:c5")]), "3 4");
}

#[test]
fn a_span_that_began_before_a_summary_begins_after_it() {
    assert_eq!(dropped("hSmmmm", &[messages("gone", "5")]), "3 4");
    assert_eq!(dropped("hSmmmm", &[messages("gone", "gone too")]), "");
    assert_eq!(dropped("Pmmmmm", &[messages("elsewhere", "5")]), "");
}

#[test]
fn an_end_from_outside_waits_for_the_user_and_shows_the_results() {
    let moment = |second: i64| SpanEnd::Moment(Timestamp(second * 1000 + 500));
    let ended = spanning(moment(1), moment(4));
    assert_eq!(
        fold(&prompt("Pmmmm"), std::slice::from_ref(&ended)),
        Folding::default(),
        "the turn is not over"
    );
    let ended = [ended];
    assert_eq!(dropped("PmmmmPm", &ended), "2 3 4");
    assert_eq!(
        fold(&prompt("PmmmmPm"), &ended).missing_results,
        [(frame(1), 4)]
    );
}

#[test]
fn results_placed_before_a_dropped_message_move_on() {
    let outside = Finished {
        ended: SpanEnd::Moment(Timestamp(3500)),
        has_result_message: false,
        ..messages("1", "x")
    };
    let other = Finished {
        frame: frame(2),
        ..messages("3", "6")
    };
    let finished = [outside, other];
    assert_eq!(dropped("PmmmmmPm", &finished), "2 3 4 5");
    assert_eq!(
        fold(&prompt("PmmmmmPm"), &finished).missing_results,
        [(frame(1), 5)]
    );
}

#[test]
fn observed_frames_wait_for_the_next_prompt() {
    let after_prompt = Finished {
        after_prompt: true,
        ..messages("2", "5")
    };
    assert_eq!(dropped("Pmmmmm", std::slice::from_ref(&after_prompt)), "");
    assert_eq!(dropped("PmmmmmP", &[after_prompt]), "3 4");
}

/// Generates prompts and spans in them.
fn any_story() -> impl Strategy<Value = (String, Vec<Finished>)> {
    let kind = prop_oneof![2 => Just('P'), 1 => Just('h'), 1 => Just('S'), 8 => Just('m')];
    let edge = (0..40i64, 0..4).prop_map(|(place, sort)| match sort {
        0 => SpanEnd::Moment(Timestamp(place * 1000 + 500)),
        1 => SpanEnd::Call(format!("c{place}")),
        _ => SpanEnd::Message(place.to_string()),
    });
    let span = (edge.clone(), edge, any::<bool>(), any::<bool>(), 0..9u64);
    let finished =
        span.prop_map(
            |(begun, ended, has_result_message, after_prompt, name)| Finished {
                frame: frame(name),
                begun,
                ended,
                has_result_message,
                after_prompt,
            },
        );
    (
        proptest::collection::vec(kind, 1..40).prop_map(String::from_iter),
        proptest::collection::vec(finished, 0..8),
    )
}

/// Defines folding, message by message.
fn by_definition(
    prompt: &PromptMessages,
    finished: &[Finished],
) -> (Vec<usize>, Vec<(FrameId, usize)>) {
    let mut gone = std::collections::BTreeSet::new();
    let mut missing_results = Vec::new();
    for frame in finished {
        let Some(span) = prompt.between(frame) else {
            continue;
        };
        let next = span.end;
        let before = gone.len();
        gone.extend(span.filter(|place| prompt.get(*place).is_some_and(PromptMessage::can_leave)));
        if !frame.has_result_message && gone.len() > before {
            missing_results.push((frame.frame, next));
        }
    }
    let mut shown = Vec::new();
    for (frame, next) in missing_results {
        let place = (next..prompt.len()).find(|place| !gone.contains(place));
        shown.extend(place.map(|place| (frame, place)));
    }
    (gone.into_iter().collect(), shown)
}

proptest! {
    #[test]
    fn ranges_agree_with_the_definition((notation, finished) in any_story()) {
        let prompt = prompt(&notation);
        let folding = fold(&prompt, &finished);
        let (gone, missing_results) = by_definition(&prompt, &finished);
        let gone: Vec<String> = gone.iter().map(|place| (place + 1).to_string()).collect();
        prop_assert_eq!(ids(&prompt, &finished), gone);
        prop_assert_eq!(folding.missing_results, missing_results);
        for pair in folding.ranges.windows(2) {
            prop_assert!(pair[0].end < pair[1].start);
        }
    }

    /// A prompt that was truncated and has grown again is like one that never was.
    #[test]
    fn truncated_messages_are_forgotten(
        (notation, finished) in any_story(),
        (other, _) in any_story(),
        cut in 0..40usize,
    ) {
        // A call's name that is used again and again.
        let again = |prompt: &PromptMessages| -> Vec<PromptMessage> {
            let all = prompt.list.iter().cloned();
            all.map(|message| PromptMessage { calls: vec!["c7".to_owned(), message.id.clone()], ..message }).collect()
        };
        let (one, other) = (again(&prompt(&notation)), again(&prompt(&other)));
        let cut = cut.min(one.len());
        let mut grown: PromptMessages = one.iter().take(cut).chain(&other).cloned().collect();
        grown.truncate(cut);
        for message in one.iter().skip(cut) {
            grown.push(message.clone());
        }
        prop_assert_eq!(fold(&grown, &finished), fold(&one.into_iter().collect(), &finished));
    }

    /// Folded messages stay folded while the session grows, and the user's messages are
    /// always kept.
    #[test]
    fn folding_only_ever_grows(
        kinds in proptest::collection::vec(prop_oneof![1 => Just('P'), 1 => Just('h'), 6 => Just('m')], 1..40),
        spans in proptest::collection::vec((0..40usize, 0..40usize, any::<bool>()), 0..8),
        cut in 0..40usize,
    ) {
        let notation: String = kinds.iter().collect();
        let all = prompt(&notation);
        let finished: Vec<Finished> = spans
            .iter()
            .map(|(one, other, after_prompt)| Finished {
                after_prompt: *after_prompt,
                ..messages(&one.min(other).to_string(), &one.max(other).to_string())
            })
            .collect();
        let later = ids(&all, &finished);
        let mut cut_short = all.clone();
        cut_short.truncate(cut);
        for id in ids(&cut_short, &finished) {
            prop_assert!(later.contains(&id));
        }
        for message in all.list.iter().filter(|message| message.kind == MessageKind::Person) {
            prop_assert!(!later.contains(&message.id));
        }
    }
}
