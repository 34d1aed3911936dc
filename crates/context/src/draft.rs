//! Drafts of elements: measured once, and cut to the room they get.

use std::borrow::Cow;

use crate::budget::{Claim, share};
use crate::xml::{Content, Element, Separator};
use flamestack_core::Author;
use flamestack_extract::tokens::{Tokenizer, certainly_exceeds, prefix};

/// Mark after a text that was cut.
const CUT_MARK: char = '…';
/// Attribute that marks a cut.
pub(super) const TRUNCATED: &str = "truncated";

/// Draft of an element.
#[derive(Clone, Debug)]
pub(super) struct ElementDraft<'a> {
    pub(super) name: &'static str,
    /// Never cut; the first two are shown even if nothing else is.
    pub(super) attributes: Vec<(&'static str, Cow<'a, str>)>,
    pub(super) inside: Inside<'a>,
}

/// Content of a draft.
#[derive(Clone, Debug)]
pub(super) enum Inside<'a> {
    /// Fields, in the order in which they are shown.
    Fields(Vec<Field<'a>>),
    /// A text and, if there is one, the compacted form to use when the text does not fit.
    Text(Cow<'a, str>, Option<&'a str>),
    /// Several texts, oldest first. The newest are kept.
    List(Vec<Cow<'a, str>>, Separator),
    /// Nothing.
    Nothing,
}

/// A part of a draft that can be cut or left out.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'static str,
    /// The author, where it is not that of the whole element.
    pub(super) by: Option<Author>,
    pub(super) inside: Inside<'a>,
    /// Weight in a shortage, see [`Claim`].
    pub(super) weight: usize,
}

impl<'a> Inside<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into(), None)
    }

    /// Returns an element with the whole content.
    fn fill<'e>(&'e self, shell: Element<'e>) -> Element<'e> {
        let content = match self {
            Self::Fields(fields) if !fields.is_empty() => {
                Content::Elements(fields.iter().map(Field::whole).collect())
            }
            Self::Text(text, _) => Content::Text(text.as_ref().into()),
            Self::List(items, separator) => listed(items, *separator),
            Self::Fields(_) | Self::Nothing => Content::Empty,
        };
        Element { content, ..shell }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Fields(fields) => fields.iter().map(|field| field.inside.bytes()).sum(),
            Self::Text(text, _) => text.len(),
            Self::List(items, separator) => items
                .iter()
                .map(|item| item.len() + separator.as_str().len())
                .sum(),
            Self::Nothing => 0,
        }
    }

    /// Returns an element with as much of the content as fits.
    fn cut<'e>(
        &'e self,
        shell: Element<'e>,
        limit: usize,
        counter: TokenCounter<'_>,
    ) -> Option<MeasuredElement<'e>> {
        let shown = match self {
            Self::Fields(fields) => return cut_fields(&shell, fields, limit, counter),
            Self::Nothing => return Some(counter.measure(shell, false)),
            Self::List(items, separator) => cut_list(&shell, items, *separator, limit, counter)?,
            Self::Text(text, dense) => {
                let dense = dense.map(|dense| Element {
                    content: Content::Text(dense.into()),
                    ..shell.clone().with("compacted", "true")
                });
                dense
                    .filter(|dense| counter.element(dense) <= limit)
                    .or_else(|| {
                        let shell = shell.with(TRUNCATED, "true");
                        cut_to_fit(&shell, text, limit, counter)
                    })?
            }
        };
        Some(counter.measure(shown, true))
    }
}

/// An element with its text and its number of tokens.
#[derive(Clone, Debug)]
pub(super) struct MeasuredElement<'a> {
    pub(super) element: Element<'a>,
    pub(super) text: String,
    pub(super) tokens: usize,
    /// True if something of it was left out.
    pub(super) cut: bool,
}

/// Counts the tokens of elements as they are written.
#[derive(Clone, Copy)]
pub(super) struct TokenCounter<'a> {
    pub(super) tokenizer: &'a dyn Tokenizer,
}

impl TokenCounter<'_> {
    /// Writes and counts an element, including the reserve for the seam before it.
    pub(super) fn measure<'e>(&self, element: Element<'e>, cut: bool) -> MeasuredElement<'e> {
        let mut text = String::with_capacity(512);
        element.write(&mut text);
        MeasuredElement {
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

impl<'a> ElementDraft<'a> {
    /// Creates a draft with a text and no attributes.
    pub(super) fn text(name: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            name,
            attributes: Vec::new(),
            inside: Inside::text(text),
        }
    }

    /// Creates a draft with attributes only.
    pub(super) fn empty(name: &'static str, attributes: Vec<(&'static str, Cow<'a, str>)>) -> Self {
        Self {
            name,
            attributes,
            inside: Inside::Nothing,
        }
    }

    /// Returns the whole draft if it has at most `limit` tokens.
    pub(super) fn whole(
        &self,
        limit: usize,
        counter: TokenCounter<'_>,
    ) -> Option<MeasuredElement<'_>> {
        if certainly_exceeds(self.inside.bytes(), limit) {
            return None;
        }
        let measured = counter.measure(self.inside.fill(self.shell()), false);
        (measured.tokens <= limit).then_some(measured)
    }

    /// Returns as much of the draft as fits; `None` if not even its name does.
    pub(super) fn cut(
        &self,
        limit: usize,
        counter: TokenCounter<'_>,
    ) -> Option<MeasuredElement<'_>> {
        // If counts do not add up exactly, a cut draft may still be too long.
        let mut aim = limit;
        for _ in 0..3 {
            match self.inside.cut(self.shell(), aim, counter) {
                Some(measured) if measured.tokens <= limit => return Some(measured),
                Some(measured) => aim = aim.saturating_sub(measured.tokens - limit),
                None => break,
            }
        }
        let mut bare = self.shell();
        bare.attributes.truncate(2);
        let measured = counter.measure(bare, true);
        (measured.tokens <= limit).then_some(measured)
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
}

