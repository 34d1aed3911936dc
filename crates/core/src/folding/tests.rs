//! Conversations in a line: `P` a person's message, `h` the host's, `m` the model's, `S` a summary.

use proptest::prelude::*;

use super::*;

/// Messages named by their place from 1, each at that second.
fn leaves(notation: &str) -> Leaves {
    (1..)
        .zip(notation.chars())
        .map(|(place, kind)| Leaf {
            id: place.to_string(),
            at: Some(Timestamp(place * 1000)),
            kind: match kind {
                'P' => LeafKind::Person,
                'h' => LeafKind::Host,
                'S' => LeafKind::Summary,
                _ => LeafKind::Model,
            },
            calls: vec![format!("c{place}")],
        })
        .collect()
}

fn frame(n: u64) -> FrameId {
    FrameId::from_entropy(n)
}

fn spanning(begun: Edge, ended: Edge) -> Finished {
    Finished {
        frame: frame(1),
        told: !matches!(ended, Edge::Moment(_)),
        begun,
        ended,
        patient: false,
    }
}

fn messages(begun: &str, ended: &str) -> Finished {
    spanning(Edge::recorded(begun), Edge::recorded(ended))
}

fn ids(leaves: &Leaves, finished: &[Finished]) -> Vec<String> {
    let folding = fold(leaves, finished);
    folding
        .dropped(leaves)
        .map(|leaf| leaf.id.clone())
        .collect()
}

fn dropped(notation: &str, finished: &[Finished]) -> String {
    ids(&leaves(notation), finished).join(" ")
}

#[test]
fn what_lies_between_push_and_pop_leaves_the_prompt() {
    assert_eq!(dropped("Pmmmmm", &[messages("2", "5")]), "3 4");
    assert_eq!(dropped("Pmm", &[messages("2", "3")]), "", "nothing between");
    assert_eq!(dropped("Pmm", &[messages("2", "2")]), "", "in one message");
    assert_eq!(dropped("Pmm", &[messages("3", "2")]), "", "backwards");
}

#[test]
fn what_a_person_said_stays() {
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
        Edge::recorded(&Edge::in_call("c2")),
        Edge::Call("c2".to_owned())
    );
    assert_eq!(dropped("Pmmmmm", &[messages("call:c2", "call:c5")]), "3 4");
}

#[test]
fn a_span_that_began_before_a_summary_begins_behind_it() {
    assert_eq!(dropped("hSmmmm", &[messages("gone", "5")]), "3 4");
    assert_eq!(dropped("hSmmmm", &[messages("gone", "gone too")]), "");
    assert_eq!(dropped("Pmmmmm", &[messages("elsewhere", "5")]), "");
}

#[test]
fn an_end_from_outside_waits_for_the_user_and_tells_the_results() {
    let moment = |second: i64| Edge::Moment(Timestamp(second * 1000 + 500));
    let ended = spanning(moment(1), moment(4));
    assert_eq!(
        fold(&leaves("Pmmmm"), std::slice::from_ref(&ended)),
        Folding::default(),
        "the turn is not over"
    );
    let ended = [ended];
    assert_eq!(dropped("PmmmmPm", &ended), "2 3 4");
    assert_eq!(fold(&leaves("PmmmmPm"), &ended).untold, [(frame(1), 4)]);
}

#[test]
fn results_that_belong_in_front_of_a_dropped_message_move_on() {
    let outside = Finished {
        ended: Edge::Moment(Timestamp(3500)),
        told: false,
        ..messages("1", "x")
    };
    let other = Finished {
        frame: frame(2),
        ..messages("3", "6")
    };
    let finished = [outside, other];
    assert_eq!(dropped("PmmmmmPm", &finished), "2 3 4 5");
    assert_eq!(fold(&leaves("PmmmmmPm"), &finished).untold, [(frame(1), 5)]);
}

#[test]
fn patient_frames_wait_for_the_next_prompt() {
    let patient = Finished {
        patient: true,
        ..messages("2", "5")
    };
    assert_eq!(dropped("Pmmmmm", std::slice::from_ref(&patient)), "");
    assert_eq!(dropped("PmmmmmP", &[patient]), "3 4");
}

