//! What stands where a secret could and is none: templates, masks, references, code, paths, words.
//! Each question is asked by `value`, which knows the order.

use super::bytes::{LETTER, Set, WORD};
use super::holds_marker;
use super::random::{distinct, looks_random};

fn has(value: &[u8], literal: &str) -> bool {
    let literal = literal.as_bytes();
    let begins = |byte: &u8| {
        value.contains(&byte.to_ascii_lowercase()) || value.contains(&byte.to_ascii_uppercase())
    };
    // Most values have not even the first byte of what is looked for.
    literal.first().is_some_and(begins)
        && value
            .windows(literal.len())
            .any(|window| window.eq_ignore_ascii_case(literal))
}

fn starts(value: &[u8], literal: &str) -> bool {
    let literal = literal.as_bytes();
    value
        .get(..literal.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(literal))
}

/// Variables, and what is filled in later.
pub(super) fn is_template(value: &[u8]) -> bool {
    const OPENERS: &str = "${ $( {{ <% #{ %{ %( (?";
    let variable = |rest: &[u8]| {
        let braced = Set::of(b"{(:");
        let named = |byte: &u8| WORD.has(*byte) || Set::of(b"{}():>.-").has(*byte);
        rest.first()
            .is_some_and(|byte| LETTER.has(*byte) || *byte == b'_' || braced.has(*byte))
            && rest.iter().all(named)
    };
    match value {
        [b'<' | b'{' | b'[', ..] | [b'%', .., b'%'] => true,
        [b'$', rest @ ..] if variable(rest) => true,
        _ => holds_marker(value) || OPENERS.split(' ').any(|opener| has(value, opener)),
    }
}

/// What was blanked before us.
pub(super) fn is_masked(value: &[u8]) -> bool {
    const MASKS: &str = "xxxx XXXX *** ... ____ ---- … ••";
    let masks = |mask: &str| {
        let begins = mask
            .bytes()
            .next()
            .is_some_and(|byte| value.contains(&byte));
        begins
            && value
                .windows(mask.len())
                .any(|window| window == mask.as_bytes())
    };
    distinct(value) < 3 && value.is_ascii() || MASKS.split(' ').any(masks)
}

/// Names of places where the secret is, digests, numbers, and ids of the hosts.
pub(super) fn is_reference(value: &[u8]) -> bool {
    const STARTS: &str = "\
        process.env os.environ os.getenv import.meta env. env: env[ secrets. vars. vault: arn: \
        urn: ref+ data: file: ! sha1: sha1- sha256: sha256- sha384- sha512: sha512- md5: ses_ \
        msg_ prt_ toolu_ call_ req_";
    let named = STARTS.split(' ').any(|start| starts(value, start));
    // A YAML tag is a `!` and a word; a password may begin with `!` too.
    let tag = value.first() != Some(&b'!') || !value.iter().any(u8::is_ascii_digit);
    let number = matches!(value, [b'0', b'x', hex @ ..] if hex.len() <= 16
        && hex.iter().all(u8::is_ascii_hexdigit));
    named && tag || number || is_file(value) || has(value, "://")
}

/// `key.json`, `server-1.pem`.
fn is_file(value: &[u8]) -> bool {
    const ENDINGS: &str =
        "json pem key txt yaml yml toml p12 pfx crt cer jks env conf ini rs ts js py go md";
    let mut parts = value.rsplitn(2, |byte| *byte == b'.');
    let ending = parts.next().unwrap_or_default();
    parts.next().is_some_and(|stem| {
        ENDINGS.split(' ').any(|known| known.as_bytes() == ending) && !looks_random(stem)
    })
}

/// Calls, member accesses, indexing, borrows: the right-hand sides of code.
pub(super) fn is_expression(value: &[u8]) -> bool {
    let called = value.iter().any(|byte| b"([".contains(byte));
    let borrowed = matches!(value, [b'&' | b'*' | b'@', ..]);
    // `keys.x25519PrivateKey2`; no name is as long as the parts of a key.
    let member = value.contains(&b'.') && value.split(|byte| *byte == b'.').all(|p| p.len() < 32);
    let path = has(value, "::") || has(value, "->");
    called || borrowed || member || path
}

/// Files and folders; base64 holds slashes too.
pub(super) fn is_path(value: &[u8]) -> bool {
    match value {
        [b'.' | b'~', b'/', ..] | [b'.', b'.', b'/', ..] | [b'\\', b'\\', ..] => true,
        [drive, b':', b'\\' | b'/', ..] => LETTER.has(*drive),
        [b'/', rest @ ..] => {
            let first = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
            first.len() > 1 && first.iter().all(u8::is_ascii_lowercase) || !looks_random(value)
        }
        _ => value.contains(&b'/') && !looks_random(value),
    }
}

/// Words that stand where a secret will be, or that say of which type or make it is.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    const PARTS: &str = "\
        your example placeholder changeme change-me change_me changethis change-this \
        change_this replace redacted dummy sample -here _here fixme hidden masked";
    const STARTS: &str = "required nullable optional argon2 bcrypt scrypt pbkdf2 ^";
    const TYPES: &str = "int uint float varchar utf utf- base sha sha- oauth uuid";
    const WHOLE: &str = "\
        password passwd passphrase secret token apikey api_key api-key username undefined \
        string boolean number integer unknown default disabled enabled inherit include \
        same-origin sensitive private public object secretstr anonymous";
    let named = |name: &str| {
        let rest = value.get(name.len()..).unwrap_or_default();
        starts(value, name) && rest.iter().all(u8::is_ascii_digit)
    };
    // Placeholders are short, and the list of them is long.
    value.len() <= 64 && PARTS.split(' ').any(|part| has(value, part))
        || STARTS.split(' ').any(|start| starts(value, start))
        || TYPES.split(' ').any(named)
        || WHOLE
            .split(' ')
            .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}