impl<'a> Field<'a> {
    /// Creates a field with one text.
    pub(super) fn text(name: &'static str, text: &'a str, weight: usize) -> Self {
        Self {
            name,
            by: None,
            inside: Inside::text(text),
            weight,
        }
    }

    fn shell(&self) -> Element<'static> {
        let shell = Element::new(self.name);
        match self.by {
            Some(by) => shell.with("by", by.as_str()),
            None => shell,
        }
    }

    fn whole(&self) -> Element<'_> {
        self.inside.fill(self.shell())
    }

    fn claim(&self, room: usize, counter: TokenCounter<'_>) -> Claim {
        let wants = if certainly_exceeds(self.inside.bytes(), room) {
            room + 1
        } else {
            counter.element(&self.whole())
        };
        Claim {
            wants,
            weight: self.weight,
        }
    }
}

/// Divides the room among fields, and cuts those that want more.
fn cut_fields<'e>(
    shell: &Element<'e>,
    fields: &'e [Field<'_>],
    limit: usize,
    counter: TokenCounter<'_>,
) -> Option<MeasuredElement<'e>> {
    let mut element = shell.clone();
    let mut marked = shell.clone().with(TRUNCATED, "true");
    marked.content = Content::Elements(Vec::new());
    let room = limit.checked_sub(counter.element(&marked))?;
    let claims = fields.iter().map(|field| field.claim(room, counter));
    let claims: Vec<Claim> = claims.collect();
    let mut spare = 0;
    let mut kept = Vec::new();
    let mut cut = false;
    for ((field, claim), granted) in fields.iter().zip(&claims).zip(share(room, &claims)) {
        let granted = granted + spare;
        let shown = if claim.wants <= granted {
            Some((field.whole(), claim.wants))
        } else {
            cut = true;
            let shown = field.inside.cut(field.shell(), granted, counter);
            let fitting = shown.filter(|shown| shown.tokens <= granted);
            fitting.map(|shown| (shown.element, shown.tokens))
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
    // A field that was cut is marked itself; a missing one is marked here.
    if kept.len() < fields.len() {
        element = marked;
    }
    element.content = Content::Elements(kept);
    Some(counter.measure(element, cut))
}

/// Returns the newest items that fit, with the number of those that do not.
fn cut_list<'e>(
    shell: &Element<'e>,
    items: &'e [Cow<'_, str>],
    separator: Separator,
    limit: usize,
    counter: TokenCounter<'_>,
) -> Option<Element<'e>> {
    let with = |kept: &'e [Cow<'_, str>]| Element {
        content: listed(kept, separator),
        ..shell
            .clone()
            .with("omitted", (items.len() - kept.len()).to_string())
    };
    let mut left = limit.checked_sub(counter.element(&with(&[])))?;
    let mut from = items.len();
    for item in items.iter().rev() {
        if certainly_exceeds(item.len(), left) {
            break;
        }
        let mut line = String::from(separator.as_str());
        crate::xml::escape(&mut line, item);
        match left.checked_sub(counter.tokenizer.count(&line)) {
            Some(rest) => (left, from) = (rest, from - 1),
            None => break,
        }
    }
    while let Some(kept) = items.get(from..)
        && !kept.is_empty()
    {
        let shown = with(kept);
        if counter.element(&shown) <= limit {
            return Some(shown);
        }
        from += 1;
    }
    let shell = with(items.get(items.len().saturating_sub(1)..)?).with(TRUNCATED, "true");
    cut_to_fit(&shell, items.last()?, limit, counter)
}

fn listed<'i>(items: &'i [Cow<'_, str>], separator: Separator) -> Content<'i> {
    let items = items.iter().map(|item| Cow::Borrowed(item.as_ref()));
    Content::List(items.collect(), separator)
}

/// Returns an element with as much of a text as fits.
fn cut_to_fit<'e>(
    shell: &Element<'e>,
    text: &str,
    limit: usize,
    counter: TokenCounter<'_>,
) -> Option<Element<'e>> {
    let around = |text: &str| Element {
        content: Content::Text(format!("{text}{CUT_MARK}").into()),
        ..shell.clone()
    };
    let kept = prefix(text, limit, &|text| counter.element(&around(text)));
    let shown = around(kept);
    (!kept.is_empty() && counter.element(&shown) <= limit).then_some(shown)
}

/// Returns a title for use in an attribute, and true if it had to be cut.
pub(super) fn short_title<'a>(
    title: &'a str,
    limit: usize,
    counter: TokenCounter<'_>,
) -> (Cow<'a, str>, bool) {
    // A token has at least one byte.
    if title.len() <= limit {
        return (Cow::Borrowed(title), false);
    }
    let kept = prefix(title, limit, &|text| {
        let mut escaped = String::new();
        crate::xml::escape_attribute(&mut escaped, text);
        counter.tokenizer.count(&escaped)
    });
    if kept.len() == title.len() {
        (Cow::Borrowed(title), false)
    } else {
        (Cow::Owned(format!("{kept}{CUT_MARK}")), true)
    }
}
