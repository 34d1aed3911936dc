//! Tools about subagents: who they are, how they fare, how they are tracked.

use flamestack_core::Outcome;
use flamestack_core::command::Actor;
use flamestack_core::id::{SessionRef, Timestamp};
use flamestack_core::subagent::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, parse};
use crate::Engine;
use crate::error::EngineError;
use crate::settings::{Change, Settings};
use crate::subagents::{Family, Listed, everywhere, tree_of};
use crate::views::{counted, subagents as view};
use crate::{Request, names};

pub(super) const LIST: Tool = Tool {
    name: "stack_subagent_list",
    description: "The subagents of this session's tree: status, goal, messages, cost, frame.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "filter": {
                    "type": "string",
                    "enum": ["all", "active", "completed", "with-frame", "without-frame"]
                }
            }
        })
    },
    run: |engine, actor, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            filter: Option<Filter>,
        }
        let Arguments { filter } = parse(LIST.name, arguments)?;
        engine.settle_idle()?;
        let filter = filter.unwrap_or(Filter::All);
        let family = known(engine, &actor.session)?;
        let oldest = listed_since(engine)?;
        let mut text = String::new();
        for listed in &family.listed {
            if filter.shows(listed) && is_recent(listed, oldest) {
                text.push_str(&view::lines(listed).join("\n"));
                text.push('\n');
            }
        }
        if text.is_empty() {
            return Ok("no such subagents\n".to_owned());
        }
        text.push_str(&format!("in all: {}\n", view::spent(&family.spent)));
        Ok(text)
    },
};

#[derive(Clone, Copy, Deserialize)]
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

/// A model is told of its own tree; a person at a terminal of all.
fn known(engine: &Engine, session: &SessionRef) -> Result<Family, EngineError> {
    engine.read(|reading| {
        if session.is_shell() {
            everywhere(reading)
        } else {
            tree_of(reading, session)
        }
    })
}

/// Those that ended before this are no longer listed. Time is that of the newest event, so that
/// the same journal gives the same list.
fn listed_since(engine: &Engine) -> Result<Timestamp, EngineError> {
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

pub(super) const COMPLETE: Tool = Tool {
    name: "stack_subagent_complete",
    description: "Say that a subagent has ended (by default the one that this session is).",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "sessionID": { "type": "string", "description": "The subagent's session" },
                "status": { "type": "string", "enum": ["completed", "failed", "blocked"] },
                "summary": { "type": "string", "description": "What it came to" }
            }
        })
    },
    run: complete,
};

fn complete(engine: &Engine, actor: &Actor, arguments: Value) -> Result<String, EngineError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        #[serde(rename = "sessionID")]
        session: Option<String>,
        status: Option<String>,
        summary: Option<String>,
    }
    let asked: Arguments = parse(COMPLETE.name, arguments)?;
    let session = match &asked.session {
        None => actor.session.clone(),
        Some(name) => named(engine, name)?,
    };
    let status = asked.status.as_deref().unwrap_or("completed");
    let outcome = Outcome::from_name(status).ok_or_else(|| EngineError::BadArguments {
        tool: COMPLETE.name.to_owned(),
        problem: format!("at `status`: `{status}` is not completed, failed or blocked"),
    })?;
    match outcome {
        Outcome::Completed | Outcome::Failed => {
            let ok = outcome == Outcome::Completed;
            engine.end_subagent(&session, ok, asked.summary.as_deref())?;
        }
        Outcome::Blocked => {
            let reason = asked.summary.unwrap_or_else(|| "waits".to_owned());
            let frame = engine.frame_named(&session.to_string())?;
            let block = Request::Block {
                frame: Some(frame.to_string()),
                reason,
            };
            engine.execute(actor, &block)?;
        }
    }
    let family = known(engine, &session)?;
    let told = family.listed.iter().find(|one| one.run.session == session);
    Ok(told
        .map(|one| view::lines(one).join("\n") + "\n")
        .unwrap_or_default())
}

/// A subagent by its session, or by its frame.
fn named(engine: &Engine, name: &str) -> Result<SessionRef, EngineError> {
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
        bound.ok_or_else(|| EngineError::BadInput(format!("{frame} is no subagent's frame")))
    })
}

pub(super) const STATS: Tool = Tool {
    name: "stack_stats",
    description: "How many subagents there were, how they ended, what they cost.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "reset": { "type": "boolean", "description": "Count anew from now on" },
                "showActive": { "type": "boolean", "description": "Those that have not ended too" }
            }
        })
    },
    run: |engine, actor, arguments| {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Arguments {
            reset: Option<bool>,
            show_active: Option<bool>,
        }
        let Arguments { reset, show_active } = parse(STATS.name, arguments)?;
        engine.settle_idle()?;
        let family = known(engine, &actor.session)?;
        let since = engine.counted_since();
        let mut text = figures(&family, since);
        if show_active.unwrap_or(false) {
            let active = family.listed.iter().filter(|one| Filter::Active.shows(one));
            for listed in active {
                text.push_str(&view::lines(listed).join("\n"));
                text.push('\n');
            }
        }
        if reset.unwrap_or(false) {
            engine.count_from_now()?;
            text.push_str("counted anew from now on\n");
        }
        Ok(text)
    },
};

