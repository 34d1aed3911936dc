//! An engine on a fresh project.

use std::time::Duration;

use flamestack_core::delivery::{Delivery, HeaderReason};
use flamestack_core::{Actor, Author, SessionRef};
use flamestack_engine::clock::StoryClock;
use flamestack_engine::context::ContextOptions;
use flamestack_engine::request::NoteInput;
use flamestack_engine::{Engine, Home, Project, Receipt, Request, tools};
use serde_json::{Value, json};

/// A project in a folder of its own.
pub(crate) struct Ground {
    dir: tempfile::TempDir,
    pub(crate) engine: Engine,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine(dir.path(), 0);
        Self { dir, engine }
    }

    /// The folder that holds everything.
    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// From now on it is another time.
    pub(crate) fn at(&mut self, milliseconds: i64) {
        self.engine = engine(self.dir.path(), milliseconds);
    }

    /// Another process's engine on the same project.
    pub(crate) fn elsewhere(&self) -> Engine {
        engine(self.dir.path(), 1 << 40)
    }

    pub(crate) fn tool(&self, session: &str, name: &str, arguments: Value) -> String {
        tools::call(&self.engine, &actor(session), name, arguments).unwrap()
    }

    pub(crate) fn push(&self, session: &str, title: &str) {
        let goal = json!({ "title": title, "successCriteria": format!("{title} is done") });
        self.tool(session, "stack_frame_push", goal);
    }

    pub(crate) fn pop(&self, session: &str, results: &str) {
        let results = json!({ "status": "completed", "results": results });
        self.tool(session, "stack_frame_pop", results);
    }

    /// A host says which model a session talks to.
    pub(crate) fn model(&self, session: &str, name: &str, window: Option<u64>) -> Receipt {
        let name = name.to_owned();
        let request = Request::UseModel { name, window };
        self.engine
            .commands()
            .execute(&actor(session), &request)
            .unwrap()
    }

    /// A session comes with a message.
    pub(crate) fn deliver(
        &self,
        session: &str,
        message: Option<&str>,
        after: Option<HeaderReason>,
    ) -> Delivery {
        deliver(&self.engine, session, message, after)
    }

    /// The user gives a directive to a session, from a terminal.
    pub(crate) fn say(&self, session: &str, text: &str) {
        let note = NoteInput::Directive(text.to_owned());
        let request = Request::Note { frame: None, note };
        let user = Actor {
            by: Author::User,
            ..actor(session)
        };
        self.engine.commands().execute(&user, &request).unwrap();
    }
}

pub(crate) fn session(name: &str) -> SessionRef {
    name.parse().unwrap()
}

pub(crate) fn actor(name: &str) -> Actor {
    Actor {
        session: session(name),
        worktree: Some("main".to_owned()),
        message: None,
        by: Author::of(&session(name)),
    }
}

/// Delivers a context to a session with one of its messages.
pub(crate) fn deliver(
    engine: &Engine,
    session: &str,
    message: Option<&str>,
    after: Option<HeaderReason>,
) -> Delivery {
    let actor = Actor {
        message: message.map(str::to_owned),
        ..actor(session)
    };
    engine
        .contexts()
        .deliver(&actor, after, &ContextOptions::default())
        .unwrap()
}

/// An engine on the project in a folder, whose clock starts at a time.
pub(crate) fn engine(dir: &std::path::Path, start: i64) -> Engine {
    let home = Home {
        state: dir.join("state"),
        config: dir.join("config"),
    };
    let project = Project::at(dir, &home).unwrap();
    let clock = Box::new(StoryClock::starting_at(start));
    Engine::new(project, clock, Duration::from_secs(5))
}
