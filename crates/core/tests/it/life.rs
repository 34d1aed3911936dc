//! Laws of the state machine over recorded streams of signals: in any order, doubled, with gaps.

use flamestack_core::Author;
use flamestack_core::compaction::{Checkpoint, CompactionKind};
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Seq, SessionRef, Timestamp};
use flamestack_core::session::checkpoint::{
    CallOutcome, CallStart, InterruptionCause, ProcessIdentity,
};
use flamestack_core::session::life::{CUT_OFF, Life, Transition};
use flamestack_core::session::link::Creation;
use flamestack_core::session::state::{SessionState, SessionState as S, Signal};
use flamestack_core::session::status::Thresholds;
use flamestack_core::subagent::{EndedBy, SubagentEnd, SubagentStart};
use flamestack_core::text::{Text, Title};
use flamestack_core::transcript::{CallKind, Usage};
use flamestack_testkit::Tree;
use proptest::prelude::*;

fn me() -> SessionRef {
    "opencode:me".parse().unwrap()
}

fn parent() -> SessionRef {
    "opencode:parent".parse().unwrap()
}

fn text(words: &str) -> Text {
    Text::new(words).unwrap()
}

fn opened() -> Event {
    Event::SessionOpened {
        session: me(),
        worktree: None,
    }
}

fn prompted() -> Event {
    Event::SessionPrompted {
        session: me(),
        queued: None,
    }
}

fn turned() -> Event {
    Event::TurnEnded {
        session: me(),
        said: None,
    }
}

fn failed() -> Event {
    Event::TurnEnded {
        session: me(),
        said: Some(text("Ended by an error: overloaded")),
    }
}

fn interrupted(cause: InterruptionCause) -> Event {
    Event::SessionInterrupted {
        session: me(),
        how: None,
        cause,
    }
}

fn aborted() -> Event {
    interrupted(InterruptionCause::Abort)
}

fn spent(output: u64) -> Event {
    Event::SessionSpent {
        session: me(),
        usage: Usage {
            output,
            ..Usage::default()
        },
    }
}

fn call(kind: CallKind, path: &str) -> Event {
    Event::CallBegun(Box::new(CallStart {
        call: format!("call {path}"),
        tool: "tool".to_owned(),
        kind,
        input: "{}".to_owned(),
        paths: vec![path.to_owned()],
    }))
}

fn answer(path: &str, outcome: CallOutcome) -> Event {
    Event::CallEnded {
        call: format!("call {path}"),
        outcome,
    }
}

fn waiting(on: Option<&str>) -> Event {
    Event::SessionWaiting {
        session: me(),
        on: on.map(text),
    }
}

fn compacting() -> Event {
    Event::CompactionBegun(Box::new(Checkpoint {
        kind: CompactionKind::Manual,
        frame: None,
        tokens: None,
        anchors: Vec::new(),
    }))
}

fn compacted() -> Event {
    Event::SessionCompacted {
        session: me(),
        automatic: false,
        tokens_before: None,
    }
}

fn child_started(child: &SessionRef, parent: &SessionRef) -> Event {
    Event::SubagentStarted(Box::new(SubagentStart {
        session: child.clone(),
        parent: Some(parent.clone()),
        goal: Title::new("Look").unwrap(),
        kind: None,
        task: None,
    }))
}

fn child_ended(child: &SessionRef, end: SubagentEnd) -> Event {
    Event::SubagentEnded {
        session: child.clone(),
        end,
        output: None,
        ended_by: EndedBy::Host,
    }
}

fn recorded(seq: i64, event: Event) -> Recorded {
    Recorded {
        seq: Seq(seq),
        batch: Seq(seq),
        at: Timestamp(seq * 1000),
        session: me(),
        message: Some(format!("msg_{seq}")),
        by: Author::Agent,
        event,
    }
}

fn folded(events: &[Event]) -> (Life, Vec<Transition>) {
    let mut known = None;
    let mut history = Vec::new();
    for (seq, event) in (1..).zip(events) {
        let recorded = recorded(seq, event.clone());
        if Life::concerned(&recorded).is_some() {
            let (life, changes) = Life::after(known.take(), &me(), &recorded);
            known = Some(life);
            history.extend(changes);
        }
    }
    (known.unwrap(), history)
}

fn state(events: &[Event]) -> SessionState {
    folded(events).0.state
}