fn figures(family: &Family, since: Option<Timestamp>) -> String {
    let counts = |listed: &&Listed| since.is_none_or(|since| listed.run.started >= since);
    let all: Vec<&Listed> = family.listed.iter().filter(counts).collect();
    let mut text = counted(all.len() as u64, "subagent", "subagents");
    if let Some(since) = since {
        text.push_str(&format!(" since {}", crate::views::time::minute(since)));
    }
    text.push('\n');
    for state in State::ALL {
        let count = all.iter().filter(|one| one.run.state == state).count();
        if count > 0 {
            text.push_str(&format!("  {count} {state}\n"));
        }
    }
    let framed = all.iter().filter(|one| one.frame.is_some()).count();
    let again: u64 = all
        .iter()
        .map(|one| one.run.attempts.saturating_sub(1))
        .sum();
    let ended = all
        .iter()
        .filter(|one| !one.run.state.is_in_flight())
        .count();
    let done = all
        .iter()
        .filter(|one| one.run.state == State::Done)
        .count();
    text.push_str(&format!(
        "{framed} with a frame, {} only logged\n",
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

pub(super) const CONFIG: Tool = Tool {
    name: "stack_config",
    description: "Show how subagents are tracked, or change it for this project.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "enabled": { "type": "boolean" },
                "minDuration": { "type": "number", "description": "Milliseconds" },
                "minMessageCount": { "type": "number" },
                "autoCompleteOnIdle": { "type": "boolean" },
                "idleCompletionDelay": { "type": "number", "description": "Milliseconds" },
                "addPattern": { "type": "string", "description": "A regular expression" },
                "removePattern": { "type": "string" },
                "injectParentContext": { "type": "boolean" },
                "propagateSummaries": { "type": "boolean" }
            }
        })
    },
    run: config,
};

fn config(engine: &Engine, _: &Actor, arguments: Value) -> Result<String, EngineError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Arguments {
        enabled: Option<bool>,
        min_duration: Option<f64>,
        min_message_count: Option<f64>,
        auto_complete_on_idle: Option<bool>,
        idle_completion_delay: Option<f64>,
        add_pattern: Option<String>,
        remove_pattern: Option<String>,
        inject_parent_context: Option<bool>,
        propagate_summaries: Option<bool>,
    }
    let asked: Arguments = parse(CONFIG.name, arguments)?;
    let mut changes: Vec<Change> = Vec::new();
    for (name, value) in [
        ("enabled", asked.enabled),
        ("auto_complete", asked.auto_complete_on_idle),
        ("inject_parent_context", asked.inject_parent_context),
        ("propagate_summaries", asked.propagate_summaries),
    ] {
        let word = |on| if on { "on" } else { "off" };
        changes.extend(value.map(|on| Change::new(&format!("subagents.{name}"), word(on))));
    }
    for (name, value) in [
        ("min_duration", asked.min_duration),
        ("min_messages", asked.min_message_count),
        ("idle_delay", asked.idle_completion_delay),
    ] {
        let text = value.map(|number| format!("{number}"));
        changes.extend(text.map(|text| Change::new(&format!("subagents.{name}"), &text)));
    }
    let settings = engine.settings()?;
    if asked.add_pattern.is_some() || asked.remove_pattern.is_some() {
        let patterns = patterns(&settings, asked.add_pattern, asked.remove_pattern)?;
        changes.push(Change::new("subagents.patterns", &patterns));
    }
    let settings = if changes.is_empty() {
        settings
    } else {
        engine.configure(&changes)?
    };
    told(&settings, &changes)
}

/// The patterns with one more or one less.
fn patterns(
    settings: &Settings,
    more: Option<String>,
    less: Option<String>,
) -> Result<String, EngineError> {
    let now = &settings.get("subagents.patterns")?.text;
    let now = now.split(',').map(|one| one.trim().to_owned());
    let mut all: Vec<String> = now.filter(|one| !one.is_empty()).collect();
    let bad = |problem: String| EngineError::BadArguments {
        tool: CONFIG.name.to_owned(),
        problem,
    };
    if let Some(less) = less {
        let before = all.len();
        all.retain(|one| *one != less);
        if all.len() == before {
            return Err(EngineError::BadInput(format!(
                "there is no pattern `{less}` among {}",
                all.join(", ")
            )));
        }
    }
    if let Some(more) = more {
        if more.contains(',') {
            let problem = "at `addPattern`: a comma stands between patterns and cannot be in one";
            return Err(bad(problem.to_owned()));
        }
        crate::settings::pattern(&more).map_err(|why| bad(format!("at `addPattern`: {why}")))?;
        if !all.contains(&more) {
            all.push(more);
        }
    }
    Ok(all.join(","))
}

fn told(settings: &Settings, changes: &[Change]) -> Result<String, EngineError> {
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
                "{} was set to {}, but {} says otherwise\n",
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
