//! `flame tree`

use clap::Args;
use flamestack_engine::json;
use flamestack_engine::views::tree::{self, FrameLine, Line, TreeOptions};
use flamestack_engine::views::{icon, one_line};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{BOLD, DIM, ID, Output, colour, painted};
use crate::workplace::Workplace;

/// Draw the tree of frames
///
/// Open work is shown whole, finished work in part; what is left out is counted.
#[derive(Args)]
pub(crate) struct Tree {
    /// Only below this frame
    frame: Option<String>,
    /// Everything, finished work included
    #[arg(short, long)]
    all: bool,
    /// At most so many levels
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Criteria and results too
    #[arg(long)]
    details: bool,
}

impl Tree {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let root = self
            .frame
            .as_deref()
            .map(|name| place.engine.frame_named(name))
            .transpose()?;
        let depth = self.depth.and_then(|depth| usize::try_from(depth).ok());
        let options = TreeOptions {
            root,
            depth,
            all: self.all,
        };
        let view = place
            .engine
            .read(|reading| tree::gather(reading, &options))?;
        if output.is_json() {
            return output.data(&json!({
                "lines": view.lines.iter().map(line_json).collect::<Vec<_>>(),
                "totals": json::totals(&view.totals),
            }));
        }
        let you = place.actor.session.to_string();
        for line in &view.lines {
            match line {
                Line::Hidden {
                    indent,
                    parent,
                    totals,
                } => {
                    let hidden = tree::hidden(parent.as_ref(), totals);
                    output.line(painted(DIM, format!("{}{hidden}", indent.draw())))?;
                }
                Line::Frame(line) => {
                    output.line(drawn(line, &you))?;
                    if self.details {
                        let beneath = line.indent.draw_beneath(line.children.all() > 0);
                        for detail in line.details() {
                            output.line(painted(DIM, format!("{beneath}{detail}")))?;
                        }
                    }
                }
            }
        }
        if view.totals.all() == 0 {
            output.line(tree::totals_in_words(&view.totals))?;
            return output.line(painted(DIM, "`flame push TITLE` begins one."));
        }
        output.line("")?;
        // Part of the tree was asked for; how much there is besides is said as that.
        let in_all = if self.frame.is_some() { "in all, " } else { "" };
        output.line(format!("{in_all}{}", tree::totals_in_words(&view.totals)))?;
        output.line(painted(DIM, tree::legend()))
    }
}

fn drawn(line: &FrameLine, you: &str) -> String {
    let frame = &line.row.frame;
    let mut text = format!(
        "{}{} {}  {}",
        painted(DIM, line.indent.draw()),
        painted(colour(frame.status), icon(frame.status)),
        painted(ID, &frame.id),
        one_line(frame.title.as_str(), 72)
    );
    for remark in line.remarks() {
        text.push_str(&painted(DIM, format!(" · {remark}")));
    }
    for session in &line.sessions {
        let who = if session == you {
            "you are here"
        } else {
            session
        };
        text.push_str(&format!("  {}", painted(BOLD, format!("◀ {who}"))));
    }
    text
}

fn line_json(line: &Line) -> Value {
    match line {
        Line::Hidden {
            indent,
            parent,
            totals,
        } => json!({
            "kind": "hidden",
            "depth": indent.depth,
            "hiddenBelow": parent.as_ref().map(ToString::to_string),
            "hidden": json::totals(totals),
        }),
        Line::Frame(line) => {
            let mut value = json::row(&line.row);
            if let Value::Object(fields) = &mut value {
                fields.insert("kind".to_owned(), json!("frame"));
                fields.insert("depth".to_owned(), json!(line.indent.depth));
                fields.insert("children".to_owned(), json::totals(&line.children));
                fields.insert("activeIn".to_owned(), json!(line.sessions));
            }
            value
        }
    }
}
