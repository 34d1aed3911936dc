//! Tools about autonomy: its settings, what it thinks of the work, its suggestions.

use crate::autonomy::heuristics::{Judgement, fingerprint};
use flamestack_core::autonomy::{AdviceKind, AutonomyLevel, Heuristic};
use flamestack_core::{Actor, Outcome};
use flamestack_extract::lex::terms;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolArgs, WholeNumber};
use crate::Engine;
use crate::autonomy::policy::FEWEST_CASES;
use crate::autonomy::{AutonomyPolicy, described};
use crate::error::Result;
use crate::settings::{self, Change};
use crate::views::counted;

/// Maximum number of suggestions in a history.
const HISTORY: usize = 20;

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum LevelArg {
    Manual,
    Suggest,
    Auto,
}

impl From<LevelArg> for AutonomyLevel {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Manual => Self::Manual,
            LevelArg::Suggest => Self::Suggest,
            LevelArg::Auto => Self::Auto,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AutonomyArgs {
    level: Option<LevelArg>,
    /// Percent
    push_threshold: Option<WholeNumber>,
    /// Percent
    pop_threshold: Option<WholeNumber>,
    suggest_in_context: Option<bool>,
    enable_heuristic: Option<String>,
    disable_heuristic: Option<String>,
    /// Restore the defaults
    reset: Option<bool>,
}

impl ToolArgs for AutonomyArgs {
    const NAME: &'static str = "stack_autonomy";
    const DESCRIPTION: &'static str =
        "Show what Flamestack does unasked in this project, or change it.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let mut changes: Vec<Change> = Vec::new();
        if self.reset.unwrap_or(false) {
            settings::reset(&engine.project().settings_file(), "autonomy.")?;
            engine.autonomy().reset(actor)?;
        }
        let level = self.level.map(AutonomyLevel::from);
        changes.extend(level.map(|level| Change::new("autonomy.level", level.as_str())));
        for (key, value) in [
            ("autonomy.push_threshold", self.push_threshold),
            ("autonomy.pop_threshold", self.pop_threshold),
        ] {
            let text = value.map(|number| number.get().to_string());
            changes.extend(text.map(|text| Change::new(key, &text)));
        }
        if let Some(on) = self.suggest_in_context {
            let word = if on { "on" } else { "off" };
            changes.push(Change::new("autonomy.suggest_in_context", word));
        }
        let policy = engine.autonomy().policy()?;
        changes.extend(chosen(
            &policy,
            self.enable_heuristic,
            self.disable_heuristic,
        )?);
        if !changes.is_empty() {
            engine.configure(&changes)?;
        }
        shown(engine)
    }
}

/// Returns the change of the chosen heuristics.
fn chosen(
    policy: &AutonomyPolicy,
    more: Option<String>,
    less: Option<String>,
) -> Result<Option<Change>> {
    if more.is_none() && less.is_none() {
        return Ok(None);
    }
    let known = |argument: &str, name: String| {
        let found = Heuristic::from_name(name.trim());
        let names = Heuristic::ALL.map(Heuristic::as_str).join(", ");
        let problem = format!("there is no heuristic of this name; there are {names}");
        found.ok_or_else(|| AutonomyArgs::bad_argument(argument, &problem))
    };
    let mut heuristics = policy.heuristics.clone();
    if let Some(more) = more {
        heuristics.enable(known("enableHeuristic", more)?);
    }
    if let Some(less) = less {
        heuristics.disable(known("disableHeuristic", less)?);
    }
    let value = heuristics.value();
    Ok(Some(Change::new("autonomy.heuristics", &value)))
}

