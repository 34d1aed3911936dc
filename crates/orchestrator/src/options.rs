//! The user's options for a run, and for single frames of it.

use std::fmt;
use std::str::FromStr;

use flamestack_core::FrameId;
use serde::{Deserialize, Serialize};

use crate::budget::Limits;
use crate::keys;

/// Order in which planned frames are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// One frame at a time, each with everything below it before the next.
    #[default]
    DepthFirst,
    /// Independent frames concurrently, up to the number of jobs.
    Parallel,
    /// One at a time, and only frames that their parent asks for.
    Free,
}

/// Place of a frame's context in its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextPlacement {
    /// A first message that the model does not answer.
    #[default]
    Message,
    /// The system prompt of every turn.
    System,
}

/// Treatment of a turn that a crash cut off after it had begun to use tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptedPolicy {
    /// The user is asked; without a user the frame is blocked.
    #[default]
    Ask,
    /// The frame is blocked.
    Stop,
    /// The session is asked to look at what it did, and to continue.
    Continue,
}

/// A model, as `provider/model`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelName {
    /// The provider.
    pub provider: String,
    /// The provider's name of the model, which may contain slashes.
    pub model: String,
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(Self {
                provider: provider.to_owned(),
                model: model.to_owned(),
            }),
            _ => Err(format!("`{text}` is not a model: write `provider/model`")),
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// Options of a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOptions {
    /// Order of the frames.
    pub strategy: Strategy,
    /// Maximum number of frames that run concurrently.
    pub jobs: usize,
    /// Limits of the whole run.
    pub limits: Limits,
    /// Number of further attempts at a frame whose attempt failed.
    pub retries: u32,
    /// Number of reminders to a session that ended its turn without a signal, before its last message
    /// is taken as the result.
    pub reminders: u32,
    /// Place of the context.
    pub placed: ContextPlacement,
    /// Treatment of interrupted turns.
    pub interrupted: InterruptedPolicy,
    /// Gives each of several frames that run concurrently a git worktree.
    pub worktrees: bool,
    /// The model, if not the host's default.
    pub model: Option<ModelName>,
    /// The agent, if not the host's default.
    pub agent: Option<String>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            jobs: 1,
            limits: Limits::default(),
            retries: 1,
            reminders: 0,
            placed: ContextPlacement::default(),
            interrupted: InterruptedPolicy::default(),
            worktrees: false,
            model: None,
            agent: None,
        }
    }
}

/// Options of one frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrameOptions {
    /// Frames that must be completed before it starts.
    #[serde(with = "keys::many", skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<FrameId>,
    /// Limits of the frame and everything below it.
    pub limits: Limits,
    /// Number of further attempts, instead of the run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The model, instead of the run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// The agent, instead of the run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Tools that its session must not use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_tools: Vec<String>,
}

/// A frame of the plan with its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameSetup {
    /// The frame.
    #[serde(with = "keys::one")]
    pub frame: FrameId,
    /// Its options.
    pub options: FrameOptions,
}
