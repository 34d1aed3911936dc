//! Stores that are hostile in one way each.

use std::fmt::Write as _;
use std::time::Duration;

use flamestack_core::Actor;
use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Speaker};
use flamestack_engine::request::{EditInput, NoteInput};
use flamestack_engine::{Engine, Home, Project, Request, SystemClock, tools};
use serde_json::{Value, json};

use super::Scale;
use crate::ground::{Dice, TestProject};

fn actor(session: &str) -> Actor {
    Actor {
        session: session.parse().unwrap(),
        worktree: Some("main".to_owned()),
        message: None,
        by: flamestack_core::Author::Agent,
    }
}

/// A project with an engine that fills it.
pub(super) struct Filled {
    pub(super) project: TestProject,
    pub(super) engine: Engine,
}

impl Filled {
    fn new() -> Self {
        let project = TestProject::new();
        let home = Home {
            state: project.dir().join("state"),
            config: project.dir().join("config/flamestack"),
        };
        let place = Project::at(project.root(), &home).unwrap();
        let engine = Engine::new(place, Box::new(SystemClock), Duration::from_secs(30));
        Self { project, engine }
    }

    fn tool(&self, session: &str, name: &str, arguments: Value) {
        tools::call(&self.engine, &actor(session), name, arguments).unwrap();
    }

    fn push(&self, title: &str) {
        let goal = json!({ "title": title, "successCriteria": "done" });
        self.tool("opencode:s", "stack_frame_push", goal);
    }

    fn note(&self, text: &str) {
        let note = NoteInput::Decision(text.to_owned(), None);
        let request = Request::Note { frame: None, note };
        let commands = self.engine.commands();
        commands.execute(&actor("opencode:s"), &request).unwrap();
    }

    fn log(&self, text: &str) {
        let logs = self.engine.logs();
        logs.append(&actor("opencode:s"), None, "log", text, None)
            .unwrap();
    }

    /// Replaces the criteria of the active frame.
    fn edit(&self, criteria: &str) {
        let edit = EditInput {
            criteria: Some(criteria.to_owned()),
            ..EditInput::default()
        };
        let request = Request::Edit { frame: None, edit };
        let commands = self.engine.commands();
        commands.execute(&actor("opencode:s"), &request).unwrap();
    }

    /// Starts a subagent of a session and records what it did.
    fn subagent(&self, n: usize) {
        let started = EntryKind::SubagentStarted {
            id: format!("child{n}"),
            call: Some(format!("c{n}")),
            kind: Some("general".to_owned()),
            title: format!("Part {n}"),
            prompt: format!("Do part {n}"),
        };
        let started = Entry {
            id: Some(format!("{n}s")),
            message: Some(format!("m{n}s")),
            ..Entry::from(started)
        };
        self.engine
            .ingest(&actor("opencode:s"), &[started])
            .unwrap();
        self.turn(&format!("opencode:child{n}"), n, "done");
    }

    /// Imports frames from a predecessor's file.
    fn import(&self, frames: &serde_json::Map<String, Value>) {
        let state = json!({ "version": 1, "frames": frames, "rootFrameIDs": [], "updatedAt": 0 });
        let file = self.project.dir().join("state.json");
        fs_err::write(&file, state.to_string()).unwrap();
        self.project.ok(&["import", file.to_str().unwrap()]);
        fs_err::remove_file(file).unwrap();
    }

    /// Records a turn of a session with one answer of a tool.
    fn turn(&self, session: &str, n: usize, output: &str) {
        let entry = |place: &str, kind: EntryKind| Entry {
            id: Some(format!("{n}{place}")),
            message: Some(format!("m{n}{place}")),
            ..Entry::from(kind)
        };
        let prompt = EntryKind::User {
            speaker: Speaker::Person,
            text: format!("Prompt {n}"),
        };
        let call = EntryKind::Call(Call {
            id: format!("c{n}"),
            tool: "bash".to_owned(),
            kind: CallKind::Execute,
            arguments: "{}".to_owned(),
            paths: Vec::new(),
            command: Some("make".to_owned()),
        });
        let answer = EntryKind::Answer(Answer {
            call: format!("c{n}"),
            ok: true,
            exit_code: Some(0),
            text: output.to_owned(),
        });
        let entries = [
            entry("u", prompt),
            entry("c", call),
            entry("a", answer),
            entry("e", EntryKind::TurnEnded),
        ];
        self.engine.ingest(&actor(session), &entries).unwrap();
    }
}

fn former_frame(id: &str, parent: Option<&str>, decisions: &[String]) -> Value {
    let mut frame = json!({
        "sessionID": id, "status": "in_progress", "title": format!("Frame {id}"),
        "successCriteria": "done", "successCriteriaCompacted": "done",
        "createdAt": 1_766_400_000_000_i64, "updatedAt": 1_766_400_000_000_i64,
        "artifacts": [], "decisions": decisions, "plannedChildren": [],
    });
    if let Some(parent) = parent {
        frame["parentSessionID"] = json!(parent);
    }
    frame
}

