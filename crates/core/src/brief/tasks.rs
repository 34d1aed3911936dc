//! Task lists: boxes in a document, how they nest, and where the work stands among them.

use super::claims::is_struck_out;
use super::document::{Document, Kind, lines};

/// A task with a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number or code, such as `2.1` or `T004`.
    pub id: Option<String>,
    /// What is to be done.
    pub title: String,
    /// The text behind the box, as it is written.
    pub written: String,
    /// What its box says.
    pub mark: Mark,
    /// The heading it stands under, or for a task inside another without a number, that task.
    pub group: Option<String>,
    /// Its line.
    pub line: Option<usize>,
    /// Whether it has tasks of its own; then those are the work.
    pub is_parent: bool,
}

/// What a box says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing was done.
    Open,
    /// Some was done.
    Begun,
    /// All was done.
    Done,
}

impl Task {
    /// The task with its number and where it belongs: `2 — Build it (Batch 1 — Foundation)`.
    pub fn label(&self) -> String {
        let mut label = match &self.id {
            Some(id) => format!("{id} — {}", self.title),
            None => self.title.clone(),
        };
        if let Some(group) = &self.group {
            label.push_str(&format!(" ({group})"));
        }
        label
    }
}

/// The tasks of a document and where the work stands among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskList {
    /// All of them, in order.
    pub tasks: Vec<Task>,
}

impl TaskList {
    /// The tasks in a document.
    pub fn parse(document: &Document) -> Self {
        let mut tasks: Vec<Task> = Vec::new();
        // Indentation and place of the tasks that the next one may be inside of.
        let mut above: Vec<(usize, usize)> = Vec::new();
        let mut heading = None;
        for line in lines(document) {
            let mark = match line.kind {
                Kind::Heading(level) => {
                    // The title of the document groups nothing.
                    heading = (level > 1).then(|| tidy(line.text));
                    above.clear();
                    continue;
                }
                Kind::Check('x' | 'X' | '✓' | '✔') => Mark::Done,
                Kind::Check('-' | '~' | '/' | '>') => Mark::Begun,
                Kind::Check(_) => Mark::Open,
                _ => continue,
            };
            // What was struck out is to be done no more.
            if line.text.is_empty() || (mark != Mark::Done && is_struck_out(line.text)) {
                continue;
            }
            let (id, title) = numbered(line.text);
            while let Some((indent, parent)) = above.last()
                && !(line.indent > *indent || is_below(tasks.get(*parent), id.as_deref()))
            {
                above.pop();
            }
            let parent = above.last().and_then(|(_, parent)| tasks.get_mut(*parent));
            let mut group = heading.clone();
            if let Some(parent) = parent {
                parent.is_parent = true;
                if id.is_none() {
                    group = Some(match &parent.id {
                        Some(id) => format!("in {id}"),
                        None => format!("in {}", parent.title),
                    });
                }
            }
            above.push((line.indent, tasks.len()));
            tasks.push(Task {
                id,
                title,
                written: line.text.to_owned(),
                mark,
                group,
                line: line.number,
                is_parent: false,
            });
        }
        Self { tasks }
    }

    /// The tasks that are work themselves.
    pub fn leaves(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.tasks.iter().filter(|task| !task.is_parent)
    }

    /// Those that are done, in order.
    pub fn done(&self) -> Vec<&Task> {
        self.leaves()
            .filter(|task| task.mark == Mark::Done)
            .collect()
    }

    /// Those that are not, as they are likely to be taken up: what stands behind the last one that
    /// is done, then what was passed over before it. People skip a task and go on far more often
    /// than they come back to it at once.
    pub fn to_do(&self) -> Vec<&Task> {
        let leaves: Vec<&Task> = self.leaves().collect();
        let behind = leaves
            .iter()
            .rposition(|task| task.mark == Mark::Done)
            .map_or(0, |at| at + 1);
        let (before, after) = leaves.split_at(behind);
        let open = |task: &&&Task| task.mark != Mark::Done;
        // Among what is ahead, a task that was begun comes first.
        let (begun, rest): (Vec<&&Task>, Vec<&&Task>) = after
            .iter()
            .filter(open)
            .partition(|task| task.mark == Mark::Begun);
        begun
            .into_iter()
            .chain(rest)
            .chain(before.iter().filter(open))
            .copied()
            .collect()
    }

    /// How many of those to do were passed over.
    pub fn passed_over(&self) -> usize {
        let leaves: Vec<&Task> = self.leaves().collect();
        let last = leaves.iter().rposition(|task| task.mark == Mark::Done);
        let before = leaves.iter().take(last.unwrap_or(0));
        before.filter(|task| task.mark != Mark::Done).count()
    }

    /// Whether there are tasks and all are done.
    pub fn is_finished(&self) -> bool {
        !self.tasks.is_empty() && self.leaves().all(|task| task.mark == Mark::Done)
    }
}

/// Whether a number continues another: `5.1` is below `5`, also where nothing is indented.
fn is_below(parent: Option<&Task>, id: Option<&str>) -> bool {
    let (Some(id), Some(above)) = (id, parent.and_then(|parent| parent.id.as_deref())) else {
        return false;
    };
    id.strip_prefix(above)
        .is_some_and(|behind| behind.starts_with('.'))
}

/// The number or code at the beginning of a task, and the rest.
fn numbered(text: &str) -> (Option<String>, String) {
    let bare = text.trim_start_matches(['*', '_']);
    let end = bare.find(char::is_whitespace).unwrap_or(bare.len());
    let (first, rest) = bare.split_at(end);
    let code = first.trim_end_matches(['.', ':', ')', '*', '_']);
    let digits = code.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = code.len() - digits.len();
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    // `1.` and `T004` are numbers; a title that begins with `3 files` is one too if a dot follows.
    let is_marked = letters > 0 || code.contains('.') || first.len() > code.len();
    if is_number && letters <= 3 && is_marked && !rest.trim().is_empty() {
        let title = rest.trim_start_matches([' ', '-', '—', '–', ':', '\t']);
        (Some(code.to_owned()), tidy(title))
    } else {
        (None, tidy(text))
    }
}

/// A title without the marks around it.
fn tidy(text: &str) -> String {
    let text = text.trim().trim_matches('#').trim();
    match text
        .strip_prefix("**")
        .and_then(|text| text.split_once("**"))
    {
        Some((bold, rest)) => format!("{bold}{rest}"),
        None => text.to_owned(),
    }
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
    fn what_was_passed_over_comes_last() {
        let list = list("- [x] 1. a\n- [ ] 2. b\n- [x] 3. c\n- [ ] 4. d\n- [~] 5. e\n");
        assert_eq!(labels(&list.to_do()), ["5 — e", "4 — d", "2 — b"]);
        assert_eq!(list.passed_over(), 1);
    }

    #[test]
    fn what_is_struck_out_is_no_task() {
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
