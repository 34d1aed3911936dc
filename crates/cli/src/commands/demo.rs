//! `flame demo`

use std::time::Instant;

use clap::{Args, Parser as _};
use flamestack_core::command::Actor;
use flamestack_core::folding::{MessageKind, PromptMessage, PromptMessages};
use flamestack_engine::brief::{BriefRequest, gather_workflows};
use flamestack_engine::context::{ContextOptions, ContextTarget, Preferences};
use flamestack_engine::folding::{FoldPolicy, Spans};
use flamestack_engine::hints::Voice;
use flamestack_engine::views::tree::TreeOptions;
use flamestack_engine::views::{self, counted, grouped, tree};
use flamestack_engine::{Engine, EngineError, Home, Request};
use flamestack_extract::tokens::Tokenizer;
use serde_json::{Value, json};

use super::temporary::TemporaryEngine;
use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, painted};

/// Play a small piece of work in a throw-away store: what you see, and what the model gets
#[derive(Args)]
pub(crate) struct Demo {
    /// Print the time and the number of events of each step
    #[arg(long)]
    timings: bool,
}

/// Start time of the story: 2026-01-05 09:00 UTC.
const MORNING: i64 = 1_767_603_600_000;

/// Stands for the first planned frame that is left.
const NEXT: &str = "NEXT";

/// Maximum number of tokens of the brief.
const BRIEF: usize = 600;

/// The story: scenes after `#`; the user's words after `?`; tool calls with the number of lines of
/// their made-up output after `>`; and commands as a user would type them, with ` | ` between the
/// words.
const STORY: &str = include_str!("demo.txt");

impl Demo {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let preferences = Preferences::default();
        let tokenizer = preferences.tokenizer();
        let mut stage = TemporaryEngine::new("shop", "demo:ses_1", MORNING, preferences)?;
        stage.actor.worktree = Some("main".to_owned());
        Story {
            engine: &stage.engine,
            home: &stage.home,
            actor: stage.actor.clone(),
            timings: self.timings,
            output,
            conversation: Conversation {
                messages: PromptMessages::default(),
                tokens: Vec::new(),
                tokenizer: tokenizer.as_ref(),
            },
            steps: Vec::new(),
            prompts: Vec::new(),
        }
        .play()
    }
}

/// The messages of the session, with their sizes.
struct Conversation<'t> {
    messages: PromptMessages,
    tokens: Vec<usize>,
    tokenizer: &'t dyn Tokenizer,
}

impl Conversation<'_> {
    /// Appends a message and returns its id.
    fn add(&mut self, kind: MessageKind, text: &str) -> String {
        let id = format!("msg_{}", self.messages.len() + 1);
        self.messages.push(PromptMessage {
            id: id.clone(),
            at: None,
            kind,
            calls: Vec::new(),
        });
        self.tokens.push(self.tokenizer.count(text));
        id
    }
}

struct Story<'o> {
    engine: &'o Engine,
    home: &'o Home,
    actor: Actor,
    timings: bool,
    output: &'o mut Output,
    conversation: Conversation<'o>,
    /// The steps taken, for `--json`.
    steps: Vec<Value>,
    /// Sizes of the prompt before and after each pop, for `--json`.
    prompts: Vec<Value>,
}

