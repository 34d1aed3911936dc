//! Splits command lines far enough to know which files they write.
//!
//! This is not a shell: nothing is expanded. A word that needs expansion names no file, and whatever
//! is not understood changes nothing.

use std::collections::BTreeMap;

/// One command of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    /// The program and its arguments, without quotes.
    pub(crate) words: Vec<String>,
    /// Files that its output is redirected to.
    pub(crate) into: Vec<String>,
    /// The operator after it.
    pub(crate) then: Operator,
}

/// The operator between a command and the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `;`, `&`, a line break or the end.
    #[default]
    Next,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
}

/// Marks a word that needs expansion.
const EXPANDED: char = '\0';
/// Maximum number of commands that are read of a line; a megabyte of `$(` would be half a million.
const MOST_COMMANDS: usize = 10_000;

/// Splits a command line into commands, in order.
pub(crate) fn commands(line: &str) -> Vec<SimpleCommand> {
    let line = without_documents(line);
    let mut reader = Reader::default();
    let mut chars = line.chars().peekable();
    while reader.all.len() < MOST_COMMANDS
        && let Some(c) = chars.next()
    {
        match c {
            '\'' => {
                reader.begin();
                for quoted in chars.by_ref().take_while(|c| *c != '\'') {
                    reader.push(quoted);
                }
            }
            '"' => {
                reader.begin();
                while let Some(quoted) = chars.next() {
                    match quoted {
                        '"' => break,
                        '\\' => chars.next().into_iter().for_each(|c| reader.push(c)),
                        '$' | '`' => reader.push(EXPANDED),
                        _ => reader.push(quoted),
                    }
                }
            }
            '\\' => match chars.next() {
                // A continued line.
                Some('\n') | None => {}
                Some(c) => reader.push(c),
            },
            '$' | '`' | '*' | '?' | '{' | '}' => reader.push(EXPANDED),
            '#' if reader.word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            '>' => {
                reader.redirect(Next::Output);
                while chars.next_if(|c| matches!(c, '>' | '|')).is_some() {}
                if chars.next_if(|c| *c == '&').is_some() {
                    reader.next = Next::Nothing;
                }
            }
            '<' => {
                reader.redirect(Next::Nothing);
                while chars.next_if(|c| matches!(c, '<' | '-' | '&')).is_some() {}
            }
            '&' if chars.peek() == Some(&'>') => reader.end_word(),
            '&' if chars.next_if_eq(&'&').is_some() => reader.end_command(Operator::And),
            '|' if chars.next_if_eq(&'|').is_some() => reader.end_command(Operator::Or),
            '|' => reader.end_command(Operator::Pipe),
            '\n' | ';' | '&' | '(' | ')' => reader.end_command(Operator::Next),
            c if c.is_whitespace() => reader.end_word(),
            c => reader.push(c),
        }
    }
    reader.end_command(Operator::Next);
    reader.all
}

/// Role of the next word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Word,
    Output,
    Nothing,
}

#[derive(Debug, Default)]
struct Reader {
    all: Vec<SimpleCommand>,
    open: SimpleCommand,
    word: Option<String>,
    next: Next,
}

impl Reader {
    fn begin(&mut self) {
        self.word.get_or_insert_default();
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        match std::mem::take(&mut self.next) {
            Next::Word => self.open.words.push(word),
            Next::Output => self.open.into.push(word),
            Next::Nothing => {}
        }
    }

    /// Begins a redirection. Digits directly before `>` are the number of a stream.
    fn redirect(&mut self, next: Next) {
        let is_stream = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_stream) {
            self.word = None;
        }
        self.end_word();
        self.next = next;
    }

    fn end_command(&mut self, then: Operator) {
        self.end_word();
        self.next = Next::Word;
        let mut open = std::mem::take(&mut self.open);
        if !open.words.is_empty() || !open.into.is_empty() {
            open.then = then;
            self.all.push(open);
        }
    }
}

/// Removes here-documents (`<<END … END`).
fn without_documents(line: &str) -> String {
    if !line.contains("<<") {
        return line.to_owned();
    }
    let lines = Lines::of(line);
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("<<") {
        let tail = rest.get(at + 2..).unwrap_or_default();
        let name = tail.trim_start_matches('-').trim_start_matches(' ');
        let quote = name.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let name = name.trim_start_matches(['\'', '"']);
        let length = name
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(name.len());
        let name = name.get(..length).unwrap_or_default();
        let begin = line.len() - tail.len();
        if let Some((first, end)) = lines.document(begin, name) {
            kept.push_str(rest.get(..at).unwrap_or_default());
            // The rest of the line that the document was announced on.
            let announced = line.get(begin..first).unwrap_or_default();
            let after = announced.find(name).map_or(0, |at| at + name.len());
            let after = announced.get(after..).unwrap_or_default();
            kept.push_str(quote.map_or(after, |quote| after.trim_start_matches(quote)));
            rest = line.get(end..).unwrap_or_default();
        } else {
            kept.push_str(rest.get(..at + 2).unwrap_or_default());
            rest = tail;
        }
    }
    kept.push_str(rest);
    kept
}

