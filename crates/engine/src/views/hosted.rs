//! The host's description of a session, and its cost.

use flamestack_core::session::Description;
use flamestack_core::{Session, SessionRef, Text};
use serde_json::{Value, json};

use super::{counted, grouped, one_line, subagents};

/// Renders a session as its host describes it.
#[derive(Clone, Copy, Debug)]
pub struct Hosted<'s>(pub &'s Session);

impl Hosted<'_> {
    /// Returns all facts with their names.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let Description {
            directory,
            parent,
            copy_of,
            ..
        } = &self.0.description;
        let seen = &self.0.activity;
        let times = |count: u64| (count > 0).then(|| counted(count, "time", "times"));
        let facts = [
            ("host", self.host()),
            (
                "directory",
                directory.as_ref().map(|text| one_line(text.as_str(), 200)),
            ),
            ("part of", parent.as_ref().map(ToString::to_string)),
            ("copy of", copy_of.as_ref().map(ToString::to_string)),
            ("model", self.model()),
            ("cost", self.cost()),
            ("summarized", times(seen.compactions)),
            ("stopped", times(seen.interruptions)),
            ("diff", self.diff()),
        ];
        let known = |(name, fact): (&'static str, Option<String>)| Some((name, fact?));
        facts.into_iter().filter_map(known).collect()
    }

    /// Returns the most important facts in one line.
    pub fn line(&self) -> Option<String> {
        let facts = [self.host(), self.model(), self.cost(), self.diff()];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        (!facts.is_empty()).then(|| facts.join(" · "))
    }

    /// Returns all facts as JSON.
    pub fn value(&self) -> Value {
        let text = |text: &Option<Text>| text.as_ref().map(|text| text.as_str().to_owned());
        let name = |session: &Option<SessionRef>| session.as_ref().map(ToString::to_string);
        let (described, seen) = (&self.0.description, &self.0.activity);
        json!({
            "name": self.0.key.host(),
            "version": text(&described.host_version),
            "agent": text(&described.agent),
            "directory": text(&described.directory),
            "partOf": name(&described.parent),
            "copyOf": name(&described.copy_of),
            "model": self.0.model.as_ref().map(|model| model.name.as_str()),
            "window": self.0.window(),
            "prompts": seen.prompts,
            "calls": seen.calls,
            "spent": subagents::usage(&seen.spent),
            "compactions": seen.compactions,
            "interruptions": seen.interruptions,
            "diff": described.diff.map(|diff| json!({
                "added": diff.added,
                "deleted": diff.deleted,
                "files": diff.files,
            })),
        })
    }

    fn host(&self) -> Option<String> {
        let mut host = vec![self.0.key.host().to_owned()];
        let version = self.0.description.host_version.as_ref();
        host.extend(version.map(|version| version.as_str().to_owned()));
        let agent = self.0.description.agent.as_ref();
        host.extend(agent.map(|agent| format!("agent {agent}")));
        (host.len() > 1).then(|| host.join(", "))
    }

    fn model(&self) -> Option<String> {
        let model = self.0.model.as_ref()?;
        let window = model
            .window
            .map(|tokens| format!(", window {} tokens", grouped(tokens)));
        Some(format!("{}{}", model.name, window.unwrap_or_default()))
    }

    fn cost(&self) -> Option<String> {
        let (calls, spent) = (self.0.activity.calls, &self.0.activity.spent);
        if calls == 0 {
            return None;
        }
        let mut cost = format!(
            "{}: {} in, {} cached, {} out",
            counted(calls, "call", "calls"),
            grouped(spent.input.saturating_add(spent.cache_write)),
            grouped(spent.cache_read),
            grouped(spent.output)
        );
        if spent.reasoning > 0 {
            cost.push_str(&format!(" ({} reasoning)", grouped(spent.reasoning)));
        }
        if let Some(micro) = spent.micro_dollars.filter(|micro| *micro > 0) {
            cost.push_str(&format!(
                ", ${}.{:04}",
                micro / 1_000_000,
                micro % 1_000_000 / 100
            ));
        }
        Some(cost)
    }

    fn diff(&self) -> Option<String> {
        let diff = self.0.description.diff.filter(|diff| diff.files > 0)?;
        Some(format!(
            "{}, +{} −{}",
            counted(diff.files, "file", "files"),
            grouped(diff.added),
            grouped(diff.deleted)
        ))
    }
}