impl Story<'_> {
    fn play(&mut self) -> Result<(), Failure> {
        for line in STORY.lines().filter(|line| !line.is_empty()) {
            match line.split_once(' ') {
                Some(("#", scene)) => self.scene(scene)?,
                Some(("?", words)) => {
                    self.conversation.add(MessageKind::Person, words);
                }
                Some((">", call)) => self.tool_call(call),
                _ => self.command(line)?,
            }
        }
        self.look_back()
    }

    /// Adds a tool call with an output of some lines to the conversation.
    fn tool_call(&mut self, line: &str) {
        let (call, lines) = line.split_once(" | ").unwrap_or((line, "0"));
        let mut text = format!("{call}\n");
        for number in 1..=lines.parse::<usize>().unwrap_or(0) {
            text.push_str(&format!("line {number} of the output of `{call}`\n"));
        }
        self.conversation.add(MessageKind::Model, &text);
    }

    /// Runs a command of the story, parsed as the command line would be.
    fn command(&mut self, line: &str) -> Result<(), Failure> {
        let next = self.next_planned()?;
        let mut words: Vec<&str> = line.split(" | ").collect();
        let verb = words.first().copied().unwrap_or_default();
        for word in words.iter_mut().filter(|word| **word == NEXT) {
            *word = &next;
        }
        // In a host, the model makes the same call as a tool, in a message of its own.
        self.actor.message = Some(self.conversation.add(MessageKind::Model, line));
        let parsed = Cli::try_parse_from(["flame"].into_iter().chain(words));
        let Ok(Command::Change(change)) = parsed.map(|cli| cli.command) else {
            return Err(EngineError::Internal("the demo has an invalid command").into());
        };
        for request in change.requests()? {
            self.step(verb, &request)?;
        }
        if verb == "pop" {
            self.fold()?;
        }
        Ok(())
    }

    /// Shows what the last pop does to the prompt.
    fn fold(&mut self) -> Result<(), Failure> {
        let Conversation {
            messages, tokens, ..
        } = &self.conversation;
        let (session, mut spans) = (&self.actor.session, Spans::default());
        let policy = FoldPolicy::default();
        let folding = self.engine.fold(session, &mut spans, messages, policy)?;
        let is_folded = |place: usize| folding.ranges.iter().any(|range| range.contains(&place));
        let stays = |place: usize| {
            let message = messages.get(place);
            !is_folded(place) || message.is_some_and(|it| it.kind == MessageKind::Person)
        };
        let before: usize = tokens.iter().sum();
        let kept = tokens.iter().enumerate().filter(|(place, _)| stays(*place));
        let (count, after) = kept.fold((0, 0), |(count, sum), (_, size)| (count + 1, sum + size));
        if self.output.is_json() {
            self.prompts.push(json!({
                "tokens": before,
                "tokensFolded": after,
                "messages": tokens.len(),
                "messagesFolded": count,
            }));
            return Ok(());
        }
        let folded = counted((tokens.len() - count) as u64, "message", "messages");
        self.output.line(format!(
            "  {} {} → {} tokens: {folded} of finished frames left the prompt, the results stayed",
            painted(BOLD, format!("{:<10}", "prompt")),
            grouped(before as u64),
            grouped(after as u64)
        ))
    }

    /// Shows the tree, and what the model gets, once the work is done.
    fn look_back(&mut self) -> Result<(), Failure> {
        let options = TreeOptions {
            all: true,
            ..TreeOptions::default()
        };
        let view = self
            .engine
            .read(|reading| tree::gather(reading, &options))?;
        let here = self.actor.session.to_string();
        let canvas = self.output.canvas();
        let drawn = tree::render(&canvas, &view, Some(&here), true);
        let finished = view.lines.iter().find_map(|line| match line {
            tree::TreeLine::Frame(line) if line.row.frame.title.as_str() == "Store users" => {
                Some(line.row.frame.id)
            }
            _ => None,
        });
        let log = match finished {
            Some(id) => self.engine.logs().render(&id, None)?.0,
            None => String::new(),
        };
        let session = &self.actor.session;
        let target = ContextTarget::Session(session.clone());
        let options = ContextOptions::default();
        let context = self.engine.contexts().context(&target, &options)?;
        let context = context
            .map(|context| context.text.clone())
            .unwrap_or_default();
        let request = BriefRequest {
            session: Some(session.clone()),
            budget: BRIEF,
            ..BriefRequest::default()
        };
        let workflows = gather_workflows(self.home, self.engine.project());
        let brief = self.engine.brief(&request, &workflows)?.text;
        if self.output.is_json() {
            let steps = std::mem::take(&mut self.steps);
            let prompts = std::mem::take(&mut self.prompts);
            let story = json!({
                "steps": steps,
                "prompts": prompts,
                "tree": drawn,
                "context": context,
                "brief": brief,
                "log": log,
            });
            return self.output.data(&story);
        }
        self.scene("You see where the work stands (`flame tree --details`):")?;
        self.output.text(&drawn)?;
        let count = |text: &str| grouped(self.conversation.tokenizer.count(text) as u64);
        let (of_context, of_brief) = (count(&context), count(&brief));
        self.scene(&format!(
            "The model sees this in addition to the conversation (`flame context`, {of_context} tokens):"
        ))?;
        self.output.text(&context)?;
        self.scene(&format!(
            "After a compaction it continues with this (`flame brief`, {of_brief} tokens):"
        ))?;
        self.output.text(&format!("{}\n", brief.trim_end()))?;
        self.scene("All of it happened in a throw-away store, which is gone now.")?;
        self.output
            .dim("Start your own: `flame push \"What you are working on\"`.")
    }

    fn scene(&mut self, text: &str) -> Result<(), Failure> {
        if self.output.is_json() {
            return Ok(());
        }
        self.output.line("")?;
        self.output.line(painted(BOLD, text))
    }

    /// Executes one step and prints its receipt.
    fn step(&mut self, verb: &str, request: &Request) -> Result<(), Failure> {
        let begun = Instant::now();
        let receipt = self.engine.commands().execute(&self.actor, request)?;
        let took = begun.elapsed();
        let lines = self.engine.read(|reading| {
            views::receipt::lines(
                reading,
                self.engine.project(),
                &self.actor,
                &receipt,
                Voice::Cli,
            )
        })?;
        let milliseconds = took.as_secs_f64() * 1000.0;
        if self.output.is_json() {
            self.steps.push(json!({
                "command": verb,
                "milliseconds": milliseconds,
                "events": receipt.events.len(),
                "said": lines,
            }));
            return Ok(());
        }
        let events = counted(receipt.events.len() as u64, "event", "events");
        for (place, line) in lines.iter().enumerate() {
            let verb = if place == 0 { verb } else { "" };
            let cost = if place == 0 && self.timings {
                painted(DIM, format!("  ({milliseconds:.2} ms, {events})"))
            } else {
                String::new()
            };
            self.output.line(format!("  {verb:<10} {line}{cost}"))?;
        }
        Ok(())
    }

    /// Returns the id of the first planned frame below the root.
    fn next_planned(&self) -> Result<String, Failure> {
        let next = self.engine.read(|reading| {
            let roots = reading.rows(&flamestack_store::Slice::default())?;
            let Some(root) = roots.first() else {
                return Ok(None);
            };
            Ok(reading.next_planned(&root.frame.id, None)?)
        })?;
        Ok(next.map(|head| head.id.to_string()).unwrap_or_default())
    }
}
