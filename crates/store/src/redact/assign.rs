//! Values whose key says that they are secret: env files, YAML, JSON, code, flags, queries, XML.
//! Values that can be told by themselves are in `token`.

use super::Finding;
use super::bytes::{ALNUM, B64, BACKSLASH, BLANK, DIGIT, LETTER, QUOTE, SPACE, Set, UPPER, View};
use super::literal::Literal;
use super::rules;
use super::value::{Strength, WINDOW, Written, is_slug, strength};

/// What a key promises, which decides how much its value must show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// People make passwords; weak ones are secret too.
    Password,
    /// Machines make keys, and people name them in the same places: `secret: "db-creds"`.
    Key,
    /// Parsers, models and design systems have tokens as well.
    Token,
}

/// In which form key and value are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `KEY=value`, without blanks.
    Env,
    /// `--key=value`.
    Flag,
    /// `--key value`, which may also be a sentence about the flag.
    Spaced,
    /// `?key=value`.
    Query,
    /// `("key", "value")`.
    Pair,
    /// Everything else.
    Plain,
}

pub(super) fn password(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    find(view, &Key::around(view, at, word)?, Promise::Password, "password")
}

/// `pass` alone is a word of test reports; as the end of a name it is a password.
pub(super) fn pass(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    let key = Key::around(view, at, word)?;
    let begins = match (view.back(at, 1), view.at(at)) {
        // `smtpPass`, but neither `bypass` nor `BYPASS`.
        (Some(before), Some(first)) if LETTER.has(before) => {
            before.is_ascii_lowercase() && first.is_ascii_uppercase()
        }
        _ => true,
    };
    let last = key.end == at + word.len();
    if !last || !begins { None } else { find(view, &key, Promise::Password, "password") }
}

pub(super) fn secret(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    find(view, &Key::around(view, at, word)?, Promise::Key, "secret")
}

pub(super) fn credential(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    let plural = matches!(view.at(at + word.len()), Some(b's' | b'S'));
    let word = if plural { "credentials" } else { word };
    find(view, &Key::around(view, at, word)?, Promise::Token, "credential")
}

pub(super) fn token(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    /// Cursors, locks and vocabularies: opaque, but they open nothing.
    const HARMLESS: &[&[u8]] = &[
        b"next", b"page", b"continuation", b"cancellation", b"cancel", b"sync", b"resume",
        b"fencing", b"lease", b"request", b"change", b"idempotency", b"eos", b"bos", b"pad", b"stop", b"special", b"mask",
    ];
    let key = Key::around(view, at, word)?;
    let harmless = HARMLESS.iter().any(|name| key.is_named(name));
    if harmless { None } else { find(view, &key, Promise::Token, "token") }
}

/// A key of a map is called `key` too, so it must be said to be of a lock.
pub(super) fn key(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    const OF_LOCKS: &[&[u8]] = &[
        b"api", b"access", b"secret", b"private", b"auth", b"signing", b"signature", b"encryption",
        b"crypt", b"cipher", b"master", b"account", b"shared", b"preshared", b"license", b"client",
        b"service", b"storage", b"subscription", b"admin", b"app", b"application", b"deploy",
        b"webhook", b"hmac", b"aes", b"jwt", b"ssh", b"consumer", b"integration", b"role",
    ];
    let key = Key::around(view, at, word)?;
    let of_a_lock = OF_LOCKS.iter().any(|name| key.is_named(name));
    if of_a_lock { find(view, &key, Promise::Key, "api-key") } else { None }
}

/// `"auth": "…"` of container registries and `_auth=` of npm.
pub(super) fn auth(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    let key = Key::around(view, at, word)?;
    let whole = key.end == at + word.len() && matches!(key.before, [] | [b'_']);
    let found = if whole { find(view, &key, Promise::Token, "basic-auth") } else { None };
    // Both hold base64, and many other things are called `auth`.
    found.filter(|found| view.run(found.start, B64, WINDOW) >= found.end.min(found.start + WINDOW))
}

