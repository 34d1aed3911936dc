//! A frame as a predecessor's JSON object: the writing half of the lens.
//!
//! It starts from the object that the frame was imported from and touches only what, read again,
//! would not give the frame as it is now. A frame of our own starts from nothing.

use flamestack_core::id::Timestamp;
use flamestack_core::{Frame, Prose, Status};
use serde_json::Value;

use super::fields::{self, Object};
use super::import::derive;
use super::notes;
use super::own::{self, Foreign, Own};
use super::shape::{self, Said};

/// Where a frame stands in the file.
pub(super) struct Place<'a> {
    pub(super) key: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) planned_children: Vec<String>,
    pub(super) log_path: Option<String>,
}

/// Every field that a predecessor has for a frame, in its order.
pub(super) const FIELDS: [&str; 18] = [
    "sessionID",
    "parentSessionID",
    "status",
    "title",
    "goal",
    "successCriteria",
    "successCriteriaCompacted",
    "results",
    "resultsCompacted",
    "compactionSummary",
    "createdAt",
    "updatedAt",
    "artifacts",
    "decisions",
    "logPath",
    "invalidationReason",
    "invalidatedAt",
    "plannedChildren",
];

/// Writes a frame.
pub(super) fn write(frame: &Frame, original: Option<&Object>, place: &Place<'_>) -> Object {
    let mut writer = Writer::start(frame, original, place);
    writer.place(place);
    writer.goal();
    writer.results();
    writer.lists();
    writer.invalidation();
    writer.finish(place.key)
}

struct Writer<'a> {
    frame: &'a Frame,
    object: Object,
    /// What the object says so far; nothing, for a frame of our own.
    said: Option<Said>,
    criteria_derived: bool,
    results_derived: bool,
}

impl<'a> Writer<'a> {
    /// Names and times come first: what else an object says may be derived from them.
    fn start(frame: &'a Frame, original: Option<&Object>, place: &Place<'_>) -> Self {
        let read = |object: &Object| shape::read(object, place.key, frame.created_at).ok();
        let mut object = original.cloned().unwrap_or_default();
        let then = read(&object);
        if let Some(then) = &then {
            if object.contains_key("sessionID") {
                object.insert("sessionID".to_owned(), place.key.into());
            }
            let times = [
                ("createdAt", then.created_at, frame.created_at),
                ("updatedAt", then.updated_at, frame.updated_at),
            ];
            for (field, then, now) in times {
                if then != now {
                    object.insert(field.to_owned(), now.0.into());
                }
            }
        } else {
            // Not an object that we could have read: only what we have no name for is kept.
            object.retain(|field, _| !FIELDS.contains(&field.as_str()));
            object.insert("sessionID".to_owned(), place.key.into());
            object.insert("createdAt".to_owned(), frame.created_at.0.into());
            object.insert("updatedAt".to_owned(), frame.updated_at.0.into());
        }
        Self {
            frame,
            said: then.and_then(|_| read(&object)),
            object,
            criteria_derived: false,
            results_derived: false,
        }
    }

    fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.object.insert(field.to_owned(), value.into());
    }

    /// Whether a part of what the object says has to be written anew.
    fn differs<T: PartialEq>(&self, part: impl Fn(&Said) -> &T, now: &T) -> bool {
        self.said.as_ref().is_none_or(|said| part(said) != now)
    }

    fn place(&mut self, place: &Place<'_>) {
        let parent = shape::parent(&self.object).ok().flatten();
        if parent != place.parent {
            match place.parent {
                Some(parent) => self.set("parentSessionID", parent),
                None => {
                    self.object.remove("parentSessionID");
                }
            }
        }
        let listed = shape::planned_children(&self.object).unwrap_or_default();
        // The predecessor gives every planned frame a list, if an empty one.
        let wants_list = self.said.is_none() && self.frame.status == Status::Planned;
        if wants_list || listed != place.planned_children {
            self.set("plannedChildren", place.planned_children.clone());
        }
        if let Some(path) = &place.log_path
            && fields::value(&self.object, "logPath").is_none()
        {
            self.set("logPath", path.clone());
        }
    }

    fn goal(&mut self) {
        let frame = self.frame;
        if self.differs(|said| &said.status, &frame.status) {
            self.set("status", frame.status.as_str());
        }
        if self.differs(|said| &said.title, &frame.title) {
            self.set("title", frame.title.as_str());
        }
        let rewritten = self.differs(|said| &said.criteria, &frame.criteria);
        if rewritten {
            // The predecessor's code fails on a frame without criteria, so none is an empty text.
            let criteria = frame.criteria.as_ref().map_or("", Prose::as_str);
            self.set("successCriteria", criteria);
        }
        if rewritten || self.differs(|said| &said.criteria_compacted, &frame.criteria_compacted) {
            let given = frame.criteria_compacted.clone();
            self.criteria_derived = given.is_none() && frame.criteria.is_some();
            let dense = given.or_else(|| frame.criteria.as_ref().and_then(derive));
            let dense = dense.as_ref().map_or("", Prose::as_str);
            self.set("successCriteriaCompacted", dense);
        }
    }

    fn results(&mut self) {
        let frame = self.frame;
        let rewritten = self.differs(|said| &said.results, &frame.results);
        if rewritten {
            if let Some(results) = &frame.results {
                self.set("results", results.as_str());
            } else {
                self.object.remove("results");
                self.object.remove("compactionSummary");
            }
        }
        if rewritten || self.differs(|said| &said.results_compacted, &frame.results_compacted) {
            let given = frame.results_compacted.clone();
            self.results_derived = given.is_none() && frame.results.is_some();
            match given.or_else(|| frame.results.as_ref().and_then(derive)) {
                Some(dense) => self.set("resultsCompacted", dense.as_str()),
                None => {
                    self.object.remove("resultsCompacted");
                }
            }
        }
    }

    fn lists(&mut self) {
        let said = |part: fn(&Said) -> &Vec<Prose>| {
            let texts = self.said.as_ref().map(part)?.iter();
            Some(texts.map(|text| text.as_str().to_owned()).collect())
        };
        let lists: [(_, Option<Vec<String>>, _); 2] = [
            (
                "artifacts",
                said(|said| &said.artifacts),
                notes::artifacts(&self.frame.notes),
            ),
            (
                "decisions",
                said(|said| &said.decisions),
                notes::decisions(&self.frame.notes),
            ),
        ];
        for (field, then, now) in lists {
            match then.as_deref().and_then(|then| now.strip_prefix(then)) {
                Some([]) => {}
                // What was only added to keeps what was there, blank entries included.
                Some(added) => {
                    let before = self.object.get(field).and_then(Value::as_array).cloned();
                    let mut list = before.unwrap_or_default();
                    list.extend(added.iter().map(|text| Value::from(text.as_str())));
                    self.set(field, list);
                }
                None => self.set(field, now),
            }
        }
    }

    fn invalidation(&mut self) {
        let frame = self.frame;
        if !self.differs(|said| &said.invalidation, &frame.invalidation) {
            return;
        }
        if let Some(invalidation) = &frame.invalidation {
            let Timestamp(at) = invalidation.at;
            self.set("invalidationReason", invalidation.reason.as_str());
            self.set("invalidatedAt", at);
        } else {
            self.object.remove("invalidationReason");
            self.object.remove("invalidatedAt");
        }
    }

    /// Adds our own object, with what the rest does not say.
    fn finish(mut self, key: &str) -> Object {
        let frame = self.frame;
        let has_time = fields::value(&self.object, "createdAt").is_some();
        let around = Value::Object(self.object.clone()).to_string();
        let foreign = match &frame.foreign {
            None => Foreign::None,
            Some(text) if *text == around => Foreign::Around,
            Some(text) => Foreign::Text(text.clone()),
        };
        let own = Own {
            key: key.to_owned(),
            id: frame.id.clone(),
            rank: frame.rank,
            origin: frame.origin,
            session: frame.session.clone(),
            aliases: frame.aliases.clone(),
            criteria_derived: self.criteria_derived,
            results_derived: self.results_derived,
            notes: frame.notes.clone(),
            log: frame.log.clone(),
            blocked_on: frame.blocked_on.clone(),
            span: frame.span.clone(),
            created_at: (!has_time).then_some(frame.created_at),
            foreign,
        };
        self.set(own::FIELD, own::write(&own));
        self.object
    }
}
