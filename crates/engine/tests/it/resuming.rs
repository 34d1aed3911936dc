//! Sessions that continue: after a crash, by hand-off, or as a new one beside work that was left open.

use flamestack_brief::workflow::Workflows;
use flamestack_core::session::checkpoint::ProcessIdentity;
use flamestack_core::session::link::LinkKind;
use flamestack_core::session::state::SessionState;
use flamestack_core::transcript::{Call, CallKind, Entry, EntryKind, Speaker};
use flamestack_engine::hand_off::HandOff;
use flamestack_engine::sessions::process::Processes;
use serde_json::json;

use crate::ground::{Ground, actor, session};

const SESSION: &str = "opencode:ses_1";
const OTHER: &str = "opencode:ses_2";

/// A machine on which no process runs any more.
struct Rebooted;

impl Processes for Rebooted {
    fn identity(&self, _: u64) -> Option<ProcessIdentity> {
        None
    }

    fn boot(&self) -> String {
        "machine second pid:[1]".to_owned()
    }

    fn is_complete(&self) -> bool {
        true
    }
}

fn entry(id: &str, kind: EntryKind) -> Entry {
    Entry {
        id: Some(id.to_owned()),
        message: Some(format!("msg_{id}")),
        ..Entry::from(kind)
    }
}

fn user(id: &str, text: &str) -> Entry {
    let (speaker, text) = (Speaker::Person, text.to_owned());
    entry(id, EntryKind::User { speaker, text })
}

fn publishing() -> Entry {
    entry(
        "call",
        EntryKind::Begun(Call {
            id: "call".to_owned(),
            tool: "bash".to_owned(),
            kind: CallKind::Execute,
            arguments: "{}".to_owned(),
            paths: Vec::new(),
            command: Some(
                "npm publish --token=ghp_0123456789abcdefghijABCDEFGHIJ012345".to_owned(),
            ),
        }),
    )
}

/// A session that is cut off in a call.
fn cut_off() -> Ground {
    let ground = Ground::new();
    let acting = actor(SESSION);
    ground
        .engine
        .ingest(&acting, &[user("1", "Publish the package to the registry")])
        .unwrap();
    let process = ProcessIdentity {
        pid: 7,
        started: "1".to_owned(),
        boot: "machine first pid:[1]".to_owned(),
    };
    ground.engine.sessions().host(&acting, &process).unwrap();
    ground.engine.ingest(&acting, &[publishing()]).unwrap();
    let lost = ground.engine.sessions().reconcile(&Rebooted).unwrap();
    assert_eq!(lost, [session(SESSION)]);
    ground
}

#[test]
fn the_next_message_says_what_was_in_flight_once() {
    let ground = cut_off();
    let acting = actor(SESSION);
    let notice = ground.engine.resume_notice(&acting).unwrap().unwrap();
    assert!(
        notice.starts_with("<stack-update after=\"resume\">"),
        "{notice}"
    );
    assert!(
        notice.contains("Outcome unknown, verify first: bash `npm publish"),
        "{notice}"
    );
    assert!(!notice.contains("ghp_0123"), "{notice}");
    assert!(notice.contains("The user's message decides"), "{notice}");
    ground
        .engine
        .ingest(&acting, &[user("2", "Go on")])
        .unwrap();
    assert_eq!(ground.engine.resume_notice(&acting).unwrap(), None);
    let state = ground
        .engine
        .resumption(&session(SESSION))
        .unwrap()
        .unwrap();
    assert_eq!(state.session.activity.resumes, 1);
}

#[test]
fn a_turn_that_an_error_ended_leaves_its_open_ends() {
    let ground = Ground::new();
    let acting = actor(SESSION);
    let sees = |entries: &[Entry]| ground.engine.ingest(&acting, entries).unwrap();
    sees(&[user("1", "Publish the package to the registry")]);
    sees(&[publishing()]);
    let why = "APIError: no credit".to_owned();
    sees(&[entry("2", EntryKind::Failed { why })]);
    let notice = ground.engine.resume_notice(&acting).unwrap().unwrap();
    assert!(notice.contains("an error ended it"), "{notice}");
    assert!(
        notice.contains("Outcome unknown, verify first: bash"),
        "{notice}"
    );
    let state = ground.engine.resumption(&session(SESSION)).unwrap();
    assert!(!state.unwrap().is_cut_off());
    // Without anything open there is nothing to say.
    sees(&[user("3", "Go on")]);
    let why = "APIError: no credit".to_owned();
    sees(&[entry("4", EntryKind::Failed { why })]);
    assert_eq!(ground.engine.resume_notice(&acting).unwrap(), None);
}