/// The name around a telling word.
struct Key<'t> {
    start: usize,
    end: usize,
    /// The part of the name before the word.
    before: &'t [u8],
}

/// Longer names are not names. It also bounds what a text of nothing but names can cost.
const LONGEST: usize = 64;

/// What names are made of.
const NAME: Set = ALNUM.and(Set::of(b"_-.$"));

impl<'t> Key<'t> {
    fn around(view: View<'t>, at: usize, word: &str) -> Option<Self> {
        let start = view.run_back(at, NAME, LONGEST);
        let word_end = at + word.len();
        let end = view.run(word_end, NAME, LONGEST);
        if at - start == LONGEST || end - word_end == LONGEST {
            return None;
        }
        // A full stop or a dash at the end belongs to the sentence.
        let tail = view.slice(word_end..end).iter().rev();
        let end = end - tail.take_while(|byte| b".-".contains(byte)).count();
        let ends_word = match (view.at(word_end - 1), view.at(word_end)) {
            // `tokenizer`, `TOKENS`; only a capital begins the next word.
            (Some(last), Some(next)) if LETTER.has(last) && LETTER.has(next) => {
                last.is_ascii_lowercase() && next.is_ascii_uppercase()
            }
            _ => true,
        };
        let rest = view.slice(word_end..end);
        if !ends_word || !means_the_same(rest, view.slice(start..end)) {
            return None;
        }
        let before = match view.slice(start..at) {
            // "API key: …", as people and consoles write it.
            [] if view.back(at, 1) == Some(b' ') => {
                view.slice(view.run_back(at - 1, LETTER, LONGEST)..at - 1)
            }
            before => before,
        };
        Some(Self { start, end, before })
    }

    /// Whether the word is qualified by `name`, however the two are joined.
    fn is_named(&self, name: &[u8]) -> bool {
        let letters = self.before.iter().rev().filter(|byte| ALNUM.has(**byte));
        let mut letters = letters.map(u8::to_ascii_lowercase);
        name.iter().rev().all(|byte| letters.next() == Some(*byte))
    }

    fn is_env(&self, view: View<'_>) -> bool {
        let name = view.slice(self.start..self.end);
        name.iter().all(|byte| UPPER.has(*byte) || DIGIT.has(*byte) || *byte == b'_')
    }
}

/// Whether `rest`, the part of a name after the telling word, leaves its meaning alone:
/// `SECRET_KEY_BASE` is a secret, `secret_name` and `token_count` are not.
fn means_the_same(rest: &[u8], name: &[u8]) -> bool {
    const NEUTRAL: &[&[u8]] = &[
        b"key", b"base", b"value", b"secret", b"access", b"string", b"text", b"plain", b"raw",
        b"data", b"prod", b"production", b"dev", b"development", b"staging", b"test", b"live",
        b"main", b"default", b"old", b"new", b"current", b"previous", b"primary", b"secondary",
        b"confirm", b"confirmation", b"hex", b"pem", b"token", b"password",
    ];
    /// In capitals an owner may follow, as in `API_KEY_OPENAI`; these are not owners.
    const CHANGING: &[&[u8]] = &[
        b"ID", b"NAME", b"URL", b"URI", b"PATH", b"FILE", b"TYPE", b"HASH", b"ARN", b"COUNT",
        b"LIMIT", b"TTL", b"EXPIRY", b"EXPIRES", b"LENGTH", b"SIZE", b"REF", b"VERSION", b"HEADER",
        b"PREFIX", b"REGEX", b"FIELD", b"ALGORITHM", b"ISSUER", b"AUDIENCE", b"ENDPOINT", b"DIR",
        b"PROVIDER", b"ROTATION", b"POLICY", b"BUDGET", b"USAGE", b"MAX", b"MIN", b"IN", b"AT",
    ];
    let capitals = name.iter().all(|byte| !byte.is_ascii_lowercase() && *byte != b'.');
    let mut words = rest
        .split(|byte| !ALNUM.has(*byte))
        .flat_map(|part| part.chunk_by(|_, next| !next.is_ascii_uppercase() || capitals))
        .filter(|word| !word.is_empty());
    words.all(|word| {
        word.iter().all(u8::is_ascii_digit)
            || word == b"b64"
            || word.eq_ignore_ascii_case(b"base64")
            || NEUTRAL.iter().any(|neutral| word.eq_ignore_ascii_case(neutral))
            || capitals && !CHANGING.contains(&word)
    })
}

