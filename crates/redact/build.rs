//! Builds the tables of redaction from `data/rules.txt`, so that no process has to parse it or to
//! compile a pattern.

#![expect(
    clippy::indexing_slicing,
    reason = "a bad index fails the build, not a user's program"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use regex_automata::Anchored;
use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;

include!("src/hash.rs");

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A place that is not a secret but where the search stops: our own replacements.
const STOP: &str = "[redacted:";

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=data/rules.txt");
    println!("cargo::rerun-if-changed=src/hash.rs");
    let table = fs::read_to_string("data/rules.txt")?;
    let lines = || table.lines().filter(|line| !line.starts_with('#'));
    let fragments: Vec<_> = lines()
        .filter(|line| line.starts_with('{'))
        .filter_map(|line| line.split_once('\t'))
        .collect();
    let mut keywords = vec![(STOP, false, None)];
    let mut automata = Automata::default();
    let (mut rules, mut shape, mut number) = (String::new(), "", 0_usize);
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
        keywords.extend(words.split('|').map(|word| (word, any_case, Some(number))));
        rules += &rule(shape, &columns, &fragments, &mut automata)?;
        number += 1;
    }
    let mut code = format!("pub(crate) static RULES: [Rule; {number}] = [{rules}];\n");
    code += &automata.code;
    let count = keywords.len();
    write!(code, "pub(crate) static KEYWORDS: [Keyword; {count}] = [")?;
    for (text, any_case, rule) in &keywords {
        write!(
            code,
            "Keyword {{ text: {text:?}, any_case: {any_case}, rule: {rule:?} }},"
        )?;
    }
    code += "];\n";
    code += &places(
        keywords
            .iter()
            .map(|(text, any_case, _)| (*text, *any_case)),
    )?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("tables.rs"), code)?;
    Ok(())
}

/// Returns the code of a rule of this shape.
fn rule(
    shape: &str,
    columns: &[&str],
    fragments: &[(&str, &str)],
    automata: &mut Automata,
) -> Result<String> {
    let column = |number: usize| columns.get(number).copied().unwrap_or_default();
    let options = || column(3).split_whitespace();
    let option = |name: &str, default: &'static str| {
        let value = options().find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or(default).to_owned()
    };
    let has = |name: &str| options().any(|option| option == name);
    let mut checks = options().filter(|option| option.contains('_') && !option.contains('='));
    let check = checks.next().unwrap_or("is_varied");
    let lead = option("lead", "0");
    let edge = match shape {
        _ if has("alone") => "NoName",
        _ if has("apart") => "NoBase64",
        _ if has("first") => "First",
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
            let before = before.map(|before| automata.add(before)).transpose()?;
            let whole = automata.add(&format!("{secret}(?:{after})"))?;
            let after = (!after.is_empty()).then(|| automata.add(after));
            let name = |name: Option<String>| name.map_or("None".into(), |n| format!("Some(&{n})"));
            format!(
                "(Pattern {{ before: {}, secret: &{whole}, after: {}, check: value::{check} }})",
                name(before),
                name(after.transpose()?)
            )
        }
        "Name" => format!("(Named::{pattern})"),
        _ => String::new(),
    };
    Ok(format!(
        "Rule {{ kind: {:?}, #[cfg(test)] keywords: {:?}, edge: Edge::{edge}, lead: {lead}, \
         min: {}, needs: {:?}, window: {}, shape: Shape::{shape}{argument} }},\n",
        column(0),
        column(1),
        option("min", if shape == "Token" { "16" } else { "0" }),
        option("needs", ""),
        option("window", "160"),
    ))
}

/// The deterministic automata of all patterns, as code.
#[derive(Default)]
struct Automata {
    names: BTreeMap<String, String>,
    code: String,
}

