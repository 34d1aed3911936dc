//! Who handles what. Whoever has read a request answers it, and somebody else reads on: a question
//! never waits for a thread to wake up, conversations do not wait for each other, and what belongs to
//! one of them keeps its order.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use flamestack_core::id::SessionRef;
use serde::Deserialize;
use serde_json::Value;

use super::Sidecar;
use super::conversation::Conversation;
use super::direct::DirectLine;
use super::methods::{METHODS, handle, hello};
use super::queues::Queues;
use super::rpc::{Answers, Asked, Fault, Line, Lines, params};

/// What is kept of a silent conversation is let go after this.
const SILENCE: Duration = Duration::from_mins(10);

/// Serves a host until the input ends.
pub fn serve<R, W>(sidecar: &Sidecar, input: R, output: W) -> io::Result<()>
where
    R: BufRead + Send,
    W: Write + Send,
{
    let desk = Desk {
        sidecar,
        answers: Answers::new(output),
        door: Mutex::new(Door {
            lines: Lines::new(input),
            host: None,
            without_parents: false,
            line: None,
            queues: Arc::default(),
            conversations: BTreeMap::new(),
            ended: None,
        }),
        waiting: AtomicUsize::new(0),
    };
    thread::scope(|scope| {
        // The first question that needs tokens counted should not wait for that.
        scope.spawn(|| sidecar.engine.warm_up());
        desk.attend(scope);
    });
    let door = desk.door.into_inner();
    let door = door.unwrap_or_else(PoisonError::into_inner);
    door.ended.unwrap_or(Ok(()))
}

/// Where the threads that serve a host meet.
struct Desk<'a, R, W> {
    sidecar: &'a Sidecar,
    answers: Answers<W>,
    /// One thread at a time reads.
    door: Mutex<Door<R>>,
    /// How many others wait for that.
    waiting: AtomicUsize,
}

struct Door<R> {
    lines: Lines<R>,
    /// Who is there.
    host: Option<String>,
    /// Whether it does not say which conversation started which.
    without_parents: bool,
    /// A direct line that the host has not taken up yet.
    line: Option<DirectLine>,
    /// What is still to be handled.
    queues: Arc<Queues>,
    conversations: BTreeMap<String, Arc<Room>>,
    /// How the input ended, once it has.
    ended: Option<io::Result<()>>,
}

/// One conversation, and what was asked in it that nobody has answered yet.
struct Room {
    conversation: Mutex<Conversation>,
    asked: Mutex<Queue>,
}

struct Queue {
    waiting: VecDeque<Asked>,
    /// Somebody is answering, and goes on until nothing is left.
    attended: bool,
    last: Instant,
}