#[test]
fn nothing_is_continued_unless_the_user_has_set_so() {
    let ground = cut_off();
    assert_eq!(ground.engine.begin_resume(&actor(SESSION)).unwrap(), None);
    let cut = ground.engine.cut_off_sessions("opencode", None).unwrap();
    assert_eq!(cut, [session(SESSION)]);
    assert!(
        ground
            .engine
            .cut_off_sessions("codex", None)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn work_goes_on_in_another_session_of_the_project() {
    let ground = cut_off();
    let workflows = Workflows::default();
    let work = ground
        .engine
        .hand_off(&session(SESSION), &workflows, 2_000)
        .unwrap()
        .unwrap();
    let text = work.to_markdown();
    assert!(
        text.contains("# Publish the package to the registry"),
        "{text}"
    );
    assert!(text.contains("Outcome unknown, verify first"), "{text}");
    assert!(!text.contains("ghp_0123"), "{text}");
    let read = HandOff::parse(&text).unwrap();
    let taken = ground.engine.take_over(&actor(OTHER), &read).unwrap();
    assert_eq!(
        (Some(taken.frame), taken.is_new, taken.is_linked),
        (work.frame, false, true)
    );
    let links = ground
        .engine
        .read(|reading| Ok(reading.all_links()?))
        .unwrap();
    let link = links.first().unwrap();
    assert_eq!(
        (link.session.clone(), link.kind, link.to.clone()),
        (session(SESSION), LinkKind::HandOff, session(OTHER))
    );
    let active = ground
        .engine
        .session(&session(OTHER))
        .unwrap()
        .unwrap()
        .active;
    assert_eq!(active, Some(taken.frame));
}

#[test]
fn work_goes_on_in_another_project_with_its_state() {
    let ground = cut_off();
    let workflows = Workflows::default();
    let work = ground
        .engine
        .hand_off(&session(SESSION), &workflows, 2_000)
        .unwrap()
        .unwrap();
    let elsewhere = Ground::new();
    let taken = elsewhere.engine.take_over(&actor(OTHER), &work).unwrap();
    assert!(taken.is_new && !taken.is_linked);
    let frame = elsewhere
        .engine
        .read(|reading| Ok(reading.whole_frame(&taken.frame)?))
        .unwrap()
        .unwrap();
    assert_eq!(frame.title.as_str(), "Publish the package to the registry");
    let criteria = frame.criteria.unwrap();
    assert!(
        criteria.as_str().contains("handed off by opencode:ses_1"),
        "{criteria}"
    );
}

#[test]
fn a_new_session_learns_of_open_work_that_it_is_about() {
    let ground = cut_off();
    for decision in ["npm first", "no prerelease", "sign it", "two factors"] {
        let arguments = json!({ "decision": decision });
        ground.tool(SESSION, "stack_add_decision", arguments);
    }
    let of = |prompt: &str| ground.engine.left_open(&session(OTHER), prompt).unwrap();
    let text = of("Can you publish the package again?").unwrap();
    assert!(
        text.contains("Publish the package to the registry"),
        "{text}"
    );
    assert!(text.starts_with("<stack-update after=\"start\">"), "{text}");
    assert!(
        text.contains(
            "  decided: no prerelease\n  decided: sign it\n  decided: two factors\n  and 2 more;"
        ),
        "{text}"
    );
    assert_eq!(of("Write a poem about the sea"), None);
    // The session itself, and one that has begun, learn nothing.
    let own = ground
        .engine
        .left_open(&session(SESSION), "publish the package");
    assert_eq!(own.unwrap(), None);
    let life = ground
        .engine
        .read(|reading| Ok(reading.life(&session(SESSION))?));
    assert_eq!(life.unwrap().unwrap().state, SessionState::Interrupted);
}