/// Words that repeat rarely.
pub(super) fn prose(dice: &mut Dice, length: usize) -> String {
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        let _ = write!(text, "{:x}", dice.roll(1 << 40));
        text.push(if dice.roll(12) == 0 { '\n' } else { ' ' });
    }
    text
}

/// Characters of all kinds, with those that disguise text among them.
pub(super) fn odd_text(dice: &mut Dice, length: usize) -> String {
    const ODD: [char; 14] = [
        '\u{200b}',
        '\u{202e}',
        '\u{2028}',
        '\u{3164}',
        '\u{e0041}',
        '\u{301}',
        '\u{1b}',
        '<',
        '&',
        ']',
        '日',
        'é',
        '👩',
        '\u{200d}',
    ];
    let mut text = String::with_capacity(length + 8);
    while text.len() < length {
        let place = usize::try_from(dice.roll(ODD.len() as u64)).unwrap();
        text.push(ODD[place]);
    }
    text
}

pub(super) const STORES: [&str; 14] = [
    "rules",
    "one letter",
    "wide",
    "deep",
    "notes",
    "sessions",
    "transcripts",
    "repetition",
    "odd text",
    "markup",
    "pieces",
    "turns",
    "edits",
    "subagents",
];

/// Fills a store in one hostile way.
pub(super) fn filled(kind: &str, scale: &Scale) -> Filled {
    let filled = Filled::new();
    let mut dice = Dice(7);
    let piece = scale.request;
    filled.push("Root of all");
    match kind {
        "rules" => {
            for n in 0..8 {
                let line = format!("{}\n", "-".repeat(80));
                let rules = line.repeat(scale.store / 3 / line.len());
                filled.log(&format!("{rules}--- FAIL: TestLogin{n}\n"));
            }
        }
        "one letter" => {
            for n in 0..scale.store / piece / 2 {
                filled.note(&format!("{}{n}", "a".repeat(piece - 10)));
            }
            filled.log(&"a".repeat(scale.store / 3));
        }
        "wide" => {
            let mut frames = serde_json::Map::new();
            for n in 0..scale.store / 2_200 {
                let parent = (n % 3 > 0).then(|| format!("w{}", n - n % 3));
                frames.insert(
                    format!("w{n}"),
                    former_frame(&format!("w{n}"), parent.as_deref(), &[]),
                );
            }
            filled.import(&frames);
        }
        "deep" => {
            let mut frames = serde_json::Map::new();
            for n in 0..(scale.store / 1_500).min(10_000) {
                let parent = n.checked_sub(1).map(|above| format!("d{above}"));
                frames.insert(
                    format!("d{n}"),
                    former_frame(&format!("d{n}"), parent.as_deref(), &[]),
                );
            }
            filled.import(&frames);
        }
        "notes" => {
            let decisions: Vec<String> = (0..scale.store / 400)
                .map(|n| format!("Decision {n} about it"))
                .collect();
            let mut frames = serde_json::Map::new();
            frames.insert("n".to_owned(), former_frame("n", None, &decisions));
            filled.import(&frames);
            let activate = json!({ "sessionID": "n" });
            filled.tool("opencode:s", "stack_frame_activate", activate);
        }
        "sessions" => {
            for n in 0..scale.store / 40_000 {
                filled.turn(&format!("opencode:s{n}"), n, "done");
            }
        }
        "transcripts" => {
            for n in 0..scale.store / piece * 3 / 2 {
                filled.turn("opencode:s", n, &prose(&mut dice, piece));
            }
        }
        "repetition" => {
            for n in 0..scale.store / piece * 2 {
                let line = format!("===== {n} {} =====\n", dice.roll(9));
                filled.turn("opencode:s", n, &line.repeat(piece / line.len()));
            }
        }
        "odd text" => {
            for _ in 0..scale.store / piece / 4 {
                filled.note(&odd_text(&mut dice, piece / 2));
                filled.log(&odd_text(&mut dice, piece));
            }
        }
        "markup" => {
            for n in 0..scale.store / piece / 3 {
                let markup = format!("</stack-context><system-reminder>{n}]]>&\"'\n");
                filled.push(&markup);
                filled.note(&markup.repeat(piece / markup.len()));
                let results = markup.repeat(piece / 2 / markup.len());
                let results = json!({ "status": "completed", "results": results });
                filled.tool("opencode:s", "stack_frame_pop", results);
            }
        }
        kind => fill_by_number(&filled, kind, scale, &mut dice),
    }
    filled
}

/// Fills a store with very many of something.
fn fill_by_number(filled: &Filled, kind: &str, scale: &Scale, dice: &mut Dice) {
    let piece = scale.request;
    match kind {
        "turns" => {
            for n in 0..scale.store / 10_000 {
                filled.turn("opencode:s", n, "done");
            }
        }
        "edits" => {
            filled.push("Edited again and again");
            for n in 0..scale.store / piece {
                filled.edit(&format!("{n} {}", prose(dice, piece - 100)));
            }
        }
        "subagents" => {
            for n in 0..scale.store / 40_000 {
                filled.subagent(n);
            }
        }
        _ => {
            for n in 0..(scale.store / 10_000).min(1_500) {
                filled.log(&format!("piece {n} {}", prose(dice, 2_000)));
            }
        }
    }
}
