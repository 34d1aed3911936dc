//! A context as JSON, for programs. Models get the XML.

use crate::context::{Context, Section};
use crate::xml::{Content, Element};

/// A context with its sections, their tokens, omissions and content.
pub(super) fn written(context: &Context, drawn: &[Vec<Element<'_>>]) -> String {
    let mut out = Json::default();
    out.object(|out| {
        out.number("position", &context.position.0);
        out.number("tokens", &context.tokens);
        out.text("tokenizer", context.tokenizer);
        out.key("budget");
        out.object(|out| {
            out.number("total", &context.budget.total());
            out.number("ancestors", &context.budget.ancestors());
            out.number("siblings", &context.budget.siblings());
            out.number("current", &context.budget.current());
            out.number("overhead", &context.budget.overhead());
        });
        let sections: Vec<_> = context.sections.iter().zip(drawn).collect();
        out.key("sections");
        out.array(&sections, |out, (section, elements)| {
            out.section(section, elements);
        });
    });
    out.text
}

/// A JSON text in the making.
#[derive(Default)]
struct Json {
    text: String,
}

impl Json {
    fn section(&mut self, section: &Section, content: &[Element<'_>]) {
        self.object(|out| {
            out.text("kind", section.kind.as_str());
            out.text("provenance", section.provenance.as_str());
            out.number("tokens", &section.tokens);
            out.number("shown", &section.shown);
            out.key("omitted");
            out.array(&section.omitted, |out, omission| {
                out.object(|out| {
                    out.text("what", &omission.what);
                    out.number("count", &omission.count);
                    out.text("why", omission.why.as_str());
                    out.text("call", &omission.call);
                });
            });
            out.key("content");
            out.array(content, Json::element);
        });
    }

    fn element(&mut self, element: &Element<'_>) {
        self.object(|out| {
            out.text("element", element.name);
            for (name, value) in &element.attributes {
                out.text(name, value);
            }
            match &element.content {
                Content::Empty => {}
                Content::Text(text) => out.text("text", text),
                Content::List(items, _) => {
                    out.key("items");
                    out.array(items, |out, item| out.string(item));
                }
                Content::Elements(elements) => {
                    out.key("content");
                    out.array(elements, Json::element);
                }
            }
        });
    }

    fn object(&mut self, inside: impl FnOnce(&mut Self)) {
        self.next();
        self.text.push('{');
        inside(self);
        self.text.push('}');
    }

    fn array<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.next();
        self.text.push('[');
        for item in items {
            each(self, item);
        }
        self.text.push(']');
    }

    fn key(&mut self, key: &str) {
        self.string(key);
        self.text.push(':');
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        self.string(value);
    }

    fn number(&mut self, key: &str, value: &impl ToString) {
        self.key(key);
        self.text.push_str(&value.to_string());
    }

    fn string(&mut self, value: &str) {
        self.next();
        self.text.push('"');
        for c in value.chars() {
            match c {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                c if c.is_ascii_control() => self.control(c),
                c => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    fn control(&mut self, c: char) {
        let code = u32::from(c);
        let digit = |n| char::from_digit(n, 16).unwrap_or('0');
        self.text.push_str("\\u00");
        self.text.extend([digit(code / 16), digit(code % 16)]);
    }

    /// Puts a comma before whatever is not the first of its kind.
    fn next(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(['{', '[', ':', ',']) {
            self.text.push(',');
        }
    }
}