/// A conversation and spans in it, of all sorts.
fn any_story() -> impl Strategy<Value = (String, Vec<Finished>)> {
    let kind = prop_oneof![2 => Just('P'), 1 => Just('h'), 1 => Just('S'), 8 => Just('m')];
    let edge = (0..40i64, 0..4).prop_map(|(place, sort)| match sort {
        0 => Edge::Moment(Timestamp(place * 1000 + 500)),
        1 => Edge::Call(format!("c{place}")),
        _ => Edge::Message(place.to_string()),
    });
    let span = (edge.clone(), edge, any::<bool>(), any::<bool>(), 0..9u64);
    let finished = span.prop_map(|(begun, ended, told, patient, name)| Finished {
        frame: frame(name),
        begun,
        ended,
        told,
        patient,
    });
    (
        proptest::collection::vec(kind, 1..40).prop_map(String::from_iter),
        proptest::collection::vec(finished, 0..8),
    )
}

/// What folding means, message by message.
fn by_the_letter(leaves: &Leaves, finished: &[Finished]) -> (Vec<usize>, Vec<(FrameId, usize)>) {
    let mut gone = std::collections::BTreeSet::new();
    let mut untold = Vec::new();
    for frame in finished {
        let Some(span) = leaves.between(frame) else {
            continue;
        };
        let next = span.end;
        let before = gone.len();
        gone.extend(span.filter(|place| leaves.get(*place).is_some_and(Leaf::can_leave)));
        if !frame.told && gone.len() > before {
            untold.push((frame.frame.clone(), next));
        }
    }
    let mut told = Vec::new();
    for (frame, next) in untold {
        let place = (next..leaves.len()).find(|place| !gone.contains(place));
        told.extend(place.map(|place| (frame, place)));
    }
    (gone.into_iter().collect(), told)
}

proptest! {
    #[test]
    fn stretches_say_what_folding_means((notation, finished) in any_story()) {
        let leaves = leaves(&notation);
        let folding = fold(&leaves, &finished);
        let (gone, untold) = by_the_letter(&leaves, &finished);
        let gone: Vec<String> = gone.iter().map(|place| (place + 1).to_string()).collect();
        prop_assert_eq!(ids(&leaves, &finished), gone);
        prop_assert_eq!(folding.untold, untold);
        for pair in folding.stretches.windows(2) {
            prop_assert!(pair[0].end < pair[1].start);
        }
    }

    /// A conversation that was cut back and has grown again is like one that never was.
    #[test]
    fn what_was_cut_off_is_forgotten(
        (notation, finished) in any_story(),
        (other, _) in any_story(),
        cut in 0..40usize,
    ) {
        // A call's name that is used again and again.
        let again = |leaves: &Leaves| -> Vec<Leaf> {
            let all = leaves.list.iter().cloned();
            all.map(|leaf| Leaf { calls: vec!["c7".to_owned(), leaf.id.clone()], ..leaf }).collect()
        };
        let (one, other) = (again(&leaves(&notation)), again(&leaves(&other)));
        let cut = cut.min(one.len());
        let mut grown: Leaves = one.iter().take(cut).chain(&other).cloned().collect();
        grown.truncate(cut);
        for leaf in one.iter().skip(cut) {
            grown.push(leaf.clone());
        }
        prop_assert_eq!(fold(&grown, &finished), fold(&one.into_iter().collect(), &finished));
    }

    /// What was folded stays folded while the conversation only grows, and what a person said is
    /// always there.
    #[test]
    fn folding_only_ever_grows(
        kinds in proptest::collection::vec(prop_oneof![1 => Just('P'), 1 => Just('h'), 6 => Just('m')], 1..40),
        spans in proptest::collection::vec((0..40usize, 0..40usize, any::<bool>()), 0..8),
        cut in 0..40usize,
    ) {
        let notation: String = kinds.iter().collect();
        let all = leaves(&notation);
        let finished: Vec<Finished> = spans
            .iter()
            .map(|(one, other, patient)| Finished {
                patient: *patient,
                ..messages(&one.min(other).to_string(), &one.max(other).to_string())
            })
            .collect();
        let later = ids(&all, &finished);
        let mut cut_short = all.clone();
        cut_short.truncate(cut);
        for id in ids(&cut_short, &finished) {
            prop_assert!(later.contains(&id));
        }
        for leaf in all.list.iter().filter(|leaf| leaf.kind == LeafKind::Person) {
            prop_assert!(!later.contains(&leaf.id));
        }
    }
}
