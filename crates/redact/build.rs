//! Builds the tables of redaction from `data/rules.txt`, so that no process has to parse it.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// Places that are not secrets but where the search stops: our own replacements, and what
/// terminals and browsers do not show.
const STOPS: &str = "[redacted:|\u{1b}[0|\u{1b}[1|\u{1b}[2|\u{1b}[3|\u{1b}[4|\u{1b}[5|\u{1b}[7|\
    \u{1b}[9|\u{1b}[m|\u{1b}[K|\u{200b}|\u{200c}|\u{200d}|\u{2060}|\u{feff}";

/// Number of sets into which the keywords are divided.
const BUCKETS: usize = 64;

/// A keyword: true if it is compared in any case, its text, and the number of its rule.
type Keyword<'t> = (bool, &'t str, Option<usize>);

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=data/rules.txt");
    let table = fs::read_to_string("data/rules.txt")?;
    let lines = || table.lines().filter(|line| !line.starts_with('#'));
    let fragments: Vec<_> = lines()
        .filter(|line| line.starts_with('{'))
        .filter_map(|line| line.split_once('\t'))
        .collect();
    let mut keywords: Vec<Keyword<'_>> = STOPS.split('|').map(|stop| (false, stop, None)).collect();
    let (mut rules, mut shape, mut number) = (String::new(), "", 0);
    for line in lines().filter(|line| !line.starts_with('{')) {
        let columns: Vec<_> = line.split('\t').collect();
        let [_, words, ..] = columns.as_slice() else {
            let section = line
                .strip_prefix('[')
                .and_then(|line| line.strip_suffix(']'));
            shape = section.unwrap_or(shape);
            continue;
        };
        let any_case = matches!(shape, "Context" | "Name");
        keywords.extend(words.split('|').map(|word| (any_case, word, Some(number))));
        rules += &rule(shape, &columns, &fragments);
        number += 1;
    }
    // Those in a bucket are alike, so that hardly anything else fits its tables.
    keywords.sort_by_key(|(any_case, text, _)| (*any_case, text.len() == 3, *text));
    let mut code = format!("pub(crate) static RULES: [Rule; {number}] = [{rules}];\n");
    write!(
        code,
        "pub(crate) static KEYWORDS: [Keyword; {}] = [",
        keywords.len()
    )?;
    for (any_case, text, rule) in &keywords {
        write!(code, "Keyword::new({text:?}, {any_case}, {rule:?}),")?;
    }
    let size = keywords.len().div_ceil(BUCKETS);
    write!(code, "];\npub(crate) const BUCKET_SIZE: usize = {size};\n")?;
    let tables = tables(&keywords, size);
    code += "#[expect(clippy::unreadable_literal, reason = \"bits\")]\n";
    writeln!(
        code,
        "pub(crate) static BUCKETS: [[u64; 256]; 4] = {tables:?};"
    )?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("tables.rs"), code)?;
    Ok(())
}

/// Returns the code of a rule of this shape.
fn rule(shape: &str, columns: &[&str], fragments: &[(&str, &str)]) -> String {
    let column = |number: usize| columns.get(number).copied().unwrap_or_default();
    let options = || column(3).split_whitespace();
    let option = |name: &str, default: &'static str| {
        let value = options().find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or(default).to_owned()
    };
    let has = |name: &str| options().any(|option| option == name);
    let mut checks = options().filter(|option| option.contains('_'));
    let check = checks.next().unwrap_or("is_varied");
    let lead = option("lead", "0");
    let edge = match shape {
        _ if has("alone") => "NoName",
        _ if has("apart") => "NoBase64",
        _ if has("scheme") => "Letter",
        _ if has("anywhere") || lead != "0" => "Any",
        "Token" | "Context" => "NoLetter",
        _ => "Any",
    };
    // Fragments consist of fragments that are defined further down.
    let pattern = fragments.iter();
    let pattern = pattern.fold(column(2).to_owned(), |pattern, (name, fragment)| {
        pattern.replace(name, fragment)
    });
    let argument = match shape {
        "Token" | "Context" => {
            let (before, marked) = pattern.split_once('‹').unzip();
            let secret = marked.unwrap_or(&pattern);
            let (secret, after) = secret.split_once('›').unwrap_or((secret, ""));
            format!("(Pattern::new({before:?}, {secret:?}, {after:?}, value::{check}))")
        }
        "Name" => format!("(Named::{pattern})"),
        _ => String::new(),
    };
    format!(
        "Rule {{ kind: {:?}, #[cfg(test)] keywords: {:?}, edge: Edge::{edge}, lead: {lead}, \
         inclusive: {}, min: {}, needs: {:?}, window: {}, shape: Shape::{shape}{argument} }},\n",
        column(0),
        column(1),
        lead != "0" || has("inclusive"),
        option("min", if shape == "Token" { "16" } else { "0" }),
        option("needs", ""),
        option("window", "160"),
    )
}

/// Returns, for each byte at each of the first four places, the buckets with such a keyword.
fn tables(keywords: &[Keyword<'_>], size: usize) -> [[u64; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    for (number, (any_case, text, _)) in keywords.iter().enumerate() {
        let mut bytes = text.bytes();
        for table in &mut tables {
            let byte = bytes.next();
            for (other, buckets) in (0..=u8::MAX).zip(table) {
                let fits = match byte {
                    Some(byte) => byte == other || *any_case && byte.eq_ignore_ascii_case(&other),
                    // Any byte may follow a keyword of three.
                    None => true,
                };
                *buckets |= u64::from(fits) << (number / size);
            }
        }
    }
    tables
}