/// A recorded stream: what came in order, what may come in any order, and the state after both.
struct Stream {
    head: Vec<Event>,
    tail: Vec<Event>,
    end: SessionState,
}

/// Streams as OpenCode sends them.
fn streams() -> Vec<Stream> {
    let at_work = || vec![opened(), prompted(), call(CallKind::Execute, "a")];
    let stream = |head: Vec<Event>, tail: Vec<Event>, end| Stream { head, tail, end };
    vec![
        stream(
            at_work(),
            vec![answer("a", CallOutcome::Done), spent(9), turned(), turned()],
            SessionState::BetweenTurn,
        ),
        // A stop: an error of the session, idle, the message with the error, idle again.
        stream(
            at_work(),
            vec![
                aborted(),
                turned(),
                spent(0),
                answer("a", CallOutcome::Cut),
                turned(),
            ],
            SessionState::Interrupted,
        ),
        stream(
            at_work(),
            vec![failed(), turned(), spent(0)],
            SessionState::Failed,
        ),
        stream(
            at_work(),
            vec![failed(), aborted(), turned()],
            SessionState::Interrupted,
        ),
        stream(
            at_work(),
            vec![
                child_ended(&me(), SubagentEnd::Done),
                turned(),
                spent(4),
                failed(),
            ],
            SessionState::Completed,
        ),
        // The answer may be lost.
        stream(
            vec![opened(), prompted(), waiting(Some("bash rm"))],
            vec![turned(), spent(1)],
            SessionState::BetweenTurn,
        ),
        stream(
            at_work(),
            vec![
                interrupted(InterruptionCause::Crash),
                interrupted(InterruptionCause::Kill),
            ],
            SessionState::Interrupted,
        ),
        stream(
            vec![opened(), prompted(), turned(), compacting()],
            vec![compacted(), compacted()],
            SessionState::Compacted,
        ),
    ]
}

fn chained(life: &Life, history: &[Transition]) {
    for pair in history.windows(2) {
        assert_eq!(pair[1].from, Some(pair[0].to));
        assert!(pair[0].seq <= pair[1].seq);
        assert_ne!(pair[1].from, Some(pair[1].to));
        assert!(!pair[1].why().is_empty());
    }
    assert_eq!(history.last(), Some(&life.last));
    assert_eq!(life.transitions, history.len() as u64);
    assert_eq!(life.state, life.last.to);
}

/// All kinds of events that are signals, and some that are not.
fn any_event() -> impl Strategy<Value = Event> {
    let other: SessionRef = "opencode:other".parse().unwrap();
    let all = vec![
        opened(),
        prompted(),
        turned(),
        failed(),
        aborted(),
        interrupted(InterruptionCause::Kill),
        interrupted(InterruptionCause::Crash),
        interrupted(InterruptionCause::Failure),
        spent(0),
        spent(3),
        call(CallKind::Edit, "a.rs"),
        call(CallKind::Read, "b.rs"),
        answer("a.rs", CallOutcome::Done),
        answer("b.rs", CallOutcome::Cut),
        answer("c.rs", CallOutcome::Refused),
        waiting(Some("answer")),
        waiting(None),
        compacting(),
        compacted(),
        child_started(&me(), &parent()),
        child_started(&other, &me()),
        child_ended(&me(), SubagentEnd::Done),
        child_ended(&me(), SubagentEnd::Failed),
        child_ended(&other, SubagentEnd::Aborted),
        Event::SessionClosed {
            session: me(),
            why: None,
        },
        Event::SessionDescribed(Box::default()),
        Event::SessionFocused {
            session: me(),
            from: None,
            to: None,
        },
    ];
    proptest::sample::select(all)
}

