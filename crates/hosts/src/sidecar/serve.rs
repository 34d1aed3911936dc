//! Who handles what: one worker a conversation, so that conversations do not wait for each other
//! and what belongs to one of them keeps its order.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use flamestack_core::id::SessionRef;
use serde::Deserialize;
use serde_json::Value;

use super::Sidecar;
use super::conversation::Conversation;
use super::methods::{METHODS, handle, hello};
use super::queues::Queues;
use super::rpc::{Answers, Asked, Fault, Line, Lines, params};

/// What is kept of a silent conversation is let go after this.
const SILENCE: Duration = Duration::from_mins(10);

/// Serves a host until the input ends.
pub fn serve<R, W>(sidecar: &Sidecar, input: R, output: W) -> io::Result<()>
where
    R: BufRead,
    W: Write + Send,
{
    let answers = Answers::new(output);
    let answers = &answers;
    let mut lines = Lines::new(input);
    thread::scope(|scope| {
        // The first question that needs tokens counted should not wait for that.
        scope.spawn(|| sidecar.engine.warm_up());
        let queues = Arc::new(Queues::default());
        let mut host: Option<String> = None;
        let mut without_parents = false;
        let mut workers: BTreeMap<String, Sender<Asked>> = BTreeMap::new();
        loop {
            let asked = match lines.next()? {
                Line::End => return Ok(()),
                Line::Bad(id, fault) => {
                    answers.refuse(&id.unwrap_or(Value::Null), &fault);
                    continue;
                }
                Line::Asked(asked) => asked,
            };
            if asked.method == "hello" {
                let welcome = hello(sidecar, &asked);
                if let Ok((greeting, _)) = &welcome {
                    host = Some(greeting.host.clone());
                    without_parents = greeting.without_parents;
                }
                answers.answer(asked.id.as_ref(), &welcome.map(|(_, welcome)| welcome));
                continue;
            }
            let (name, session) = match whose(host.as_deref(), &asked) {
                Ok(named) => named,
                Err(fault) => {
                    answers.answer::<()>(asked.id.as_ref(), &Err(fault));
                    continue;
                }
            };
            queues.came(&session);
            let Some(asked) = handed_over(&workers, &name, asked) else {
                continue;
            };
            let (sender, receiver) = channel();
            // The worker is there before anything can be sent to it, and ends with the sender.
            if sender.send(asked).is_ok() {
                workers.insert(name, sender);
                let conversation = Conversation::new(session, without_parents, Arc::clone(&queues));
                scope.spawn(move || attend(sidecar, answers, conversation, &receiver));
            }
        }
    })
}

/// Gives a request to the worker of its conversation; gives it back where there is none (any more).
fn handed_over(
    workers: &BTreeMap<String, Sender<Asked>>,
    name: &str,
    asked: Asked,
) -> Option<Asked> {
    match workers.get(name) {
        Some(worker) => worker.send(asked).err().map(|refused| refused.0),
        None => Some(asked),
    }
}

/// Serves one conversation until it has been silent for long, or the host is gone.
fn attend<W: Write>(
    sidecar: &Sidecar,
    answers: &Answers<W>,
    mut conversation: Conversation,
    requests: &Receiver<Asked>,
) {
    loop {
        match requests.recv_timeout(SILENCE) {
            Ok(asked) => {
                handle(sidecar, answers, &mut conversation, &asked);
                conversation.queues.handled(&conversation.session);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
    }
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
