//! The frames of a run: read as a small tree, changed by commands.

use std::collections::BTreeMap;

use flamestack_core::frame::{FrameStanding, Origin};
use flamestack_core::transcript::Entry;
use flamestack_core::{Actor, Command, Frame, FrameHead, FrameId, Refusal, Status};
use flamestack_engine::context::{ContextOptions, ContextTarget};
use flamestack_engine::hints::Voice;
use flamestack_engine::{Engine, EngineError, IngestMode, IngestOptions};
use serde_json::Value;

/// The frames that a run works on.
pub trait RunStack {
    /// Returns a frame and everything below it.
    fn heads(&self, root: &FrameId) -> Result<Vec<FrameHead>, StackError>;
    /// Returns a frame with everything recorded about it.
    fn frame(&self, id: &FrameId) -> Result<Option<Frame>, StackError>;
    /// Returns the standing of a frame.
    fn standing(&self, id: &FrameId) -> Result<Option<FrameStanding>, StackError> {
        Ok(self.frame(id)?.map(|frame| frame.standing()))
    }
    /// Executes a command.
    fn run(&mut self, actor: &Actor, command: &Command) -> Result<(), StackError>;
    /// Renders the context of a frame.
    fn context(&self, frame: &FrameId) -> Result<String, StackError>;
    /// Records the messages of a session. The same message may come any number of times.
    fn keep(&mut self, actor: &Actor, messages: &[Value]) -> Result<(), StackError>;
    /// Draws the id of a new frame.
    fn draw(&mut self) -> FrameId;
}

/// Reads the messages of a host as the neutral entries that the engine records.
pub type ReadMessages<'r> = dyn Fn(&[Value]) -> Vec<Entry> + 'r;

/// Failure to read or change the frames.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The rules refuse the command.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The engine failed.
    #[error(transparent)]
    Engine(Box<EngineError>),
    /// The frames are gone, as in a simulated crash.
    #[error("{0}")]
    Lost(String),
}

impl StackError {
    /// Returns the next step for the user.
    pub fn hint(&self) -> String {
        let usual = || "`flame doctor` checks the project".to_owned();
        match self {
            Self::Engine(error) => error.hint(Voice::Cli).unwrap_or_else(usual),
            _ => usual(),
        }
    }
}

impl From<EngineError> for StackError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused(refusal) => Self::Refused(refusal),
            other => Self::Engine(Box::new(other)),
        }
    }
}

/// The frames of a project.
pub struct EngineStack<'e> {
    engine: &'e Engine,
    read: &'e ReadMessages<'e>,
}

impl<'e> EngineStack<'e> {
    /// Works on the frames of an engine's project, and records the sessions of a host.
    pub fn new(engine: &'e Engine, read: &'e ReadMessages<'e>) -> Self {
        Self { engine, read }
    }
}

impl RunStack for EngineStack<'_> {
    fn heads(&self, root: &FrameId) -> Result<Vec<FrameHead>, StackError> {
        Ok(self.engine.read(|reading| {
            let mut heads: Vec<FrameHead> = reading.frame(root)?.into_iter().collect();
            heads.extend(reading.descendants(root, None)?);
            Ok(heads)
        })?)
    }

    fn frame(&self, id: &FrameId) -> Result<Option<Frame>, StackError> {
        Ok(self.engine.read(|reading| Ok(reading.whole_frame(id)?))?)
    }

    fn standing(&self, id: &FrameId) -> Result<Option<FrameStanding>, StackError> {
        let row = self.engine.read(|reading| Ok(reading.row(id)?))?;
        Ok(row.map(|row| row.standing()))
    }

    fn run(&mut self, actor: &Actor, command: &Command) -> Result<(), StackError> {
        self.engine.commands().run(actor, command)?;
        Ok(())
    }

    fn context(&self, frame: &FrameId) -> Result<String, StackError> {
        let target = ContextTarget::Frame(*frame);
        let contexts = self.engine.contexts();
        let context = contexts.context(&target, &ContextOptions::default())?;
        Ok(context.map_or_else(String::new, |context| context.text.clone()))
    }

    fn keep(&mut self, actor: &Actor, messages: &[Value]) -> Result<(), StackError> {
        let options = IngestOptions {
            mode: IngestMode::Driven,
            ..IngestOptions::default()
        };
        self.engine
            .ingest_with(actor, &options, &(self.read)(messages))?;
        self.engine.keep_pending(actor)?;
        Ok(())
    }

    fn draw(&mut self) -> FrameId {
        self.engine.clock().draw_id()
    }
}

