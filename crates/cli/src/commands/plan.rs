//! `flame plan`

use std::path::PathBuf;

use clap::Args;
use flamestack_core::Refusal;
use flamestack_core::command::DEEPEST_PLAN;
use flamestack_engine::EngineError;
use flamestack_engine::request::{GoalInput, PlanInput, Request};
use flamestack_engine::views::counted;

use super::change::{given, parent_of};
use super::{execute, text_or_stdin, utf8};
use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::Output;

/// Plan frames for later, in order, below the active one
///
/// A nested plan can be read from a list in a file: one frame per line, children indented, headings
/// skipped:
///
///   - Build the API | all routes answer
///     - Routes
///     - Authentication | tokens expire
///   - Write the docs
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Plan {
    /// A short name for each frame
    #[arg(required_unless_present = "from", conflicts_with = "from")]
    titles: Vec<String>,
    /// The success criteria of a single frame: what defines "done"
    #[arg(short, long, value_name = "TEXT")]
    criteria: Option<String>,
    /// The criteria in compacted form (derived when absent)
    #[arg(long, value_name = "TEXT", requires = "criteria")]
    criteria_compacted: Option<String>,
    /// Read a nested plan from a file; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "criteria")]
    from: Option<PathBuf>,
    /// Plan below this frame
    #[arg(short, long, value_name = "FRAME", conflicts_with = "root", add = complete::frames())]
    parent: Option<String>,
    /// Plan new trees
    #[arg(long)]
    root: bool,
}

impl Plan {
    pub(super) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let (request, ticked) = self.read()?;
        execute(ctx, output, &request)?;
        if ticked > 0 {
            let lines = counted(ticked as u64, "line that is", "lines that are");
            output.notice(&format!("left out {lines} ticked off (`- [x]`)"))?;
        }
        Ok(())
    }

    pub(super) fn request(self) -> Result<Request, Failure> {
        Ok(self.read()?.0)
    }

    /// Returns the request, and the number of lines that were left out as ticked off.
    fn read(self) -> Result<(Request, usize), Failure> {
        let (items, ticked) = match &self.from {
            Some(file) if file.as_os_str() == "-" => outline(&text_or_stdin("-")?)?,
            Some(file) => outline(&utf8(&file.display().to_string(), fs_err::read(file)?)?)?,
            None => (self.listed()?, 0),
        };
        let parent = parent_of(self.parent, self.root);
        Ok((Request::Plan { parent, items }, ticked))
    }

    fn listed(&self) -> Result<Vec<PlanInput>, Failure> {
        if self.criteria.is_some() && self.titles.len() != 1 {
            return Err(Failure::usage(
                "--criteria is for a single frame",
                "use `--from FILE` to give each frame its criteria",
            ));
        }
        let criteria = given(self.criteria.clone())?;
        let item = |title: &String| PlanInput {
            goal: GoalInput {
                title: title.clone(),
                criteria: criteria.clone(),
                criteria_compacted: self.criteria_compacted.clone(),
            },
            children: Vec::new(),
        };
        Ok(self.titles.iter().map(item).collect())
    }
}

/// Parses an indented list of `- title | criteria`. Returns the items, and the number of lines that were
/// left out because they, or those above them, are ticked off.
pub(super) fn outline(text: &str) -> Result<(Vec<PlanInput>, usize), Failure> {
    // Open levels: the indentation of each and its items so far.
    let mut levels: Vec<(usize, Vec<PlanInput>)> = vec![(0, Vec::new())];
    // Items that are ticked off, and everything below them, are skipped.
    let mut ticked: Option<usize> = None;
    let mut left_out = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let indent = line.len() - content.len();
        if ticked.is_some_and(|above| indent > above) {
            left_out += 1;
            continue;
        }
        ticked = is_ticked(content).then_some(indent);
        if ticked.is_some() {
            left_out += 1;
            continue;
        }
        close_deeper(&mut levels, indent);
        let deepest = levels.last().map_or(0, |(indent, _)| *indent);
        if indent > deepest {
            if levels.last().is_none_or(|(_, items)| items.is_empty()) {
                return Err(Failure::refused(
                    format!("line {number} is indented below nothing"),
                    "the first line of a plan is not indented",
                ));
            }
            // A plan over the limit is refused before it is built.
            if levels.len() == DEEPEST_PLAN {
                return Err(EngineError::from(Refusal::PlanTooDeep).into());
            }
            levels.push((indent, Vec::new()));
        }
        if let Some((_, items)) = levels.last_mut() {
            let item = planned(content);
            if item.goal.title.is_empty() {
                return Err(Failure::refused(
                    format!("line {number} has no title"),
                    "give it one, or take the line out",
                ));
            }
            items.push(item);
        }
    }
    close_deeper(&mut levels, 0);
    let items = levels.pop().map(|(_, items)| items).unwrap_or_default();
    Ok((items, left_out))
}

/// Moves the items of levels deeper than `indent` into their parents.
fn close_deeper(levels: &mut Vec<(usize, Vec<PlanInput>)>, indent: usize) {
    while levels.len() > 1 && levels.last().is_some_and(|(deeper, _)| *deeper > indent) {
        if let Some((_, items)) = levels.pop()
            && let Some(above) = levels.last_mut().and_then(|(_, items)| items.last_mut())
        {
            above.children.extend(items);
        }
    }
}

/// Returns true if a line is a ticked item of a check-list.
fn is_ticked(line: &str) -> bool {
    let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    item.is_some_and(|item| item.starts_with("[x] ") || item.starts_with("[X] "))
}

/// Strips a leading `1. ` or `2) `.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = rest.len() < line.len();
    let bare = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "));
    bare.filter(|_| numbered).unwrap_or(line)
}

fn planned(line: &str) -> PlanInput {
    let line = line.trim_end();
    let bare = ["- [ ] ", "* [ ] ", "- ", "* "]
        .into_iter()
        .find_map(|mark| line.strip_prefix(mark))
        .or_else(|| matches!(line, "-" | "*" | "- [ ]" | "* [ ]").then_some(""));
    let line = bare.unwrap_or_else(|| without_number(line));
    let (title, criteria) = match line.split_once(" | ") {
        Some((title, criteria)) => (title, Some(criteria.trim().to_owned())),
        None => (line, None),
    };
    PlanInput {
        goal: GoalInput {
            title: title.trim().to_owned(),
            criteria,
            criteria_compacted: None,
        },
        children: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(items: &[PlanInput]) -> String {
        let draw = |item: &PlanInput| match item.children.as_slice() {
            [] => item.goal.title.clone(),
            below => format!("{}({})", item.goal.title, drawn(below)),
        };
        items.iter().map(draw).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn indentation_makes_the_tree() {
        let (plan, left_out) =
            outline("- a\n    - b\n      - c\n    - d | done\n\n* [ ] e\n").unwrap();
        assert_eq!((drawn(&plan).as_str(), left_out), ("a(b(c) d) e", 0));
        assert_eq!(plan[0].children[1].goal.criteria.as_deref(), Some("done"));
        assert!(outline("  - a\n- b").is_err());
        assert!(outline("- a\n- ").is_err());
        let (rest, left_out) = outline("- [x] a\n  - b\n- [ ] c\n  * [X] d\n  - e").unwrap();
        assert_eq!((drawn(&rest).as_str(), left_out), ("c(e)", 3));
        assert!(outline("").unwrap().0.is_empty());
    }
}
