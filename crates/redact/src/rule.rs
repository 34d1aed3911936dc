//! A row of the table of rules, as `data/rules.txt` describes it and `build.rs` builds it.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use crate::assign::Named;
use crate::rules::Keyword;
use crate::value;
use crate::view::{View, count, find, is_name};

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// One kind of secret: the keywords that announce it and the shape that it then must have.
pub(crate) struct Rule {
    pub(crate) kind: &'static str,
    #[cfg(test)]
    pub(crate) keywords: &'static str,
    pub(crate) shape: Shape,
    edge: Edge,
    lead: usize,
    inclusive: bool,
    min: usize,
    needs: &'static str,
    window: usize,
}

pub(crate) enum Shape {
    /// An issuer's token.
    Token(Pattern),
    /// A secret that only its surroundings give away.
    Context(Pattern),
    /// The value of a name that contains the keyword.
    Name(Named),
    /// A private key with its armour.
    Armour,
}

/// The bytes that may precede a keyword.
#[derive(Clone, Copy)]
enum Edge {
    Any,
    NoLetter,
    NoName,
    NoBase64,
    Letter,
}

/// A keyword in a text.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'t> {
    pub(crate) view: View<'t>,
    pub(crate) at: usize,
    /// The end of the keyword.
    pub(crate) end: usize,
}

impl Rule {
    /// Returns true if a secret is possible at `spot`. This is what runs before a pattern is
    /// compiled, and keeps frequent words from compiling theirs.
    pub(crate) fn is_possible(&self, spot: Spot<'_>) -> bool {
        let Spot { view, at, end } = spot;
        let letter = |byte: u8| byte.is_ascii_alphanumeric();
        let edge = match self.edge {
            Edge::Any => true,
            Edge::NoLetter => view.edge(at, letter),
            Edge::NoName => view.edge(at, is_name),
            Edge::NoBase64 => view.edge(at, |byte| is_name(byte) || b"+/".contains(&byte)),
            Edge::Letter => view.back(at, 1).is_some_and(letter),
        };
        let graphic = |byte: u8| byte.is_ascii_graphic();
        let enough = || match self.lead {
            0 => view.run(end, self.min, graphic) - end >= self.min,
            _ => at - view.run_back(at, self.min, graphic) >= self.min,
        };
        let window = || view.slice(at..at.saturating_add(self.window.min(512)));
        let holds = |needed: &[u8]| find(window(), needed).is_some();
        let mut needs = self.needs.as_bytes().split(|byte| *byte == b'|');
        edge && enough() && (self.needs.is_empty() || needs.any(holds))
    }

    /// Returns what `pattern`, of this rule, finds in the window around `spot`.
    pub(crate) fn search(&self, pattern: &Pattern, spot: Spot<'_>) -> Option<Match> {
        let Spot { view, at, end } = spot;
        let window = end.saturating_add(self.window).min(view.bytes.len());
        if self.lead > 0 {
            let first = view.floor.max(at.saturating_sub(self.lead));
            let mut starts = (first..=at).filter(|start| view.edge(*start, is_name));
            return starts.find_map(|start| pattern.search(view.bytes, start, start..window));
        }
        let start = if self.inclusive { at } else { end };
        pattern.search(view.bytes, at, start..window)
    }
}

/// A secret that a pattern found.
#[derive(Clone, Copy)]
pub(crate) struct Match {
    pub(crate) start: usize,
    /// The end of the keyword that the secret begins with, or the start.
    pub(crate) body: usize,
    pub(crate) end: usize,
}

/// Judges the beginning of what a pattern matched, without the keyword.
type Check = fn(&[u8]) -> bool;

/// The pattern of a rule, compiled when its keyword first appears where a secret could be.
/// Ordinary text needs none; compiling all of them takes several milliseconds.
pub(crate) struct Pattern {
    before: Option<&'static str>,
    secret: &'static str,
    after: &'static str,
    pub(crate) check: Check,
    automata: OnceLock<Option<Box<Automata>>>,
}

/// The three parts of a pattern. None captures anything: capturing is many times slower than
/// searching for the parts in turn.
struct Automata {
    /// Nothing if the secret begins where the pattern does.
    before: Option<Automaton>,
    /// The secret and what must follow it.
    secret: Automaton,
    after: Option<Automaton>,
}

impl Pattern {
    const fn new(
        before: Option<&'static str>,
        secret: &'static str,
        after: &'static str,
        check: Check,
    ) -> Self {
        let automata = OnceLock::new();
        Self {
            before,
            secret,
            after,
            check,
            automata,
        }
    }

    /// Returns the match that begins where `span` does, after a keyword at `at`.
    fn search(&self, bytes: &[u8], at: usize, span: Range<usize>) -> Option<Match> {
        let (start, body) = match &self.automata()?.before {
            Some(before) => [before.end(bytes, span.clone())?; 2].into(),
            None => (at, span.start),
        };
        let end = self.secret_end(bytes, body..span.end)?;
        Some(Match { start, body, end })
    }

    /// Returns the end of the secret that begins where `span` does, what must follow it included
    /// in the span.
    pub(crate) fn secret_end(&self, bytes: &[u8], span: Range<usize>) -> Option<usize> {
        let Automata { secret, after, .. } = self.automata()?;
        let end = secret.end(bytes, span.clone())?;
        match after {
            Some(after) => (span.start..end).find(|at| after.end(bytes, *at..end) == Some(end)),
            None => Some(end),
        }
    }

    fn automata(&self) -> Option<&Automata> {
        let compile = || self.compile().map(Box::new);
        self.automata.get_or_init(compile).as_deref()
    }

    fn compile(&self) -> Option<Automata> {
        let after = format!("(?:{})", self.after);
        let secret = Automaton::compile(&[self.secret, &after].concat())?;
        let after = (!self.after.is_empty()).then(|| Automaton::compile(&after));
        Some(Automata {
            before: self.before.and_then(Automaton::compile),
            secret,
            after: after.flatten(),
        })
    }
}

/// A deterministic automaton whose states are built when a text leads to them.
struct Automaton {
    dfa: DFA,
    cache: Mutex<Cache>,
}

impl Automaton {
    /// Compiles a pattern that sees bytes, not characters.
    fn compile(pattern: &str) -> Option<Self> {
        let bytes = syntax::Config::new().unicode(false).utf8(false);
        let small = DFA::config().skip_cache_capacity_check(true);
        let mut builder = DFA::builder();
        let dfa = builder.configure(small).syntax(bytes).build(pattern).ok()?;
        let cache = Mutex::new(dfa.create_cache());
        Some(Self { dfa, cache })
    }

    /// Returns the end of the match that begins where `span` does.
    fn end(&self, bytes: &[u8], span: Range<usize>) -> Option<usize> {
        let input = Input::new(bytes).span(span.clone()).anchored(Anchored::Yes);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.dfa.try_search_fwd(&mut cache, &input).ok().flatten();
        let end = found.map(|found| found.offset());
        count(end.unwrap_or(span.end) - span.start);
        end
    }
}

/// Returns true if the pattern of a rule, if it has one, can be compiled.
#[cfg(test)]
pub(crate) fn compiles(rule: &Rule) -> bool {
    match &rule.shape {
        Shape::Token(pattern) | Shape::Context(pattern) => pattern
            .automata()
            .is_some_and(|automata| automata.before.is_some() == pattern.before.is_some()),
        _ => true,
    }
}