/// Renders the settings with their origins, and the state of each heuristic.
fn shown(engine: &Engine) -> Result<String> {
    let settings = engine.settings()?;
    let mut text = String::new();
    for (setting, value) in settings.iter() {
        if setting.key.starts_with("autonomy.") {
            text.push_str(&format!(
                "{} = {}  {}\n",
                setting.key, value.text, value.origin
            ));
        }
    }
    let policy = AutonomyPolicy::from_settings(&settings)?;
    let tallies = engine.autonomy().tallies()?;
    for heuristic in Heuristic::ALL {
        let tally = tallies.get(&heuristic).copied().unwrap_or_default();
        let state = if tally.is_too_low(policy.min_precision, FEWEST_CASES) {
            "turned itself off: too often wrong here"
        } else if policy.speaks(heuristic) {
            "on"
        } else if policy.answers(heuristic) {
            "answers when asked"
        } else {
            "off"
        };
        text.push_str(&format!(
            "{:5} {:17} {state}\n",
            heuristic.kind().as_str(),
            heuristic.as_str()
        ));
    }
    Ok(text)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ShouldPushArgs {
    /// Goal of the frame that might be opened
    potential_goal: Option<String>,
    recent_messages: Option<WholeNumber>,
    recent_file_changes: Option<Vec<String>>,
    error_count: Option<WholeNumber>,
    token_count: Option<WholeNumber>,
}

impl ToolArgs for ShouldPushArgs {
    const NAME: &'static str = "stack_should_push";
    const DESCRIPTION: &'static str =
        "Whether the recorded signals suggest opening a frame, with the evidence.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let autonomy = engine.autonomy();
        let mut signals = autonomy.signals(&actor.session)?;
        if let Some(goal) = self.potential_goal.filter(|goal| !goal.trim().is_empty()) {
            let divergence = divergence(engine, actor, &goal)?;
            signals.declared.goal = Some((goal.trim().to_owned(), divergence));
        }
        if let Some(messages) = self.recent_messages {
            signals.messages = small(messages);
        }
        if let Some(files) = &self.recent_file_changes {
            let count = |all: Vec<u64>| {
                let set: std::collections::BTreeSet<u64> = all.into_iter().collect();
                u32::try_from(set.len()).unwrap_or(u32::MAX)
            };
            let folder = |file: &String| {
                file.rsplit_once('/')
                    .map(|(folder, _)| fingerprint(&[folder]))
            };
            signals.files = count(files.iter().map(|file| fingerprint(&[file])).collect());
            signals.folders = count(files.iter().filter_map(folder).collect());
        }
        if let Some(errors) = self.error_count {
            signals.turn.failures = small(errors);
        }
        if let Some(tokens) = self.token_count {
            signals.tokens = Some(tokens.get() as u64);
        }
        let judgement = autonomy.judge(AdviceKind::Push, &signals)?;
        let policy = autonomy.policy()?;
        Ok(answer(&judgement, policy.push_threshold, signals.is_held()))
    }
}

/// Returns the share of the terms of a goal that the session's goal lacks, in percent.
fn divergence(engine: &Engine, actor: &Actor, goal: &str) -> Result<u8> {
    let current = engine.read(|reading| {
        let known = reading.session(&actor.session)?;
        let Some(frame) = known.and_then(|known| known.frame()) else {
            return Ok(None);
        };
        Ok(reading.whole_frame(&frame)?)
    })?;
    let Some(current) = current else {
        return Ok(0);
    };
    let criteria = current.criteria.as_ref().map_or("", |text| text.as_str());
    let known = terms(&format!("{}\n{criteria}", current.title.as_str()));
    let wanted = terms(goal);
    let unknown = wanted.iter().filter(|term| !known.contains(term)).count();
    Ok(u8::try_from((unknown * 100).checked_div(wanted.len()).unwrap_or(0)).unwrap_or(100))
}

fn small(number: WholeNumber) -> u32 {
    u32::try_from(number.get()).unwrap_or(u32::MAX)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ShouldPopArgs {
    success_signals: Option<Vec<String>>,
    failure_signals: Option<Vec<String>>,
    no_progress_turns: Option<WholeNumber>,
    token_count: Option<WholeNumber>,
    /// Maximum size of a prompt, in tokens
    context_limit: Option<WholeNumber>,
}

impl ToolArgs for ShouldPopArgs {
    const NAME: &'static str = "stack_should_pop";
    const DESCRIPTION: &'static str =
        "Whether the recorded signals suggest closing the frame, with status and evidence.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let autonomy = engine.autonomy();
        let mut signals = autonomy.signals(&actor.session)?;
        let count = |list: Option<Vec<String>>| {
            let list = list.unwrap_or_default();
            let given = list.iter().filter(|one| !one.trim().is_empty()).count();
            u32::try_from(given).unwrap_or(u32::MAX)
        };
        signals.declared.successes = count(self.success_signals);
        signals.declared.failures = count(self.failure_signals);
        signals.declared.idle_turns = self.no_progress_turns.map_or(0, small);
        if let Some(tokens) = self.token_count {
            signals.tokens = Some(tokens.get() as u64);
        }
        if let Some(limit) = self.context_limit {
            signals.window = Some(limit.get() as u64);
        }
        let judgement = autonomy.judge(AdviceKind::Pop, &signals)?;
        let policy = autonomy.policy()?;
        Ok(answer(&judgement, policy.pop_threshold, signals.is_held()))
    }
}

