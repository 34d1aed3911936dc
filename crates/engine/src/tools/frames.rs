//! Tools that open, plan, finish and annotate frames.

use flamestack_core::text::condense;
use flamestack_core::{Actor, Outcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ToolArgs, executed};
use crate::Engine;
use crate::error::Result;
use crate::request::{GoalInput, NoteInput, ParentInput, PlanInput, Request};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PushArgs {
    /// Short name, 2-5 words
    title: String,
    /// What defines done
    success_criteria: String,
    /// Dense version; derived when absent
    success_criteria_compacted: Option<String>,
}

impl ToolArgs for PushArgs {
    const NAME: &'static str = "stack_frame_push";
    const DESCRIPTION: &'static str = "Open a child frame of the active frame and make it active: a unit of work with its own goal. \
         Its messages can be folded away once it is popped.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let request = Request::Push {
            parent: ParentInput::Active,
            goal: GoalInput {
                title: self.title,
                criteria: Some(self.success_criteria),
                criteria_compacted: self.success_criteria_compacted,
            },
        };
        executed(engine, actor, &request)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PopArgs {
    /// Frame to pop, if not the active one
    #[serde(rename = "frameID")]
    frame: Option<String>,
    status: EndStatus,
    /// What was done or learned: files, names, decisions, open ends
    results: Option<String>,
    /// Dense version; derived when absent
    results_compacted: Option<String>,
    /// Append a summary to the results
    summarize: Option<bool>,
}

/// Maximum length of the results in the answer to a pop, in characters. The call contains them in
/// full, but a model continues from the answer.
const MAX_RESULTS: usize = 1_000;

impl ToolArgs for PopArgs {
    const NAME: &'static str = "stack_frame_pop";
    const DESCRIPTION: &'static str = "Finish a frame (by default the active one) and return to its parent. The results are what \
         the parent keeps of it; without them a summary is made.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let shown = condense(self.results.as_deref().unwrap_or_default(), MAX_RESULTS);
        let outcome = self.status.into();
        let request = match self.results {
            Some(results) if !self.summarize.unwrap_or(false) => Request::Pop {
                frame: self.frame,
                outcome,
                results,
                compacted: self.results_compacted,
            },
            results => Request::AwaitSummary {
                frame: self.frame,
                outcome: Some(outcome),
                results,
                compacted: self.results_compacted,
                note: None,
            },
        };
        let receipt = executed(engine, actor, &request)?;
        Ok(match receipt.split_once('\n') {
            _ if shown.is_empty() => receipt,
            Some((first, rest)) => format!("{first}\nresults: {shown}\n{rest}"),
            None => format!("{receipt}\nresults: {shown}"),
        })
    }
}

// The outcome of a frame or a subagent. (A doc comment would become a description.)
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum EndStatus {
    Completed,
    Failed,
    Blocked,
}

impl From<EndStatus> for Outcome {
    fn from(status: EndStatus) -> Self {
        match status {
            EndStatus::Completed => Self::Completed,
            EndStatus::Failed => Self::Failed,
            EndStatus::Blocked => Self::Blocked,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PlanArgs {
    title: String,
    success_criteria: String,
    success_criteria_compacted: Option<String>,
    /// Parent frame id, if not the active frame
    #[serde(rename = "parentSessionID")]
    parent: Option<String>,
}

impl ToolArgs for PlanArgs {
    const NAME: &'static str = "stack_frame_plan";
    const DESCRIPTION: &'static str =
        "Plan one frame for later, below the active frame or the one named.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let item = PlanInput {
            goal: GoalInput {
                title: self.title,
                criteria: Some(self.success_criteria),
                criteria_compacted: self.success_criteria_compacted,
            },
            children: Vec::new(),
        };
        let request = Request::Plan {
            parent: parent(self.parent),
            items: vec![item],
        };
        executed(engine, actor, &request)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanChildrenArgs {
    /// Parent frame id, if not the active frame
    #[serde(rename = "parentSessionID")]
    parent: Option<String>,
    children: Vec<ChildArgs>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "an object with `title` and `successCriteria`"
)]
struct ChildArgs {
    title: String,
    success_criteria: String,
    success_criteria_compacted: Option<String>,
    /// Frames below it, of the same shape
    #[serde(default)]
    #[schemars(with = "Vec<Map<String, Value>>")]
    children: Vec<ChildArgs>,
}

impl From<ChildArgs> for PlanInput {
    fn from(child: ChildArgs) -> Self {
        Self {
            goal: GoalInput {
                title: child.title,
                criteria: Some(child.success_criteria),
                criteria_compacted: child.success_criteria_compacted,
            },
            children: child.children.into_iter().map(Into::into).collect(),
        }
    }
}

impl ToolArgs for PlanChildrenArgs {
    const NAME: &'static str = "stack_frame_plan_children";
    const DESCRIPTION: &'static str = "Plan several frames at once, in order, below the active frame or the one named. Each may \
         have children of its own.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let request = Request::Plan {
            parent: parent(self.parent),
            items: self.children.into_iter().map(Into::into).collect(),
        };
        executed(engine, actor, &request)
    }
}

fn parent(name: Option<String>) -> ParentInput {
    name.map_or(ParentInput::Active, ParentInput::Named)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ActivateArgs {
    /// Frame id
    #[serde(rename = "sessionID")]
    frame: String,
}

impl ToolArgs for ActivateArgs {
    const NAME: &'static str = "stack_frame_activate";
    const DESCRIPTION: &'static str = "Switch to a frame, starting it if it is planned or blocked.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        executed(engine, actor, &Request::Activate(self.frame))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InvalidateArgs {
    /// Frame id, if not the active one
    #[serde(rename = "sessionID")]
    frame: Option<String>,
    reason: String,
}

impl ToolArgs for InvalidateArgs {
    const NAME: &'static str = "stack_frame_invalidate";
    const DESCRIPTION: &'static str = "Give up a frame (by default the active one) and the planned frames below it. Work in \
         progress below it is reported and left alone.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let Self { frame, reason } = self;
        executed(engine, actor, &Request::Invalidate { frame, reason })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddDecisionArgs {
    decision: String,
    #[serde(alias = "why")]
    reason: Option<String>,
}

impl ToolArgs for AddDecisionArgs {
    const NAME: &'static str = "stack_add_decision";
    const DESCRIPTION: &'static str =
        "Record a decision in the active frame. It survives compaction.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let note = NoteInput::Decision(self.decision, self.reason);
        executed(engine, actor, &Request::Note { frame: None, note })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddArtifactArgs {
    artifact: String,
}

impl ToolArgs for AddArtifactArgs {
    const NAME: &'static str = "stack_add_artifact";
    const DESCRIPTION: &'static str = "Record a file or resource that the active frame produced.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let note = NoteInput::Artifact(self.artifact);
        executed(engine, actor, &Request::Note { frame: None, note })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SummarizeArgs {
    /// What the summary should emphasise
    note: Option<String>,
}

impl ToolArgs for SummarizeArgs {
    const NAME: &'static str = "stack_frame_summarize";
    const DESCRIPTION: &'static str =
        "Have a summary of the active frame made, as a checkpoint. The frame stays open.";

    fn call(self, engine: &Engine, actor: &Actor) -> Result<String> {
        let request = Request::AwaitSummary {
            frame: None,
            outcome: None,
            results: None,
            compacted: None,
            note: self.note,
        };
        executed(engine, actor, &request)
    }
}
