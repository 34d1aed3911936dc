//! Task lists: the check boxes of a document, their nesting, and the order in which they are taken up.

use crate::claims::is_struck_out;
use crate::document::{Document, Kind, lines};

/// A task with a check box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Number or code, such as `2.1` or `T004`.
    pub id: Option<String>,
    /// Title without the number.
    pub title: String,
    /// Text after the box, as written.
    pub written: String,
    /// State of its box.
    pub state: TaskState,
    /// Heading above it or, for a task without a number inside another, that task.
    pub group: Option<String>,
    /// Line number, if known.
    pub line: Option<usize>,
    /// True if it has tasks inside; then those are the work.
    pub is_parent: bool,
}

/// State of a check box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// `[ ]`
    Open,
    /// `[-]`, `[~]`, `[/]` or `[>]`
    Begun,
    /// `[x]`
    Done,
}

impl Task {
    /// Returns the task with its number and group: `2 — Build it (Batch 1 — Foundation)`.
    pub fn label(&self) -> String {
        let id = self.id.iter().map(|id| format!("{id} — "));
        let group = self.group.iter().map(|group| format!(" ({group})"));
        id.chain([self.title.clone()]).chain(group).collect()
    }

    fn is_done(&self) -> bool {
        self.state == TaskState::Done
    }
}

/// The tasks of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskList {
    /// All tasks, in the order of the document.
    pub tasks: Vec<Task>,
}

impl TaskList {
    /// Reads the tasks of a document.
    pub fn parse(document: &Document) -> Self {
        let mut list = Self::default();
        // Indentation and index of the tasks that the next one may be inside of.
        let mut above: Vec<(usize, usize)> = Vec::new();
        let mut heading = None;
        for line in lines(document) {
            let state = match line.kind {
                Kind::Heading(level) => {
                    // The title of the document groups nothing.
                    heading = (level > 1).then(|| tidy(&line.text));
                    above.clear();
                    continue;
                }
                Kind::Check(state) => state,
                _ => continue,
            };
            let is_cancelled = state != TaskState::Done && is_struck_out(&line.text);
            if line.text.is_empty() || is_cancelled {
                continue;
            }
            let (id, title) = numbered(&line.text);
            while let Some((indent, parent)) = above.last()
                && !(line.indent > *indent || is_below(list.tasks.get(*parent), id.as_deref()))
            {
                above.pop();
            }
            let parent = above.last().map(|(_, parent)| *parent);
            let group = list.group(parent, id.is_some()).or_else(|| heading.clone());
            above.push((line.indent, list.tasks.len()));
            list.tasks.push(Task {
                id,
                title,
                written: line.text.into_owned(),
                state,
                group,
                line: line.number,
                is_parent: false,
            });
        }
        list
    }

    /// Marks a task as a parent, and returns the group of a child that has no number to tell it by.
    fn group(&mut self, parent: Option<usize>, child_has_number: bool) -> Option<String> {
        let parent = self.tasks.get_mut(parent?)?;
        parent.is_parent = true;
        let name = parent.id.as_ref().unwrap_or(&parent.title);
        (!child_has_number).then(|| format!("in {name}"))
    }

    /// Returns the tasks without tasks inside.
    pub fn leaves(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.tasks.iter().filter(|task| !task.is_parent)
    }

    /// Returns the tasks that are done, in order.
    pub fn done(&self) -> Vec<&Task> {
        self.leaves().filter(|task| task.is_done()).collect()
    }

    /// Returns the open tasks in the order in which they are likely to be taken up: those after the
    /// last one that is done, begun ones first, then those that were skipped. In the recorded histories
    /// of `cargo xtask eval stage`, this names the next task in 28 of 30 steps, the first open box in 11.
    pub fn to_do(&self) -> Vec<&Task> {
        let (skipped, ahead) = self.open();
        let mut tasks = ahead;
        tasks.sort_by_key(|task| task.state != TaskState::Begun);
        tasks.extend(skipped);
        tasks
    }

    /// Returns the number of open tasks before the last one that is done.
    pub fn skipped(&self) -> usize {
        self.open().0.len()
    }

