//! Elements on their way into a context: measured once, and cut to the room they get.

use std::borrow::Cow;

use crate::context::budget::{Claim, share};
use crate::tokens::{Tokenizer, prefix, surely_over};
use crate::xml::{Content, Element, Separator};

/// The mark behind a text that was cut.
const CUT_MARK: char = '…';
/// Which attribute says so.
pub(super) const TRUNCATED: &str = "truncated";

/// An element that wants to be shown.
#[derive(Clone, Debug)]
pub(super) struct Draft<'a> {
    pub(super) name: &'static str,
    /// Kept whole; the first two are kept even where nothing else is.
    pub(super) attributes: Vec<(&'static str, Cow<'a, str>)>,
    pub(super) inside: Inside<'a>,
}

/// What is inside a draft.
#[derive(Clone, Debug)]
pub(super) enum Inside<'a> {
    /// Fields, in the order in which they are shown.
    Fields(Vec<Field<'a>>),
    /// Text of its own.
    Text(Cow<'a, str>),
    /// Nothing.
    Nothing,
}

/// A part of a draft that can be cut or left out.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'static str,
    pub(super) body: Body<'a>,
    /// How much of a shortage it may keep, see [`Claim`].
    pub(super) weight: usize,
}

/// What a field says.
#[derive(Clone, Debug)]
pub(super) enum Body<'a> {
    /// A text and, where one was given, the dense version to take when the text does not fit.
    Text(Cow<'a, str>, Option<&'a str>),
    /// Several texts, oldest first. The newest are kept.
    List(Vec<Cow<'a, str>>, Separator),
}

/// An element as it will be shown.
#[derive(Clone, Debug)]
pub(super) struct Piece<'a> {
    pub(super) element: Element<'a>,
    pub(super) text: String,
    pub(super) tokens: usize,
    /// Whether something of it was left out.
    pub(super) cut: bool,
}

/// Counts elements as they are written down.
#[derive(Clone, Copy)]
pub(super) struct Meter<'a> {
    pub(super) tokenizer: &'a dyn Tokenizer,
}

impl Meter<'_> {
    /// Writes and counts an element, and what the seam before it may cost.
    pub(super) fn piece<'e>(&self, element: Element<'e>, cut: bool) -> Piece<'e> {
        let mut text = String::with_capacity(512);
        element.write(&mut text);
        Piece {
            tokens: self.text(&text),
            element,
            text,
            cut,
        }
    }

    /// Counts an element as it would be written.
    pub(super) fn element(&self, element: &Element<'_>) -> usize {
        let mut text = String::new();
        element.write(&mut text);
        self.text(&text)
    }

    /// Counts whole lines.
    pub(super) fn text(&self, text: &str) -> usize {
        self.tokenizer.count(text) + self.tokenizer.seam().reserve()
    }
}

impl Draft<'_> {
    /// The draft as it is, unless that is surely more than `limit`.
    pub(super) fn whole(&self, limit: usize, meter: Meter<'_>) -> Option<Piece<'_>> {
        if surely_over(self.bytes(), limit) {
            return None;
        }
        let mut element = self.shell();
        element.content = match &self.inside {
            Inside::Fields(fields) if !fields.is_empty() => {
                Content::Elements(fields.iter().map(Field::whole).collect())
            }
            Inside::Text(text) => Content::Text(text.as_ref().into()),
            Inside::Fields(_) | Inside::Nothing => Content::Empty,
        };
        let piece = meter.piece(element, false);
        (piece.tokens <= limit).then_some(piece)
    }

    /// As much of the draft as fits, unless not even its name does.
    pub(super) fn cut(&self, limit: usize, meter: Meter<'_>) -> Option<Piece<'_>> {
        // Where counts do not add up exactly, what is cut to fit may still not.
        let mut aim = limit;
        for _ in 0..3 {
            let piece = match &self.inside {
                Inside::Fields(fields) => self.cut_fields(fields, aim, meter),
                Inside::Text(text) => self.cut_text(text, aim, meter),
                Inside::Nothing => Some(meter.piece(self.shell(), false)),
            };
            match piece {
                Some(piece) if piece.tokens <= limit => return Some(piece),
                Some(piece) => aim = aim.saturating_sub(piece.tokens - limit),
                None => break,
            }
        }
        let mut bare = Element::new(self.name);
        for (name, value) in self.attributes.iter().take(2) {
            bare = bare.with(name, value.as_ref());
        }
        let piece = meter.piece(bare, true);
        (piece.tokens <= limit).then_some(piece)
    }

    fn cut_fields<'d>(
        &'d self,
        fields: &'d [Field<'_>],
        limit: usize,
        meter: Meter<'_>,
    ) -> Option<Piece<'d>> {
        let mut element = self.shell();
        let mut marked = self.shell().with(TRUNCATED, "true");
        marked.content = Content::Elements(Vec::new());
        let room = limit.checked_sub(meter.element(&marked))?;
        let claims: Vec<Claim> = fields
            .iter()
            .map(|field| field.claim(room, meter))
            .collect();
        let mut spare = 0;
        let mut kept = Vec::new();
        let mut cut = false;
        for ((field, claim), granted) in fields.iter().zip(&claims).zip(share(room, &claims)) {
            let granted = granted + spare;
            let shown = if claim.wants <= granted {
                Some((field.whole(), claim.wants))
            } else {
                cut = true;
                field.cut(granted, meter)
            };
            spare = granted;
            if let Some((field, tokens)) = shown {
                spare = granted.saturating_sub(tokens);
                kept.push(field);
            }
        }
        if kept.is_empty() {
            return None;
        }
        // A field that was cut says so itself; one that is gone cannot.
        if kept.len() < fields.len() {
            element = marked;
        }
        element.content = Content::Elements(kept);
        Some(meter.piece(element, cut))
    }

    fn cut_text<'d>(&'d self, text: &'d str, limit: usize, meter: Meter<'_>) -> Option<Piece<'d>> {
        let shell = self.shell().with(TRUNCATED, "true");
        let shown = cut_to_fit(&shell, text, limit, meter)?;
        Some(meter.piece(shown, true))
    }

    fn shell(&self) -> Element<'_> {
        let mut attributes = Vec::with_capacity(self.attributes.len() + 1);
        for (name, value) in &self.attributes {
            attributes.push((*name, Cow::Borrowed(value.as_ref())));
        }
        Element {
            attributes,
            ..Element::new(self.name)
        }
    }

    fn bytes(&self) -> usize {
        match &self.inside {
            Inside::Fields(fields) => fields.iter().map(Field::bytes).sum(),
            Inside::Text(text) => text.len(),
            Inside::Nothing => 0,
        }
    }
}

