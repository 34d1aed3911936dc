//! What a host said of a conversation, and what it cost.

use flamestack_core::id::SessionRef;
use flamestack_core::session::{Conversation, Description, Model};
use flamestack_core::text::Prose;
use flamestack_store::{Reading, StoreError};
use serde_json::{Value, json};

use super::{counted, grouped, one_line, subagents};

/// A conversation as its host tells it.
#[derive(Clone, Debug)]
pub struct Hosted {
    session: SessionRef,
    described: Description,
    model: Option<Model>,
    seen: Conversation,
}

impl Hosted {
    /// What is known of a conversation.
    pub fn gather(reading: &dyn Reading, session: &SessionRef) -> Result<Self, StoreError> {
        Ok(Self {
            session: session.clone(),
            described: reading.description(session)?.unwrap_or_default(),
            model: reading.model(session)?,
            seen: reading.conversation(session)?,
        })
    }

    /// Everything, each thing with its name.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let Description {
            directory,
            parent,
            copy_of,
            ..
        } = &self.described;
        let seen = &self.seen;
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
            ("summarised", times(seen.compactions)),
            ("stopped", times(seen.interruptions)),
            ("diff", self.diff()),
        ];
        let known = |(name, fact): (&'static str, Option<String>)| Some((name, fact?));
        facts.into_iter().filter_map(known).collect()
    }

    /// The most of it in a line, if there is anything to say.
    pub fn line(&self) -> Option<String> {
        let facts = [self.host(), self.model(), self.cost(), self.diff()];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        (!facts.is_empty()).then(|| facts.join(" · "))
    }

    /// All of it as JSON.
    pub fn value(&self) -> Value {
        let text = |text: &Option<Prose>| text.as_ref().map(|text| text.as_str().to_owned());
        let name = |session: &Option<SessionRef>| session.as_ref().map(ToString::to_string);
        let described = &self.described;
        json!({
            "name": self.session.host(),
            "version": text(&described.host_version),
            "agent": text(&described.agent),
            "directory": text(&described.directory),
            "partOf": name(&described.parent),
            "copyOf": name(&described.copy_of),
            "model": self.model.as_ref().map(|model| model.name.as_str()),
            "window": self.model.as_ref().and_then(|model| model.window),
            "prompts": self.seen.prompts,
            "calls": self.seen.calls,
            "spent": subagents::usage(&self.seen.spent),
            "compactions": self.seen.compactions,
            "interruptions": self.seen.interruptions,
            "diff": described.diff.map(|diff| json!({
                "added": diff.added,
                "deleted": diff.deleted,
                "files": diff.files,
            })),
        })
    }

    fn host(&self) -> Option<String> {
        let mut host = vec![self.session.host().to_owned()];
        let version = self.described.host_version.as_ref();
        host.extend(version.map(|version| version.as_str().to_owned()));
        let agent = self.described.agent.as_ref();
        host.extend(agent.map(|agent| format!("agent {agent}")));
        (host.len() > 1).then(|| host.join(", "))
    }

    fn model(&self) -> Option<String> {
        let model = self.model.as_ref()?;
        let window = model
            .window
            .map(|tokens| format!(", {} tokens", grouped(tokens)));
        Some(format!("{}{}", model.name, window.unwrap_or_default()))
    }

    fn cost(&self) -> Option<String> {
        let (calls, spent) = (self.seen.calls, &self.seen.spent);
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
        let diff = self.described.diff.filter(|diff| diff.files > 0)?;
        Some(format!(
            "{}, +{} −{}",
            counted(diff.files, "file", "files"),
            grouped(diff.added),
            grouped(diff.deleted)
        ))
    }
}
