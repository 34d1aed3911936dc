//! Forgetting: choosing what to erase from everything that a project keeps.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use flamestack_core::event::Event;
use flamestack_core::id::{BlobId, Seq};
use flamestack_core::text::Rewrite as _;
use flamestack_core::{Actor, FrameId};
use flamestack_store::{FORGOTTEN, Forget, Forgotten, Reading, StoreError};
use serde_json::Value;

use crate::error::{EngineError, Result};
use crate::maintenance::Maintenance;

/// Minimum length of a text to forget, in characters: shorter ones are part of everything.
const SHORTEST: usize = 4;
/// Minimum length of a text of a forgotten frame, in characters, to be erased elsewhere too.
const DISTINCTIVE: usize = 16;
/// Number of events that are read at a time.
const BATCH: usize = 100;

/// A choice of what to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToForget {
    /// A text, wherever it is.
    Text(String),
    /// Everything that matches a regular expression.
    Regex(String),
    /// A frame and the frames below it.
    Frame(FrameId),
}

impl Maintenance<'_> {
    /// Counts what would be forgotten. Changes nothing.
    pub fn survey(&self, what: &ToForget) -> Result<Forgotten> {
        let chosen = self.choose(what)?;
        let dir = &self.engine.project().dir;
        Ok(chosen.with(|forget| flamestack_store::survey(dir, forget))?)
    }

    /// Erases text from all files of the project and leaves a tombstone in the journal. Refused
    /// while another process has the store open.
    pub fn forget(&self, actor: &Actor, what: &ToForget) -> Result<Forgotten> {
        let chosen = self.choose(what)?;
        let workspace = &self.engine.workspace;
        let dir = &workspace.project.dir;
        workspace.close();
        let now = workspace.clock.now();
        let forgotten = chosen
            .with(|forget| flamestack_store::forget(dir, forget, now, &actor.session))
            .map_err(|error| match error {
                StoreError::Busy => EngineError::InUse(dir.clone()),
                other => other.into(),
            })?;
        Ok(forgotten)
    }

    fn choose(&self, what: &ToForget) -> Result<Chosen> {
        Ok(match what {
            ToForget::Text(text) => {
                if text.trim().chars().count() < SHORTEST {
                    return Err(EngineError::BadPattern(format!(
                        "a text to forget has at least {SHORTEST} characters"
                    )));
                }
                Chosen::new(Pattern::literal([text.as_str()])?)?
            }
            ToForget::Regex(expression) => Chosen::new(Pattern::regex(expression)?)?,
            ToForget::Frame(frame) => self
                .engine
                .read(|reading| Chosen::frames(reading, *frame))?,
        })
    }
}

/// A choice, ready to be carried out.
struct Chosen {
    pattern: Pattern,
    frames: BTreeSet<FrameId>,
    raw_texts: BTreeSet<BlobId>,
}

impl Chosen {
    fn new(pattern: Pattern) -> Result<Self> {
        if pattern.erase(FORGOTTEN).is_some() || pattern.erase("").is_some() {
            return Err(EngineError::BadPattern(format!(
                "the pattern also matches an empty text or `{FORGOTTEN}`, the replacement of what is forgotten"
            )));
        }
        Ok(Self {
            pattern,
            frames: BTreeSet::new(),
            raw_texts: BTreeSet::new(),
        })
    }

    /// Chooses a frame, the frames below it, their raw texts, and their longer texts wherever they
    /// were repeated: in contexts, summaries and transcripts.
    fn frames(reading: &dyn Reading, frame: FrameId) -> Result<Self> {
        let mut frames = BTreeSet::from([frame]);
        let mut parents = Vec::new();
        reading.all_rows(&mut |row| {
            parents.push((row.frame.id, row.frame.parent));
            Ok(())
        })?;
        loop {
            let below = parents.iter().filter(|(id, parent)| {
                !frames.contains(id) && parent.is_some_and(|parent| frames.contains(&parent))
            });
            let below: Vec<FrameId> = below.map(|(id, _)| *id).collect();
            if below.is_empty() {
                break;
            }
            frames.extend(below);
        }
        let (mut texts, mut raw_texts) = (BTreeSet::new(), BTreeSet::new());
        let mut after = Seq(0);
        loop {
            let batch = reading.events_after(after, BATCH)?;
            let Some(last) = batch.last() else {
                break;
            };
            after = last.seq;
            for mut recorded in batch {
                if !recorded.event.frames().any(|id| frames.contains(&id)) {
                    continue;
                }
                match &recorded.event {
                    Event::Logged { entry, .. } => drop(raw_texts.insert(entry.blob.clone())),
                    Event::FrameImported { frame } | Event::FrameCopied { frame, .. } => {
                        raw_texts.extend(frame.log.iter().map(|entry| entry.blob.clone()));
                    }
                    _ => {}
                }
                recorded.event.rewrite(&mut |text| {
                    if text.chars().count() >= DISTINCTIVE {
                        texts.insert(text.to_owned());
                    }
                    None
                });
            }
        }
        let texts = texts.iter().map(String::as_str);
        // Without texts, the pattern matches nothing.
        let pattern = Pattern::literal(texts)?;
        Ok(Self {
            pattern,
            frames,
            raw_texts,
        })
    }

