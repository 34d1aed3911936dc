//! `flame tree`

use clap::Args;
use clap::builder::PossibleValuesParser;
use flamestack_core::Status;
use flamestack_engine::json;
use flamestack_engine::views::markdown;
use flamestack_engine::views::tree::{self, TreeLine, TreeOptions};
use serde_json::{Value, json};

use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::{DIM, Output, painted};

/// Draw the tree of frames
///
/// Shows open work in full and finished work in part, with a count of what is left out.
#[derive(Args)]
#[command(visible_alias = "ls", alias = "list")]
pub(crate) struct Tree {
    /// Only this frame and what is below it
    #[arg(add = complete::frames())]
    frame: Option<String>,
    /// Show everything, including finished work
    #[arg(short, long)]
    all: bool,
    /// Only frames with this status, and those above them
    #[arg(short, long, value_name = "STATUS", value_parser = status_names())]
    status: Option<String>,
    /// Maximum number of levels
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Show criteria and results too
    #[arg(long)]
    details: bool,
    /// Print the whole tree as a Markdown list, with criteria and results
    #[arg(long, conflicts_with_all = ["details", "json"])]
    markdown: bool,
}

impl Tree {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let root = self
            .frame
            .as_deref()
            .map(|name| ctx.engine.frame_named(name))
            .transpose()?;
        let depth = self.depth.and_then(|depth| usize::try_from(depth).ok());
        let options = TreeOptions {
            root,
            depth,
            all: self.all || self.markdown,
            status: self.status.as_deref().and_then(Status::from_name),
        };
        let view = ctx.engine.read(|reading| tree::gather(reading, &options))?;
        if output.is_json() {
            let totals = json::totals(&view.totals);
            // Each line is dropped once it is JSON: a tree may have tens of thousands.
            let lines = view.lines.into_iter().map(|line| line_json(&line));
            let lines: Vec<Value> = lines.collect();
            return output.data(&json!({ "lines": lines, "totals": totals }));
        }
        if self.markdown {
            return output.raw(&markdown::list(&view));
        }
        let you = ctx.actor.session.to_string();
        let canvas = output.canvas();
        for line in &view.lines {
            output.text(&line.draw(&canvas, Some(&you), self.details))?;
        }
        if view.totals.all() == 0 {
            output.line(tree::totals_in_words(&view.totals))?;
            return output.line(painted(DIM, "`flame push TITLE` starts one."));
        }
        output.line("")?;
        // With a frame given, the totals still cover the whole project, and say so.
        let in_all = if self.frame.is_some() { "in all, " } else { "" };
        output.line(format!("{in_all}{}", tree::totals_in_words(&view.totals)))?;
        output.dim(view.legend(&canvas).trim_end())
    }
}

/// Returns the names of statuses.
fn status_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Status::ALL.map(Status::as_str))
}

fn line_json(line: &TreeLine) -> Value {
    match line {
        TreeLine::Hidden {
            indent,
            parent,
            totals,
        } => json!({
            "kind": "hidden",
            "depth": indent.depth,
            "hiddenBelow": parent.as_ref().map(ToString::to_string),
            "hidden": json::totals(totals),
        }),
        TreeLine::Frame(line) => {
            let mut value = json::row(&line.row);
            if let Value::Object(fields) = &mut value {
                fields.insert("kind".to_owned(), json!("frame"));
                fields.insert("depth".to_owned(), json!(line.indent.depth));
                fields.insert("children".to_owned(), json::totals(&line.children));
                let sessions: Vec<&String> = line.sessions.iter().map(|(key, _)| key).collect();
                fields.insert("activeIn".to_owned(), json!(sessions));
            }
            value
        }
    }
}
