//! Openings of the store: each takes as long as the rest of a short command.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flamestack_engine::clock::StoryClock;
use flamestack_engine::context::{ContextOptions, ContextTarget};
use flamestack_engine::request::GoalInput;
use flamestack_engine::{Engine, Home, ParentInput, Project, Request};
use flamestack_store::{OpenOptions, OpenStore, Store, StoreError};

use crate::ground::{Ground, actor, session};

const ME: &str = "opencode:me";

/// Counts how often the store is opened.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

impl OpenStore for Counting {
    fn open(&self, dir: &Path) -> Result<Box<dyn Store>, StoreError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        OpenStore::open(&OpenOptions::default(), dir)
    }

    fn open_existing(&self, dir: &Path) -> Result<Option<Box<dyn Store>>, StoreError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        OpenStore::open_existing(&OpenOptions::default(), dir)
    }

    fn empty(&self) -> Result<Box<dyn Store>, StoreError> {
        OpenOptions::default().empty()
    }
}

/// Returns the number of times that `work` opens the store, in a process of its own.
fn openings(ground: &Ground, work: impl FnOnce(&Engine)) -> usize {
    let home = Home {
        state: ground.dir().join("state"),
        config: ground.dir().join("config"),
    };
    let project = Project::at(ground.dir(), &home).unwrap();
    let counting = Counting::default();
    let clock = Box::new(StoryClock::starting_at(1 << 40));
    let engine = Engine::with_stores(project, clock, Box::new(counting.clone()));
    work(&engine);
    counting.0.load(Ordering::Relaxed)
}

#[test]
fn a_command_reads_writes_and_reads_again_on_one_connection() {
    let ground = Ground::new();
    ground.push(ME, "Cart");
    let opened = openings(&ground, |engine| {
        assert!(engine.compactions().settle_overdue().unwrap().is_empty());
        let goal = GoalInput {
            title: "Checkout".to_owned(),
            criteria: None,
            criteria_compacted: None,
        };
        let parent = ParentInput::Active;
        let push = Request::Push { parent, goal };
        engine.commands().execute(&actor(ME), &push).unwrap();
        let active = engine.read_back(|reading| Ok(reading.session(&session(ME))?));
        let frame = active.unwrap().unwrap().active.unwrap();
        let shown = engine.read_back(|reading| Ok(reading.whole_frame(&frame)?));
        assert_eq!(shown.unwrap().unwrap().title.as_str(), "Checkout");
    });
    assert_eq!(opened, 1);
}

#[test]
fn a_context_that_is_asked_for_once_takes_one_connection() {
    let ground = Ground::new();
    ground.push(ME, "Cart");
    let (target, options) = (
        ContextTarget::Session(session(ME)),
        ContextOptions::default(),
    );
    let kept = ground.engine.contexts().context(&target, &options);
    let kept = kept.unwrap().unwrap();
    let opened = openings(&ground, |engine| {
        let once = engine.contexts().context_once(&target, &options);
        assert_eq!(once.unwrap().unwrap().text, kept.text);
    });
    assert_eq!(opened, 1);
}

#[test]
fn what_was_recorded_is_read_back_while_another_thread_writes() {
    let ground = Ground::new();
    ground.push(ME, "Cart");
    let read = |engine: &Engine| engine.read_back(|reading| Ok(reading.totals()?.all()));
    // No writer has a connection yet, then one has it, then it is in use.
    assert_eq!(read(&ground.elsewhere()).unwrap(), 1);
    assert_eq!(read(&ground.engine).unwrap(), 1);
    let nested = ground.engine.read_back(|_| read(&ground.engine));
    assert_eq!(nested.unwrap(), 1);
}
