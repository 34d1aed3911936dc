//! `flame autonomy`

use clap::{Args, Subcommand};
use flamestack_core::SessionRef;
use flamestack_core::autonomy::{Heuristic, Suggestion, SuggestionState};
use flamestack_engine::autonomy::{advice, described};
use flamestack_engine::tools;
use serde_json::{Value, json};

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::Output;

/// Number of suggestions that a history shows.
const HISTORY: usize = 20;

/// Show or change what Flamestack suggests and does unasked
///
/// Without a command, prints the settings and the state of each heuristic. A score is the probability that
/// a suggestion is right; `flame eval autonomy` measures it on your own recordings.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Autonomy {
    #[command(subcommand)]
    action: Option<Action>,
    /// Suggest nothing, show suggestions, or act at boundaries
    #[arg(long, value_name = "LEVEL", value_parser = ["manual", "suggest", "auto"])]
    level: Option<String>,
    /// Minimum score of a suggestion to open a frame, in percent
    #[arg(long, value_name = "N")]
    push_threshold: Option<u64>,
    /// Minimum score of a suggestion to close a frame, in percent
    #[arg(long, value_name = "N")]
    pop_threshold: Option<u64>,
    /// Put the pending suggestion into the context, as a line for the model
    #[arg(long, value_name = "BOOL")]
    suggest_in_context: Option<bool>,
    /// Turn a heuristic on
    #[arg(long, value_name = "HEURISTIC", value_parser = Heuristic::ALL.map(Heuristic::as_str))]
    enable: Option<String>,
    /// Turn a heuristic off
    #[arg(long, value_name = "HEURISTIC", value_parser = Heuristic::ALL.map(Heuristic::as_str))]
    disable: Option<String>,
    /// Restore the defaults, and start the statistics again
    #[arg(long)]
    reset: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Ask whether the recorded signals suggest opening a frame
    ShouldPush(ShouldPush),
    /// Ask whether the recorded signals suggest closing the frame
    ShouldPop(ShouldPop),
    /// List the pending suggestion and earlier ones
    Suggestions {
        /// Include all sessions
        #[arg(long)]
        all: bool,
    },
    /// Do what the pending suggestion says
    Accept,
    /// Dismiss the pending suggestion; its evidence is not suggested again
    Dismiss,
    /// Mute suggestions in this session for a number of your messages; 0 unmutes
    Snooze {
        /// Number of your messages
        #[arg(default_value_t = 10)]
        messages: u64,
    },
    /// Count what became of suggestions in this project
    Stats {
        /// Start the statistics again
        #[arg(long)]
        reset: bool,
    },
}

#[derive(Args)]
struct ShouldPush {
    /// Goal of the frame that might be opened
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// Number of recent messages
    #[arg(long, value_name = "N")]
    messages: Option<u64>,
    /// A file that was changed; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// Number of recent errors
    #[arg(long, value_name = "N")]
    errors: Option<u64>,
    /// Tokens of the prompt
    #[arg(long, value_name = "N")]
    tokens: Option<u64>,
}

#[derive(Args)]
struct ShouldPop {
    /// A sign of success; may be repeated
    #[arg(long = "success", value_name = "TEXT")]
    successes: Vec<String>,
    /// A sign of failure; may be repeated
    #[arg(long = "failure", value_name = "TEXT")]
    failures: Vec<String>,
    /// Number of turns without progress
    #[arg(long, value_name = "N")]
    idle_turns: Option<u64>,
    /// Tokens of the prompt
    #[arg(long, value_name = "N")]
    tokens: Option<u64>,
    /// Maximum size of a prompt, in tokens
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

impl Autonomy {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        match self.action {
            None => self.settings(ctx, output),
            Some(Action::ShouldPush(ask)) => {
                tool(ctx, output, "stack_should_push", &ask.arguments())
            }
            Some(Action::ShouldPop(ask)) => tool(ctx, output, "stack_should_pop", &ask.arguments()),
            Some(Action::Suggestions { all }) => suggestions(ctx, all, output),
            Some(Action::Accept) => {
                let accepted = ctx.engine.autonomy().accept(&ctx.actor)?;
                done(output, "accepted", &accepted)
            }
            Some(Action::Dismiss) => {
                let dismissed = ctx.engine.autonomy().dismiss(&ctx.actor)?;
                done(output, "dismissed", &dismissed)
            }
            Some(Action::Snooze { messages }) => {
                ctx.engine.autonomy().snooze(&ctx.actor, messages)?;
                if output.is_json() {
                    return output.data(&json!({ "snoozed": messages }));
                }
                output.line(match messages {
                    0 => "Suggestions come again in this session.".to_owned(),
                    _ => format!("No suggestions in this session for {messages} messages."),
                })
            }
            Some(Action::Stats { reset }) => stats(ctx, reset, output),
        }
    }