proptest! {
    #[test]
    fn streams_end_in_the_same_state_in_any_order_doubled_and_with_gaps(
        which in 0..8_usize,
        seed in proptest::collection::vec(any::<u16>(), 20),
        copies in proptest::collection::vec(1..4_usize, 8),
    ) {
        let Stream { head, tail, end } = streams().remove(which);
        let doubled = tail.iter().zip(&copies).flat_map(|(event, n)| vec![event.clone(); *n]);
        let mut keyed: Vec<(u16, Event)> = seed.iter().copied().cycle().zip(doubled).collect();
        keyed.sort_by_key(|(key, _)| *key);
        let tail = keyed.into_iter().map(|(_, event)| event);
        let events: Vec<Event> = head.into_iter().chain(tail).collect();
        let (life, history) = folded(&events);
        prop_assert_eq!(life.state, end);
        chained(&life, &history);
        // The next prompt gets every one of them going.
        let again: Vec<Event> = events.into_iter().chain([prompted()]).collect();
        prop_assert_eq!(state(&again), SessionState::Executing);
    }

    #[test]
    fn any_stream_folds_into_a_connected_history(
        events in proptest::collection::vec(any_event(), 1..60),
        doubled in any::<prop::sample::Index>(),
    ) {
        let mut events = events;
        events.insert(0, opened());
        let (life, history) = folded(&events);
        chained(&life, &history);
        // A signal that comes twice in a row is one signal.
        let place = doubled.index(events.len());
        let copy = events[place].clone();
        events.insert(place, copy);
        let states = |history: &[Transition]| history.iter().map(|one| one.to).collect::<Vec<_>>();
        prop_assert_eq!(states(&folded(&events).1), states(&history));
    }

    #[test]
    fn a_lost_signal_is_made_up_for_by_the_next_turn(
        events in proptest::collection::vec(any_event(), 0..30),
    ) {
        let turn = [prompted(), turned(), aborted(), prompted(), turned()];
        let events: Vec<Event> = [opened()].into_iter().chain(events).chain(turn).collect();
        prop_assert_eq!(state(&events), SessionState::BetweenTurn);
    }

    #[test]
    fn a_tree_in_memory_has_the_same_lives(
        events in proptest::collection::vec(any_event(), 1..40),
    ) {
        let events = [vec![opened()], events].concat();
        let tree = Tree::fold((1..).zip(&events).map(|(seq, event)| recorded(seq, event.clone())));
        for life in tree.lives().values() {
            chained(life, tree.transitions(&life.session));
        }
    }
}

#[test]
fn a_session_goes_through_the_five_states_of_the_seed() {
    let events = [
        opened(),
        prompted(),
        turned(),
        compacting(),
        compacted(),
        prompted(),
        aborted(),
    ];
    let states: Vec<SessionState> = folded(&events).1.iter().map(|one| one.to).collect();
    assert_eq!(
        states,
        [
            S::Beginning,
            S::Executing,
            S::BetweenTurn,
            S::Compacting,
            S::Compacted,
            S::Executing,
            S::Interrupted
        ]
    );
    let created = Event::SessionCreated(Box::new(Creation {
        session: me(),
        purpose: text("Review the parser"),
        agent: None,
        phase: None,
        from: None,
        frame: None,
    }));
    let (life, _) = folded(&[created]);
    assert_eq!(
        (life.state, life.last.from),
        (S::Custom, Some(S::Beginning))
    );
    assert_eq!(
        life.last.why(),
        "a command made the session: Review the parser"
    );
}

#[test]
fn a_compaction_that_the_user_asked_for_leaves_the_session_compacted() {
    let asked = [
        opened(),
        prompted(),
        turned(),
        compacting(),
        spent(5),
        compacted(),
        turned(),
    ];
    assert_eq!(state(&asked), SessionState::Compacted);
    let automatic = [
        opened(),
        prompted(),
        compacting(),
        compacted(),
        spent(5),
        turned(),
    ];
    assert_eq!(state(&automatic), SessionState::BetweenTurn);
}

#[test]
fn calls_are_in_flight_until_they_end_and_those_cut_off_stay_unknown() {
    let events = [
        opened(),
        prompted(),
        call(CallKind::Edit, "a.rs"),
        call(CallKind::Edit, "a.rs"),
        answer("a.rs", CallOutcome::Done),
        call(CallKind::Write, "b.rs"),
        call(CallKind::Execute, "make"),
        answer("make", CallOutcome::Cut),
        aborted(),
    ];
    let (life, _) = folded(&events);
    let open: Vec<(&str, bool)> = life
        .calls
        .iter()
        .map(|call| (call.start.call.as_str(), call.cut))
        .collect();
    assert_eq!(open, [("call b.rs", false), ("call make", true)]);
    assert_eq!(life.touched, ["a.rs", "b.rs"]);
    assert_eq!(
        (life.metrics.calls, life.metrics.first_tool.as_deref()),
        (3, Some("tool"))
    );
    let (life, _) = folded(&[&events[..], &[prompted()]].concat());
    assert!(life.calls.is_empty() && life.touched.is_empty());
}

