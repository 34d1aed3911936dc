//! Conversations in a line: `P` a person's message, `h` the host's, `m` the model's, `S` a summary.

use proptest::prelude::*;

use super::*;

/// Messages named by their place from 1, each at that second.
fn leaves(notation: &str) -> Vec<Leaf> {
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

fn dropped(notation: &str, finished: &[Finished]) -> String {
    fold(&leaves(notation), finished).dropped.join(" ")
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
    let folding = fold(&leaves("PmmmmPm"), &[ended]);
    assert_eq!(folding.dropped, ["2", "3", "4"]);
    assert_eq!(folding.untold, [(frame(1), "5".to_owned())]);
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
    let folding = fold(&leaves("PmmmmmPm"), &[outside, other]);
    assert_eq!(folding.dropped, ["2", "3", "4", "5"]);
    assert_eq!(folding.untold, [(frame(1), "6".to_owned())]);
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

proptest! {
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
        let earlier = fold(&all[..cut.min(all.len())], &finished);
        let later = fold(&all, &finished);
        for id in &earlier.dropped {
            prop_assert!(later.dropped.contains(id));
        }
        for leaf in all.iter().filter(|leaf| leaf.kind == LeafKind::Person) {
            prop_assert!(!later.dropped.contains(&leaf.id));
        }
    }
}
