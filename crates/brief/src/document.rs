//! Markdown as lines: headings, bullets, check boxes, plain text.
//!
//! A line reader and not a `CommonMark` parser: session logs and task lists are written by hand and by
//! models, and what their authors mean by a line differs from what `CommonMark` makes of it. A task
//! indented by four blanks is a task and not a code block, `[~]` is a box, a label such as `Open Work:`
//! ends the bullet above it, and an unclosed fence does not hide the rest of the file. Code blocks and
//! comments are left out: they state nothing.

use std::borrow::Cow;

use crate::LineSource;
use crate::tasks::TaskState;
use crate::vocabulary::{WORDS, has};

/// A text file of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Path relative to the project.
    pub path: String,
    /// Text of the file, or of its beginning and its end.
    pub text: String,
    /// Number of lines in the first part if only parts were read; later lines have no known number.
    pub counted: Option<usize>,
}

impl Document {
    /// Creates a document that was read as a whole.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
            counted: None,
        }
    }

    /// Returns true if there is more than headings, empty bullets, comments and rules.
    pub fn has_content(&self) -> bool {
        lines(self).any(|line| match line.kind {
            Kind::Heading(_) | Kind::Rule | Kind::Blank => false,
            Kind::Bullet | Kind::Check(_) | Kind::Plain => {
                line.text.contains(char::is_alphanumeric)
            }
        })
    }
}

/// A line of a document; of [`items`], a bullet or a paragraph with all its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    path: &'a str,
    /// Number from 1, if known; of an item that of its first line.
    pub(crate) number: Option<usize>,
    /// Indentation in blanks; a tab counts as two.
    pub(crate) indent: usize,
    pub(crate) kind: Kind,
    /// Text without the marks that make its kind.
    pub(crate) text: Cow<'a, str>,
}

impl Line<'_> {
    pub(crate) fn source(&self) -> LineSource {
        LineSource::File {
            path: self.path.to_owned(),
            line: self.number,
        }
    }

    /// Returns the text and its source.
    pub(crate) fn sourced(&self) -> (&str, LineSource) {
        (&self.text, self.source())
    }

    pub(crate) fn with_text(&self, text: &str) -> Self {
        Self {
            text: Cow::Owned(text.to_owned()),
            ..*self
        }
    }

    pub(crate) fn is_list_item(&self) -> bool {
        matches!(self.kind, Kind::Bullet | Kind::Check(_))
    }

    pub(crate) fn is_heading(&self) -> bool {
        matches!(self.kind, Kind::Heading(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Heading(usize),
    Bullet,
    /// A bullet with a check box.
    Check(TaskState),
    Rule,
    Plain,
    Blank,
}

/// Returns the visible lines of a document, lazily: often the first few are enough.
pub(crate) fn lines(document: &Document) -> impl Iterator<Item = Line<'_>> {
    let known = document.counted.unwrap_or(usize::MAX);
    let mut rest = Some(document.text.trim_start_matches('\u{feff}'));
    let mut hidden = Hidden::default();
    let split = std::iter::from_fn(move || {
        let text = rest?;
        let (line, after) = text.split_once('\n').unwrap_or((text, ""));
        rest = (line.len() < text.len()).then_some(after);
        Some((line.trim_end(), after))
    });
    split.enumerate().filter_map(move |(at, (line, after))| {
        let visible = hidden.visible_part(line, after)?;
        let number = (at < known).then_some(at + 1);
        Some(parse(&document.path, visible, number))
    })
}

/// The code block or comment that the current line is in.
#[derive(Default)]
struct Hidden {
    fence: Option<&'static str>,
    in_comment: bool,
    /// Fences known to have no end, so that the rest of the file is searched for each only once.
    unclosed: Vec<&'static str>,
}

impl Hidden {
    /// Returns what of a line is neither code nor comment. `after` is the text below the line.
    fn visible_part<'a>(&mut self, line: &'a str, after: &str) -> Option<&'a str> {
        let bare = line.trim_start();
        if let Some(fence) = self.fence {
            let closes = bare.starts_with(fence) && bare.chars().all(|c| fence.contains(c));
            self.fence = self.fence.filter(|_| !closes);
            return None;
        }
        let mut visible = line;
        if self.in_comment {
            visible = line.split_once("-->")?.1;
            self.in_comment = false;
        }
        if let Some((before, comment)) = visible.split_once("<!--") {
            match comment.split_once("-->") {
                Some((_, shown)) if before.trim().is_empty() => visible = shown,
                Some(_) => visible = before,
                None if after.contains("-->") => {
                    self.in_comment = true;
                    visible = before;
                }
                None => {}
            }
        }
        let mut fences = ["```", "~~~"].into_iter();
        let fence = fences.find(|fence| bare.starts_with(fence) && !self.unclosed.contains(fence));
        if let Some(fence) = fence {
            let mut below = after.split('\n');
            if below.any(|line| line.trim_start().starts_with(fence)) {
                self.fence = Some(fence);
                return None;
            }
            self.unclosed.push(fence);
        }
        Some(visible)
    }
}

