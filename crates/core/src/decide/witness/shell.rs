//! Command lines, taken apart far enough to know which files they write.
//!
//! Not a shell: nothing is expanded. A word that would have to be expanded names no file, and what
//! cannot be understood changes nothing.

/// One command of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// The program and its arguments, without quotes.
    pub(super) words: Vec<String>,
    /// The files that its output goes to.
    pub(super) into: Vec<String>,
}

/// Marks a word that would have to be expanded.
const EXPANDED: char = '\0';

/// The commands of a command line, in order.
pub(super) fn commands(line: &str) -> Vec<Simple> {
    let line = without_documents(line);
    let mut reader = Reader::default();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
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
                // A line that goes on.
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
            '\n' | ';' | '|' | '&' | '(' | ')' => reader.end_command(),
            c if c.is_whitespace() => reader.end_word(),
            c => reader.push(c),
        }
    }
    reader.end_command();
    reader.all
}

/// What the next word is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Word,
    Output,
    Nothing,
}

#[derive(Debug, Default)]
struct Reader {
    all: Vec<Simple>,
    open: Simple,
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

    /// What stands before `>` without a blank is the number of a stream.
    fn redirect(&mut self, next: Next) {
        let is_stream = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_stream) {
            self.word = None;
        }
        self.end_word();
        self.next = next;
    }

    fn end_command(&mut self) {
        self.end_word();
        self.next = Next::Word;
        let open = std::mem::take(&mut self.open);
        if !open.words.is_empty() || !open.into.is_empty() {
            self.all.push(open);
        }
    }
}

/// A command line without the documents that stand in it (`<<END … END`).
fn without_documents(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("<<") {
        let behind = rest.get(at + 2..).unwrap_or_default();
        let name = behind.trim_start_matches('-').trim_start_matches(' ');
        let quote = name.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let name = name.trim_start_matches(['\'', '"']);
        let length = name
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(name.len());
        let name = name.get(..length).unwrap_or_default();
        let document = document(behind, name).filter(|_| !name.is_empty());
        if let Some((first, ends)) = document {
            kept.push_str(rest.get(..at).unwrap_or_default());
            // The rest of the line that the document was announced on.
            let announced = behind.get(..first).unwrap_or_default();
            let after = announced.find(name).map_or(0, |at| at + name.len());
            let after = announced.get(after..).unwrap_or_default();
            kept.push_str(quote.map_or(after, |quote| after.trim_start_matches(quote)));
            rest = behind.get(ends..).unwrap_or_default();
        } else {
            kept.push_str(rest.get(..at + 2).unwrap_or_default());
            rest = behind;
        }
    }
    kept.push_str(rest);
    kept
}

/// Where a document begins and ends that is announced at the beginning of a text.
fn document(text: &str, name: &str) -> Option<(usize, usize)> {
    let first = text.find('\n')?;
    let mut at = first + 1;
    for line in text.get(at..)?.split_inclusive('\n') {
        if line.trim() == name {
            // The line break behind it ends the command.
            return Some((first, at + line.trim_end_matches('\n').len()));
        }
        at += line.len();
    }
    None
}

/// Whether a word names one file inside the project: nothing to expand, no place outside of it.
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

/// Longer words are no paths.
const LONGEST_PATH: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(line: &str) -> Vec<String> {
        let told = |simple: &Simple| format!("{:?} > {:?}", simple.words, simple.into);
        commands(line).iter().map(told).collect()
    }

    #[test]
    fn command_lines_are_taken_apart() {
        let line = "cd web && FOO=1 npm test -- \"a b\" > out.txt 2>&1 | tee log.txt; echo 'x > y'";
        insta::assert_debug_snapshot!(told(line), @r#"
        [
            "[\"cd\", \"web\"] > []",
            "[\"FOO=1\", \"npm\", \"test\", \"--\", \"a b\"] > [\"out.txt\"]",
            "[\"tee\", \"log.txt\"] > []",
            "[\"echo\", \"x > y\"] > []",
        ]
        "#);
        assert_eq!(told("ls &> all.log"), told("ls > all.log"));
        assert_eq!(told("# nothing > here"), Vec::<String>::new());
    }

    #[test]
    fn documents_are_not_commands() {
        let line = "cat > a.rs <<'END'\nfn main() { x > b.rs }\nEND\ntouch c.rs";
        assert_eq!(
            told(line),
            [r#"["cat"] > ["a.rs"]"#, r#"["touch", "c.rs"] > []"#]
        );
        let line = "git commit -m \"$(cat <<'EOF'\nSay \"a > b.rs\"\nEOF\n)\" && git push";
        assert!(commands(line).iter().all(|simple| simple.into.is_empty()));
        let line = "cat <<END > d.rs\ntext\nEND";
        assert_eq!(told(line), [r#"["cat"] > ["d.rs"]"#]);
    }

    #[test]
    fn what_would_have_to_be_expanded_names_no_file() {
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
        fn any_line_is_read(line in any::<String>()) {
            commands(&line);
        }

        #[test]
        fn any_line_of_signs_is_read(line in "[a'\"\\\\$<>&|;\n #ENDb-]{0,60}") {
            commands(&line);
        }
    }
}
