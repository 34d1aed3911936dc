//! A Markdown document as lines: headings, bullets, boxes, plain text.
//!
//! What stands in code blocks and comments is no statement of the document and is left out. What
//! the lines mean is for others to say.

/// A text file of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Its path, relative to the project.
    pub path: String,
    /// What is in it, or what was read of it: its beginning and its end.
    pub text: String,
    /// Where only parts were read: how many lines the first part has. The numbers of the lines
    /// behind it are not known.
    pub counted: Option<usize>,
}

impl Document {
    /// A document that was read as a whole.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
            counted: None,
        }
    }

    /// Whether it says anything beyond headings, empty bullets, comments and rules.
    pub fn has_content(&self) -> bool {
        each_line(self).any(|line| match line.kind {
            Kind::Heading(_) | Kind::Rule | Kind::Blank => false,
            Kind::Bullet | Kind::Check(_) | Kind::Plain => {
                line.text.contains(char::is_alphanumeric)
            }
        })
    }
}

/// A line and what kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its number from 1, where that is known.
    pub(super) number: Option<usize>,
    /// How far it is indented; a tab is two blanks.
    pub(super) indent: usize,
    pub(super) kind: Kind,
    /// Its text without the marks that make its kind.
    pub(super) text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Heading(usize),
    Bullet,
    /// A bullet with a box, and what is in the box.
    Check(char),
    Rule,
    Plain,
    Blank,
}

/// The lines of a document.
pub(super) fn lines(document: &Document) -> Vec<Line<'_>> {
    each_line(document).collect()
}

/// The lines of a document, one after the other: often the first few tell what is to be known.
fn each_line(document: &Document) -> impl Iterator<Item = Line<'_>> {
    let text = document.text.trim_start_matches('\u{feff}');
    let known = document.counted.unwrap_or(usize::MAX);
    let mut fence: Option<&str> = None;
    // Once a mark is not closed until the end, it never will be.
    let mut unclosed: Vec<&str> = Vec::new();
    let mut in_comment = false;
    let mut rest = Some(text);
    let split = std::iter::from_fn(move || {
        let (line, behind) = match rest?.split_once('\n') {
            Some((line, behind)) => (line, Some(behind)),
            None => (rest?, None),
        };
        rest = behind;
        Some((line, behind.unwrap_or_default()))
    });
    split.enumerate().filter_map(move |(at, (line, behind))| {
        let line = line.trim_end();
        let bare = line.trim_start();
        if let Some(mark) = fence {
            if bare.starts_with(mark) && bare.trim_start_matches(fence_char(mark)).is_empty() {
                fence = None;
            }
            return None;
        }
        let mut visible = line;
        if in_comment {
            let (_, shown) = line.split_once("-->")?;
            in_comment = false;
            visible = shown;
        }
        if let Some((before, comment)) = visible.split_once("<!--") {
            match comment.split_once("-->") {
                // A comment inside a line: what is said before it counts.
                Some((_, shown)) if before.trim().is_empty() => visible = shown,
                Some(_) => visible = before,
                None if behind.contains("-->") => {
                    in_comment = true;
                    visible = before;
                }
                None => {}
            }
        }
        if let Some(mark) = fence_of(bare)
            && !unclosed.contains(&mark)
        {
            let mut later = behind.split('\n');
            if later.any(|line| line.trim_start().starts_with(mark)) {
                fence = Some(mark);
                return None;
            }
            unclosed.push(mark);
        }
        Some(parse(visible, (at < known).then_some(at + 1)))
    })
}

fn fence_of(line: &str) -> Option<&'static str> {
    ["```", "~~~"]
        .into_iter()
        .find(|mark| line.starts_with(mark))
}

fn fence_char(mark: &str) -> char {
    mark.chars().next().unwrap_or('`')
}

