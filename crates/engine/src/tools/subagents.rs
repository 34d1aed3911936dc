//! Tools about subagents: their state, their cost, and the rules for tracking them.

use flamestack_core::id::Timestamp;
use flamestack_core::subagent::{EndedBy, SubagentState};
use flamestack_core::text::quoted;
use flamestack_core::{Actor, Outcome, SessionRef};
use schemars::JsonSchema;
use serde::Deserialize;

use super::frames::EndStatus;
use super::{ToolArgs, WholeNumber};
use crate::Engine;
use crate::error::{EngineError, Result};
use crate::settings::{Change, Settings};
use crate::subagents::{Family, Listed, everywhere, visible_to};
use crate::views::{counted, subagents as view, time};
use crate::{Request, names};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListArgs {
    filter: Option<Filter>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Filter {
    All,
    Active,
    Completed,
    WithFrame,
    WithoutFrame,
}

impl Filter {
    fn shows(self, listed: &Listed) -> bool {
        match self {
            Self::All => true,
            Self::Active => listed.run.state.is_in_flight(),
            Self::Completed => !listed.run.state.is_in_flight(),
            Self::WithFrame => listed.frame.is_some(),
            Self::WithoutFrame => listed.frame.is_none(),
        }
    }
}

impl ToolArgs for ListArgs {
    const NAME: &'static str = "stack_subagent_list";
    const DESCRIPTION: &'static str =
        "The subagents of this session's tree: status, goal, messages, cost, frame.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        engine.settle_idle()?;
        let filter = self.filter.unwrap_or(Filter::All);
        let family = known(engine, &actor.session)?;
        let oldest = listed_since(engine)?;
        let mut text = String::new();
        for listed in &family.listed {
            if filter.shows(listed) && is_recent(listed, oldest) {
                text.push_str(&view::block(listed));
            }
        }
        if text.is_empty() {
            return Ok("no such subagents\n".to_owned());
        }
        text.push_str(&format!("in all: {}\n", view::spent(&family.spent)));
        Ok(text)
    }
}

/// Returns the subagents that a session sees: a model its own tree and those without a known
/// parent, a user at a terminal all.
fn known(engine: &Engine, session: &SessionRef) -> Result<Family> {
    engine.read(|reading| {
        if session.is_shell() {
            everywhere(reading)
        } else {
            visible_to(reading, session)
        }
    })
}

/// Returns the time before which ended subagents are no longer listed. It counts from the newest
/// event, so that the same journal gives the same list.
fn listed_since(engine: &Engine) -> Result<Timestamp> {
    let newest = engine.read(|reading| {
        let last = reading.position()?;
        let before = flamestack_core::id::Seq(last.0.saturating_sub(1));
        Ok(reading.events_after(before, 1)?.pop())
    })?;
    let newest = newest.map_or(0, |event| event.at.0);
    Ok(Timestamp(
        newest.saturating_sub(engine.tracking().listed_for),
    ))
}

fn is_recent(listed: &Listed, oldest: Timestamp) -> bool {
    let run = &listed.run;
    run.ended
        .is_none_or(|ended| ended.max(run.active) >= oldest)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompleteArgs {
    /// The subagent's session
    #[serde(rename = "sessionID")]
    session: Option<String>,
    status: Option<EndStatus>,
    /// Result of its work
    summary: Option<String>,
}

impl ToolArgs for CompleteArgs {
    const NAME: &'static str = "stack_subagent_complete";
    const DESCRIPTION: &'static str =
        "Report the end of a subagent (by default the one that this session is).";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let session = match &self.session {
            None => actor.session.clone(),
            Some(name) => named(engine, name)?,
        };
        match self.status.map_or(Outcome::Completed, Into::into) {
            outcome @ (Outcome::Completed | Outcome::Failed) => {
                let ok = outcome == Outcome::Completed;
                engine.end_subagent(&session, ok, self.summary.as_deref())?;
            }
            Outcome::Blocked => {
                let frame = engine.frame_named(&session.to_string())?;
                let block = Request::Block {
                    frame: Some(frame.to_string()),
                    reason: self.summary.unwrap_or_else(|| "waits".to_owned()),
                };
                engine.commands().execute(actor, &block)?;
            }
        }
        let family = known(engine, &session)?;
        let ended = family.listed.iter().find(|one| one.run.session == session);
        Ok(ended.map(view::block).unwrap_or_default())
    }
}

