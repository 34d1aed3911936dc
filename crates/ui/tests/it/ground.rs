//! An engine on a fresh project, and a piece of work in it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use flamestack_core::transcript::{Entry, EntryKind, Speaker, Usage};
use flamestack_core::{Actor, Author, Outcome};
use flamestack_engine::clock::StoryClock;
use flamestack_engine::request::GoalInput;
use flamestack_engine::views::work::Work;
use flamestack_engine::{Engine, Home, ParentInput, Project, Request};

/// A project in a folder of its own.
pub(crate) struct Ground {
    pub(crate) engine: Arc<Engine>,
    entries: AtomicU64,
    _dir: tempfile::TempDir,
}

pub(crate) const SESSION: &str = "opencode:ses_1";
pub(crate) const CHILD: &str = "opencode:ses_2";

impl Ground {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("shop");
        std::fs::create_dir(&project).unwrap();
        let engine = engine(&project, dir.path());
        Self {
            engine: Arc::new(engine),
            entries: AtomicU64::new(0),
            _dir: dir,
        }
    }

    /// A small shop is built: a frame that is folded, one that failed, one that was given up, one that
    /// continues, and a second session at the same time.
    pub(crate) fn with_story() -> Self {
        let ground = Self::new();
        ground.prompt(SESSION, "Build the shop.");
        ground.push(SESSION, "Build the shop");
        ground.call(SESSION, 1_000);
        ground.push(SESSION, "Cart");
        ground.call(SESSION, 4_000);
        ground.call(SESSION, 9_000);
        ground.pop(SESSION, Outcome::Completed, "The cart works.");
        ground.call(SESSION, 1_500);
        ground.prompt(CHILD, "Look at the prices.");
        ground.push(CHILD, "Prices");
        ground.call(CHILD, 2_000);
        ground.push(SESSION, "Payment by post");
        ground.call(SESSION, 2_500);
        ground.run(
            SESSION,
            &Request::Invalidate {
                frame: None,
                reason: "Not wanted any more.".to_owned(),
            },
        );
        ground.push(SESSION, "Search");
        ground.call(SESSION, 3_500);
        ground.pop(SESSION, Outcome::Failed, "The index is too slow.");
        ground.push(SESSION, "Checkout <b>&\"; rm -rf");
        ground.call(SESSION, 4_500);
        ground.call(CHILD, 2_500);
        ground
    }

    pub(crate) fn work(&self) -> Work {
        self.engine.read(Work::read).unwrap()
    }

    pub(crate) fn run(&self, session: &str, request: &Request) {
        let commands = self.engine.commands();
        commands.execute(&actor(session), request).unwrap();
    }

    pub(crate) fn push(&self, session: &str, title: &str) {
        let goal = GoalInput {
            title: title.to_owned(),
            criteria: Some(format!("{title} is done")),
            criteria_compacted: None,
        };
        let parent = ParentInput::Active;
        self.run(session, &Request::Push { parent, goal });
    }

    pub(crate) fn pop(&self, session: &str, outcome: Outcome, results: &str) {
        self.run(
            session,
            &Request::Pop {
                frame: None,
                outcome,
                results: results.to_owned(),
                compacted: None,
            },
        );
    }

    pub(crate) fn prompt(&self, session: &str, text: &str) {
        let speaker = Speaker::Person;
        let text = text.to_owned();
        self.saw(session, EntryKind::User { speaker, text });
    }

    /// A model call with a prompt of that many tokens.
    pub(crate) fn call(&self, session: &str, prompt: u64) {
        let usage = Usage {
            model: Some("model".to_owned()),
            input: 100,
            cache_read: prompt - 100,
            output: 50,
            micro_dollars: Some(prompt * 3),
            ..Usage::default()
        };
        self.saw(session, EntryKind::Usage(usage));
    }

    /// That many short model calls at once.
    pub(crate) fn calls(&self, session: &str, count: usize) {
        let usage = Usage {
            output: 50,
            ..Usage::default()
        };
        let calls = (0..count).map(|_| self.entry(EntryKind::Usage(usage.clone())));
        let calls: Vec<Entry> = calls.collect();
        self.engine.ingest(&actor(session), &calls).unwrap();
    }

    pub(crate) fn saw(&self, session: &str, kind: EntryKind) {
        let entry = self.entry(kind);
        self.engine.ingest(&actor(session), &[entry]).unwrap();
    }

    fn entry(&self, kind: EntryKind) -> Entry {
        let number = self.entries.fetch_add(1, Ordering::Relaxed) + 1;
        Entry {
            id: Some(format!("e{number}")),
            message: Some(format!("msg_{number}")),
            at: None,
            agent: None,
            kind,
        }
    }
}

pub(crate) fn actor(name: &str) -> Actor {
    let session = name.parse().unwrap();
    Actor {
        by: Author::of(&session),
        session,
        worktree: Some("main".to_owned()),
        message: None,
    }
}

/// An engine on a project whose clock starts in the morning of 2026-01-05.
fn engine(project: &Path, dir: &Path) -> Engine {
    let home = Home {
        state: dir.join("state"),
        config: dir.join("config"),
    };
    let project = Project::at(project, &home).unwrap();
    let clock = Box::new(StoryClock::starting_at(1_767_603_600_000));
    Engine::new(project, clock, Duration::from_secs(5))
}
