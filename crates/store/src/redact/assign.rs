//! Values whose key says that they are secret: env files, YAML, JSON, code, flags, queries, XML.
//! Values that can be told by themselves are in `token`.

use super::Finding;
use super::bytes::{B64, BLANK, LETTER, UPPER, View};
use super::gap::{Gap, Sign, named_value};
use super::key::Key;
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

/// `password` and its synonyms.
pub(super) fn password(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    let key = Key::around(view, at, word)?;
    find(view, &key, Promise::Password, "password")
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
    if !last || !begins {
        None
    } else {
        find(view, &key, Promise::Password, "password")
    }
}

/// `secret`, which also is what stores of secrets call the names of theirs.
pub(super) fn secret(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    let key = Key::around(view, at, word)?;
    find(view, &key, Promise::Key, "secret")
}

/// `credential` and `credentials`.
pub(super) fn credential(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    let plural = matches!(view.at(at + word.len()), Some(b's' | b'S'));
    let word = if plural { "credentials" } else { word };
    let key = Key::around(view, at, word)?;
    find(view, &key, Promise::Token, "credential")
}

/// `token`, unless it is one that opens nothing.
pub(super) fn token(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    /// Cursors, locks and vocabularies: opaque, but they open nothing.
    const HARMLESS: &str = "\
        next page continuation cancellation cancel sync resume fencing lease request change \
        idempotency eos bos pad stop special mask";
    let key = Key::around(view, at, word)?;
    let harmless = HARMLESS.split(' ').any(|name| key.is_named(name));
    if harmless {
        None
    } else {
        find(view, &key, Promise::Token, "token")
    }
}

/// A key of a map is called `key` too, so it must be said to be of a lock.
pub(super) fn key(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    const OF_LOCKS: &str = "\
        api access secret private auth signing signature encryption crypt cipher master \
        account shared preshared license client service storage subscription admin app \
        application deploy webhook hmac aes jwt ssh consumer integration role";
    let key = Key::around(view, at, word)?;
    let of_a_lock = OF_LOCKS.split(' ').any(|name| key.is_named(name));
    if of_a_lock {
        find(view, &key, Promise::Key, "api-key")
    } else {
        None
    }
}

/// `"auth": "…"` of container registries and `_auth=` of npm.
pub(super) fn auth(view: View<'_>, at: usize, word: &str) -> Option<Finding> {
    let key = Key::around(view, at, word)?;
    let whole = key.end == at + word.len() && matches!(key.before, [] | [b'_']);
    let found = if whole {
        find(view, &key, Promise::Token, "basic-auth")
    } else {
        None
    };
    // Both hold base64, and many other things are called `auth`.
    found.filter(|found| view.run(found.start, B64, WINDOW) >= found.end.min(found.start + WINDOW))
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
    if !suffices(
        promise,
        form,
        value,
        strength(value, written),
        literal.quoted,
    ) {
        return None;
    }
    let end = literal.full_end(view, query);
    let token = rules::token_at(view, literal.start);
    let kind = token.map_or(kind, |token| token.kind);
    let end = token.map_or(end, |token| token.end.max(end));
    Some(Finding {
        start: literal.start,
        end,
        kind,
    })
}

/// Whether a value of this strength is taken for a secret, given what its key promised.
fn suffices(promise: Promise, form: Form, value: &[u8], strength: Strength, quoted: bool) -> bool {
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
    const TELLING: &str = "pass pwd secret token key auth";
    let tells = |part: &str| {
        let mut windows = value.windows(part.len());
        windows.any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
    };
    value.len() >= 16 && !TELLING.split(' ').any(tells)
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
