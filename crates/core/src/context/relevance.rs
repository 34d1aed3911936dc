//! How much a frame is worth to somebody who works on another one.
//!
//! Scores are whole numbers, and nothing in them depends on the time: the same tree gives the
//! same order on any machine and on any day.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::terms::{Piece, each_term, lower, pieces, terms};
use crate::frame::{Frame, Status};
use crate::note::Note;
use crate::text::Prose;

/// How much of a goal is looked at.
const GOAL_LOOK: usize = 2_000;
/// How much of a candidate's criteria is looked at.
const CRITERIA_LOOK: usize = 480;
/// How much of a candidate's results is looked at.
const RESULTS_LOOK: usize = 800;
/// How many of a candidate's artifacts are looked at, newest first.
const ARTIFACTS_LOOK: usize = 64;

/// What somebody works on, ready to be compared.
#[derive(Clone, Debug)]
pub struct Interest {
    /// In order.
    terms: Vec<String>,
}

/// How a frame compares to an interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relevance {
    /// How often a term of the interest was met, once for each of goal, results and artifacts.
    pub matches: usize,
    /// How many distinct names of things (paths, identifiers, versions) the frame holds.
    pub names: usize,
    /// The score.
    pub score: i64,
}

impl Interest {
    /// The interest of somebody who works on a frame.
    pub fn of(frame: &Frame) -> Self {
        let mut text = frame.title.as_str().to_owned();
        if let Some(criteria) = &frame.criteria {
            text.push('\n');
            text.push_str(beginning(criteria.as_str(), GOAL_LOOK));
        }
        Self {
            terms: terms(&text),
        }
    }

    /// The terms, in order.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// How a finished frame compares to this interest.
    ///
    /// Measured on recorded sessions (nDCG@5 of which earlier frame holds the names that the work
    /// needs next): recency alone .30, BM25 .43, the predecessor's formula .50 and .53 without
    /// its recency, the number of names alone .59, this .62. So what a frame *holds* counts more
    /// than how alike it sounds, both with diminishing returns, and recency only breaks ties.
    pub fn in_frame(&self, frame: &Frame) -> Relevance {
        let mut names = BTreeSet::new();
        let criteria = dense(frame.criteria_compacted.as_ref(), frame.criteria.as_ref());
        let results = dense(frame.results_compacted.as_ref(), frame.results.as_ref());
        let mut goal_hits = Hits::new(self);
        goal_hits.look(frame.title.as_str(), &mut names);
        goal_hits.look(beginning(criteria, CRITERIA_LOOK), &mut names);
        let mut result_hits = Hits::new(self);
        result_hits.look(beginning(results, RESULTS_LOOK), &mut names);
        let mut artifact_hits = Hits::new(self);
        for artifact in artifacts(frame).rev().take(ARTIFACTS_LOOK) {
            let artifact = beginning(artifact, CRITERIA_LOOK);
            artifact_hits.look(artifact, &mut names);
            names.insert(artifact);
        }
        let matches = goal_hits.count + result_hits.count + artifact_hits.count;
        Relevance {
            matches,
            names: names.len(),
            score: score(names.len(), matches, frame.status),
        }
    }
}

/// What a frame with so many names and matches scores.
pub fn score(names: usize, matches: usize, status: Status) -> i64 {
    3 * doublings(names) + 2 * doublings(matches) + finished(status)
}

/// What an index keeps of a finished frame, so that it can be compared without being read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gist {
    /// How many distinct names of things it holds.
    pub names: usize,
    /// Its terms, and in how many of goal, results and artifacts each occurs.
    pub terms: BTreeMap<String, u8>,
}

impl Gist {
    /// The gist of a frame.
    pub fn of(frame: &Frame) -> Self {
        let nobody = Interest { terms: Vec::new() };
        let criteria = dense(frame.criteria_compacted.as_ref(), frame.criteria.as_ref());
        let results = dense(frame.results_compacted.as_ref(), frame.results.as_ref());
        let goal = [frame.title.as_str(), beginning(criteria, CRITERIA_LOOK)];
        let files = artifacts(frame).rev().take(ARTIFACTS_LOOK);
        let files = files.map(|artifact| beginning(artifact, CRITERIA_LOOK));
        let fields = [
            goal.join("\n"),
            beginning(results, RESULTS_LOOK).to_owned(),
            files.collect::<Vec<_>>().join("\n"),
        ];
        let mut gist = Self {
            names: nobody.in_frame(frame).names,
            terms: BTreeMap::new(),
        };
        for term in fields.iter().flat_map(|field| terms(field)) {
            *gist.terms.entry(term).or_default() += 1;
        }
        gist
    }
}

/// The predecessor's bonus for how a frame ended: done work is worth most, and failure teaches.
fn finished(status: Status) -> i64 {
    match status {
        Status::Completed => 20,
        Status::Failed => 15,
        _ => 0,
    }
}

/// Sixteen times the number of doublings from 1 to `n + 1`: a logarithm without fractions, which
/// no two machines compute differently.
fn doublings(n: usize) -> i64 {
    let n = i64::try_from(n.min(1 << 20)).unwrap_or(0) + 1;
    let whole = n.ilog2();
    let power = 1_i64 << whole;
    16 * i64::from(whole) + 16 * (n - power) / power
}

