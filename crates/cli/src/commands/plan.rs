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
        let (request, left_out) = self.read()?;
        execute(ctx, output, &request)?;
        match left_out {
            Some(left_out) => output.notice(&left_out),
            None => Ok(()),
        }
    }

    pub(super) fn request(self) -> Result<Request, Failure> {
        Ok(self.read()?.0)
    }

    /// Returns the request, and the words about lines that were left out.
    fn read(self) -> Result<(Request, Option<String>), Failure> {
        let text = match &self.from {
            Some(file) if file.as_os_str() == "-" => Some(text_or_stdin("-")?),
            Some(file) => Some(utf8(&file.display().to_string(), fs_err::read(file)?)?),
            None => None,
        };
        let (items, left_out) = match text {
            Some(text) => {
                let outline = outline(&text)?;
                let left_out = outline.left_out();
                (outline.items, left_out)
            }
            None => (self.listed()?, None),
        };
        let parent = parent_of(self.parent, self.root);
        Ok((Request::Plan { parent, items }, left_out))
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

/// A plan read from a text, and what was left out of it.
pub(super) struct Outline {
    pub(super) items: Vec<PlanInput>,
    /// Number of lines that are ticked off.
    ticked: u64,
    /// Number of lines without a box below them: remarks on what is done.
    remarks: u64,
}

impl Outline {
    /// Returns the words about the lines that were left out, if there are any.
    fn left_out(&self) -> Option<String> {
        let ticked = counted(self.ticked, "line that is", "lines that are");
        let below = match self.remarks {
            0 => String::new(),
            remarks => format!(", and {} below", counted(remarks, "line", "lines")),
        };
        (self.ticked > 0).then(|| format!("left out {ticked} ticked off (`- [x]`){below}"))
    }
}

/// A line above the one that is read.
struct Above {
    indent: usize,
    /// Indentation of the level that it stands for: open items below a line that is left out take its place.
    level: usize,
    is_left_out: bool,
}

/// Parses an indented list of `- title | criteria`. Lines that are ticked off are left out; open boxes below them are
/// kept, under the nearest line that is.
pub(super) fn outline(text: &str) -> Result<Outline, Failure> {
    let mut levels: Levels = vec![(0, Vec::new())];
    let mut above: Vec<Above> = Vec::new();
    let (mut ticked, mut remarks) = (0, 0);
    for (number, line) in (1..).zip(text.lines()) {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let indent = line.len() - content.len();
        above.retain(|line| line.indent < indent);
        let left_out_above = above.last().filter(|line| line.is_left_out);
        let level = left_out_above.map_or(indent, |line| line.level);
        let is_remark = left_out_above.is_some() && !has_box(content);
        let is_left_out = is_ticked(content) || is_remark;
        above.push(Above {
            indent,
            level,
            is_left_out,
        });
        if !is_left_out {
            insert(&mut levels, level, content, number)?;
        } else if is_remark {
            remarks += 1;
        } else {
            ticked += 1;
        }
    }
    close_deeper(&mut levels, 0);
    let items = levels.pop().map(|(_, items)| items).unwrap_or_default();
    if items.is_empty() && ticked > 0 {
        return Err(Failure::refused(
            "every line of the plan is ticked off (`- [x]`)",
            "nothing is left to plan; `- [ ]` is a line that is still to be done",
        ));
    }
    Ok(Outline {
        items,
        ticked,
        remarks,
    })
}

/// Open levels of a plan: the indentation of each and its items so far.
type Levels = Vec<(usize, Vec<PlanInput>)>;

/// Adds the item of a line at its level.
fn insert(levels: &mut Levels, indent: usize, content: &str, number: usize) -> Result<(), Failure> {
    close_deeper(levels, indent);
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
    let item = planned(content);
    if item.goal.title.is_empty() {
        return Err(Failure::refused(
            format!("line {number} has no title"),
            "give it one, or take the line out",
        ));
    }
    if let Some((_, items)) = levels.last_mut() {
        items.push(item);
    }
    Ok(())
}

/// Moves the items of levels deeper than `indent` into their parents.
fn close_deeper(levels: &mut Levels, indent: usize) {
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
    has_mark(line, &["[x] ", "[X] "])
}

/// Returns true if a line is an item of a check-list.
fn has_box(line: &str) -> bool {
    is_ticked(line) || has_mark(line, &["[ ] "])
}

fn has_mark(line: &str, marks: &[&str]) -> bool {
    let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    item.is_some_and(|item| marks.iter().any(|mark| item.starts_with(mark)))
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

    /// The tree of a text, with the numbers of lines that were left out.
    fn read(text: &str) -> (String, u64, u64) {
        let outline = outline(text).unwrap();
        (drawn(&outline.items), outline.ticked, outline.remarks)
    }

    #[test]
    fn indentation_makes_the_tree() {
        let text = "- a\n    - b\n      - c\n    - d | done\n\n* [ ] e\n";
        assert_eq!(read(text), ("a(b(c) d) e".to_owned(), 0, 0));
        let plan = outline(text).unwrap().items;
        assert_eq!(plan[0].children[1].goal.criteria.as_deref(), Some("done"));
        assert!(outline("  - a\n- b").is_err());
        assert!(outline("- a\n- ").is_err());
        assert!(outline("").unwrap().items.is_empty());
    }

    #[test]
    fn what_is_ticked_off_is_left_out_and_open_boxes_below_it_are_kept() {
        for (text, tree, ticked, remarks) in [
            ("- [x] p\n  - [ ] open\n- [ ] a", "open a", 1, 0),
            ("- [x] a\n  - b\n- [ ] c\n  * [X] d\n  - e", "c(e)", 2, 1),
            (
                "- [ ] a\n  - [x] b\n    - [ ] c\n      - d\n  - e",
                "a(c(d) e)",
                1,
                0,
            ),
            (
                "- [x] a\n  - [x] b\n    - [ ] c\n    - [ ] d\n- e",
                "c d e",
                2,
                0,
            ),
            (
                "- [x] a\n  - said\n    - [ ] b\n  - [ ] c\n    - d",
                "b c(d)",
                1,
                1,
            ),
        ] {
            assert_eq!(read(text), (tree.to_owned(), ticked, remarks), "{text}");
        }
        assert!(outline("- [x] a\n  - [X] b\n  - said").is_err());
    }
}
