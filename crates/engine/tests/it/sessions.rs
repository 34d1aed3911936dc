//! Sessions through the engine: states of a live session, interruptions, levels, orphans.

use flamestack_core::delegation::DelegationVerdict;
use flamestack_core::delivery::HeaderReason;
use flamestack_core::session::checkpoint::ProcessIdentity;
use flamestack_core::session::forest::CleanupAction;
use flamestack_core::session::link::LinkKind;
use flamestack_core::session::state::SessionState;
use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Speaker, Usage};
use flamestack_engine::IngestOptions;
use flamestack_engine::context::ContextOptions;
use flamestack_engine::sessions::process::Processes;
use flamestack_engine::sessions::{NewSession, json};
use serde_json::{Value, json};

use crate::ground::{Ground, actor, session};

const SESSION: &str = "opencode:ses_1";
const BOOT: &str = "machine boot pid:[1]";

fn entry(id: &str, kind: EntryKind) -> Entry {
    Entry {
        id: Some(id.to_owned()),
        message: Some(format!("msg_{id}")),
        at: None,
        agent: None,
        kind,
    }
}

fn user(id: &str, text: &str) -> Entry {
    let speaker = Speaker::Person;
    let text = text.to_owned();
    entry(id, EntryKind::User { speaker, text })
}

fn edit(id: &str, path: &str) -> Call {
    Call {
        id: id.to_owned(),
        tool: "edit".to_owned(),
        kind: CallKind::Edit,
        arguments: json!({ "filePath": path }).to_string(),
        paths: vec![path.to_owned()],
        command: None,
    }
}

fn answer(id: &str, ok: bool, text: &str) -> Entry {
    entry(
        id,
        EntryKind::Answer(Answer {
            call: id.to_owned(),
            ok,
            exit_code: None,
            text: text.to_owned(),
        }),
    )
}

fn start(child: &str, id: &str) -> Entry {
    entry(
        id,
        EntryKind::SubagentStarted {
            id: child.to_owned(),
            call: None,
            kind: Some("general".to_owned()),
            title: "Look".to_owned(),
            prompt: "Look around".to_owned(),
        },
    )
}

fn stop(id: &str) -> Entry {
    let how = "stopped by the user".to_owned();
    entry(id, EntryKind::Interrupted { how })
}

fn waiting(on: Option<&str>) -> Entry {
    let on = on.map(str::to_owned);
    Entry::from(EntryKind::Waiting { on })
}

fn spent(id: &str) -> Entry {
    entry(
        id,
        EntryKind::Usage(Usage {
            output: 7,
            ..Usage::default()
        }),
    )
}

impl Ground {
    fn sees(&self, session: &str, entries: &[Entry]) {
        self.engine.ingest(&actor(session), entries).unwrap();
    }

    fn child_sees(&self, child: &str, parent: &str, entries: &[Entry]) {
        let options = IngestOptions {
            parent: Some(session(parent)),
            keeps_frames: true,
            ..IngestOptions::default()
        };
        self.engine
            .ingest_with(&actor(child), &options, entries)
            .unwrap();
    }

    fn shown(&self, name: &str) -> Value {
        let sessions = self.engine.sessions();
        json::details(&sessions.show(&session(name)).unwrap())
    }