fn parse(line: &str, number: Option<usize>) -> Line<'_> {
    let bare = line.trim_start();
    let blanks = line.get(..line.len() - bare.len()).unwrap_or_default();
    let indent = blanks.chars().map(|c| if c == '\t' { 2 } else { 1 }).sum();
    let of = |kind, text: &'_ str| -> (Kind, usize) { (kind, bare.len() - text.len()) };
    let (kind, skipped) = if bare.is_empty() {
        of(Kind::Blank, bare)
    } else if let Some((level, text)) = heading(bare) {
        of(Kind::Heading(level), text)
    } else if is_rule(bare) {
        of(Kind::Rule, "")
    } else if let Some(text) = bullet(bare) {
        match boxed(text) {
            Some((mark, text)) => of(Kind::Check(mark), text),
            None => of(Kind::Bullet, text),
        }
    } else {
        of(Kind::Plain, bare)
    };
    Line {
        number,
        indent,
        kind,
        text: bare.get(skipped..).unwrap_or_default().trim(),
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let is_one = (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t']));
    is_one.then_some((level, text))
}

fn is_rule(line: &str) -> bool {
    ['-', '*', '_'].into_iter().any(|mark| {
        line.chars().all(|c| c == mark || c == ' ')
            && line.chars().filter(|c| *c == mark).count() >= 3
    })
}

/// The text of a bullet: `-`, `*`, `+`, `•`, or a number with a dot or a parenthesis.
fn bullet(line: &str) -> Option<&str> {
    let behind = line.strip_prefix(['-', '*', '+', '•']).or_else(|| {
        let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_short = (1..=4).contains(&(line.len() - digits.len()));
        is_short.then(|| digits.strip_prefix(['.', ')'])).flatten()
    })?;
    (behind.is_empty() || behind.starts_with([' ', '\t'])).then(|| behind.trim_start())
}

/// What is in a box, and the text behind it. A star behind the box marks an optional task.
fn boxed(text: &str) -> Option<(char, &str)> {
    let inside = text.strip_prefix('[')?;
    let mark = inside.chars().next()?;
    let behind = match inside.strip_prefix(']') {
        Some(behind) => {
            return behind
                .starts_with(' ')
                .then_some((' ', behind.trim_start()));
        }
        None => inside.get(mark.len_utf8()..)?.strip_prefix(']')?,
    };
    let known = matches!(mark, ' ' | 'x' | 'X' | '✓' | '✔' | '-' | '~' | '/' | '>');
    let behind = behind.strip_prefix('*').unwrap_or(behind);
    (known && (behind.is_empty() || behind.starts_with([' ', '\t'])))
        .then(|| (mark, behind.trim_start()))
}

/// A bullet or a paragraph with all its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) number: Option<usize>,
    pub(super) indent: usize,
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// Bullets and paragraphs, each with the lines that continue it; headings and rules by themselves.
pub(super) fn items(lines: &[Line<'_>]) -> Vec<Item> {
    items_between(lines, |_| false)
}

/// As [`items`], where a line that `begins` something continues nothing either.
pub(super) fn items_between(lines: &[Line<'_>], begins: impl Fn(&str) -> bool) -> Vec<Item> {
    let mut found: Vec<Item> = Vec::new();
    let mut open = false;
    for line in lines {
        match line.kind {
            Kind::Blank => open = false,
            Kind::Plain if open && !interrupts(line, found.last(), &begins) => {
                if let Some(last) = found.last_mut() {
                    last.text.push(' ');
                    last.text.push_str(line.text);
                }
            }
            kind => {
                let is_alone = matches!(kind, Kind::Heading(_) | Kind::Rule)
                    || (kind == Kind::Plain && (begins(line.text) || is_bare_label(line.text)));
                open = !is_alone;
                found.push(Item {
                    number: line.number,
                    indent: line.indent,
                    kind,
                    text: line.text.to_owned(),
                });
            }
        }
    }
    found
}

/// Whether a line is something of its own, though no blank line is before it. What is indented
/// below a bullet belongs to the bullet, whatever it looks like.
fn interrupts(line: &Line<'_>, above: Option<&Item>, begins: impl Fn(&str) -> bool) -> bool {
    let is_inside = above.is_some_and(|above| {
        matches!(above.kind, Kind::Bullet | Kind::Check(_)) && line.indent > above.indent
    });
    line.text.starts_with('|') || (!is_inside && (is_label(line.text) || begins(line.text)))
}

/// Whether a line is a label and nothing else; what it labels comes below.
fn is_bare_label(text: &str) -> bool {
    let bare = text.trim_end_matches(['*', '_']);
    is_label(text) && (bare.ends_with(':') || (bare.len() < text.len() && !bare.contains(':')))
}

/// Whether a line begins with a label such as `Open Work:`, or is one in bold.
fn is_label(text: &str) -> bool {
    let bare = text.trim_start_matches(['*', '_']);
    let is_bold = bare.len() < text.len();
    let name = match bare.split_once(':') {
        Some((name, behind)) => {
            let behind = behind.trim_start_matches(['*', '_']);
            if !(behind.is_empty() || behind.starts_with(char::is_whitespace)) {
                return false;
            }
            name
        }
        None if is_bold && text.ends_with(['*', '_']) => bare,
        None => return false,
    };
    let name = name.trim_end_matches(['*', '_', ' ']);
    let is_short = name.chars().count() <= 40 && name.split_whitespace().count() <= 4;
    let is_name = name.starts_with(char::is_uppercase)
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '/' | '&' | '-' | '(' | ')'));
    // What explains something belongs to it.
    let explains = ["rationale", "reason", "why", "because", "note", "impact"]
        .into_iter()
        .any(|word| name.eq_ignore_ascii_case(word));
    is_short && is_name && !explains
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, String)> {
        let document = Document::new("x.md", text);
        lines(&document)
            .into_iter()
            .map(|line| (line.kind, line.text.to_owned()))
            .collect()
    }

    #[test]
    fn marks_are_told_from_text() {
        let text = "# A\r\n- b\n  * [X] c\n1. d\n+ [ ]* e\n--- \n#no heading\n-no bullet\n- [y] z";
        let expected = [
            (Kind::Heading(1), "A"),
            (Kind::Bullet, "b"),
            (Kind::Check('X'), "c"),
            (Kind::Bullet, "d"),
            (Kind::Check(' '), "e"),
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
        let texts: Vec<String> = items(&lines(&document))
            .into_iter()
            .map(|item| item.text)
            .collect();
        assert_eq!(texts, ["one more", "two", "para graph"]);
    }

    #[test]
    fn a_label_continues_nothing() {
        let document = Document::new(
            "x.md",
            "- one\nOpen Work: a\n**Blockers**\nnone\n- two\nwrapped by hand\n- three\nRationale: so\n- four\n  Files: b\n",
        );
        let texts: Vec<String> = items(&lines(&document))
            .into_iter()
            .map(|item| item.text)
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