impl Automata {
    /// Returns the name of the automaton for a pattern that sees bytes, not characters.
    fn add(&mut self, pattern: &str) -> Result<String> {
        if let Some(name) = self.names.get(pattern) {
            return Ok(name.clone());
        }
        let bytes = syntax::Config::new().unicode(false).utf8(false);
        let config = dense::Config::new().start_kind(StartKind::Anchored);
        let dfa = dense::Builder::new()
            .configure(config.minimize(true))
            .syntax(bytes)
            .build(pattern)
            .map_err(|error| format!("`{pattern}`: {error}"))?;
        let start = dfa.universal_start_state(Anchored::Yes);
        let start =
            start.ok_or_else(|| format!("`{pattern}` looks at text before its beginning"))?;
        // Every state that can be reached, with where each byte and the end of the text lead.
        let mut rows: BTreeMap<StateID, Vec<StateID>> = BTreeMap::new();
        let mut open = vec![start];
        while let Some(state) = open.pop() {
            if dfa.is_dead_state(state) || rows.contains_key(&state) {
                continue;
            }
            let mut row: Vec<_> = (0..=u8::MAX).map(|b| dfa.next_state(state, b)).collect();
            row.push(dfa.next_eoi_state(state));
            open.extend(&row);
            rows.insert(state, row);
        }
        // The dead state is 0, then come those in which a match has ended.
        let (matching, others): (Vec<_>, Vec<_>) = rows
            .keys()
            .copied()
            .partition(|state| dfa.is_match_state(*state));
        let order: Vec<StateID> = matching.iter().chain(&others).copied().collect();
        let number = |state: &StateID| order.iter().position(|other| other == state);
        let number = |state: &StateID| number(state).map_or(0, |place| place + 1);
        let columns: Vec<Vec<usize>> = (0..=256)
            .map(|byte| {
                order
                    .iter()
                    .map(|state| number(&rows[state][byte]))
                    .collect()
            })
            .collect();
        let classes: Vec<_> = columns
            .iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let class = |column| classes.binary_search(&column).unwrap_or_default();
        let of: Vec<usize> = columns.iter().map(class).collect();
        let table: Vec<usize> = std::iter::repeat_n(0, classes.len())
            .chain((0..order.len()).flat_map(|state| classes.iter().map(move |c| c[state])))
            .collect();
        let name = format!("AUTOMATON_{}", self.names.len());
        writeln!(
            self.code,
            "static {name}: Automaton = Automaton {{ classes: {:?}, end: {}, width: {}, \
             start: {}, matching: {}, table: &{table:?} }};",
            &of[..256],
            of[256],
            classes.len(),
            number(&start),
            matching.len(),
        )?;
        self.names.insert(pattern.to_owned(), name.clone());
        Ok(name)
    }
}

/// Returns the tables that find keywords by their first bytes.
fn places<'t>(keywords: impl Iterator<Item = (&'t str, bool)>) -> Result<String> {
    let mut places = BTreeSet::new();
    let (mut three, mut four) = (
        vec![0_u64; 1 << (HASH_BITS - 6)],
        vec![0; 1 << (HASH_BITS - 6)],
    );
    let mut short = four.clone();
    let set = |bits: &mut Vec<u64>, hash: usize| bits[hash >> 6] |= 1 << (hash & 63);
    for (number, (text, any_case)) in keywords.enumerate() {
        let mut bytes = text.bytes();
        let mut first: [u8; 4] = std::array::from_fn(|_| bytes.next().unwrap_or_default());
        if text.len() < 3 {
            return Err(format!("the keyword `{text}` is shorter than three bytes").into());
        }
        for cases in 0..16 {
            for (place, byte) in first.iter_mut().enumerate().filter(|_| any_case) {
                match cases >> place & 1 {
                    1 => byte.make_ascii_uppercase(),
                    _ => byte.make_ascii_lowercase(),
                }
            }
            set(&mut three, hash_three(first));
            if text.len() == 3 {
                set(&mut short, hash_three(first));
            } else {
                set(&mut four, hash_four(first));
            }
            places.insert((hash_three(first), number));
        }
    }
    let mut starts = vec![0; (1 << (HASH_BITS - START_BITS)) + 1];
    for (place, _) in &places {
        starts[(place >> START_BITS) + 1] += 1;
    }
    for index in 1..starts.len() {
        starts[index] += starts[index - 1];
    }
    let mut code = String::new();
    for (name, bits) in [("THREE", three), ("FOUR", four), ("SHORT", short)] {
        let size = bits.len();
        writeln!(code, "pub(crate) static {name}: [u64; {size}] = {bits:?};")?;
    }
    writeln!(
        code,
        "pub(crate) static STARTS: [u16; {}] = {starts:?};\n\
         pub(crate) static PLACES: [(u32, u16); {}] = {:?};",
        starts.len(),
        places.len(),
        places.iter().collect::<Vec<_>>(),
    )?;
    Ok(code)
}
