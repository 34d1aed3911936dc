//! The files of the workspace, and a lexer that separates code, comments and
//! string literals of Rust and TypeScript, and no more.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A file under version control.
pub(crate) struct Source {
    /// Path below the root, with `/` between folders.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Reads all text files of a worktree that are, or are about to be, under version control.
pub(crate) fn files(root: &Path) -> Result<Vec<Source>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("git could not be started")?;
    ensure!(
        output.status.success(),
        "{} is not a git worktree",
        root.display()
    );
    let mut files = Vec::new();
    for path in String::from_utf8(output.stdout)?.lines() {
        // A file that is deleted but not yet staged is listed, and a database is not text.
        if let Ok(text) = fs_err::read_to_string(root.join(PathBuf::from(path))) {
            let path = path.to_owned();
            files.push(Source { path, text });
        }
    }
    Ok(files)
}

impl Source {
    /// The crate or part of the repository that the file belongs to.
    pub(crate) fn part(&self) -> &str {
        let mut folders = self.path.split('/');
        match (folders.next(), folders.next(), folders.next()) {
            (Some("crates" | "plugins"), Some(name), Some(_)) => name,
            (Some(folder), Some(_), _) => folder,
            _ => "root",
        }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    pub(crate) fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, end)| end)
    }

    /// True for Rust files that are compiled for tests only.
    pub(crate) fn is_test(&self) -> bool {
        const NAMES: [&str; 4] = ["tests.rs", "laws.rs", "snapshots.rs", "fixtures.rs"];
        let name = self.path.rsplit('/').next().unwrap_or_default();
        NAMES.contains(&name) || name.ends_with("_tests.rs") || self.path.contains("/tests/")
    }

    /// Splits Rust or TypeScript into tokens; files of other kinds have none.
    pub(crate) fn tokens(&self) -> Vec<Token<'_>> {
        let rust = match self.extension() {
            "rs" => true,
            "ts" | "tsx" | "mjs" | "js" => false,
            _ => return Vec::new(),
        };
        let mut lexer = Lexer {
            rest: &self.text,
            line: 1,
            rust,
            may_be_regex: true,
        };
        std::iter::from_fn(|| lexer.next()).collect()
    }
}

/// Part of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    /// Line on which it begins, from 1.
    pub(crate) line: usize,
    /// The text, of comments and literals without their delimiters.
    pub(crate) text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier, a keyword or a number.
    Word,
    /// One character of punctuation.
    Mark,
    /// A comment that documents an item; each line is one.
    Doc,
    Comment,
    /// A string literal.
    Literal,
}

impl Token<'_> {
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Mark) && self.text == text
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    rust: bool,
    /// True if a slash would begin a regular expression of TypeScript, not a division.
    may_be_regex: bool,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let code = self.rest.trim_start();
        self.take(self.rest.len() - code.len());
        let first = self.rest.chars().next()?;
        let line = self.line;
        let (kind, text) = self.token(first);
        if !matches!(kind, Kind::Doc | Kind::Comment) {
            let ends_value = kind != Kind::Mark || matches!(text, ")" | "]" | "}");
            self.may_be_regex = !ends_value || text == "return";
        }
        Some(Token { kind, line, text })
    }

    fn token(&mut self, first: char) -> (Kind, &'a str) {
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            let text = self.take(end);
            let marks = text.len() - text.trim_start_matches('/').len();
            let doc = self.rust && (marks == 3 || text.starts_with("//!"));
            let kind = if doc { Kind::Doc } else { Kind::Comment };
            let text = text.trim_start_matches('/');
            return (kind, text.strip_prefix('!').unwrap_or(text));
        }
        if self.rest.starts_with("/*") {
            let doc = self.rest.starts_with("/**") && !self.rest.starts_with("/**/");
            let kind = if doc { Kind::Doc } else { Kind::Comment };
            let end = self.rest.find("*/").map_or(self.rest.len(), |end| end + 2);
            return (kind, self.take(end).trim_matches(['/', '*']));
        }
        match first {
            '"' => (Kind::Literal, self.quoted('"')),
            '\'' if self.rust => self.character(),
            '\'' | '`' => (Kind::Literal, self.quoted(first)),
            '/' if !self.rust && self.may_be_regex => (Kind::Mark, self.regex()),
            c if c.is_alphanumeric() || c == '_' || c == '$' => self.word(),
            c => (Kind::Mark, self.take(c.len_utf8())),
        }
    }

    /// A word, or the literal that it is the prefix of, as in `br#"…"#`.
    fn word(&mut self) -> (Kind, &'a str) {
        let in_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = self.rest.find(|c| !in_word(c)).unwrap_or(self.rest.len());
        let word = self.take(end);
        if self.rust && matches!(word, "r" | "br" | "cr") {
            let hashes = self.rest.len() - self.rest.trim_start_matches('#').len();
            if self.rest.trim_start_matches('#').starts_with('"') {
                let close = format!("\"{}", "#".repeat(hashes));
                self.take(hashes + 1);
                let end = self.rest.find(&close).unwrap_or(self.rest.len());
                let text = self.take(end);
                self.take(close.len());
                return (Kind::Literal, text);
            }
        }
        (Kind::Word, word)
    }

    /// The content of a literal that begins with a quote and ends with the next bare one.
    fn quoted(&mut self, quote: char) -> &'a str {
        self.take(1);
        let mut escaped = false;
        let end = self.rest.find(|c| {
            let ends = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let text = self.take(end.unwrap_or(self.rest.len()));
        self.take(1);
        text
    }

    /// A character of Rust or, if there is no second quote, the beginning of a lifetime.
    fn character(&mut self) -> (Kind, &'a str) {
        let mut chars = self.rest.chars().skip(1);
        match (chars.next(), chars.next()) {
            (Some('\\'), _) | (_, Some('\'')) => (Kind::Mark, self.quoted('\'')),
            _ => (Kind::Mark, self.take(1)),
        }
    }

    fn regex(&mut self) -> &'a str {
        let (mut escaped, mut class) = (true, false);
        let end = self.rest.find(|c| {
            let ends = c == '/' && !escaped && !class;
            class = !escaped && (c == '[' || class && c != ']') || escaped && class;
            escaped = c == '\\' && !escaped;
            ends || c == '\n'
        });
        self.take(end.map_or(self.rest.len(), |end| end + 1))
    }

    /// Moves on by a number of bytes and returns them.
    fn take(&mut self, length: usize) -> &'a str {
        let (text, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.line += text.matches('\n').count();
        self.rest = rest;
        text
    }
}