fn find(view: View<'_>, key: &Key<'_>, promise: Promise, kind: &'static str) -> Option<Finding> {
    let (at, form) = value_of(view, key)?;
    let query = form == Form::Query;
    let literal = Literal::read(view, at, query);
    let written = match (literal.quoted, form) {
        (true, _) => Written::Quoted,
        (false, Form::Plain | Form::Pair) => Written::Bare,
        (false, _) => Written::Literal,
    };
    let value = view.slice(literal.start..literal.end);
    if !suffices(promise, form, value, strength(value, written), literal.quoted) {
        return None;
    }
    let end = literal.full_end(view, query);
    let token = rules::token_at(view, literal.start);
    let kind = token.map_or(kind, |token| token.kind);
    let end = token.map_or(end, |token| token.end.max(end));
    Some(Finding { start: literal.start, end, kind })
}

/// Whether a value of this strength is taken for a secret, given what its key promised.
fn suffices(
    promise: Promise,
    form: Form,
    value: &[u8],
    strength: Strength,
    quoted: bool,
) -> bool {
    let plainly_mixed = strength == Strength::Mixed && !value.iter().any(|b| b"-_.:/".contains(b));
    let enough = match (promise, form) {
        (_, Form::Pair) => Strength::Random,
        (Promise::Password, Form::Env | Form::Flag) => Strength::Digits,
        (Promise::Password, _) if quoted && is_passphrase(value) => Strength::Words,
        (Promise::Password, _) if strength == Strength::Digits => Strength::Digits,
        (Promise::Password, _) => Strength::Mixed,
        (_, Form::Env) if value.len() >= 8 && !is_constant(value) => Strength::Words,
        (_, Form::Flag | Form::Spaced | Form::Query) if value.len() >= 8 => Strength::Mixed,
        (Promise::Key, _) if value.len() >= 8 && plainly_mixed && !is_slug(value) => {
            Strength::Mixed
        }
        _ => Strength::Random,
    };
    strength >= enough
}

/// `SECRET_VALUE_REF`: the name of another variable.
fn is_constant(value: &[u8]) -> bool {
    value.iter().all(|byte| UPPER.has(*byte) || *byte == b'_')
}

/// Labels of forms are single words ("Passwort") and constants say what they are for; a passphrase
/// is longer than the former and unlike the latter.
fn is_passphrase(value: &[u8]) -> bool {
    const TELLING: &[&[u8]] = &[b"pass", b"pwd", b"secret", b"token", b"key", b"auth"];
    let tells = |part: &&[u8]| value.windows(part.len()).any(|w| w.eq_ignore_ascii_case(part));
    value.len() >= 16 && !TELLING.iter().any(|part| tells(part))
}

/// Where the value of `key` begins, and in which form the two are put together.
fn value_of(view: View<'_>, key: &Key<'_>) -> Option<(usize, Form)> {
    let flag = view.has(key.start, "--");
    if flag && view.at(key.end).is_some_and(|byte| BLANK.has(byte)) {
        let at = view.run(key.end, BLANK, 8);
        return (view.at(at) != Some(b'-')).then_some((at, Form::Spaced));
    }
    if view.back(key.start, 1) == Some(b'<') && view.at(key.end) == Some(b'>') {
        return Some((key.end + 1, Form::Plain));
    }
    let gap = named_value(view, key.end).or_else(|| Gap::after(view, key.end))?;
    // One of the names in an ARN or a URN: `…:secret:prod/db`.
    if gap.sign == Sign::Colon && view.back(key.start, 1) == Some(b':') {
        return None;
    }
    let asked = matches!(view.back(key.start, 1), Some(b'?' | b'&'));
    let form = match gap.sign {
        Sign::Comma => Form::Pair,
        _ if flag => Form::Flag,
        Sign::Equals if asked => Form::Query,
        Sign::Equals if gap.tight && key.is_env(view) => Form::Env,
        _ => Form::Plain,
    };
    Some((gap.end, form))
}