    fn with<T>(&self, work: impl FnOnce(&Forget<'_>) -> T) -> T {
        let erase = |text: &str| self.pattern.erase(text);
        work(&Forget {
            frames: self.frames.clone(),
            raw_texts: self.raw_texts.clone(),
            text: &erase,
        })
    }
}

/// A pattern of text to erase.
enum Pattern {
    /// Texts in all forms in which they are stored.
    Literal(AhoCorasick),
    Regex(regex::Regex),
}

impl Pattern {
    fn literal<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self> {
        let forms: BTreeSet<String> = texts.into_iter().flat_map(forms).collect();
        let searcher = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(forms);
        let searcher = searcher.map_err(|error| EngineError::BadPattern(error.to_string()))?;
        Ok(Self::Literal(searcher))
    }

    fn regex(expression: &str) -> Result<Self> {
        let regex = regex::Regex::new(expression).map_err(|error| {
            // The last line of a syntax error says what it is; the others draw where.
            let problem = error.to_string();
            let problem = problem.lines().last().unwrap_or_default();
            let problem = problem.trim_start_matches("error: ");
            EngineError::BadPattern(format!("this is not a regular expression: {problem}"))
        })?;
        Ok(Self::Regex(regex))
    }

    /// Returns a text without what matches, and the number of matches; `None` if nothing does.
    fn erase(&self, text: &str) -> Option<(String, u64)> {
        match self {
            Self::Literal(searcher) => {
                let mut places = 0;
                let mut rest = String::new();
                searcher.replace_all_with(text, &mut rest, |_, _, rest| {
                    places += 1;
                    rest.push_str(FORGOTTEN);
                    true
                });
                (places > 0).then_some((rest, places))
            }
            Self::Regex(regex) => {
                // An expression describes text, not its form in JSON.
                let (decoded, mut places) = match self.erase_json(text) {
                    Some((decoded, places)) => (Some(decoded), places),
                    None => (None, 0),
                };
                let text = decoded.as_deref().unwrap_or(text);
                places += regex.find_iter(text).count() as u64;
                (places > 0).then(|| (regex.replace_all(text, FORGOTTEN).into_owned(), places))
            }
        }
    }

    /// Erases matches inside the strings of lines that are JSON.
    fn erase_json(&self, text: &str) -> Option<(String, u64)> {
        let mut places = 0;
        let mut rest = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let value: Option<Value> = line
                .starts_with(['{', '['])
                .then(|| serde_json::from_str(line).ok())
                .flatten();
            let found = value.and_then(|mut value| {
                let found = self.erase_strings(&mut value);
                (found > 0).then_some((value, found))
            });
            match found {
                Some((value, found)) => {
                    places += found;
                    rest.push_str(&value.to_string());
                    rest.push_str(if line.ends_with('\n') { "\n" } else { "" });
                }
                None => rest.push_str(line),
            }
        }
        (places > 0).then_some((rest, places))
    }

    fn erase_strings(&self, value: &mut Value) -> u64 {
        match value {
            Value::String(text) => match self.erase(text) {
                Some((rest, places)) => {
                    *text = rest;
                    places
                }
                None => 0,
            },
            Value::Array(values) => values.iter_mut().map(|it| self.erase_strings(it)).sum(),
            Value::Object(fields) => fields.values_mut().map(|it| self.erase_strings(it)).sum(),
            _ => 0,
        }
    }
}

/// Returns the forms in which a text is stored: as it is, on one line as in a title, as a string in
/// JSON and in JSON inside of JSON, and escaped for XML.
fn forms(text: &str) -> BTreeSet<String> {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut forms = BTreeSet::new();
    for text in [text.to_owned(), text.trim().to_owned(), one_line] {
        let once = in_json(&text);
        forms.insert(in_json(&once));
        forms.insert(once);
        let xml = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        forms.insert(in_json(&xml));
        forms.insert(xml.replace('"', "&quot;").replace('\'', "&apos;"));
        forms.insert(xml);
        forms.insert(text);
    }
    forms
}

/// Returns a text as it is inside a string in JSON.
fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    let inside = quoted.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    inside.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_in_every_form() {
        let secret = "pass\"word <one>\n& two";
        let pattern = Pattern::literal([secret]).unwrap();
        let nested =
            serde_json::json!({ "arguments": serde_json::json!({ "x": secret }).to_string() });
        for text in [
            format!("it is {secret}."),
            serde_json::json!({ "text": secret }).to_string(),
            nested.to_string(),
            "title: pass\"word <one> & two".to_owned(),
            "<note>pass\"word &lt;one&gt;\n&amp; two</note>".to_owned(),
        ] {
            let (rest, places) = pattern.erase(&text).unwrap();
            assert_eq!(places, 1, "{text}");
            assert!(rest.contains(FORGOTTEN) && !rest.contains("pass"), "{rest}");
        }
        assert_eq!(pattern.erase("password"), None);
    }

    #[test]
    fn an_expression_reads_text_and_not_its_form_in_json() {
        let pattern = Pattern::regex("key: \"[^\"]+\"").unwrap();
        let inner = serde_json::json!({ "command": "key: \"abc\"" }).to_string();
        let line = serde_json::json!({ "t": "call", "arguments": inner }).to_string();
        let (rest, places) = pattern.erase(&format!("{line}\nplain\n")).unwrap();
        assert_eq!(places, 1);
        assert!(
            !rest.contains("abc") && rest.ends_with("}\nplain\n"),
            "{rest}"
        );
        let value: Value = serde_json::from_str(rest.lines().next().unwrap()).unwrap();
        let inner: Value = serde_json::from_str(value["arguments"].as_str().unwrap()).unwrap();
        assert_eq!(inner["command"], FORGOTTEN);
    }

    #[test]
    fn what_cannot_be_forgotten_is_refused() {
        for expression in [".*", "x*", "forgotten", "("] {
            let refused = Pattern::regex(expression).and_then(Chosen::new);
            assert!(refused.is_err(), "{expression}");
        }
    }
}