/// Leaves out items that are compiled for tests only, with their attribute.
pub(crate) fn without_tests<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t Token<'a>> {
    const ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut rest = tokens;
    while let [token, after @ ..] = rest {
        let is_test = rest.len() >= ATTRIBUTE.len()
            && rest
                .iter()
                .zip(ATTRIBUTE)
                .all(|(token, text)| token.is(text));
        rest = if is_test { after_item(rest) } else { after };
        if !is_test {
            kept.push(token);
        }
    }
    kept
}

/// Returns the tokens after the first item, which ends with a semicolon or its closing brace.
fn after_item<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let mut depth = 0_usize;
    let end = tokens.iter().position(|token| {
        let opens = token.is("{") || token.is("(") || token.is("[");
        let closes = token.is("}") || token.is(")") || token.is("]");
        depth = (depth + usize::from(opens)).saturating_sub(usize::from(closes));
        depth == 0 && (token.is(";") || token.is("}"))
    });
    tokens
        .get(end.map_or(tokens.len(), |end| end + 1)..)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexed(path: &str, text: &str) -> Vec<(Kind, usize, String)> {
        let source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let tokens = source.tokens();
        let tokens = tokens.iter().filter(|token| token.kind != Kind::Mark);
        tokens
            .map(|token| (token.kind, token.line, token.text.to_owned()))
            .collect()
    }

    #[test]
    fn rust_is_lexed() {
        let text = "/// Doc\nfn f<'a>(c: &'a str) { // why\n  g('\"', '\\'', \"a // b\\\"\", r#\"c\"d\"#) }";
        let words: Vec<_> = lexed("a.rs", text);
        let literal = |text: &str| (Kind::Literal, 3, text.to_owned());
        assert!(words.contains(&(Kind::Doc, 1, " Doc".to_owned())));
        assert!(words.contains(&(Kind::Comment, 2, " why".to_owned())));
        assert!(words.contains(&literal("a // b\\\"")) && words.contains(&literal("c\"d")));
        let literals = words.iter().filter(|(kind, ..)| *kind == Kind::Literal);
        assert_eq!(literals.count(), 2);
    }

    #[test]
    fn typescript_is_lexed() {
        let text = "const a = /[/'\"]/.test('it\\'s'); // why\nlet b = c / d / `e ${f}`";
        let words = lexed("a.ts", text);
        let literals: Vec<_> = words
            .iter()
            .filter(|(kind, ..)| *kind == Kind::Literal)
            .map(|(.., text)| text.as_str())
            .collect();
        assert_eq!(literals, ["it\\'s", "e ${f}"]);
    }

    #[test]
    fn tests_are_left_out() {
        let source = Source {
            path: "a.rs".to_owned(),
            text: "fn a() {}\n#[cfg(test)]\nmod t { fn b() { if c {} } }\nfn d() {}\n#[cfg(test)]\nmod e;\nfn g() {}"
                .to_owned(),
        };
        let tokens = source.tokens();
        let kept = without_tests(&tokens);
        let names: Vec<&str> = kept
            .iter()
            .filter(|token| token.kind == Kind::Word && token.text != "fn")
            .map(|token| token.text)
            .collect();
        assert_eq!(names, ["a", "d", "g"]);
    }
}