/// The parent is worth most, then the grandparent, then the root, which holds the mission; the
/// rest by the predecessor's points. `newer` is how many ancestors changed after this one.
pub(crate) fn ancestor_score(frame: &Frame, depth: usize, is_root: bool, newer: usize) -> i64 {
    let depth = i64::try_from(depth).unwrap_or(i64::MAX);
    let newer = i64::try_from(newer).unwrap_or(i64::MAX);
    let closeness = match depth {
        0 => 1000,
        1 => 500,
        _ if is_root => 400,
        _ => 100_i64.saturating_sub(depth.saturating_mul(20)).max(0),
    };
    let recency = 50_i64.saturating_sub(newer.saturating_mul(10)).max(0);
    let status = match frame.status {
        Status::InProgress => 30,
        Status::Completed => 10,
        _ => 0,
    };
    let results = i64::from(frame.results.is_some()) * 20;
    let artifacts = i64::from(artifacts(frame).next().is_some()) * 10;
    closeness + recency + status + results + artifacts
}

/// The artifacts of a frame, oldest first.
pub(crate) fn artifacts(frame: &Frame) -> impl DoubleEndedIterator<Item = &str> {
    frame.notes.iter().filter_map(|note| match note {
        Note::Artifact(path) => Some(path.as_str()),
        _ => None,
    })
}

fn dense<'a>(given: Option<&'a Prose>, full: Option<&'a Prose>) -> &'a str {
    given.or(full).map_or("", Prose::as_str)
}

fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// Which terms of an interest were met in some text.
struct Hits<'a> {
    terms: &'a [String],
    met: Vec<bool>,
    count: usize,
}

impl<'a> Hits<'a> {
    fn new(interest: &'a Interest) -> Self {
        Self {
            terms: &interest.terms,
            met: vec![false; interest.terms.len()],
            count: 0,
        }
    }

    fn look<'t>(&mut self, text: &'t str, names: &mut BTreeSet<&'t str>) {
        pieces(text, &mut |piece| match piece {
            Piece::Name(name) => {
                names.insert(name);
                self.meet(&lower(name));
            }
            Piece::Word(word) => {
                // Stemming is the dear part. A stem keeps the beginning of its word, and most
                // words begin like no term at all.
                if self.may_meet(word) {
                    each_term(word, &mut |term| self.meet(term));
                }
            }
        });
    }

    fn may_meet(&self, word: &str) -> bool {
        let Some(first) = word.chars().next().and_then(|c| c.to_lowercase().next()) else {
            return false;
        };
        if !first.is_ascii() || word.len() < 3 {
            return true;
        }
        let mut beginning = [0; 3];
        for (place, byte) in beginning.iter_mut().zip(word.bytes()) {
            *place = byte.to_ascii_lowercase();
        }
        let at = self
            .terms
            .partition_point(|term| term.as_bytes() < beginning.as_slice());
        self.terms
            .get(at)
            .is_some_and(|term| term.as_bytes().starts_with(&beginning))
    }

    fn meet(&mut self, term: &str) {
        if let Ok(at) = self
            .terms
            .binary_search_by(|known| known.as_str().cmp(term))
            && let Some(met) = self.met.get_mut(at)
            && !*met
        {
            *met = true;
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::fixtures::{finished, frame};

    #[test]
    fn doublings_are_a_logarithm() {
        assert_eq!([0, 1, 2, 3, 7, 15].map(doublings), [0, 16, 24, 32, 48, 64]);
        assert!(doublings(usize::MAX) > doublings(1 << 16));
    }

    #[test]
    fn kinship_shows_through_case_form_and_folder() {
        let mut current = frame("Refresh expired tokens");
        current.criteria = Prose::new("refreshToken() renews a session").ok();
        let interest = Interest::of(&current);
        let related = interest.in_frame(&finished("Token refreshing", "Added refresh_token"));
        let stranger = interest.in_frame(&finished("Logo colours", "Made it blue"));
        assert_eq!(stranger.matches, 0);
        // token and refresh, in the goal and in the results.
        assert_eq!(related.matches, 4);
        assert!(related.score > stranger.score);
    }

    #[test]
    fn kinship_shows_in_any_script() {
        let interest = Interest::of(&frame("ログイン認証を修正する"));
        let related = interest.in_frame(&finished("認証の設計", "ログイン画面を作成"));
        let stranger = interest.in_frame(&finished("色の変更", "青にした"));
        assert!(related.matches >= 3, "{related:?}");
        assert_eq!(stranger.matches, 0);
        let interest = Interest::of(&frame("Исправить авторизацию пользователей"));
        assert!(
            interest
                .in_frame(&finished("Авторизация пользователя", "да"))
                .matches
                >= 2
        );
    }

    #[test]
    fn one_match_or_one_name_is_enough_and_neither_is_not() {
        let interest = Interest::of(&frame("Parser"));
        let score = |title, results| interest.in_frame(&finished(title, results)).score;
        assert!(score("Logo", "done") < 30);
        assert!(score("Logo parser", "done") >= 30);
        assert!(score("Logo", "see assets/logo.svg") >= 30);
    }

    #[test]
    fn the_parent_comes_first_then_the_grandparent_then_the_root() {
        let frame = frame("x");
        let score = |depth, is_root| ancestor_score(&frame, depth, is_root, depth);
        assert!(score(0, false) > score(1, false));
        assert!(score(1, false) > score(9, true));
        assert!(score(9, true) > score(2, false));
        assert!(score(2, false) > score(3, false));
    }
}