    fn state(&self, name: &str) -> String {
        let shown = self.shown(name);
        shown
            .pointer("/state")
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn history(&self, name: &str) -> Vec<String> {
        let shown = self.shown(name);
        let history = shown.pointer("/stateHistory").unwrap().as_array().unwrap();
        let to = history.iter().map(|change| change.get("to").unwrap());
        to.map(|state| state.as_str().unwrap().to_owned()).collect()
    }

    fn host(&self, name: &str, pid: u64) {
        let process = ProcessIdentity {
            pid,
            started: "100".to_owned(),
            boot: BOOT.to_owned(),
        };
        self.engine.sessions().host(&actor(name), &process).unwrap();
    }
}

/// A machine on which these processes run.
struct Machine(&'static [u64]);

impl Processes for Machine {
    fn identity(&self, pid: u64) -> Option<ProcessIdentity> {
        self.0.contains(&pid).then(|| ProcessIdentity {
            pid,
            started: "100".to_owned(),
            boot: BOOT.to_owned(),
        })
    }

    fn boot(&self) -> String {
        BOOT.to_owned()
    }

    fn is_complete(&self) -> bool {
        true
    }
}

#[test]
fn a_live_session_goes_through_its_states() {
    let ground = Ground::new();
    ground.sees(SESSION, &[user("p1", "Fix the login")]);
    assert_eq!(ground.state(SESSION), "executing");
    ground.sees(SESSION, &[waiting(Some("permission bash"))]);
    assert_eq!(ground.state(SESSION), "waiting_user");
    assert_eq!(
        ground.shown(SESSION)["why"],
        "the user is asked: permission bash"
    );
    ground.sees(SESSION, &[waiting(None)]);
    ground.sees(SESSION, &[spent("s1"), entry("t1", EntryKind::TurnEnded)]);
    // The same again, as a host sends it when it reconnects.
    ground.sees(SESSION, &[spent("s1"), entry("t1", EntryKind::TurnEnded)]);
    assert_eq!(
        ground.history(SESSION),
        [
            "beginning",
            "executing",
            "waiting_user",
            "executing",
            "between_turn"
        ]
    );
    let shown = ground.shown(SESSION);
    assert_eq!(shown["previousState"], "executing");
    assert_eq!(shown["metrics"]["turns"], 1);
    assert_eq!((&shown["level"], &shown["leaf"]), (&json!(1), &json!(true)));
    assert_eq!(shown["frame"], shown["frame"].as_str().unwrap());
}

#[test]
fn a_failed_request_fails_the_turn_and_an_idle_host_does_not_hide_it() {
    let ground = Ground::new();
    let why = "APIError: overloaded".to_owned();
    ground.sees(SESSION, &[user("p1", "Fix it")]);
    ground.sees(SESSION, &[entry("f1", EntryKind::Failed { why })]);
    ground.sees(SESSION, &[entry("t1", EntryKind::TurnEnded)]);
    let shown = ground.shown(SESSION);
    assert_eq!(shown["state"], "failed");
    assert_eq!(
        shown["why"],
        "an error ended the turn: APIError: overloaded"
    );
    assert_eq!(shown["checkpoint"]["cause"], "failure");
    assert_eq!(shown["metrics"]["failures"], 1);
}

#[test]
fn a_stop_leaves_a_checkpoint_with_calls_of_unknown_outcome() {
    let ground = Ground::new();
    ground.sees(SESSION, &[user("p1", "Fix the login")]);
    ground.sees(
        SESSION,
        &[entry("c1", EntryKind::Begun(edit("c1", "src/a.rs")))],
    );
    ground.sees(SESSION, &[answer("c1", true, "done")]);
    let secret = "token ghp_aaaabbbbccccddddeeeeffff000011112222";
    let mut second = edit("c2", "src/b.rs");
    second.arguments = json!({ "filePath": "src/b.rs", "newString": secret }).to_string();
    ground.sees(SESSION, &[entry("c2", EntryKind::Begun(second))]);
    ground.sees(SESSION, &[user("p2", "and the tests")]);
    ground.sees(
        SESSION,
        &[answer("c2", false, "Tool execution aborted"), stop("m1")],
    );
    ground.sees(SESSION, &[entry("t1", EntryKind::TurnEnded)]);
    let shown = ground.shown(SESSION);
    assert_eq!(shown["state"], "interrupted");
    let kept = &shown["checkpoint"];
    assert_eq!(
        (&kept["cause"], &kept["lastMessage"]),
        (&json!("abort"), &json!("msg_m1"))
    );
    assert_eq!(kept["files"], json!(["src/a.rs", "src/b.rs"]));
    let calls = kept["inFlight"].as_array().unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["outcome"], "unknown: verify first");
    assert!(
        calls[0]["check"]
            .as_str()
            .unwrap()
            .contains("git diff -- src/b.rs")
    );
    assert!(!calls[0]["input"].as_str().unwrap().contains("ghp_"));
    assert_eq!(kept["queued"][0]["text"], "and the tests");
    assert_eq!(kept["frame"], shown["frame"]);
    // One interruption is one checkpoint, and the next prompt continues.
    ground.sees(SESSION, &[user("p3", "Go on")]);
    assert_eq!(ground.state(SESSION), "executing");
    assert_eq!(ground.shown(SESSION)["checkpoint"]["at"], kept["at"]);
}

#[test]
fn refused_calls_are_counted_and_not_in_flight() {
    let ground = Ground::new();
    ground.sees(SESSION, &[user("p1", "Fix it")]);
    ground.sees(SESSION, &[entry("c1", EntryKind::Begun(edit("c1", "a")))]);
    let no = "The user rejected permission to use this specific tool call.";
    ground.sees(SESSION, &[answer("c1", false, no)]);
    let shown = ground.shown(SESSION);
    assert_eq!(shown["metrics"]["refusedCalls"], 1);
    assert_eq!(shown["metrics"]["firstTool"], "edit");
    assert_eq!(shown["inFlight"], json!([]));
}

#[test]
fn a_turn_whose_process_is_gone_was_interrupted_and_others_were_not() {
    let ground = Ground::new();
    for (name, pid) in [("opencode:a", 1), ("opencode:b", 2), ("opencode:c", 1)] {
        ground.sees(name, &[user(name, "Work")]);
        ground.host(name, pid);
    }
    ground.sees("opencode:c", &[entry("t", EntryKind::TurnEnded)]);
    ground.sees(
        "opencode:old",
        &[user("o", "No process is known of this one")],
    );
    let sessions = ground.engine.sessions();
    assert_eq!(
        sessions.lost(&Machine(&[2])).unwrap(),
        [session("opencode:a")]
    );
    assert_eq!(
        sessions.reconcile(&Machine(&[2])).unwrap(),
        [session("opencode:a")]
    );
    assert_eq!(sessions.reconcile(&Machine(&[2])).unwrap(), []);
    assert_eq!(ground.state("opencode:a"), "interrupted");
    let shown = ground.shown("opencode:a");
    assert_eq!(shown["checkpoint"]["cause"], "crash");
    assert!(shown["why"].as_str().unwrap().contains("process 1 is gone"));
    assert_eq!(ground.state("opencode:b"), "executing");
    assert_eq!(ground.state("opencode:c"), "between_turn");
    assert_eq!(ground.state("opencode:old"), "executing");
}

#[test]
fn the_end_of_a_process_that_its_sidecar_saw_is_a_kill() {
    let ground = Ground::new();
    ground.sees(SESSION, &[user("p1", "Work")]);
    ground.host(SESSION, 1);
    let process = Machine(&[1]).identity(1).unwrap();
    let ended = ground.engine.sessions().process_ended(&process).unwrap();
    assert_eq!(ended, [session(SESSION)]);
    assert_eq!(ground.shown(SESSION)["checkpoint"]["cause"], "kill");
}

#[test]
fn levels_follow_from_parents_and_a_parent_waits_for_its_child() {
    let ground = Ground::new();
    let (root, child, leaf) = ("opencode:root", "opencode:child", "opencode:leaf");
    ground.sees(root, &[user("p1", "Plan it")]);
    ground.sees(root, &[start("child", "s1")]);
    ground.child_sees(child, root, &[user("p2", "Look around")]);
    ground.child_sees(child, root, &[start("leaf", "s2")]);
    assert_eq!(ground.state(root), "waiting_child");
    assert_eq!(ground.state(child), "waiting_child");
    let levels = [root, child, leaf].map(|name| {
        let shown = ground.shown(name);
        (
            shown["level"].clone(),
            shown["leaf"].clone(),
            shown["addressedBy"].clone(),
        )
    });
    assert_eq!(
        levels,
        [
            (json!(1), json!(false), json!("user")),
            (json!(2), json!(false), json!("parent")),
            (json!(3), json!(true), json!("parent")),
        ]
    );
    assert_eq!(ground.shown(leaf)["ancestors"], json!([child, root]));
    let end = |id: &str, of: &str| {
        entry(
            of,
            EntryKind::SubagentEnded {
                id: id.to_owned(),
                ok: true,
                text: "Found it".to_owned(),
            },
        )
    };
    ground.child_sees(child, root, &[end("leaf", "e2")]);
    ground.sees(root, &[end("child", "e1")]);
    assert_eq!(ground.state(root), "executing");
    assert_eq!(ground.state(child), "completed");
    // Deleting the child orphans nothing that has ended, and the leaf is closed with it.
    let archive = flamestack_core::Command::Archive;
    ground
        .engine
        .commands()
        .run(&actor(child), &archive)
        .unwrap();
    assert_eq!(ground.state(child), "closed");
    let steps = ground.engine.sessions().plan_cleanup().unwrap();
    assert_eq!(steps.len(), 1);
    assert_eq!(steps[0].action, CleanupAction::Close);
    ground
        .engine
        .sessions()
        .apply_cleanup(&actor("shell:main"), &steps)
        .unwrap();
    assert_eq!(ground.state(leaf), "closed");
    assert_eq!(ground.engine.sessions().plan_cleanup().unwrap(), []);
}

#[test]
fn a_made_session_is_custom_until_its_first_prompt() {
    let ground = Ground::new();
    ground.sees(SESSION, &[user("p1", "Plan it")]);
    let new = NewSession {
        purpose: "Review the parser".to_owned(),
        agent: Some("plan".to_owned()),
        phase: Some("design".to_owned()),
        ..NewSession::default()
    };
    let sessions = ground.engine.sessions();
    let made = sessions.create(&actor(SESSION), &new).unwrap();
    assert_eq!(made.host(), "custom");
    let shown = ground.shown(&made.to_string());
    assert_eq!(
        (&shown["state"], &shown["phase"]),
        (&json!("custom"), &json!("design"))
    );
    let link = json!([{ "session": SESSION, "kind": "hand_off", "to": made.to_string() }]);
    assert_eq!(shown["links"], link);
    // A host's session takes it up.
    let taken = "opencode:ses_2";
    sessions.take_up(&actor(taken), &made).unwrap();
    assert_eq!(ground.state(taken), "custom");
    assert_eq!(
        ground.shown(taken)["custom"]["purpose"],
        "Review the parser"
    );
    assert_eq!(ground.state(&made.to_string()), "closed");
    ground.sees(taken, &[user("p2", "Begin")]);
    assert_eq!(ground.state(taken), "executing");
    assert_eq!(ground.shown(taken)["previousState"], "custom");
}

#[test]
fn links_are_made_and_removed_and_loops_are_refused() {
    let ground = Ground::new();
    for name in ["opencode:a", "opencode:b"] {
        ground.sees(name, &[user(name, "Work")]);
    }
    let sessions = ground.engine.sessions();
    let me = actor("shell:main");
    let parent = |of: &str, to: &str| sessions.link(&me, of, LinkKind::Parent, Some(to), false);
    parent("b", "a").unwrap();
    assert_eq!(ground.shown("opencode:b")["level"], 2);
    assert!(parent("b", "a").unwrap().events.is_empty());
    let error = parent("a", "b").unwrap_err().to_string();
    assert_eq!(
        error,
        "opencode:a cannot be linked to opencode:b: one is below the other"
    );
    assert!(parent("a", "a").is_err() && parent("a", "nowhere").is_err());
    sessions
        .link(&me, "b", LinkKind::Parent, None, false)
        .unwrap();
    assert_eq!(ground.shown("opencode:b")["level"], 1);
    sessions
        .link(&me, "a", LinkKind::Fork, Some("b"), false)
        .unwrap();
    assert_eq!(
        ground.shown("opencode:b")["links"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    sessions
        .link(&me, "a", LinkKind::Fork, Some("b"), true)
        .unwrap();
    assert_eq!(ground.shown("opencode:b")["links"], json!([]));
}

#[test]
fn the_clock_alone_makes_a_session_idle_and_stale() {
    let mut ground = Ground::new();
    ground.sees(
        SESSION,
        &[user("p1", "Fix it"), entry("t1", EntryKind::TurnEnded)],
    );
    let events = |ground: &Ground| {
        ground
            .engine
            .read(|reading| Ok(reading.position()?))
            .unwrap()
    };
    let before = events(&ground);
    assert_eq!(ground.state(SESSION), "between_turn");
    ground.at(10 * 60 * 1000);
    assert_eq!(ground.state(SESSION), "idle");
    ground.at(72 * 60 * 60 * 1000);
    let shown = ground.shown(SESSION);
    assert_eq!(
        (&shown["state"], &shown["previousState"]),
        (&json!("stale"), &json!("between_turn"))
    );
    assert_eq!(shown["stateHistory"].as_array().unwrap().len(), 3);
    assert_eq!(events(&ground), before);
    let state = SessionState::from_name("stale");
    assert_eq!(state, Some(SessionState::Stale));
}

#[test]
fn a_session_that_is_resumed_differs_from_a_new_one() {
    let ground = Ground::new();
    ground.sees(SESSION, &[user("p1", "Fix it")]);
    assert_eq!(ground.shown(SESSION)["resumedAt"], Value::Null);
    let contexts = ground.engine.contexts();
    let send = |reason| {
        let options = ContextOptions::default();
        contexts.deliver(&actor(SESSION), reason, &options).unwrap()
    };
    send(None);
    assert_eq!(ground.shown(SESSION)["resumedAt"], Value::Null);
    send(Some(HeaderReason::Resume));
    assert!(ground.shown(SESSION)["resumedAt"].is_string());
}

#[test]
fn depth_follows_a_parent_that_a_command_chose() {
    let ground = Ground::new();
    for name in ["opencode:a", "opencode:b"] {
        ground.sees(name, &[user(name, "Work")]);
    }
    let judge = || {
        let session = session("opencode:b");
        let verdict = ground.engine.judge_delegation(&session, None, Some(1));
        verdict.unwrap()
    };
    assert_eq!(judge(), DelegationVerdict::Allowed);
    let sessions = ground.engine.sessions();
    let me = actor("shell:main");
    sessions
        .link(&me, "b", LinkKind::Parent, Some("a"), false)
        .unwrap();
    assert!(matches!(judge(), DelegationVerdict::Warned(why) if why.contains("2 deep")));
}

#[test]
fn the_tools_say_what_the_views_say() {
    let ground = Ground::new();
    ground.sees(SESSION, &[user("p1", "Fix the login")]);
    let made = ground.tool(
        SESSION,
        "stack_session_create",
        json!({ "purpose": "Review" }),
    );
    let name = made.lines().next().unwrap().strip_prefix("made ").unwrap();
    let linked = json!({ "to": name, "kind": "fork" });
    let linked = ground.tool(SESSION, "stack_session_link", linked);
    assert_eq!(linked, format!("{SESSION} linked: {name}\n"));
    let all = ground.tool(SESSION, "stack_session_status", json!({}));
    assert!(all.contains("executing") && all.contains("custom"), "{all}");
    let one = ground.tool(
        SESSION,
        "stack_session_status",
        json!({ "sessionID": "ses_1" }),
    );
    assert!(
        one.contains("level 1, with no session below it; prompted by the user"),
        "{one}"
    );
    assert!(one.contains("hand off: to custom:"), "{one}");
}

#[test]
fn sessions_of_this_worktree_come_first_and_children_after_their_parents() {
    let ground = Ground::new();
    let here = ground.engine.project().worktree.clone();
    for (name, worktree) in [
        ("opencode:far", "elsewhere"),
        ("opencode:near", here.as_str()),
    ] {
        let actor = flamestack_core::Actor {
            worktree: Some(worktree.to_owned()),
            ..actor(name)
        };
        ground.engine.ingest(&actor, &[user(name, "Work")]).unwrap();
    }
    ground.sees("opencode:near", &[start("below", "s1")]);
    ground.child_sees("opencode:below", "opencode:near", &[user("b", "Look")]);
    let newest = [user("again", "And this")];
    ground.sees("opencode:far", &newest);
    let rows = ground.engine.sessions().list(false).unwrap();
    let names: Vec<(&str, bool)> = rows
        .iter()
        .map(|row| (row.key().id(), row.is_here))
        .collect();
    assert_eq!(names, [("near", true), ("below", true), ("far", false)]);
}

#[test]
fn a_session_was_seen_last_when_its_newest_event_was_recorded() {
    let ground = Ground::new();
    let names = ["opencode:ses_1", "opencode:ses_2", "shell:main"];
    for title in ["Cart", "Checkout"] {
        for name in names {
            ground.push(name, title);
        }
    }
    ground.push(SESSION, "Search");
    ground
        .engine
        .read(|reading| {
            let sessions = reading.sessions(true)?;
            let mut newest = std::collections::BTreeMap::new();
            for recorded in reading.events_after(flamestack_core::id::Seq(0), 1_000)? {
                newest.insert(recorded.session, recorded.at);
            }
            assert_eq!(reading.last_seen(&sessions)?, newest);
            assert_eq!(newest.len(), names.len());
            let (first, _) = sessions.split_at(1);
            assert_eq!(reading.last_seen(first)?.len(), 1);
            Ok(())
        })
        .unwrap();
}
