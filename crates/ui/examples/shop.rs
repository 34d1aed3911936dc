//! Plays a morning's work on a small shop into a project, always the same: what the pictures of the page show.
//!
//! `cargo run --package flamestack-ui --example shop -- PROJECT STATE` records it for the folder PROJECT in the
//! state directory STATE.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use flamestack_core::id::Timestamp;
use flamestack_core::transcript::{Entry, EntryKind, Speaker, Usage};
use flamestack_core::{Actor, Author, FrameId, Outcome};
use flamestack_engine::clock::Clock;
use flamestack_engine::request::{GoalInput, NoteInput, PlanInput};
use flamestack_engine::{Engine, Home, ParentInput, Project, Request};

type Played = Result<(), Box<dyn Error>>;

const SHOP: &str = "opencode:ses_shop";
const PRICES: &str = "opencode:ses_prices";
const DOCS: &str = "claude-code:docs";

/// A clock that only the story advances.
#[derive(Clone, Default)]
struct Wall {
    now: Arc<AtomicI64>,
    drawn: Arc<AtomicU64>,
}

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::Relaxed))
    }

    fn draw_id(&self) -> FrameId {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        FrameId::from_entropy(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

struct Story {
    engine: Engine,
    wall: Wall,
    entries: u64,
}

impl Story {
    fn saw(&mut self, session: &str, kind: EntryKind) -> Played {
        self.entries += 1;
        let entry = Entry {
            id: Some(format!("e{}", self.entries)),
            message: Some(format!("msg_{}", self.entries)),
            at: None,
            agent: None,
            kind,
        };
        self.engine.ingest(&actor(session)?, &[entry])?;
        Ok(())
    }

    fn run(&self, session: &str, request: &Request) -> Played {
        self.engine.commands().execute(&actor(session)?, request)?;
        Ok(())
    }

    fn prompt(&mut self, session: &str, text: &str) -> Played {
        let kind = EntryKind::User {
            speaker: Speaker::Person,
            text: text.to_owned(),
        };
        self.saw(session, kind)
    }

    /// Model calls with prompts of these sizes in thousands of tokens, a minute and a half each.
    fn calls(&mut self, session: &str, sizes: &[u64]) -> Played {
        for size in sizes {
            self.wall.now.fetch_add(90_000, Ordering::Relaxed);
            let prompt = size * 1_000;
            let new = prompt / 9;
            let usage = Usage {
                model: Some("some-model".to_owned()),
                input: new,
                cache_read: prompt - new,
                output: 420,
                micro_dollars: Some(new * 3 + (prompt - new) * 3 / 10 + 420 * 15),
                ..Usage::default()
            };
            self.saw(session, EntryKind::Usage(usage))?;
        }
        Ok(())
    }

    fn push(&self, session: &str, title: &str, criteria: &str) -> Played {
        let goal = GoalInput {
            title: title.to_owned(),
            criteria: Some(criteria.to_owned()),
            criteria_compacted: None,
        };
        let parent = ParentInput::Active;
        self.run(session, &Request::Push { parent, goal })
    }

    fn pop(&self, session: &str, outcome: Outcome, results: &str) -> Played {
        let request = Request::Pop {
            frame: None,
            outcome,
            results: results.to_owned(),
            compacted: None,
        };
        self.run(session, &request)
    }

    fn note(&self, session: &str, note: NoteInput) -> Played {
        self.run(session, &Request::Note { frame: None, note })
    }

    fn plan(&self, session: &str, titles: &[&str]) -> Played {
        let item = |title: &&str| PlanInput {
            goal: GoalInput {
                title: (*title).to_owned(),
                ..GoalInput::default()
            },
            children: Vec::new(),
        };
        let request = Request::Plan {
            parent: ParentInput::Active,
            items: titles.iter().map(item).collect(),
        };
        self.run(session, &request)
    }

    fn decided(&self, session: &str, text: &str, why: &str) -> Played {
        let note = NoteInput::Decision(text.to_owned(), Some(why.to_owned()));
        self.note(session, note)
    }

    fn failed(&self, session: &str, text: &str, why: &str) -> Played {
        let note = NoteInput::FailedAttempt(text.to_owned(), Some(why.to_owned()));
        self.note(session, note)
    }

    fn tested(&self, session: &str, test: &str, passed: bool) -> Played {
        self.note(session, NoteInput::Test(test.to_owned(), passed))
    }

    fn shop(&mut self) -> Played {
        self.prompt(SHOP, "Build a shop that sells books.")?;
        self.push(
            SHOP,
            "Build the shop",
            "A customer finds a book, signs in and pays; all tests pass",
        )?;
        self.plan(
            SHOP,
            &["Catalogue", "Sign in", "Checkout", "Newsletter", "Deploy"],
        )?;
        self.calls(SHOP, &[14, 17])?;
        self.run(SHOP, &Request::Activate("Catalogue".to_owned()))?;
        self.calls(SHOP, &[21, 32, 47])?;
        self.push(
            SHOP,
            "Import the book list",
            "10,000 titles in the database",
        )?;
        self.calls(SHOP, &[52, 68, 81])?;
        self.tested(SHOP, "cargo test import", true)?;
        self.pop(
            SHOP,
            Outcome::Completed,
            "`import.rs` reads the publisher's CSV in batches of 500; 10,204 titles.",
        )?;
        self.push(SHOP, "Search by title", "Answers within 50 ms")?;
        self.calls(SHOP, &[53, 61])?;
        self.failed(SHOP, "LIKE '%word%'", "300 ms on 10,204 titles")?;
        self.calls(SHOP, &[74])?;
        self.tested(SHOP, "cargo test search", true)?;
        self.pop(SHOP, Outcome::Completed, "FTS5 with trigrams, 4 ms.")?;
        self.calls(SHOP, &[55])?;
        self.pop(SHOP, Outcome::Completed, "Books can be imported and found.")?;
        self.sign_in()?;
        self.checkout()
    }

    fn sign_in(&mut self) -> Played {
        self.run(SHOP, &Request::Activate("Sign in".to_owned()))?;
        self.calls(SHOP, &[24, 36])?;
        self.decided(
            SHOP,
            "Sessions in the database, not in a token",
            "a user can be signed out everywhere",
        )?;
        self.push(SHOP, "Passwords", "Stored as argon2id")?;
        self.calls(SHOP, &[44])?;
        self.failed(SHOP, "bcrypt", "the build image has no C compiler")?;
        self.calls(SHOP, &[58, 66])?;
        self.tested(SHOP, "cargo test passwords", true)?;
        self.pop(SHOP, Outcome::Completed, "argon2id in `auth/hash.rs`.")?;
        self.push(
            SHOP,
            "Sign in with a passkey",
            "Works in Firefox and Chromium",
        )?;
        self.calls(SHOP, &[47, 63])?;
        self.tested(SHOP, "cargo test passkey", false)?;
        self.pop(
            SHOP,
            Outcome::Failed,
            "The library wants a newer TLS; not before the upgrade.",
        )?;
        self.calls(SHOP, &[41])?;
        self.pop(
            SHOP,
            Outcome::Completed,
            "Users sign in by password; sessions live in the database.",
        )
    }

    fn checkout(&mut self) -> Played {
        let reason = "The owner sends no letters.".to_owned();
        let frame = Some("Newsletter".to_owned());
        self.run(SHOP, &Request::Invalidate { frame, reason })?;
        self.run(SHOP, &Request::Activate("Checkout".to_owned()))?;
        self.prompt(PRICES, "Check the prices against the publishers' lists.")?;
        self.calls(SHOP, &[27, 39])?;
        self.push(
            PRICES,
            "Check the prices",
            "Every price is within 5% of the list",
        )?;
        self.calls(PRICES, &[12, 25])?;
        self.push(SHOP, "Payment provider", "A test payment arrives")?;
        self.calls(SHOP, &[48, 57])?;
        self.calls(PRICES, &[38])?;
        self.decided(
            SHOP,
            "Payments by redirect",
            "no card number reaches our server",
        )?;
        self.calls(SHOP, &[71])?;
        self.tested(SHOP, "cargo test payment", true)?;
        self.pop(SHOP, Outcome::Completed, "A test payment of 12.90 arrives.")?;
        self.calls(SHOP, &[42])?;
        self.calls(PRICES, &[44, 52])?;
        self.run(
            PRICES,
            &Request::Block {
                frame: None,
                reason: "the list of one publisher is missing".to_owned(),
            },
        )?;
        self.prompt(DOCS, "Write the manual.")?;
        self.calls(DOCS, &[9, 16])?;
        self.push(SHOP, "Receipts by mail", "A receipt with the tax")?;
        self.calls(SHOP, &[49, 58])?;
        self.tested(SHOP, "cargo test receipts", false)
    }
}

fn actor(name: &str) -> Result<Actor, Box<dyn Error>> {
    let session = name.parse()?;
    Ok(Actor {
        by: Author::of(&session),
        session,
        worktree: Some("main".to_owned()),
        message: None,
    })
}

fn main() -> Played {
    let mut words = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(project), Some(state)) = (words.next(), words.next()) else {
        return Err("name the folder of the project and the state directory".into());
    };
    let home = Home {
        config: state.join("config"),
        state,
    };
    let wall = Wall::default();
    // 2026-11-16, 09:00 UTC.
    wall.now.store(1_794_819_600_000, Ordering::Relaxed);
    let project = Project::at(&project, &home)?;
    let engine = Engine::new(project, Box::new(wall.clone()), Duration::from_secs(5));
    let mut story = Story {
        engine,
        wall,
        entries: 0,
    };
    story.shop()
}