/// Resolves a subagent by its session or by its frame.
fn named(engine: &Engine, name: &str) -> Result<SessionRef> {
    if let Ok(session) = name.parse() {
        return Ok(session);
    }
    engine.read(|reading| {
        let run = reading.runs(false)?.into_iter();
        let mut runs = run.filter(|run| run.session.id() == name);
        if let Some(run) = runs.next() {
            return Ok(run.session);
        }
        let frame = names::resolve(reading, name)?;
        let bound = reading.frame(&frame)?.and_then(|frame| frame.session);
        let problem = || format!("{frame} is not the frame of a subagent");
        bound.ok_or_else(|| EngineError::BadInput(problem()))
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StatsArgs {
    /// Restart the statistics
    reset: Option<bool>,
    /// Those that have not ended too
    show_active: Option<bool>,
}

impl ToolArgs for StatsArgs {
    const NAME: &'static str = "stack_stats";
    const DESCRIPTION: &'static str =
        "How many subagents there were, how they ended, what they cost.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        engine.settle_idle()?;
        let family = known(engine, &actor.session)?;
        let mut text = figures(&family, engine.counted_since());
        if self.show_active.unwrap_or(false) {
            let active = family.listed.iter().filter(|one| Filter::Active.shows(one));
            text.extend(active.map(view::block));
        }
        if self.reset.unwrap_or(false) {
            engine.count_from_now()?;
            text.push_str("the statistics start again from now\n");
        }
        Ok(text)
    }
}

fn figures(family: &Family, since: Option<Timestamp>) -> String {
    let counts = |listed: &&Listed| since.is_none_or(|since| listed.run.started >= since);
    let all: Vec<&Listed> = family.listed.iter().filter(counts).collect();
    let mut text = counted(all.len() as u64, "subagent", "subagents");
    if let Some(since) = since {
        text.push_str(&format!(" since {}", crate::views::time::minute(since)));
    }
    text.push('\n');
    let count = |wanted: &dyn Fn(&Listed) -> bool| all.iter().filter(|one| wanted(one)).count();
    for state in SubagentState::ALL {
        let count = count(&|one| one.run.state == state);
        if count > 0 {
            text.push_str(&format!("  {count} {state}\n"));
        }
    }
    text.push_str(&ends(&all));
    let framed = count(&|one| one.frame.is_some());
    let ended = count(&|one| !one.run.state.is_in_flight());
    let done = count(&|one| one.run.state == SubagentState::Done);
    let attempts = all.iter().map(|one| one.run.attempts.saturating_sub(1));
    let again: u64 = attempts.sum();
    let rate = percent(framed, all.len());
    text.push_str(&format!(
        "{framed} with a frame{rate}, {} only logged\n",
        all.len() - framed
    ));
    if again > 0 {
        text.push_str(&format!("resumed {}\n", counted(again, "time", "times")));
    }
    if let Some(rate) = (100 * done).checked_div(ended) {
        text.push_str(&format!("{rate}% of those that ended are done\n"));
    }
    let mut spent = flamestack_core::transcript::Usage::default();
    for one in &all {
        spent.add(&one.seen.spent);
    }
    text.push_str(&format!("spent: {}\n", view::spent(&spent)));
    text
}

/// Renders the sources of the ends of subagents, and the durations of their runs.
fn ends(all: &[&Listed]) -> String {
    let ended: Vec<&Listed> = all
        .iter()
        .copied()
        .filter(|one| one.run.ended.is_some())
        .collect();
    let mut text = String::new();
    for (by, words) in [
        (EndedBy::Host, "ended by their host"),
        (EndedBy::Idle, "completed automatically, after idling"),
        (EndedBy::Request, "completed by hand"),
    ] {
        let is_by = |one: &&&Listed| one.run.ended_by == Some(by);
        let count = ended.iter().filter(is_by).count();
        if count > 0 {
            let rate = percent(count, ended.len());
            text.push_str(&format!("  {count} {words}{rate}\n"));
        }
    }
    let durations = ended.iter().map(|one| one.run.duration());
    if let Some(longest) = durations.clone().max() {
        let average = durations.sum::<i64>() / i64::try_from(ended.len()).unwrap_or(1).max(1);
        text.push_str(&format!(
            "  {} each on average, {} at most\n",
            time::duration(average),
            time::duration(longest)
        ));
    }
    text
}

/// Renders a share, if there is anything to share.
fn percent(part: usize, whole: usize) -> String {
    let rate = (100 * part).checked_div(whole);
    rate.map_or_else(String::new, |rate| format!(" ({rate}%)"))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ConfigArgs {
    enabled: Option<bool>,
    /// Milliseconds
    min_duration: Option<WholeNumber>,
    min_message_count: Option<WholeNumber>,
    auto_complete_on_idle: Option<bool>,
    /// Milliseconds
    idle_completion_delay: Option<WholeNumber>,
    /// A regular expression
    add_pattern: Option<String>,
    remove_pattern: Option<String>,
    inject_parent_context: Option<bool>,
    propagate_summaries: Option<bool>,
}

impl ToolArgs for ConfigArgs {
    const NAME: &'static str = "stack_config";
    const DESCRIPTION: &'static str =
        "Show how subagents are tracked, or change it for this project.";

    fn call(self, engine: &Engine, _: &Actor) -> Result<String> {
        let mut changes: Vec<Change> = Vec::new();
        for (name, value) in [
            ("enabled", self.enabled),
            ("auto_complete", self.auto_complete_on_idle),
            ("inject_parent_context", self.inject_parent_context),
            ("propagate_summaries", self.propagate_summaries),
        ] {
            let word = |on| if on { "on" } else { "off" };
            changes.extend(value.map(|on| Change::new(&format!("subagents.{name}"), word(on))));
        }
        for (name, value) in [
            ("min_duration", self.min_duration),
            ("min_messages", self.min_message_count),
            ("idle_delay", self.idle_completion_delay),
        ] {
            let text = value.map(|number| number.get().to_string());
            changes.extend(text.map(|text| Change::new(&format!("subagents.{name}"), &text)));
        }
        let settings = engine.settings()?;
        if self.add_pattern.is_some() || self.remove_pattern.is_some() {
            let patterns = patterns(&settings, self.add_pattern, self.remove_pattern)?;
            changes.push(Change::new("subagents.patterns", &patterns));
        }
        let settings = if changes.is_empty() {
            settings
        } else {
            engine.configure(&changes)?
        };
        rendered(&settings, &changes)
    }
}

/// Returns the patterns of the settings with one added or removed.
fn patterns(settings: &Settings, more: Option<String>, less: Option<String>) -> Result<String> {
    let now = &settings.get("subagents.patterns")?.text;
    let now = now.split(',').map(|one| one.trim().to_owned());
    let mut all: Vec<String> = now.filter(|one| !one.is_empty()).collect();
    if let Some(less) = less {
        let before = all.len();
        all.retain(|one| *one != less);
        if all.len() == before {
            let problem = format!(
                "there is no pattern `{}` among {}",
                quoted(&less),
                all.join(", ")
            );
            return Err(ConfigArgs::bad_argument("removePattern", &problem));
        }
    }
    if let Some(more) = more {
        if more.contains(',') {
            let problem = "a comma separates patterns and cannot be part of one";
            return Err(ConfigArgs::bad_argument("addPattern", problem));
        }
        if more.chars().any(char::is_control) {
            let problem = "a pattern is one line without control characters";
            return Err(ConfigArgs::bad_argument("addPattern", problem));
        }
        crate::settings::pattern(&more)
            .map_err(|problem| ConfigArgs::bad_argument("addPattern", &problem))?;
        if !all.contains(&more) {
            all.push(more);
        }
    }
    Ok(all.join(","))
}

fn rendered(settings: &Settings, changes: &[Change]) -> Result<String> {
    let mut text = String::new();
    for (setting, value) in settings.iter() {
        if setting.key.starts_with("subagents.") {
            text.push_str(&format!(
                "{} = {}  {}\n",
                setting.key, value.text, value.origin
            ));
        }
    }
    for change in changes {
        let now = settings.get(&change.key)?;
        if now.text != change.value {
            text.push_str(&format!(
                "{} was set to {}, but {} overrides it\n",
                change.key, change.value, now.origin
            ));
        }
    }
    for problem in settings.problems() {
        let ours = problem.key.as_deref();
        if ours.is_some_and(|key| key.starts_with("subagents.")) {
            text.push_str(&format!("{}\n", problem.problem));
        }
    }
    Ok(text)
}
