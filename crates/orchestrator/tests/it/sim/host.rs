//! The server of a simulated world. It has OpenCode's traps: a message that is sent again and is not
//! the newest starts a second turn, and a crash leaves unfinished answers forever.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::time::Duration;

use flamestack_orchestrator::{
    Ask, EndedTurn, Host, HostError, Outgoing, Reply, SessionLocation, SessionWanted, Spending,
    TurnView, Wake,
};

use serde_json::Value;

use super::{Moment, SimMessage, SimPrompt, SimReply, SimSession, World};

/// The server of a world.
pub(crate) struct SimHost(Rc<RefCell<World>>);

impl SimHost {
    /// The server of this world.
    pub(crate) fn new(world: &Rc<RefCell<World>>) -> Self {
        Self(Rc::clone(world))
    }

    /// Makes a call that can be cut off before, during and after it.
    fn call<T>(
        &self,
        name: &str,
        work: impl FnOnce(&mut World) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let mut world = self.0.borrow_mut();
        check(&mut world, name, Moment::Before)?;
        let done = work(&mut world);
        // Nothing is at stake between a look and the next step.
        if matches!(name, "turn" | "asks" | "has" | "find" | "wait") {
            return done;
        }
        check(&mut world, name, Moment::During)?;
        if world.pass(name, Moment::After) {
            return Err(dead());
        }
        done
    }
}

/// Passes a point of a call: fails if the driver died, or if the server is not there to answer.
fn check(world: &mut RefMut<'_, World>, name: &str, moment: Moment) -> Result<(), HostError> {
    if world.pass(name, moment) {
        return Err(dead());
    }
    if world.down {
        return Err(HostError::Unreachable {
            url: "sim".to_owned(),
            reason: "the server died".to_owned(),
        });
    }
    Ok(())
}

fn dead() -> HostError {
    HostError::Unreadable {
        reason: "the driver died".to_owned(),
    }
}

fn session<'w>(world: &'w mut World, id: &str) -> Result<&'w mut SimSession, HostError> {
    let mut sessions = world.sessions.iter_mut();
    sessions
        .find(|one| one.id == id)
        .ok_or_else(|| HostError::NoSession {
            session: id.to_owned(),
        })
}

/// Starts or continues the turn of a message.
fn start(world: &mut World, location: &str, message: &str) -> Result<(), HostError> {
    let completed = world
        .sessions
        .iter()
        .flat_map(|one| one.messages.iter().map(move |message| (one, message)))
        .filter(|(_, message)| message.complete)
        .map(|(one, _)| one.title.clone())
        .collect::<Vec<_>>();
    let script = Rc::clone(&world.script);
    *world.started.entry(message.to_owned()).or_default() += 1;
    let one = session(world, location)?;
    let history = one.messages.iter().flat_map(|message| {
        let answer = message.answer.as_ref().map(|reply| reply.text.clone());
        message.parts.values().cloned().chain(answer)
    });
    let history = history.collect();
    let (title, attempt) = (one.title.clone(), one.key.2);
    let directory = one.directory.clone();
    // A model that is asked to continue knows what it was at.
    let text_of = |message: &SimMessage| {
        message
            .parts
            .values()
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    };
    let place = one.messages.iter().position(|one| one.id == message);
    let until = one.messages.get(..=place.unwrap_or_default());
    let mut asked = until.into_iter().flatten().rev().map(text_of);
    let asked = asked.find(|text| !text.contains("was interrupted by a crash"));
    one.running = true;
    let Some(found) = one.messages.iter_mut().find(|one| one.id == message) else {
        return Ok(());
    };
    let prompt = SimPrompt {
        answered: completed.iter().filter(|one| **one == title).count(),
        title,
        attempt,
        text: asked.unwrap_or_default(),
        history,
        directory,
    };
    found.rounds = 0;
    found.answer = None;
    found.complete = false;
    let reply = script(&prompt);
    found.answer = Some(reply);
    Ok(())
}

impl Host for SimHost {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn message_ids(&self, _now: i64, seed: &str, parts: usize) -> (String, Vec<String>) {
        let message = format!("msg_{seed}");
        let parts = (0..parts).map(|part| format!("prt_{seed}_{part}"));
        (message, parts.collect())
    }

    fn create(&mut self, wanted: &SessionWanted) -> Result<String, HostError> {
        self.call("create", |world| {
            let id = format!("ses_{}", world.sessions.len() + 1);
            let key = &wanted.key;
            world.sessions.push(SimSession {
                id: id.clone(),
                key: (key.run.clone(), key.frame.clone(), key.attempt),
                title: wanted.title.clone(),
                directory: wanted.directory.clone(),
                messages: Vec::new(),
                running: false,
            });
            Ok(id)
        })
    }

    fn find(&mut self, wanted: &SessionWanted) -> Result<Option<String>, HostError> {
        let key = &wanted.key;
        let key = (key.run.clone(), key.frame.clone(), key.attempt);
        self.call("find", |world| {
            let mut sessions = world.sessions.iter();
            Ok(sessions
                .find(|one| one.key == key)
                .map(|one| one.id.clone()))
        })
    }