/// What separates a key from its value.
pub(super) struct Gap {
    /// Where the value begins.
    pub(super) end: usize,
    sign: Sign,
    /// Whether there is nothing but the sign.
    tight: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Equals,
    Colon,
    Comma,
}

impl Gap {
    /// Reads the gap after a key that ends at `at`.
    pub(super) fn after(view: View<'_>, at: usize) -> Option<Self> {
        let closed = after_quote(view, at);
        let quoted = closed != at;
        // Markdown puts keys in bold: `**Token:** …`, `**Token**: …`.
        let bold = view.run(closed, Set::of(b"*"), 2);
        let before = view.run(bold, BLANK, 16);
        let (sign, length) = sign(view, before, quoted)?;
        let after = before + length;
        let mut end = view.run(view.run(after, Set::of(b"*"), 2), BLANK, 16);
        if sign == Sign::Comma && !view.at(end).is_some_and(|byte| QUOTE.has(byte)) {
            return None;
        }
        if sign == Sign::Colon {
            end = after_type(view, end).unwrap_or(end);
        }
        Some(Self { end, sign, tight: length == 1 && end - at == 1 })
    }
}

/// After the quote that closes a key, and the bracket of `env["KEY"]`.
fn after_quote(view: View<'_>, at: usize) -> usize {
    let slashes = view.run(at, BACKSLASH, 8);
    if !view.at(slashes).is_some_and(|byte| QUOTE.has(byte)) {
        return at;
    }
    view.run(slashes + 1, Set::of(b"]"), 1)
}

fn sign(view: View<'_>, at: usize, quoted: bool) -> Option<(Sign, usize)> {
    const SIGNS: &[(&str, Sign)] = &[
        ("===", Sign::Equals),
        ("==", Sign::Equals),
        ("=>", Sign::Equals),
        (":=", Sign::Equals),
        ("?=", Sign::Equals),
        ("=", Sign::Equals),
        (":", Sign::Colon),
        ("：", Sign::Colon),
        ("＝", Sign::Equals),
    ];
    if view.has(at, "::") || view.has(at, "=~") {
        return None;
    }
    if quoted && view.at(at) == Some(b',') {
        return Some((Sign::Comma, 1));
    }
    let (text, sign) = SIGNS.iter().find(|(text, _)| view.has(at, text))?;
    Some((*sign, text.len()))
}

/// After the type of `token: Option<&str> = "…"`.
fn after_type(view: View<'_>, at: usize) -> Option<usize> {
    let end = view.run(at, ALNUM.and(BLANK).and(Set::of(b"_&'<>[]|?,:.*")), 48);
    let typed = end > at && view.at(end) == Some(b'=') && !view.has(end, "=>");
    let spaced = view.at(end - 1).is_some_and(|byte| BLANK.has(byte));
    (typed && spaced).then(|| view.run(end + 1, BLANK, 16))
}

/// The value beside a name: `name: KEY` and `value: …` of Kubernetes, forms and JSON.
fn named_value(view: View<'_>, at: usize) -> Option<Gap> {
    let between = view.run(after_quote(view, at), SPACE.and(Set::of(b",;\"'\\")), 80);
    let value = view.has_any_case(between, "value") && between > at;
    let gap = if value { Gap::after(view, between + "value".len()) } else { None };
    gap.filter(|gap| gap.sign != Sign::Comma)
}
