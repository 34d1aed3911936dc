//! Credentials in URLs: `scheme://user:password@host` and `https://TOKEN@host`; `curl -u`.
//! Credentials in the query of a URL are assignments like any other.

use super::Finding;
use super::bytes::{BLANK, DIGIT, DOTTED, LETTER, QUOTE, Set, View};
use super::literal::Literal;
use super::rules;
use super::value::{Strength, WINDOW, Written, strength};

/// The credentials of the URL whose `://` is at `at`.
pub(super) fn userinfo(view: View<'_>, at: usize, trigger: &str) -> Option<Finding> {
    if !view
        .back(at, 1)
        .is_some_and(|byte| byte.is_ascii_alphanumeric())
    {
        return None;
    }
    let start = at + trigger.len();
    let authority = view
        .from(start)
        .iter()
        .take_while(|byte| !ends_authority(**byte));
    // A password may hold an `@` that nobody encoded; hosts cannot.
    let (length, _) = authority
        .enumerate()
        .filter(|(_, byte)| **byte == b'@')
        .last()?;
    let end = start + length;
    let colon = view.slice(start..end).iter().position(|byte| *byte == b':');
    let colon = colon.map(|place| start + place);
    let user_end = colon.unwrap_or(end);
    let user = view.slice(start..user_end.min(start + WINDOW));
    if let Some(token) = rules::token_at(view, start) {
        return Some(Finding {
            start,
            end,
            kind: token.kind,
        });
    }
    if strength(user, Written::Quoted) == Strength::Random {
        return Some(Finding {
            start,
            end,
            kind: "url-token",
        });
    }
    let password = colon? + 1;
    if is_port(view, password) || is_placeholder(view.slice(password..end)) {
        return None;
    }
    let kind = rules::token_at(view, password).map_or("password", |token| token.kind);
    Some(Finding {
        start: password,
        end,
        kind,
    })
}

fn ends_authority(byte: u8) -> bool {
    // The brackets are of patterns, templates, markers, and of hosts, which come after the `@`.
    byte <= b' ' || b"/?#\\[]{}<>".contains(&byte) || QUOTE.has(byte)
}

/// Whether the host ended here and the `@` is of something else: `http://host:80,me@example.org`.
fn is_port(view: View<'_>, at: usize) -> bool {
    let end = view.run(at, DIGIT, 6);
    end > at
        && view
            .at(end)
            .is_some_and(|byte| b",;)".contains(&byte) || byte >= 0x80)
}

/// In this position every word is a password, also a bad one; only templates are not.
fn is_placeholder(password: &[u8]) -> bool {
    let variable = match password {
        [b'$' | b'%' | b':', rest @ ..] => {
            rest.first()
                .is_some_and(|byte| LETTER.has(*byte) || b"_(".contains(byte))
                && rest
                    .iter()
                    .all(|byte| DOTTED.and(Set::of(b"()%")).has(*byte))
        }
        _ => false,
    };
    let mask = |byte: &u8| b"*.xX".contains(byte);
    variable || password.iter().all(mask) || password.windows(3).any(|w| w == b"***")
}

/// The password of `curl -u user:password`.
pub(super) fn curl_user(view: View<'_>, at: usize, trigger: &str) -> Option<Finding> {
    if !view.back(at, 1).is_some_and(|byte| BLANK.has(byte)) || !in_curl(view, at) {
        return None;
    }
    let literal = Literal::read(view, view.run(at + trigger.len(), BLANK, 4), false);
    let colon = view
        .slice(literal.start..literal.end)
        .iter()
        .position(|byte| *byte == b':')?;
    let password = literal.start + colon + 1;
    let written = if literal.quoted {
        Written::Quoted
    } else {
        Written::Literal
    };
    let value = view.slice(password..literal.end);
    if strength(value, written) < Strength::Words {
        return None;
    }
    let kind = rules::token_at(view, password).map_or("password", |token| token.kind);
    Some(Finding {
        start: password,
        end: literal.full_end(view, false),
        kind,
    })
}

/// Whether the command around `at` is `curl`: other programs mean other things by `-u`.
fn in_curl(view: View<'_>, at: usize) -> bool {
    let mut words = view.line_before(at, 200).windows(4);
    words.any(|window| window == b"curl")
}