impl<R: BufRead + Send, W: Write + Send> Desk<'_, R, W> {
    /// Reads and answers until the input ends.
    fn attend<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        loop {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let mut door = locked(&self.door);
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            let Some(room) = self.next(&mut door, scope) else {
                return;
            };
            if self.waiting.load(Ordering::SeqCst) == 0 {
                scope.spawn(|| self.attend(scope));
            }
            drop(door);
            let mut conversation = locked(&room.conversation);
            while let Some(asked) = room.next() {
                handle(self.sidecar, &self.answers, &mut conversation, &asked);
                conversation.queues.handled(&conversation.session);
            }
        }
    }

    /// The next conversation in which something is asked that nobody attends to; nothing, once the
    /// input has ended.
    fn next<'scope>(
        &self,
        door: &mut Door<R>,
        scope: &'scope Scope<'scope, '_>,
    ) -> Option<Arc<Room>>
    where
        R: 'scope,
    {
        while door.ended.is_none() {
            let asked = match door.lines.next() {
                Ok(Line::Asked(asked)) => asked,
                Ok(Line::Bad(id, fault)) => {
                    self.answers.refuse(&id.unwrap_or(Value::Null), &fault);
                    continue;
                }
                Ok(Line::End) => {
                    door.ended = Some(Ok(()));
                    continue;
                }
                Err(error) => {
                    door.ended = Some(Err(error));
                    continue;
                }
            };
            if asked.method == "hello" {
                let mut welcome = hello(self.sidecar, &asked);
                if let Ok((greeting, welcome)) = &mut welcome {
                    door.host = Some(greeting.host.clone());
                    door.without_parents = greeting.without_parents;
                    // A host that greets twice may have opened the first one already.
                    if greeting.direct && door.line.is_none() && !door.lines.are_direct() {
                        door.line = lay();
                    }
                    welcome.direct = door.line.as_ref().and_then(DirectLine::told);
                }
                let welcome = welcome.map(|(_, welcome)| welcome);
                self.answers.answer(asked.id.as_ref(), &welcome);
                continue;
            }
            if asked.method == "direct" {
                self.turn_to_direct_line(door, scope);
                continue;
            }
            match whose(door.host.as_deref(), &asked) {
                Ok((name, session)) => {
                    door.queues.came(&session);
                    let room = door.room(name, session);
                    if room.put(asked) {
                        return Some(room);
                    }
                }
                Err(fault) => self.answers.answer::<()>(asked.id.as_ref(), &Err(fault)),
            }
        }
        None
    }

    /// The host has opened its ends of the direct line: what it asks comes there, and standard input
    /// only has an end.
    fn turn_to_direct_line<'scope>(&self, door: &mut Door<R>, scope: &'scope Scope<'scope, '_>)
    where
        R: 'scope,
    {
        match door.line.take().map(DirectLine::take_up) {
            Some(Ok((questions, hangup, answers))) => {
                self.answers.offer_at(answers);
                if let Some(input) = door.lines.turn_to(questions) {
                    scope.spawn(move || hangup.after(input));
                }
            }
            Some(Err(error)) => tracing::warn!("the direct line cannot be taken up: {error}"),
            None => tracing::warn!("there is no direct line to be taken up"),
        }
    }
}

/// A direct line, where there can be one.
fn lay() -> Option<DirectLine> {
    DirectLine::lay()
        .inspect_err(|error| tracing::debug!("no direct line: {error}"))
        .ok()
}

impl<R> Door<R> {
    fn room(&mut self, name: String, session: SessionRef) -> Arc<Room> {
        if let Some(room) = self.conversations.get(&name) {
            return Arc::clone(room);
        }
        self.conversations.retain(|_, room| !room.is_silent());
        let room = Arc::new(Room {
            conversation: Mutex::new(Conversation::new(
                session,
                self.without_parents,
                Arc::clone(&self.queues),
            )),
            asked: Mutex::new(Queue {
                waiting: VecDeque::new(),
                attended: false,
                last: Instant::now(),
            }),
        });
        self.conversations.insert(name, Arc::clone(&room));
        room
    }
}

impl Room {
    /// Takes a request, and says whether nobody is there to answer it.
    fn put(&self, asked: Asked) -> bool {
        let mut queue = locked(&self.asked);
        queue.waiting.push_back(asked);
        queue.last = Instant::now();
        !std::mem::replace(&mut queue.attended, true)
    }

    /// What is to be answered next. When there is nothing, whoever asked for it is free to go.
    fn next(&self) -> Option<Asked> {
        let mut queue = locked(&self.asked);
        let next = queue.waiting.pop_front();
        queue.attended = next.is_some();
        next
    }

    fn is_silent(&self) -> bool {
        let queue = locked(&self.asked);
        !queue.attended && queue.last.elapsed() > SILENCE
    }
}

/// What was left when a thread failed is still a whole request, or a whole conversation.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The conversation that a request is about.
fn whose(host: Option<&str>, asked: &Asked) -> Result<(String, SessionRef), Fault> {
    #[derive(Deserialize)]
    struct Whose {
        #[serde(default)]
        session: Option<String>,
    }
    let Some(host) = host else {
        return Err(Fault::Failed(format!(
            "`{}` came before `hello`: say hello first",
            asked.method
        )));
    };
    if !METHODS.contains(&asked.method.as_str()) {
        let name = asked.method.chars().take(80).collect();
        return Err(Fault::NoMethod(name));
    }
    let Whose { session } = params(asked)?;
    let session = session.unwrap_or_else(|| "none".to_owned());
    let named = format!("{host}:{session}");
    match named.parse() {
        Ok(session) => Ok((named, session)),
        Err(problem) => Err(Fault::BadParams {
            method: asked.method.clone(),
            problem: format!("at `session`: {problem}"),
        }),
    }
}