fn parse<'a>(path: &'a str, line: &'a str, number: Option<usize>) -> Line<'a> {
    let bare = line.trim_start();
    let blanks = line.get(..line.len() - bare.len()).unwrap_or_default();
    let (kind, text) = classify(bare);
    Line {
        path,
        number,
        indent: blanks.chars().map(|c| if c == '\t' { 2 } else { 1 }).sum(),
        kind,
        text: text.trim().into(),
    }
}

fn classify(bare: &str) -> (Kind, &str) {
    if bare.is_empty() {
        (Kind::Blank, bare)
    } else if let Some((level, text)) = heading(bare) {
        (Kind::Heading(level), text)
    } else if is_rule(bare) {
        (Kind::Rule, "")
    } else if let Some(text) = bullet(bare) {
        match check_box(text) {
            Some((state, text)) => (Kind::Check(state), text),
            None => (Kind::Bullet, text),
        }
    } else {
        (Kind::Plain, bare)
    }
}

/// Returns the level and the text of a heading.
pub(crate) fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let is_one = (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t']));
    is_one.then_some((level, text))
}

fn is_rule(line: &str) -> bool {
    ['-', '*', '_']
        .into_iter()
        .any(|mark| line.chars().all(|c| c == mark || c == ' ') && line.matches(mark).count() >= 3)
}

/// Returns the text of a bullet: `-`, `*`, `+`, `•`, or a number with a dot or a parenthesis.
pub(crate) fn bullet(line: &str) -> Option<&str> {
    let after = line.strip_prefix(['-', '*', '+', '•']).or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_short = (1..=4).contains(&(line.len() - rest.len()));
        is_short.then(|| rest.strip_prefix(['.', ')'])).flatten()
    })?;
    (after.is_empty() || after.starts_with([' ', '\t'])).then(|| after.trim_start())
}

/// Returns the state of a check box and the text after it. A star after the box marks an optional
/// task.
fn check_box(text: &str) -> Option<(TaskState, &str)> {
    let (mark, after) = text.strip_prefix('[')?.split_once(']')?;
    let state = match mark {
        "" if after.starts_with(' ') => TaskState::Open,
        " " => TaskState::Open,
        "x" | "X" | "✓" | "✔" => TaskState::Done,
        "-" | "~" | "/" | ">" => TaskState::Begun,
        _ => return None,
    };
    let after = after.strip_prefix('*').unwrap_or(after);
    (after.is_empty() || after.starts_with([' ', '\t'])).then(|| (state, after.trim_start()))
}

/// Joins lines into items: bullets and paragraphs, and each heading and rule separately.
pub(crate) fn items<'a>(lines: impl IntoIterator<Item = Line<'a>>) -> Vec<Line<'a>> {
    items_between(lines, |_| false)
}

/// As [`items`], where a line that `begins` something continues no item either.
pub(crate) fn items_between<'a>(
    lines: impl IntoIterator<Item = Line<'a>>,
    begins: impl Fn(&str) -> bool,
) -> Vec<Line<'a>> {
    let mut found: Vec<Line<'a>> = Vec::new();
    let mut open = false;
    for line in lines {
        match (line.kind, found.last_mut().filter(|_| open)) {
            (Kind::Blank, _) => open = false,
            (Kind::Plain, Some(last)) if !interrupts(&line, last, &begins) => {
                let text = last.text.to_mut();
                text.push(' ');
                text.push_str(&line.text);
            }
            (kind, _) => {
                let is_alone = matches!(kind, Kind::Heading(_) | Kind::Rule)
                    || (kind == Kind::Plain && (begins(&line.text) || is_bare_label(&line.text)));
                open = !is_alone;
                found.push(line);
            }
        }
    }
    found
}