/// Renders a judgement with its evidence.
fn answer(judgement: &Judgement, threshold: u8, is_held: bool) -> String {
    let is_sure = judgement.score >= threshold && !is_held;
    let word = if is_sure { "yes" } else { "no" };
    let mut text = format!(
        "{}: {word} ({}%, threshold {threshold}%)",
        judgement.kind.as_str(),
        judgement.score
    );
    if let Some(outcome) = judgement.outcome.filter(|_| judgement.score > 0) {
        let status = Outcome::status(outcome);
        text.push_str(&format!(", as {}", status.as_str()));
    }
    text.push('\n');
    if is_held {
        text.push_str(
            "not now: the user stopped the work or rejected a call, or subagents are running\n",
        );
    }
    for assessment in &judgement.assessments {
        let evidence = assessment.proof.as_ref();
        let evidence = evidence.map_or("no evidence", |proof| proof.line.as_str());
        text.push_str(&format!(
            "  {:17} {:3}%  {evidence}\n",
            assessment.heuristic.as_str(),
            assessment.score
        ));
    }
    if judgement.assessments.is_empty() {
        text.push_str("  all heuristics of this kind are turned off\n");
    }
    text
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AutoSuggestArgs {
    /// Suggest at boundaries, or stop that
    enable: Option<bool>,
    /// Dismiss the pending suggestion
    clear_pending: Option<bool>,
    show_history: Option<bool>,
}

impl ToolArgs for AutoSuggestArgs {
    const NAME: &'static str = "stack_auto_suggest";
    const DESCRIPTION: &'static str = "The pending suggestion of this session, and earlier ones.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let autonomy = engine.autonomy();
        let mut text = String::new();
        if let Some(on) = self.enable {
            let now = autonomy.policy()?.level;
            let level = match (on, now) {
                (false, _) => AutonomyLevel::Manual,
                (true, AutonomyLevel::Manual) => AutonomyLevel::Suggest,
                (true, level) => level,
            };
            engine.configure(&[Change::new("autonomy.level", level.as_str())])?;
            text.push_str(&format!("autonomy.level = {}\n", level.as_str()));
        }
        autonomy.settle(actor)?;
        if self.clear_pending.unwrap_or(false) && autonomy.pending(&actor.session)?.is_some() {
            let dismissed = autonomy.dismiss(actor)?;
            text.push_str(&format!("dismissed: {}\n", described(&dismissed)));
        }
        match autonomy.pending(&actor.session)? {
            Some((_, suggestion)) => {
                text.push_str(&format!("pending: {}\n", described(&suggestion)));
            }
            None => text.push_str("no suggestion is pending\n"),
        }
        if self.show_history.unwrap_or(false) {
            for (_, suggestion, state) in autonomy.history(Some(&actor.session), HISTORY)? {
                text.push_str(&format!("{}: {}\n", state.as_str(), described(&suggestion)));
            }
        }
        Ok(text)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AutonomyStatsArgs {
    /// Restart the statistics
    reset: Option<bool>,
}

impl ToolArgs for AutonomyStatsArgs {
    const NAME: &'static str = "stack_autonomy_stats";
    const DESCRIPTION: &'static str =
        "How many suggestions there were in this project, and what became of them.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let autonomy = engine.autonomy();
        autonomy.settle(actor)?;
        let mut text = String::new();
        let least = autonomy.policy()?.min_precision;
        for (heuristic, tally) in autonomy.tallies()? {
            let precision = tally.precision();
            let precision = precision.map_or("–".to_owned(), |percent| format!("{percent}%"));
            let off = if tally.is_too_low(least, FEWEST_CASES) {
                ", turned itself off"
            } else {
                ""
            };
            text.push_str(&format!(
                "{}: {}, {} acted on, {} confirmed, {} dismissed, {} contradicted, {} expired, \
                 precision {precision}{off}\n",
                heuristic.as_str(),
                counted(tally.made, "suggestion", "suggestions"),
                tally.acted,
                tally.confirmed,
                tally.dismissed,
                tally.contradicted,
                tally.expired,
            ));
        }
        if text.is_empty() {
            text.push_str("no suggestions so far\n");
        }
        if self.reset.unwrap_or(false) {
            autonomy.reset(actor)?;
            text.push_str("the statistics start again from now\n");
        }
        Ok(text)
    }
}
