//! Names as numbers. A file is known by its last two parts, or by its name where only one path ends
//! in it.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_extract::lex::{NameKind, name_key, names, path_key};
use flamestack_extract::utterance::Utterance;

/// The names of a recording.
#[derive(Debug, Default)]
pub(crate) struct Interned {
    numbers: BTreeMap<(NameKind, String), u32>,
    keys: Vec<(NameKind, String)>,
    /// For a file name, the paths that end in it.
    ends: BTreeMap<String, BTreeSet<String>>,
}

impl Interned {
    /// Registers the names of utterances, and returns those of each.
    pub(crate) fn of(utterances: &[Utterance<'_>]) -> (Self, Vec<BTreeSet<u32>>) {
        let mut interned = Self::default();
        for utterance in utterances {
            interned.learn_all(&utterance.text);
            utterance.paths.iter().for_each(|path| interned.learn(path));
        }
        let names = utterances.iter().map(|utterance| {
            let mut names = interned.all(&utterance.text);
            let paths = utterance.paths.iter();
            names.extend(paths.map(|path| interned.number(NameKind::Path, path)));
            names
        });
        let names = names.collect();
        (interned, names)
    }

    /// Registers a path, so that its bare file name is recognised.
    fn learn(&mut self, path: &str) {
        let key = path_key(path);
        if let Some((_, name)) = key.rsplit_once('/') {
            let ends = self.ends.entry(name.to_owned()).or_default();
            ends.insert(key.to_owned());
        }
    }

    /// Registers the paths of a text.
    fn learn_all(&mut self, text: &str) {
        names(text, &mut |kind, name| {
            if kind == NameKind::Path {
                self.learn(name);
            }
        });
    }

    fn key(&self, kind: NameKind, text: &str) -> String {
        if kind != NameKind::Path {
            return name_key(kind, text).to_owned();
        }
        let key = path_key(text);
        let only = self
            .ends
            .get(key)
            .filter(|paths| paths.len() == 1)
            .and_then(|paths| paths.first());
        only.map_or_else(|| key.to_owned(), Clone::clone)
    }

    /// The number of a name.
    fn number(&mut self, kind: NameKind, text: &str) -> u32 {
        let key = (kind, self.key(kind, text));
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.keys.push(key.clone());
        self.numbers.insert(key, number);
        number
    }

    /// The number of a name that is known.
    pub(crate) fn find(&self, kind: NameKind, text: &str) -> Option<u32> {
        self.numbers.get(&(kind, self.key(kind, text))).copied()
    }

    /// The names of a text.
    pub(crate) fn all(&mut self, text: &str) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        names(text, &mut |kind, name| {
            found.insert(self.number(kind, name));
        });
        found
    }

    /// Returns true if the measure counts a name; it ignores numbers with units.
    pub(crate) fn is_measured(&self, number: u32) -> bool {
        let key = self.keys.get(number as usize);
        key.is_some_and(|(kind, _)| *kind != NameKind::Quantity)
    }

    /// The known names that a text has.
    pub(crate) fn present(&self, text: &str) -> Present {
        let mut present = Present::default();
        let mut distinct = BTreeSet::new();
        names(text, &mut |kind, name| match self.find(kind, name) {
            _ if kind == NameKind::Quantity => {}
            Some(number) => {
                present.known.insert(number);
            }
            None => {
                distinct.insert((kind, name_key(kind, name)));
            }
        });
        present.unknown = distinct.len();
        present
    }

    /// Returns true if a name is a path that a text contains literally.
    pub(crate) fn is_written(&self, number: u32, text: &str) -> bool {
        let key = self.keys.get(number as usize);
        key.is_some_and(|(kind, key)| *kind == NameKind::Path && text.contains(key.as_str()))
    }
}

/// The names in a text.
#[derive(Debug, Default)]
pub(crate) struct Present {
    /// Names of the recording.
    pub(crate) known: BTreeSet<u32>,
    /// Number of other names.
    pub(crate) unknown: usize,
}
