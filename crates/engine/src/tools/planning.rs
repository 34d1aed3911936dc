//! Tools that plan, begin and give up frames.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, granted, parse};
use crate::request::{Parent, Planned, Request, Wanted};

pub(super) const PLAN: Tool = Tool {
    name: "stack_frame_plan",
    description: "Plan one frame for later, below the active frame or the one named.",
    schema: || {
        let Value::Object(mut properties) = goal_properties() else {
            return Value::Null;
        };
        properties.insert("parentSessionID".to_owned(), parent_property());
        json!({
            "type": "object",
            "properties": properties,
            "required": ["title", "successCriteria"]
        })
    },
    run: |engine, actor, arguments| {
        let arguments: PlanArguments = parse(PLAN.name, arguments)?;
        let item = Planned {
            goal: Wanted {
                title: arguments.title,
                criteria: Some(arguments.success_criteria),
                criteria_compacted: arguments.success_criteria_compacted,
            },
            children: Vec::new(),
        };
        let parent = parent(arguments.parent);
        granted(
            engine,
            actor,
            &Request::Plan {
                parent,
                items: vec![item],
            },
        )
    },
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlanArguments {
    title: String,
    success_criteria: String,
    success_criteria_compacted: Option<String>,
    #[serde(rename = "parentSessionID")]
    parent: Option<String>,
}

pub(super) const PLAN_CHILDREN: Tool = Tool {
    name: "stack_frame_plan_children",
    description: "Plan several frames at once, in order, below the active frame or the one named. \
                  Each may have children of its own.",
    schema: || {
        let mut child = goal_properties();
        child["children"] = json!({
            "type": "array",
            "items": { "type": "object" },
            "description": "Frames below it, of the same shape"
        });
        json!({
            "type": "object",
            "properties": {
                "parentSessionID": parent_property(),
                "children": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": child,
                        "required": ["title", "successCriteria"]
                    }
                }
            },
            "required": ["children"]
        })
    },
    run: |engine, actor, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            #[serde(rename = "parentSessionID")]
            parent: Option<String>,
            children: Vec<ChildArguments>,
        }
        let arguments: Arguments = parse(PLAN_CHILDREN.name, arguments)?;
        let items = arguments.children.into_iter().map(Into::into).collect();
        granted(
            engine,
            actor,
            &Request::Plan {
                parent: parent(arguments.parent),
                items,
            },
        )
    },
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ChildArguments {
    title: String,
    success_criteria: String,
    success_criteria_compacted: Option<String>,
    #[serde(default)]
    children: Vec<ChildArguments>,
}

impl From<ChildArguments> for Planned {
    fn from(child: ChildArguments) -> Self {
        Self {
            goal: Wanted {
                title: child.title,
                criteria: Some(child.success_criteria),
                criteria_compacted: child.success_criteria_compacted,
            },
            children: child.children.into_iter().map(Into::into).collect(),
        }
    }
}

pub(super) const ACTIVATE: Tool = Tool {
    name: "stack_frame_activate",
    description: "Turn to a frame, beginning it if it is planned.",
    schema: || {
        json!({
            "type": "object",
            "properties": { "sessionID": { "type": "string", "description": "Frame id" } },
            "required": ["sessionID"]
        })
    },
    run: |engine, actor, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            #[serde(rename = "sessionID")]
            frame: String,
        }
        let Arguments { frame } = parse(ACTIVATE.name, arguments)?;
        granted(engine, actor, &Request::Activate(frame))
    },
};

pub(super) const INVALIDATE: Tool = Tool {
    name: "stack_frame_invalidate",
    description: "Give up a frame (by default the active one) and the planned frames below it. \
                  Work in progress below it is reported and left alone.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "sessionID": { "type": "string", "description": "Frame id, if not the active one" },
                "reason": { "type": "string" }
            },
            "required": ["reason"]
        })
    },
    run: |engine, actor, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            #[serde(rename = "sessionID")]
            frame: Option<String>,
            reason: String,
        }
        let Arguments { frame, reason } = parse(INVALIDATE.name, arguments)?;
        granted(engine, actor, &Request::Invalidate { frame, reason })
    },
};

fn goal_properties() -> Value {
    json!({
        "title": { "type": "string" },
        "successCriteria": { "type": "string" },
        "successCriteriaCompacted": { "type": "string" }
    })
}

fn parent_property() -> Value {
    json!({ "type": "string", "description": "Parent frame id, if not the active frame" })
}

fn parent(name: Option<String>) -> Parent {
    name.map_or(Parent::Active, Parent::Named)
}