/// The frames of a run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTree {
    heads: BTreeMap<FrameId, FrameHead>,
    children: BTreeMap<FrameId, Vec<FrameId>>,
}

impl RunTree {
    /// Builds the tree of a root. Frames that only mirror a host's lists are left out.
    pub fn new(heads: Vec<FrameHead>) -> Self {
        let mut tree = Self::default();
        let mut ordered: Vec<FrameHead> = heads
            .into_iter()
            .filter(|head| head.origin == Origin::Asked)
            .collect();
        ordered.sort_by_key(|head| (head.rank, head.id));
        for head in ordered {
            if let Some(parent) = head.parent {
                tree.children.entry(parent).or_default().push(head.id);
            }
            tree.heads.insert(head.id, head);
        }
        tree
    }

    /// Returns a frame.
    pub fn get(&self, id: &FrameId) -> Option<&FrameHead> {
        self.heads.get(id)
    }

    /// Returns a frame's title, or an empty text.
    pub fn title(&self, id: &FrameId) -> &str {
        self.get(id).map_or("", |head| head.title.as_str())
    }

    /// Returns a frame's status.
    pub fn status(&self, id: &FrameId) -> Option<Status> {
        self.get(id).map(|head| head.status)
    }

    /// Returns the children of a frame, in order.
    pub fn children(&self, id: &FrameId) -> &[FrameId] {
        self.children.get(id).map_or(&[], Vec::as_slice)
    }

    /// Returns the open children of a frame, in order.
    pub fn open_children<'a>(&'a self, id: &FrameId) -> impl Iterator<Item = &'a FrameHead> {
        let children = self.children(id).iter();
        children
            .filter_map(|child| self.get(child))
            .filter(|head| head.status.is_open())
    }

    /// Returns all frames.
    pub fn heads(&self) -> impl Iterator<Item = &FrameHead> {
        self.heads.values()
    }

    /// Returns a frame and its ancestors within the run, itself first.
    pub fn path(&self, id: &FrameId) -> Vec<FrameId> {
        let mut path = Vec::new();
        let mut at = Some(*id);
        while let Some(id) = at {
            // A path that damage made a cycle of ends here.
            if path.contains(&id) || !self.heads.contains_key(&id) {
                break;
            }
            path.push(id);
            at = self.get(&id).and_then(|head| head.parent);
        }
        path
    }

    /// Returns a frame and everything below it, parents first.
    pub fn below(&self, id: &FrameId) -> Vec<FrameId> {
        let mut all = vec![*id];
        let mut at = 0;
        while let Some(next) = all.get(at).copied() {
            at += 1;
            all.extend(self.children(&next).iter().copied());
        }
        all
    }

    /// Returns true if a frame is open and so is everything above it.
    pub fn is_wanted(&self, id: &FrameId) -> bool {
        let path = self.path(id);
        !path.is_empty()
            && path
                .iter()
                .all(|id| self.status(id).is_some_and(Status::is_open))
    }

    /// Finds a child of a frame by its id, the beginning of its id, or its title.
    pub fn child_named(&self, parent: &FrameId, name: &str) -> Option<&FrameHead> {
        let name = name.trim();
        let children = || {
            let all = self.children(parent).iter();
            all.filter_map(|child| self.get(child))
        };
        let same_title = |head: &&FrameHead| head.title.as_str().eq_ignore_ascii_case(name);
        let open = children().find(|head| head.status.is_open() && same_title(head));
        open.or_else(|| {
            let mut begins = children().filter(|head| head.id.as_str().starts_with(name));
            begins
                .next()
                .filter(|_| name.len() >= 4 && begins.next().is_none())
        })
    }
}
