//! What a rule is, and how its row in the table is written.
//! The rows are in `rules`.

use super::Finding;
use super::bytes::View;
use super::token::Token;

/// One rule: it is tried wherever one of its triggers stands.
pub(super) struct Rule {
    pub(super) triggers: &'static [&'static str],
    /// Whether the triggers are found in capitals too.
    pub(super) any_case: bool,
    pub(super) shape: Shape,
}

/// What must follow a trigger.
pub(super) enum Shape {
    /// One of our own replacements, which the iteration steps over before it asks any rule.
    Marker,
    /// A vendor's prefix and a body.
    Token { kind: &'static str, token: Token },
    /// Anything that needs its surroundings; told where its trigger begins and which it is.
    Read(Reader),
}

/// Reads a shape of which the trigger is known.
pub(super) type Reader = fn(View<'_>, usize, &'static str) -> Option<Finding>;

impl Rule {
    /// The secret that this rule sees at `at`.
    pub(super) fn find(&self, view: View<'_>, at: usize) -> Option<Finding> {
        let trigger = *self.triggers.iter().find(|trigger| {
            view.has(at, trigger) || self.any_case && view.has_any_case(at, trigger)
        })?;
        match &self.shape {
            Shape::Marker => None,
            Shape::Token { kind, token } => {
                let found = token.find(view, at, trigger)?;
                Some(Finding {
                    start: found.start,
                    end: found.end,
                    kind,
                })
            }
            Shape::Read(read) => read(view, at, trigger),
        }
    }
}

/// Tokens of `kind`, which begin with one of `triggers`.
pub(super) const fn vendor(
    kind: &'static str,
    triggers: &'static [&'static str],
    token: Token,
) -> Rule {
    Rule {
        triggers,
        any_case: false,
        shape: Shape::Token { kind, token },
    }
}

/// A shape that `reader` knows.
pub(super) const fn read(triggers: &'static [&'static str], reader: Reader) -> Rule {
    Rule {
        triggers,
        any_case: false,
        shape: Shape::Read(reader),
    }
}

/// A shape that `reader` knows, whose triggers are written in capitals too.
pub(super) const fn read_any_case(triggers: &'static [&'static str], reader: Reader) -> Rule {
    Rule {
        triggers,
        any_case: true,
        shape: Shape::Read(reader),
    }
}
