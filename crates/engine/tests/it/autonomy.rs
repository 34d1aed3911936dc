//! Suggestions and automatic acts through the engine.

use std::time::Duration;

use flamestack_core::autonomy::{AdviceKind, AutonomyLevel, Boundary, Heuristic, SuggestionState};
use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Speaker, Usage};
use flamestack_engine::autonomy::{Announcement, SignalReader};
use flamestack_engine::clock::StoryClock;
use flamestack_engine::settings::Settings;
use flamestack_engine::subagents::Tracking;
use flamestack_engine::{Engine, Home, Project, Request, tools};
use serde_json::json;

use crate::ground::{Ground, actor};

const SESSION: &str = "opencode:a";

/// A project with settings from the environment.
struct Field {
    _dir: tempfile::TempDir,
    engine: Engine,
    entries: u32,
}

impl Field {
    fn new(environment: &[(&'static str, &'static str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = || Home {
            state: dir.path().join("state"),
            config: dir.path().join("config"),
        };
        let project = || Project::at(dir.path(), &home()).unwrap();
        let (settings_home, settings_project) = (home(), project());
        let environment = environment.to_vec();
        let gather = move || {
            let named = |name: &str| {
                let found = environment.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            Settings::gather(&settings_home, &settings_project, &named)
        };
        let clock = Box::new(StoryClock::starting_at(0));
        let engine = Engine::new(project(), clock, Duration::from_secs(5))
            .with_subagents(Tracking::default(), Box::new(gather));
        Self {
            _dir: dir,
            engine,
            entries: 0,
        }
    }

    fn see(&mut self, session: &str, kind: EntryKind) {
        self.entries += 1;
        let entry = Entry {
            id: Some(format!("e{}", self.entries)),
            message: Some(format!("msg_{}", self.entries)),
            at: None,
            agent: None,
            kind,
        };
        self.engine.ingest(&actor(session), &[entry]).unwrap();
    }

    fn say(&mut self, session: &str, text: &str) {
        let (speaker, text) = (Speaker::Person, text.to_owned());
        self.see(session, EntryKind::User { speaker, text });
    }

    fn run(&mut self, session: &str, command: &str, exit_code: i32) {
        let id = format!("c{}", self.entries);
        self.see(
            session,
            EntryKind::Call(Call {
                id: id.clone(),
                tool: "bash".to_owned(),
                kind: CallKind::Execute,
                arguments: "{}".to_owned(),
                paths: Vec::new(),
                command: Some(command.to_owned()),
            }),
        );
        let text = match exit_code {
            0 => "ok".to_owned(),
            _ => format!(
                "error: worker {} of /tmp/run-{} is gone",
                self.entries, self.entries
            ),
        };
        self.see(
            session,
            EntryKind::Answer(Answer {
                call: id,
                ok: exit_code == 0,
                exit_code: Some(exit_code),
                text,
            }),
        );
    }

    fn consider(&self, session: &str) -> Option<Announcement> {
        self.engine.autonomy().consider(&actor(session)).unwrap()
    }

    fn states(&self, session: &str) -> Vec<SuggestionState> {
        let session = actor(session).session;
        let history = self.engine.autonomy().history(Some(&session), 10).unwrap();
        history.into_iter().map(|(_, _, state)| state).collect()
    }

    fn push(&self, session: &str, title: &str, criteria: &str) {
        let goal = json!({ "title": title, "successCriteria": criteria });
        tools::call(&self.engine, &actor(session), "stack_frame_push", goal).unwrap();
    }

    /// Works on a frame until its criteria are met.
    fn finish(&mut self, session: &str) -> Option<Announcement> {
        self.say(session, "Make the cart work");
        self.push(session, "Cart", "cargo test passes");
        self.run(session, "cargo test", 0);
        self.see(session, EntryKind::TurnEnded);
        self.consider(session)
    }

    /// Everything that is known of the frames, and where the session works.
    fn state(&self) -> (Vec<String>, Option<String>) {
        self.engine
            .read(|reading| {
                let mut frames = Vec::new();
                reading.all_rows(&mut |row| {
                    let mut frame = row.frame;
                    frame.updated_at = flamestack_core::id::Timestamp(0);
                    frame.changed = flamestack_core::id::Seq(0);
                    frames.push(format!("{frame:?}"));
                    Ok(())
                })?;
                let session = reading.session(&actor(SESSION).session)?;
                let active = session.and_then(|known| known.active);
                Ok((frames, active.map(|frame| frame.to_string())))
            })
            .unwrap()
    }
}

const GOALS: (&str, &str) = ("STACK_ENABLED_HEURISTICS", "goal_completion");

#[test]
fn a_suggestion_is_made_once_and_dismissed_for_its_evidence() {
    let mut field = Field::new(&[GOALS]);
    let made = field.finish(SESSION).unwrap();
    assert_eq!(made.suggestion.kind, AdviceKind::Pop);
    assert!(
        made.text.contains("covers all criteria (1 of 1)"),
        "{}",
        made.text
    );
    assert_eq!(field.consider(SESSION), None, "no boundary since");
    field.run(SESSION, "cargo test", 0);
    field.see(SESSION, EntryKind::TurnEnded);
    assert_eq!(field.consider(SESSION), None, "one is pending");
    field.engine.autonomy().dismiss(&actor(SESSION)).unwrap();
    field.see(SESSION, EntryKind::TurnEnded);
    assert_eq!(field.consider(SESSION), None, "the evidence is the same");
    assert_eq!(field.states(SESSION), [SuggestionState::Dismissed]);
    assert!(field.engine.autonomy().dismiss(&actor(SESSION)).is_err());
}

#[test]
fn accepting_does_it_once_and_a_pop_by_hand_counts_as_acted() {
    let mut field = Field::new(&[GOALS]);
    field.finish(SESSION).unwrap();
    field.engine.autonomy().accept(&actor(SESSION)).unwrap();
    assert!(field.engine.autonomy().accept(&actor(SESSION)).is_err());
    assert_eq!(field.states(SESSION), [SuggestionState::Acted]);
    field.finish("opencode:b").unwrap();
    let popped = json!({ "status": "completed", "results": "It works" });
    tools::call(
        &field.engine,
        &actor("opencode:b"),
        "stack_frame_pop",
        popped,
    )
    .unwrap();
    field
        .engine
        .autonomy()
        .settle(&actor("opencode:b"))
        .unwrap();
    assert_eq!(field.states("opencode:b"), [SuggestionState::Acted]);
    assert_eq!(field.states("opencode:c"), []);
}

#[test]
fn a_suggestion_expires_by_events() {
    let mut field = Field::new(&[GOALS]);
    field.finish(SESSION).unwrap();
    for n in 0..3 {
        field.say(SESSION, &format!("Something else, number {n}"));
    }
    field.engine.autonomy().settle(&actor(SESSION)).unwrap();
    assert_eq!(field.states(SESSION), [SuggestionState::Expired]);
}

#[test]
fn nothing_happens_after_a_stop_while_snoozed_or_at_the_level_manual() {
    let mut field = Field::new(&[GOALS, ("STACK_AUTONOMY_LEVEL", "manual")]);
    assert_eq!(field.finish(SESSION), None);
    let mut field = Field::new(&[GOALS]);
    field.say(SESSION, "Begin");
    field.engine.autonomy().snooze(&actor(SESSION), 3).unwrap();
    assert_eq!(field.finish(SESSION), None, "snoozed");
    let mut field = Field::new(&[GOALS, ("STACK_AUTONOMY_LEVEL", "auto")]);
    field.say(SESSION, "Make the cart work");
    field.push(SESSION, "Cart", "cargo test passes");
    field.see(
        SESSION,
        EntryKind::Interrupted {
            how: "esc".to_owned(),
        },
    );
    field.run(SESSION, "cargo test", 0);
    field.see(SESSION, EntryKind::TurnEnded);
    assert_eq!(field.consider(SESSION), None, "the user stopped it");
    assert_eq!(field.states(SESSION), []);
}

#[test]
fn an_automatic_end_is_recorded_announced_and_undone_exactly() {
    let mut field = Field::new(&[GOALS, ("STACK_AUTONOMY_LEVEL", "auto")]);
    field.say(SESSION, "Make the cart work");
    field.push(SESSION, "Cart", "cargo test passes");
    field.run(SESSION, "cargo test", 0);
    field.see(SESSION, EntryKind::TurnEnded);
    let before = field.state();
    let done = field.consider(SESSION).unwrap();
    assert!(done.text.starts_with("Closed the frame"), "{}", done.text);
    assert_ne!(field.state(), before);
    // The events after it are read in two parts, the act in the first and its undo in the second.
    field.engine.autonomy().settle(&actor(SESSION)).unwrap();
    assert_eq!(field.states(SESSION), [SuggestionState::Acted]);
    let undo = Request::Undo;
    field
        .engine
        .commands()
        .execute(&actor(SESSION), &undo)
        .unwrap();
    assert_eq!(field.state(), before);
    field.engine.autonomy().settle(&actor(SESSION)).unwrap();
    assert_eq!(field.states(SESSION), [SuggestionState::Contradicted]);
    field.see(SESSION, EntryKind::TurnEnded);
    assert_eq!(
        field.consider(SESSION),
        None,
        "not again on the same evidence"
    );
}

#[test]
fn the_level_is_read_again_when_its_file_has_changed() {
    let field = Field::new(&[]);
    let level = || field.engine.autonomy().policy().unwrap().level;
    assert_eq!(level(), AutonomyLevel::Suggest);
    let file = field.engine.project().settings_file();
    for (name, expected) in [
        ("manual", AutonomyLevel::Manual),
        ("auto", AutonomyLevel::Auto),
    ] {
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(&file, format!("[autonomy]\nlevel = \"{name}\"\n")).unwrap();
        assert_eq!(level(), expected);
    }
    fs_err::remove_file(&file).unwrap();
    assert_eq!(level(), AutonomyLevel::Suggest);
}

#[test]
fn an_error_again_and_again_opens_a_frame_that_one_undo_takes_back() {
    let mut field = Field::new(&[
        ("STACK_ENABLED_HEURISTICS", "failure_boundary"),
        ("STACK_AUTONOMY_LEVEL", "auto"),
        ("STACK_PUSH_THRESHOLD", "60"),
    ]);
    field.say(SESSION, "Mend the mails");
    field.push(SESSION, "Mails", "mails arrive");
    for _ in 0..4 {
        field.run(SESSION, "cargo run --bin mails", 1);
    }
    field.see(SESSION, EntryKind::TurnEnded);
    let before = field.state();
    let done = field.consider(SESSION).unwrap();
    assert!(
        done.text.contains("the same error 4 times"),
        "{}",
        done.text
    );
    assert_eq!(field.state().0.len(), before.0.len() + 1);
    field
        .engine
        .commands()
        .execute(&actor(SESSION), &Request::Undo)
        .unwrap();
    assert_eq!(field.state(), before);
}

#[test]
fn a_full_window_is_suggested_and_confirmed_by_a_compaction() {
    let mut field = Field::new(&[("STACK_ENABLED_HEURISTICS", "context_overflow")]);
    let model = Request::UseModel {
        name: "m".to_owned(),
        window: Some(200_000),
    };
    field.say(SESSION, "Make the cart work");
    field
        .engine
        .commands()
        .execute(&actor(SESSION), &model)
        .unwrap();
    let usage = |input| Usage {
        input,
        ..Usage::default()
    };
    field.see(SESSION, EntryKind::Usage(usage(120_000)));
    field.see(SESSION, EntryKind::TurnEnded);
    assert_eq!(field.consider(SESSION), None);
    field.see(SESSION, EntryKind::Usage(usage(195_000)));
    field.see(SESSION, EntryKind::TurnEnded);
    let made = field.consider(SESSION).unwrap();
    assert_eq!(made.suggestion.heuristic, Heuristic::ContextOverflow);
    assert!(
        made.text.contains("1 of your 1 sessions got this far"),
        "{}",
        made.text
    );
    field.see(
        SESSION,
        EntryKind::Compacted {
            automatic: true,
            summary: None,
            tokens_before: None,
        },
    );
    field.engine.autonomy().settle(&actor(SESSION)).unwrap();
    assert_eq!(field.states(SESSION), [SuggestionState::Confirmed]);
}

#[test]
fn a_heuristic_that_is_dismissed_too_often_turns_itself_off() {
    let mut field = Field::new(&[GOALS]);
    for n in 0..20 {
        let session = format!("opencode:s{n}");
        field.finish(&session).unwrap();
        field.engine.autonomy().dismiss(&actor(&session)).unwrap();
    }
    assert_eq!(field.finish("opencode:last"), None);
    let off = field.engine.autonomy().turned_off().unwrap();
    assert_eq!(
        off.first().map(|(heuristic, _)| *heuristic),
        Some(Heuristic::GoalCompletion)
    );
    field.engine.autonomy().reset(&actor(SESSION)).unwrap();
    assert!(field.engine.autonomy().turned_off().unwrap().is_empty());
    assert!(field.finish("opencode:again").is_some());
}

#[test]
fn the_tools_take_all_their_arguments_and_reset_resets() {
    let ground = Ground::new();
    ground.push("opencode:a", "Parser");
    let ask = |name: &str, arguments| ground.tool("opencode:a", name, arguments);
    let yes = json!({
        "potentialGoal": "Rewrite the mail queue", "recentMessages": 30, "recentFileChanges": ["a/b.rs"],
        "errorCount": 5, "tokenCount": 60_000,
    });
    assert!(ask("stack_should_push", yes).starts_with("push: yes (9"));
    assert!(ask("stack_should_push", json!({})).starts_with("push: no (0%"));
    let full = json!({ "tokenCount": 198_000, "contextLimit": 200_000, "noProgressTurns": 0 });
    assert!(ask("stack_should_pop", full).starts_with("pop: yes (9"));
    let stuck = json!({ "failureSignals": ["a", "b", "c", "d"], "noProgressTurns": 6, "successSignals": [] });
    let stuck = ask("stack_should_pop", stuck);
    assert!(
        stuck.starts_with("pop: yes (9") && stuck.contains("as failed"),
        "{stuck}"
    );
    let refused = tools::call(
        &ground.engine,
        &actor("opencode:a"),
        "stack_autonomy",
        json!({ "enableHeuristic": "magic" }),
    );
    assert!(refused.unwrap_err().to_string().contains("enableHeuristic"));
    for bad in [
        json!({ "pushThreshold": 101 }),
        json!({ "level": "always" }),
        json!({ "popThreshold": -1 }),
    ] {
        let refused = tools::call(&ground.engine, &actor("opencode:a"), "stack_autonomy", bad);
        assert!(refused.is_err());
    }
    assert!(
        ask("stack_auto_suggest", json!({ "showHistory": true }))
            .contains("no suggestion is pending")
    );
    assert_eq!(
        ask("stack_autonomy_stats", json!({})),
        "no suggestions so far\n"
    );
}

#[test]
fn reset_really_resets() {
    let field = Field::new(&[]);
    let ask = |arguments| {
        tools::call(&field.engine, &actor(SESSION), "stack_autonomy", arguments).unwrap()
    };
    let before = ask(json!({}));
    let changed = ask(
        json!({ "level": "auto", "disableHeuristic": "context_overflow", "pushThreshold": 55 }),
    );
    assert!(
        changed.contains("autonomy.level = auto")
            && changed.contains("autonomy.heuristics = measured,-context_overflow"),
        "{changed}"
    );
    assert_eq!(ask(json!({ "reset": true })), before);
}

#[test]
fn enabling_a_heuristic_keeps_the_answers_of_the_others() {
    let field = Field::new(&[]);
    let ask = |tool: &str, arguments| {
        tools::call(&field.engine, &actor(SESSION), tool, arguments).unwrap()
    };
    let signs = json!({ "potentialGoal": "fix flaky", "errorCount": 3 });
    let before = ask("stack_should_push", signs.clone());
    for change in ["enableHeuristic", "disableHeuristic"] {
        let shown = ask("stack_autonomy", json!({ change: "context_overflow" }));
        assert_eq!(shown.matches("answers when asked").count(), 6, "{shown}");
        assert_eq!(ask("stack_should_push", signs.clone()), before);
    }
}

/// A pushed frame keeps its own errors: they count from the push, not from the next boundary.
#[test]
fn errors_count_in_the_frame_that_they_occurred_in() {
    let mut field = Field::new(&[
        ("STACK_ENABLED_HEURISTICS", "failure_boundary"),
        ("STACK_PUSH_THRESHOLD", "60"),
    ]);
    field.say(SESSION, "Mend the mails");
    // A boundary before the push: the signals are those of the session's own frame by now.
    assert_eq!(field.consider(SESSION), None);
    field.push(SESSION, "Mails", "mails arrive");
    for _ in 0..4 {
        field.run(SESSION, "cargo run --bin mails", 1);
    }
    field.see(SESSION, EntryKind::TurnEnded);
    let made = field.consider(SESSION).unwrap();
    assert!(
        made.text.contains("the same error 4 times"),
        "{}",
        made.text
    );
    // Another frame knows nothing of them.
    field.engine.autonomy().dismiss(&actor(SESSION)).unwrap();
    field.push(SESSION, "Something else", "it works");
    field.run(SESSION, "cargo run --bin mails", 1);
    field.see(SESSION, EntryKind::TurnEnded);
    assert_eq!(field.consider(SESSION), None);
}

/// No heuristic reached the precision that the default asks for, on owners that it was not fitted to.
#[test]
fn no_heuristic_speaks_unless_the_user_turns_it_on() {
    let mut field = Field::new(&[]);
    assert_eq!(field.finish(SESSION), None);
    assert!(!Heuristic::ALL.iter().any(|one| {
        let policy = field.engine.autonomy().policy().unwrap();
        policy.speaks(*one) || !policy.answers(*one)
    }));
}

#[test]
fn the_end_of_a_frame_is_a_boundary() {
    let mut field = Field::new(&[("STACK_ENABLED_HEURISTICS", "all")]);
    field.say(SESSION, "Make the shop");
    field.push(SESSION, "Cart", "it works");
    field.see(SESSION, EntryKind::Usage(Usage::default()));
    let pop = json!({ "status": "completed", "results": "done" });
    tools::call(&field.engine, &actor(SESSION), "stack_frame_pop", pop).unwrap();
    field.see(SESSION, EntryKind::Usage(Usage::default()));
    let signals = field
        .engine
        .autonomy()
        .signals(&actor(SESSION).session)
        .unwrap();
    assert_eq!(signals.steps, 0, "counts begin again");
    let mut reader = SignalReader::default();
    let call = |tool: &str| {
        let call = EntryKind::Call(Call {
            id: "c".to_owned(),
            tool: tool.to_owned(),
            kind: CallKind::Stack,
            arguments: "{}".to_owned(),
            paths: Vec::new(),
            command: None,
        });
        let answer = EntryKind::Answer(Answer {
            call: "c".to_owned(),
            ok: true,
            exit_code: None,
            text: String::new(),
        });
        [Entry::from(call), Entry::from(answer)]
    };
    let mut read = |tool: &str| {
        let found = call(tool).map(|entry| reader.read(&entry));
        found.into_iter().flatten().next()
    };
    assert_eq!(read("stack_frame_push"), None);
    assert_eq!(
        read("mcp__flamestack__stack_frame_pop"),
        Some(Boundary::Pop)
    );
}
