//! Contexts as JSON, for programs. Models get the XML of the same elements.

use serde_json::{Map, Value, json};

use crate::xml::{Content, Element};
use crate::{Context, Omission, Section};

impl Context {
    /// Returns the context as JSON: its sections with their tokens, omissions and elements.
    pub fn to_json(&self) -> Value {
        json!({
            "position": self.position.0,
            "tokens": self.tokens,
            "tokenizer": self.tokenizer,
            "budget": {
                "total": self.budget.total(),
                "ancestors": self.budget.ancestors,
                "siblings": self.budget.siblings,
                "current": self.budget.current,
                "overhead": self.budget.overhead,
            },
            "sections": self.sections.iter().map(section).collect::<Vec<_>>(),
        })
    }
}

fn section(section: &Section<'_>) -> Value {
    json!({
        "kind": section.kind.as_str(),
        "provenance": section.provenance.as_str(),
        "tokens": section.tokens,
        "shown": section.shown,
        "omitted": section.omitted.iter().map(omission).collect::<Vec<_>>(),
        "content": section.elements.iter().map(element).collect::<Vec<_>>(),
    })
}

fn omission(omission: &Omission) -> Value {
    json!({
        "what": omission.what,
        "count": omission.count,
        "why": omission.why.as_str(),
        "call": omission.call,
    })
}

fn element(element: &Element<'_>) -> Value {
    let mut fields = Map::from_iter([("element".to_owned(), json!(element.name))]);
    let attributes = element.attributes.iter();
    fields.extend(attributes.map(|(name, value)| ((*name).to_owned(), json!(value))));
    match &element.content {
        Content::Empty => {}
        Content::Text(text) => drop(fields.insert("text".to_owned(), json!(text))),
        Content::List(items, _) => drop(fields.insert("items".to_owned(), json!(items))),
        Content::Elements(elements) => {
            let content = elements.iter().map(self::element).collect();
            fields.insert("content".to_owned(), Value::Array(content));
        }
    }
    Value::Object(fields)
}