#[test]
fn a_prompt_that_comes_during_a_turn_is_queued_until_the_model_has_seen_it() {
    let queued = Event::SessionPrompted {
        session: me(),
        queued: Some(text("and the tests")),
    };
    let busy = [opened(), prompted(), queued.clone(), spent(7)];
    let (life, _) = folded(&busy);
    assert_eq!(life.queued.len(), 1);
    assert_eq!(life.queued[0].words.as_str(), "and the tests");
    let (life, _) = folded(&[&busy[..], &[spent(7)]].concat());
    assert!(life.queued.is_empty());
    // A stop keeps it: it was neither seen nor dropped.
    let (life, _) = folded(&[&busy[..], &[aborted(), turned()]].concat());
    assert_eq!(life.queued.len(), 1);
}

#[test]
fn a_parent_waits_until_its_last_child_has_ended() {
    let (a, b): (SessionRef, SessionRef) =
        ("opencode:a".parse().unwrap(), "opencode:b".parse().unwrap());
    let mut events = vec![
        opened(),
        prompted(),
        child_started(&a, &me()),
        child_started(&b, &me()),
    ];
    let fold = |events: &[Event]| {
        let tree = Tree::fold(
            (1..)
                .zip(events)
                .map(|(seq, event)| recorded(seq, event.clone())),
        );
        (tree.lives()[&me()].state, tree.lives()[&a].state)
    };
    assert_eq!(
        fold(&events),
        (SessionState::WaitingChild, SessionState::Executing)
    );
    events.push(child_ended(&a, SubagentEnd::Done));
    assert_eq!(
        fold(&events),
        (SessionState::WaitingChild, SessionState::Completed)
    );
    events.push(child_ended(&b, SubagentEnd::Failed));
    assert_eq!(fold(&events).0, SessionState::Executing);
}

#[test]
fn silence_makes_a_session_idle_and_stale_without_a_record() {
    let thresholds = Thresholds::default();
    let at = |events: &[Event], after: i64| {
        let (life, _) = folded(events);
        let now = Timestamp(life.times.active.0 + after);
        life.status(now, &thresholds)
    };
    let rest = [opened(), prompted(), turned()];
    assert_eq!(at(&rest, 0).state, SessionState::BetweenTurn);
    let idle = at(&rest, thresholds.cold_after);
    assert_eq!(
        (idle.state, idle.previous),
        (SessionState::Idle, Some(SessionState::BetweenTurn))
    );
    assert_eq!(idle.since, Timestamp(3000 + thresholds.cold_after));
    assert_eq!(at(&rest, thresholds.stale_after).state, SessionState::Stale);
    // An interruption stays one, however old, and a turn whose process is known does not get stale.
    let stopped = at(&[opened(), prompted(), aborted()], thresholds.stale_after);
    assert_eq!(stopped.state, SessionState::Interrupted);
    assert!(stopped.is_stale && stopped.is_cold);
    let hosted = Event::SessionHosted(ProcessIdentity {
        pid: 7,
        started: "1".to_owned(),
        boot: "b".to_owned(),
    });
    let long = [opened(), hosted, prompted()];
    assert_eq!(
        at(&long, thresholds.stale_after).state,
        SessionState::Executing
    );
    assert_eq!(
        at(&[opened(), prompted()], thresholds.stale_after).state,
        SessionState::Stale
    );
}

#[test]
fn old_journals_tell_a_cut_off_and_a_deletion_by_their_words() {
    let how = |words: &str| Event::SessionInterrupted {
        session: me(),
        how: Some(text(words)),
        cause: InterruptionCause::Abort,
    };
    let (life, _) = folded(&[opened(), prompted(), how(CUT_OFF)]);
    assert_eq!(life.last.signal, Signal::Crashed);
    let (life, _) = folded(&[opened(), prompted(), how("the session was deleted")]);
    assert_eq!(life.state, SessionState::Closed);
}

#[test]
fn a_subagent_that_ends_with_its_parents_call_was_not_stopped_by_the_user() {
    let ended = [
        child_started(&me(), &parent()),
        prompted(),
        child_ended(&me(), SubagentEnd::Aborted),
    ];
    let (life, _) = folded(&ended);
    assert_eq!(life.last.why(), "the call of its parent ended");
    let stopped = [child_started(&me(), &parent()), prompted(), aborted()];
    assert_eq!(folded(&stopped).0.last.why(), "the user stopped the turn");
}