/// Returns true if a plain line starts an item though no blank line precedes it. What is indented below
/// a bullet belongs to the bullet, whatever it looks like.
fn interrupts(line: &Line<'_>, above: &Line<'_>, begins: impl Fn(&str) -> bool) -> bool {
    let is_inside = above.is_list_item() && line.indent > above.indent;
    line.text.starts_with('|') || (!is_inside && (is_label(&line.text) || begins(&line.text)))
}

/// Returns true if a line is a label and nothing else; what it labels follows.
fn is_bare_label(text: &str) -> bool {
    let bare = text.trim_end_matches(['*', '_']);
    is_label(text) && (bare.ends_with(':') || (bare.len() < text.len() && !bare.contains(':')))
}

/// Splits a text such as `**Status**: done` into its label and its value.
pub(crate) fn label_and_value(text: &str) -> Option<(&str, &str)> {
    let (label, value) = text.split_once(':')?;
    let label = label.trim_matches(['*', '_', ' ']);
    Some((label, value.trim_start_matches(['*', '_']).trim()))
}

/// Returns true if a line begins with a label such as `Open Work:`, or is one in bold.
fn is_label(text: &str) -> bool {
    let bare = text.trim_start_matches(['*', '_']);
    let is_bold = bare.len() < text.len() && text.ends_with(['*', '_']);
    let (name, after) = match bare.split_once(':') {
        Some((name, after)) => (name, after.trim_start_matches(['*', '_'])),
        None if is_bold => (bare, ""),
        None => return false,
    };
    let name = name.trim_end_matches(['*', '_', ' ']);
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '/' | '&' | '-' | '(' | ')');
    (after.is_empty() || after.starts_with(char::is_whitespace))
        && (name.chars().count() <= 40 && name.split_whitespace().count() <= 4)
        && (name.starts_with(char::is_uppercase) && name.chars().all(in_name))
        // An explanation belongs to what it explains.
        && !has(&WORDS.explains, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, String)> {
        let document = Document::new("x.md", text);
        lines(&document)
            .map(|line| (line.kind, line.text.into_owned()))
            .collect()
    }

    #[test]
    fn marks_are_separated_from_text() {
        let text = "# A\r\n- b\n  * [X] c\n1. d\n+ [ ]* e\n--- \n#no heading\n-no bullet\n- [y] z";
        let expected = [
            (Kind::Heading(1), "A"),
            (Kind::Bullet, "b"),
            (Kind::Check(TaskState::Done), "c"),
            (Kind::Bullet, "d"),
            (Kind::Check(TaskState::Open), "e"),
            (Kind::Rule, ""),
            (Kind::Plain, "#no heading"),
            (Kind::Plain, "-no bullet"),
            (Kind::Bullet, "[y] z"),
        ];
        let expected: Vec<(Kind, String)> = expected
            .map(|(kind, text)| (kind, text.to_owned()))
            .to_vec();
        assert_eq!(kinds(text), expected);
    }

    #[test]
    fn code_and_comments_say_nothing() {
        let text = "a\n```\n- [ ] no\n```\n<!-- - [ ] no\nno -->\nb <!-- no -->\n~~~\nc";
        let texts: Vec<String> = kinds(text).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["a", "", "", "b", "~~~", "c"]);
    }

    #[test]
    fn a_template_without_words_has_no_content() {
        for empty in [
            "",
            "# Design\n\n- \n---\n<!-- fill in -->\n",
            "\u{feff}# A\r\n",
        ] {
            assert!(!Document::new("d.md", empty).has_content(), "{empty:?}");
        }
        assert!(Document::new("d.md", "# Design\nready\n").has_content());
    }

    #[test]
    fn an_item_has_all_its_lines() {
        let document = Document::new("x.md", "- one\n  more\n- two\n\npara\ngraph\n");
        let texts: Vec<String> = items(lines(&document))
            .into_iter()
            .map(|item| item.text.into_owned())
            .collect();
        assert_eq!(texts, ["one more", "two", "para graph"]);
    }

    #[test]
    fn a_label_continues_nothing() {
        let document = Document::new(
            "x.md",
            "- one\nOpen Work: a\n**Blockers**\nnone\n- two\nwrapped by hand\n- three\nRationale: so\n- four\n  Files: b\n",
        );
        let texts: Vec<String> = items(lines(&document))
            .into_iter()
            .map(|item| item.text.into_owned())
            .collect();
        assert_eq!(
            texts,
            [
                "one",
                "Open Work: a",
                "**Blockers**",
                "none",
                "two wrapped by hand",
                "three Rationale: so",
                "four Files: b"
            ]
        );
    }
}