/// The lines of a text, found by their content: a text may announce a document in every word.
struct Lines<'t> {
    /// Places of the line breaks.
    breaks: Vec<usize>,
    /// Start and end of the lines that consist of one word, in order, by that word.
    words: BTreeMap<&'t str, Vec<(usize, usize)>>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let mut lines = Self {
            breaks: Vec::new(),
            words: BTreeMap::new(),
        };
        let mut start = 0;
        for line in text.split('\n') {
            let end = start + line.len();
            let word = line.trim();
            if !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_') {
                lines.words.entry(word).or_default().push((start, end));
            }
            lines.breaks.push(end);
            start = end + 1;
        }
        // The end of the text is not a line break.
        lines.breaks.pop();
        lines
    }

    /// Returns the start and end of a here-document with a name that is announced at a place.
    fn document(&self, announced: usize, name: &str) -> Option<(usize, usize)> {
        let ends = self.words.get(name)?;
        let first = *self
            .breaks
            .get(self.breaks.partition_point(|place| *place < announced))?;
        let (_, end) = ends.get(ends.partition_point(|(start, _)| *start <= first))?;
        // The line break after it ends the command.
        Some((first, *end))
    }
}

/// Returns true if a word names one file inside the project: no expansion, no path outside of it.
pub(super) fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    !name.is_empty()
        && name != "."
        && word.len() <= LONGEST_PATH
        && !word.starts_with(['/', '~', '-', '+', ':', '='])
        && !word.split('/').any(|part| part == ".." || part == "...")
        && word.chars().all(|c| {
            c.is_alphanumeric() || matches!(c, '.' | '_' | '/' | '@' | '+' | '-' | '[' | ']')
        })
        && word.chars().any(char::is_alphabetic)
}

/// Maximum length of a path, in bytes.
const LONGEST_PATH: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(line: &str) -> Vec<String> {
        let shown = |command: &SimpleCommand| format!("{:?} > {:?}", command.words, command.into);
        commands(line).iter().map(shown).collect()
    }

    #[test]
    fn command_lines_are_split() {
        let line = "cd web && FOO=1 npm test -- \"a b\" > out.txt 2>&1 | tee log.txt; echo 'x > y'";
        insta::assert_debug_snapshot!(shown(line), @r#"
        [
            "[\"cd\", \"web\"] > []",
            "[\"FOO=1\", \"npm\", \"test\", \"--\", \"a b\"] > [\"out.txt\"]",
            "[\"tee\", \"log.txt\"] > []",
            "[\"echo\", \"x > y\"] > []",
        ]
        "#);
        assert_eq!(shown("ls &> all.log"), shown("ls > all.log"));
        assert_eq!(shown("# nothing > here"), Vec::<String>::new());
    }

    #[test]
    fn here_documents_are_not_commands() {
        let line = "cat > a.rs <<'END'\nfn main() { x > b.rs }\nEND\ntouch c.rs";
        assert_eq!(
            shown(line),
            [r#"["cat"] > ["a.rs"]"#, r#"["touch", "c.rs"] > []"#]
        );
        let line = "git commit -m \"$(cat <<'EOF'\nSay \"a > b.rs\"\nEOF\n)\" && git push";
        assert!(commands(line).iter().all(|simple| simple.into.is_empty()));
        let line = "cat <<END > d.rs\ntext\nEND";
        assert_eq!(shown(line), [r#"["cat"] > ["d.rs"]"#]);
        let line = "cat <<A > a.rs\nx\nA\ncat <<A > b.rs\n A \ncat <<B > c.rs\nA";
        assert_eq!(
            shown(line),
            [
                r#"["cat"] > ["a.rs"]"#,
                r#"["cat"] > ["b.rs"]"#,
                r#"["cat"] > ["c.rs"]"#,
                r#"["A"] > []"#
            ]
        );
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test measures time")]
    fn announced_documents_without_an_end_take_one_pass() {
        let announcements: Vec<String> = (0..20_000).map(|n| format!("<<a{n} ")).collect();
        for line in [
            "<".repeat(1_000_000),
            "<<E\n".repeat(250_000),
            announcements.concat(),
        ] {
            let begun = std::time::Instant::now();
            commands(&line);
            assert!(begun.elapsed().as_secs() < 5, "{line:.20}");
        }
    }

    #[test]
    fn the_first_of_very_many_commands_are_read() {
        for line in ["$(".repeat(500_000), "a && ".repeat(200_000)] {
            assert_eq!(commands(&line).len(), MOST_COMMANDS, "{line:.20}");
        }
    }

    #[test]
    fn words_that_need_expansion_name_no_file() {
        for line in [
            "x > $OUT",
            "x > a*.rs",
            "x > /dev/null",
            "x > ../up.rs",
            "x > ~/a",
        ] {
            let into = commands(line).into_iter().flat_map(|simple| simple.into);
            assert!(!into.clone().any(|word| is_file(&word)), "{line}");
        }
        assert!(is_file("src/解析.rs") && is_file("Makefile") && is_file("app/[id]/page.tsx"));
    }

    proptest! {
        #[test]
        fn no_word_is_invented(line in "[a'\"\\\\$<>&|;\n #ENDb-]{0,60}") {
            for command in commands(&line) {
                for word in command.words.iter().chain(&command.into) {
                    prop_assert!(word.chars().all(|c| c == EXPANDED || line.contains(c)));
                }
            }
        }
    }
}