    fn send(&mut self, location: &SessionLocation, message: &Outgoing) -> Result<(), HostError> {
        let name = if message.wants_reply {
            "prompt"
        } else {
            "context"
        };
        self.call(name, |world| {
            let one = session(world, &location.session)?;
            let is_newest = one
                .messages
                .last()
                .is_some_and(|last| last.id == message.id);
            let running = one.running;
            let known = one.messages.iter_mut().find(|old| old.id == message.id);
            if let Some(known) = known {
                known.parts.extend(message.parts.iter().cloned());
                let complete = known.complete;
                if message.wants_reply && !running && !(is_newest && complete) {
                    if complete {
                        world.repeated += 1;
                    }
                    start(world, &location.session, &message.id)?;
                }
                return Ok(());
            }
            one.messages.push(SimMessage {
                id: message.id.clone(),
                parts: message.parts.iter().cloned().collect(),
                wants_reply: message.wants_reply,
                answer: None,
                complete: false,
                rounds: 0,
            });
            if message.wants_reply && !running {
                start(world, &location.session, &message.id)?;
            }
            Ok(())
        })
    }

    fn has(&mut self, location: &SessionLocation, message: &str) -> Result<bool, HostError> {
        self.call("has", |world| {
            let one = session(world, &location.session)?;
            Ok(one.messages.iter().any(|known| known.id == message))
        })
    }

    fn stored(&mut self, _location: &SessionLocation) -> Result<Vec<Value>, HostError> {
        Ok(Vec::new())
    }

    fn turn(&mut self, location: &SessionLocation, message: &str) -> Result<TurnView, HostError> {
        self.call("turn", |world| {
            let one = session(world, &location.session)?;
            let running = one.running;
            let Some(known) = one.messages.iter().find(|known| known.id == message) else {
                return Ok(TurnView::Missing);
            };
            Ok(view(known, running))
        })
    }

    fn discard(&mut self, location: &SessionLocation, message: &str) -> Result<(), HostError> {
        self.call("discard", |world| {
            let one = session(world, &location.session)?;
            if let Some(known) = one.messages.iter_mut().find(|known| known.id == message)
                && !known.complete
            {
                known.answer = None;
            }
            Ok(())
        })
    }

    fn stop(&mut self, location: &SessionLocation) -> Result<(), HostError> {
        self.call("stop", |world| {
            let one = session(world, &location.session)?;
            one.running = false;
            Ok(())
        })
    }

    fn asks(&mut self) -> Result<Vec<Ask>, HostError> {
        self.call("asks", |world| Ok(world.asks.clone()))
    }

    fn answer(&mut self, ask: &Ask, reply: &Reply) -> Result<(), HostError> {
        self.call("answer", |world| {
            world.asks.retain(|one| one.id != ask.id);
            world.replies.push(format!("{} {reply:?}", ask.id));
            Ok(())
        })
    }

    fn wait(&mut self, _at_most: Duration) -> Wake {
        let moved = self.call("wait", |world| {
            let answered: Vec<String> = world.replies.clone();
            let mut news = Vec::new();
            let mut asks = Vec::new();
            for session in world.sessions.iter_mut().filter(|one| one.running) {
                let working = session.messages.iter_mut();
                let working = working.filter(|one| one.answer.is_some() && !one.complete);
                let Some(message) = working.last() else {
                    continue;
                };
                message.rounds += 1;
                let reply = message.answer.clone().unwrap_or_else(|| SimReply::text(""));
                if let Some(ask) = &reply.ask {
                    let id = format!("{}-{}", ask.id, message.id);
                    if !answered.iter().any(|answer| answer.starts_with(&id)) {
                        asks.push(Ask {
                            id,
                            session: session.id.clone(),
                            kind: ask.kind.clone(),
                        });
                        news.push(session.id.clone());
                        continue;
                    }
                }
                if message.rounds >= reply.rounds {
                    message.complete = true;
                    session.running = false;
                    // What was said meanwhile was answered with it.
                    for later in &mut session.messages {
                        let open = later.wants_reply && later.answer.is_none();
                        if open {
                            later.answer = Some(reply.clone());
                            later.complete = true;
                        }
                    }
                }
                news.push(session.id.clone());
            }
            for ask in asks {
                if !world.asks.iter().any(|known| known.id == ask.id) {
                    world.asks.push(ask);
                }
            }
            Ok(news)
        });
        match moved {
            Ok(news) if news.is_empty() => Wake::Quiet,
            Ok(news) => Wake::News(news),
            Err(_) => Wake::Everything,
        }
    }

    fn revive(&mut self) -> Result<(), HostError> {
        let mut world = self.0.borrow_mut();
        if world.stays_away {
            return Err(HostError::Unreachable {
                url: "sim".to_owned(),
                reason: "it stays away".to_owned(),
            });
        }
        world.down = false;
        world.restarts += 1;
        Ok(())
    }
}

fn view(message: &SimMessage, running: bool) -> TurnView {
    match &message.answer {
        Some(reply) if message.complete => TurnView::Ended(Box::new(EndedTurn {
            finish: reply.finish.clone(),
            text: reply.text.clone(),
            calls: reply.calls.clone(),
            spent: reply.spent,
            artifacts: Vec::new(),
        })),
        _ if running => TurnView::Running {
            progress: u64::from(message.rounds),
            doing: None,
            spent: Spending::default(),
        },
        Some(reply) if message.rounds > 0 => TurnView::Cut {
            used_tools: reply.uses_tools,
            spent: Spending::default(),
        },
        _ => TurnView::Unanswered,
    }
}