    fn settings(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let arguments = json!({
            "level": self.level,
            "pushThreshold": self.push_threshold,
            "popThreshold": self.pop_threshold,
            "suggestInContext": self.suggest_in_context,
            "enableHeuristic": self.enable,
            "disableHeuristic": self.disable,
            "reset": self.reset,
        });
        let text = tools::call(&ctx.engine, &ctx.actor, "stack_autonomy", arguments)?;
        if !output.is_json() {
            return output.raw(&text);
        }
        let policy = ctx.engine.autonomy().policy()?;
        let heuristics = Heuristic::ALL.map(|heuristic| {
            json!({
                "name": heuristic.as_str(),
                "kind": heuristic.kind().as_str(),
                "enabled": policy.speaks(heuristic),
                "answers": policy.answers(heuristic),
            })
        });
        output.data(&json!({
            "level": policy.level.as_str(),
            "pushThreshold": policy.push_threshold,
            "popThreshold": policy.pop_threshold,
            "minPrecision": policy.min_precision,
            "suggestInContext": policy.in_context,
            "heuristics": heuristics,
        }))
    }
}

impl ShouldPush {
    fn arguments(&self) -> Value {
        json!({
            "potentialGoal": self.goal,
            "recentMessages": self.messages,
            "recentFileChanges": (!self.files.is_empty()).then_some(&self.files),
            "errorCount": self.errors,
            "tokenCount": self.tokens,
        })
    }
}

impl ShouldPop {
    fn arguments(&self) -> Value {
        json!({
            "successSignals": (!self.successes.is_empty()).then_some(&self.successes),
            "failureSignals": (!self.failures.is_empty()).then_some(&self.failures),
            "noProgressTurns": self.idle_turns,
            "tokenCount": self.tokens,
            "contextLimit": self.limit,
        })
    }
}

fn tool(
    ctx: &CommandContext,
    output: &mut Output,
    name: &str,
    arguments: &Value,
) -> Result<(), Failure> {
    let text = tools::call(&ctx.engine, &ctx.actor, name, arguments.clone())?;
    if output.is_json() {
        return output.data(&json!({ "answer": text }));
    }
    output.raw(&text)
}

fn suggestions(ctx: &CommandContext, all: bool, output: &mut Output) -> Result<(), Failure> {
    let autonomy = ctx.engine.autonomy();
    autonomy.settle(&ctx.actor)?;
    let session: Option<&SessionRef> = (!all).then_some(&ctx.actor.session);
    let history = autonomy.history(session, HISTORY)?;
    if output.is_json() {
        let list = history
            .iter()
            .map(|(_, suggestion, state)| value(suggestion, *state));
        return output.data(&list.collect());
    }
    if history.is_empty() {
        return output.line("No suggestions so far.");
    }
    for (_, suggestion, state) in &history {
        output.line(format!("{}: {}", state.as_str(), described(suggestion)))?;
    }
    Ok(())
}

/// Returns a suggestion as JSON.
pub(crate) fn value(suggestion: &Suggestion, state: SuggestionState) -> Value {
    json!({
        "kind": suggestion.kind.as_str(),
        "heuristic": suggestion.heuristic.as_str(),
        "score": suggestion.score,
        "advice": advice(suggestion),
        "evidence": suggestion.evidence.as_str(),
        "frame": suggestion.frame.map(|frame| frame.to_string()),
        "outcome": suggestion.outcome.map(|outcome| outcome.status().as_str()),
        "boundary": suggestion.boundary.as_str(),
        "saves": suggestion.saves,
        "sessionsThatGotThisFar": suggestion.reached,
        "sessions": suggestion.sessions,
        "automatic": suggestion.is_automatic,
        "state": state.as_str(),
    })
}

fn done(output: &mut Output, word: &str, suggestion: &Suggestion) -> Result<(), Failure> {
    if output.is_json() {
        let state = match word {
            "accepted" => SuggestionState::Acted,
            _ => SuggestionState::Dismissed,
        };
        return output.data(&value(suggestion, state));
    }
    output.line(format!("{word}: {}", described(suggestion)))
}

fn stats(ctx: &CommandContext, reset: bool, output: &mut Output) -> Result<(), Failure> {
    let arguments = json!({ "reset": reset });
    if !output.is_json() {
        return tool(ctx, output, "stack_autonomy_stats", &arguments);
    }
    let tallies = ctx.engine.autonomy().tallies()?;
    if reset {
        ctx.engine.autonomy().reset(&ctx.actor)?;
    }
    let rows = tallies.into_iter().map(|(heuristic, tally)| {
        json!({
            "name": heuristic.as_str(),
            "made": tally.made,
            "actedOn": tally.acted,
            "confirmed": tally.confirmed,
            "dismissed": tally.dismissed,
            "contradicted": tally.contradicted,
            "expired": tally.expired,
            "precision": tally.precision(),
        })
    });
    output.data(&json!({ "heuristics": rows.collect::<Vec<_>>() }))
}
