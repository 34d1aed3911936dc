//! A run of twelve frames: nested, two at a time, with a failure, a block, an invalidation and a retry.

use std::rc::Rc;

use crate::sim::{Script, SimPrompt, SimReply, Simulation};
use flamestack_orchestrator::{
    FrameOptions, FrameSetup, InterruptedPolicy, RunOptions, Strategy, ToolUse,
};
use serde_json::{Value, json};

pub(crate) const GOAL: &str = "Build the shop";

pub(crate) fn call(name: &str, input: Value) -> ToolUse {
    ToolUse {
        name: format!("stack_{name}"),
        input,
        succeeded: true,
    }
}

pub(crate) fn calls(calls: Vec<ToolUse>) -> SimReply {
    SimReply {
        calls,
        uses_tools: true,
        ..SimReply::text("I have called the tools.")
    }
}

pub(crate) fn pop(status: &str, results: &str) -> SimReply {
    calls(vec![call(
        "frame_pop",
        json!({"status": status, "results": results}),
    )])
}

pub(crate) fn push(titles: &[&str]) -> SimReply {
    let children: Vec<Value> = titles.iter().map(|title| json!({"title": title})).collect();
    calls(vec![call(
        "frame_plan_children",
        json!({"children": children}),
    )])
}

fn script(prompt: &SimPrompt) -> SimReply {
    let done = |text: &str| SimReply::text(&format!("FRAME_COMPLETE: {text}"));
    let says = |text: &str| prompt.text.contains(text);
    match prompt.title.as_str() {
        GOAL if says("Child frame failed: Old importer") => calls(vec![
            call("frame_push", json!({"title": "New importer"})),
            call(
                "frame_invalidate",
                json!({"frameID": "Screenshots", "reason": "nothing to show"}),
            ),
        ]),
        GOAL => pop("completed", "the shop is built"),
        "API" if prompt.answered == 0 => push(&["Auth", "Routes", "Limits"]),
        "API" if says("Child frame blocked: Limits") => {
            calls(vec![call("frame_activate", json!({"frameID": "Limits"}))])
        }
        "API" => pop("completed", "the API answers"),
        "Auth" if prompt.attempt == 1 => pop("failed", "the library is gone"),
        "Auth" => done("tokens expire"),
        "Routes" if prompt.answered == 0 => push(&["Read routes", "Write routes"]),
        "Routes" => done("all routes answer"),
        "Limits" if prompt.answered == 0 => SimReply::text("FRAME_BLOCKED: no key"),
        "Limits" => done("limits hold"),
        "Old importer" => pop("failed", "the format is unknown"),
        // A model that gives no signal: its last message is the result.
        "Docs" => SimReply::text("The docs are written."),
        title => done(&format!("{title} works")),
    }
}

pub(crate) fn simulation() -> Simulation {
    let script: Script = Rc::new(script);
    let mut run = Simulation::new(GOAL, script);
    let root = run.root();
    run.plan(root, "Schema");
    run.plan(root, "API");
    let old = run.plan(root, "Old importer");
    run.plan(root, "Docs");
    let late = run.plan(root, "Screenshots");
    run.set_up(FrameSetup {
        frame: late,
        options: FrameOptions {
            after: vec![old],
            ..FrameOptions::default()
        },
    });
    run.options = RunOptions {
        strategy: Strategy::Parallel,
        jobs: 2,
        interrupted: InterruptedPolicy::Continue,
        ..RunOptions::default()
    };
    run
}