    /// Returns the open tasks before and after the last one that is done.
    fn open(&self) -> (Vec<&Task>, Vec<&Task>) {
        let leaves: Vec<&Task> = self.leaves().collect();
        let last_done = leaves.iter().rposition(|task| task.is_done());
        let (before, after) = leaves.split_at(last_done.map_or(0, |at| at + 1));
        let skipped = before.iter().filter(|task| !task.is_done()).copied();
        (skipped.collect(), after.to_vec())
    }

    /// Returns true if there are tasks and all are done.
    pub fn is_finished(&self) -> bool {
        !self.tasks.is_empty() && self.leaves().all(Task::is_done)
    }
}

/// Returns true if a number continues that of another task: `5.1` is below `5` without indentation too.
fn is_below(parent: Option<&Task>, id: Option<&str>) -> bool {
    let parent = parent.and_then(|parent| parent.id.as_deref());
    let rest = parent.and_then(|parent| id?.strip_prefix(parent));
    rest.is_some_and(|rest| rest.starts_with('.'))
}

/// Splits a task into its number or code and its title.
fn numbered(text: &str) -> (Option<String>, String) {
    let bare = text.trim_start_matches(['*', '_']);
    let end = bare.find(char::is_whitespace).unwrap_or(bare.len());
    let (first, rest) = bare.split_at(end);
    let code = first.trim_end_matches(['.', ':', ')', '*', '_']);
    let digits = code.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = code.len() - digits.len();
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    // `1.`, `2.1` and `T004` are numbers; `3 files` is the beginning of a title.
    let is_marked = letters > 0 || code.contains('.') || first.len() > code.len();
    if is_number && letters <= 3 && is_marked && !rest.trim().is_empty() {
        let title = rest.trim_start_matches([' ', '-', '—', '–', ':', '\t']);
        (Some(code.to_owned()), tidy(title))
    } else {
        (None, tidy(text))
    }
}

/// Returns a title without the marks around it.
fn tidy(text: &str) -> String {
    let text = text.trim().trim_matches('#').trim();
    let bold = text.strip_prefix("**").and_then(|it| it.split_once("**"));
    bold.map_or_else(|| text.to_owned(), |(bold, rest)| format!("{bold}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> TaskList {
        TaskList::parse(&Document::new("tasks.md", text))
    }

    fn labels(tasks: &[&Task]) -> Vec<String> {
        tasks.iter().map(|task| task.label()).collect()
    }

    #[test]
    fn boxes_of_all_kinds_are_tasks() {
        let list = list(
            "# Tasks\n## Batch 1 — Foundation\n- [x] 1. Parse\n* [X] **2.** Read\n- [ ] 3. Build\n  \
             - [x] first half\n  - [ ] second half\n## Phase 2\n- [ ] T004 [P] Contract test\n- [ ] Unnumbered\n",
        );
        assert_eq!(
            labels(&list.done()),
            [
                "1 — Parse (Batch 1 — Foundation)",
                "2 — Read (Batch 1 — Foundation)",
                "first half (in 3)"
            ]
        );
        assert_eq!(
            labels(&list.to_do()),
            [
                "second half (in 3)",
                "T004 — [P] Contract test (Phase 2)",
                "Unnumbered (Phase 2)"
            ]
        );
        assert!(!list.is_finished());
    }

    #[test]
    fn skipped_tasks_come_last() {
        let list = list("- [x] 1. a\n- [ ] 2. b\n- [x] 3. c\n- [ ] 4. d\n- [~] 5. e\n");
        assert_eq!(labels(&list.to_do()), ["5 — e", "4 — d", "2 — b"]);
        assert_eq!(list.skipped(), 1);
    }

    #[test]
    fn struck_out_tasks_are_cancelled() {
        let list = list("- [x] 1. a\n- [ ] ~~2. b~~\n- [ ] 3. c\n");
        assert_eq!(labels(&list.to_do()), ["3 — c"]);
    }

    #[test]
    fn numbers_nest_without_indentation() {
        let list = list("- [ ] 5. Tests\n- [x] 5.1 Unit\n- [ ] 5.2 Errors\n- [ ] 50. Other\n");
        assert_eq!(labels(&list.to_do()), ["5.2 — Errors", "50 — Other"]);
    }

    #[test]
    fn a_parent_is_done_with_its_parts() {
        assert!(list("- [ ] 1. a\n  - [x] 1.1 b\n").is_finished());
        assert!(!list("# nothing\n- plain\n").is_finished());
    }
}