impl<'a> Field<'a> {
    /// A field with one text.
    pub(super) fn text(name: &'static str, text: &'a str, weight: usize) -> Self {
        Self {
            name,
            body: Body::Text(Cow::Borrowed(text), None),
            weight,
        }
    }

    fn whole(&self) -> Element<'_> {
        let content = match &self.body {
            Body::Text(text, _) => Content::Text(text.as_ref().into()),
            Body::List(items, separator) => listed(items, *separator),
        };
        Element {
            content,
            ..Element::new(self.name)
        }
    }

    fn claim(&self, room: usize, meter: Meter<'_>) -> Claim {
        let wants = if surely_over(self.bytes(), room) {
            room + 1
        } else {
            meter.element(&self.whole())
        };
        Claim {
            wants,
            weight: self.weight,
        }
    }

    /// As much of the field as fits, and what it costs.
    fn cut(&self, limit: usize, meter: Meter<'_>) -> Option<(Element<'_>, usize)> {
        let shown = match &self.body {
            Body::Text(text, dense) => {
                let dense = dense.map(|dense| Element::text(self.name, dense));
                let dense = dense.map(|dense| dense.with("compacted", "true"));
                let shell = Element::new(self.name).with(TRUNCATED, "true");
                dense
                    .filter(|dense| meter.element(dense) <= limit)
                    .or_else(|| cut_to_fit(&shell, text, limit, meter))?
            }
            Body::List(items, separator) => self.cut_list(items, *separator, limit, meter)?,
        };
        let tokens = meter.element(&shown);
        (tokens <= limit).then_some((shown, tokens))
    }

    /// The newest items that fit, with the number of those that do not.
    fn cut_list<'i>(
        &self,
        items: &'i [Cow<'_, str>],
        separator: Separator,
        limit: usize,
        meter: Meter<'_>,
    ) -> Option<Element<'i>> {
        let with = |kept: &'i [Cow<'_, str>]| Element {
            content: listed(kept, separator),
            ..Element::new(self.name).with("omitted", (items.len() - kept.len()).to_string())
        };
        let mut left = limit.checked_sub(meter.element(&with(&[])))?;
        let mut from = items.len();
        for item in items.iter().rev() {
            if surely_over(item.len(), left) {
                break;
            }
            let mut line = String::from(separator.as_str());
            crate::xml::escape(&mut line, item);
            match left.checked_sub(meter.tokenizer.count(&line)) {
                Some(rest) => (left, from) = (rest, from - 1),
                None => break,
            }
        }
        while let Some(kept) = items.get(from..)
            && !kept.is_empty()
        {
            let shown = with(kept);
            if meter.element(&shown) <= limit {
                return Some(shown);
            }
            from += 1;
        }
        let shell = with(items.get(items.len().saturating_sub(1)..)?).with(TRUNCATED, "true");
        cut_to_fit(&shell, items.last()?, limit, meter)
    }

    fn bytes(&self) -> usize {
        match &self.body {
            Body::Text(text, _) => text.len(),
            Body::List(items, separator) => items
                .iter()
                .map(|item| item.len() + separator.as_str().len())
                .sum(),
        }
    }
}

fn listed<'i>(items: &'i [Cow<'_, str>], separator: Separator) -> Content<'i> {
    let items = items.iter().map(|item| Cow::Borrowed(item.as_ref()));
    Content::List(items.collect(), separator)
}

/// An element with as much of a text inside as fits.
fn cut_to_fit<'e>(
    shell: &Element<'e>,
    text: &str,
    limit: usize,
    meter: Meter<'_>,
) -> Option<Element<'e>> {
    let around = |text: &str| Element {
        content: Content::Text(format!("{text}{CUT_MARK}").into()),
        ..shell.clone()
    };
    let kept = prefix(text, limit, &|text| meter.element(&around(text)));
    let shown = around(kept);
    (!kept.is_empty() && meter.element(&shown) <= limit).then_some(shown)
}

/// A title for use in an attribute: cut if it is long, and then marked.
pub(super) fn short_title<'a>(
    title: &'a str,
    limit: usize,
    meter: Meter<'_>,
) -> (Cow<'a, str>, bool) {
    // As many bytes as tokens always fit.
    if title.len() <= limit {
        return (Cow::Borrowed(title), false);
    }
    let kept = prefix(title, limit, &|text| {
        let mut escaped = String::new();
        crate::xml::escape_attribute(&mut escaped, text);
        meter.tokenizer.count(&escaped)
    });
    if kept.len() == title.len() {
        (Cow::Borrowed(title), false)
    } else {
        (Cow::Owned(format!("{kept}{CUT_MARK}")), true)
    }
}
