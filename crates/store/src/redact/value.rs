//! How much a value looks like a secret, judged from its characters alone.
//! What its key says, and how much is needed there, is for `assign` and `header`.

use super::MARKER;
use super::bytes::{ALNUM, DIGIT, LETTER, Set, WORD};

/// How much a value looks like a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// A placeholder, a reference, a path, a type, an expression, a sentence.
    None,
    /// Digits and nothing else: a count as often as a PIN.
    Digits,
    /// Words, perhaps with dashes between them.
    Words,
    /// Letters with a digit or a special character, as people make passwords.
    Mixed,
    /// Drawn by lot, as machines make keys.
    Random,
}

/// How a value stands in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Between quotes: a literal.
    Quoted,
    /// Bare where only literals stand, such as an env file.
    Literal,
    /// Bare where an expression of a programming language may stand.
    Bare,
}

/// Values no longer than this are judged whole, longer ones by their beginning.
pub(super) const WINDOW: usize = 128;

/// Shorter values are not worth the false alarms.
const SHORTEST: usize = 6;

/// Judges `value`.
pub(super) fn strength(value: &[u8], written: Written) -> Strength {
    if value.len() < SHORTEST || is_template(value) || is_masked(value) || is_reference(value) {
        return Strength::None;
    }
    // Blanks, and everything from U+0800 up, CJK foremost, make a sentence or a label.
    if value.iter().any(|byte| matches!(byte, 0..=b' ' | 0x7f | 0xe0..)) {
        return Strength::None;
    }
    let expression = match written {
        Written::Quoted => false,
        Written::Literal => value.contains(&b'('),
        Written::Bare => is_expression(value),
    };
    if expression || is_path(value) {
        return Strength::None;
    }
    if looks_random(value) {
        return Strength::Random;
    }
    if is_placeholder(value) {
        return Strength::None;
    }
    let any = |value: &[u8], set: Set| value.iter().any(|byte| set.has(*byte));
    let letters = any(value, LETTER) || !value.is_ascii();
    match (letters, any(value, DIGIT), any(without_punctuation(value), SPECIAL)) {
        (true, true, _) | (true, _, true) | (_, true, true) => Strength::Mixed,
        (true, false, false) => Strength::Words,
        (false, true, false) if value.iter().all(u8::is_ascii_digit) => Strength::Digits,
        (false, ..) => Strength::None,
    }
}

/// Whether `value` looks drawn by lot.
pub(super) fn looks_random(value: &[u8]) -> bool {
    if value.len() < 12 || distinct(value) < 7 {
        return false;
    }
    let mut runs = value.split(|byte| !ALNUM.has(*byte));
    is_uuid(value) || changes_often(value) || runs.any(is_gibberish)
}

/// Letters, digits and cases change places too often for words. Of random base64 and hex nearly
/// every second neighbour changes; of `camelCaseNames` every fifth at most, as only the capital is
/// counted, and twice where no word follows it.
fn changes_often(value: &[u8]) -> bool {
    let classes = || value.iter().map(|byte| Class::of(*byte));
    let after_next = classes().skip(2).map(Some).chain([None]);
    let changes: usize = classes()
        .zip(classes().skip(1))
        .zip(after_next)
        .map(|((left, right), next)| match (left, right) {
            // What joins words says nothing, and `Word` is how words begin.
            (Class::Joint, _) | (_, Class::Joint) | (Class::Upper, Class::Lower) => 0,
            (Class::Lower, Class::Upper) => 1 + usize::from(next != Some(Class::Lower)),
            (left, right) => usize::from(left != right),
        })
        .sum();
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let often = |share: usize| changes * share >= value.len();
    often(5) && digits >= 2 || often(4)
}

/// One long word that nobody can pronounce, with digits inside, or all of hex.
fn is_gibberish(run: &[u8]) -> bool {
    let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
    let hex = run.iter().all(u8::is_ascii_hexdigit) && digits >= 4 && digits < run.len();
    if run.len() < 20 {
        return hex && run.len() >= 16;
    }
    let numbers = run.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty());
    // `y` is a vowel here. Seven consonants do not meet in words, six do: "catchphrase".
    let mut consonants = run.split(|byte| !LETTER.has(*byte) || b"aeiouyAEIOUY".contains(byte));
    hex || numbers.count() >= 2 || consonants.any(|run| run.len() >= 7)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Special,
    Joint,
}

impl Class {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' => Self::Lower,
            b'A'..=b'Z' => Self::Upper,
            b'0'..=b'9' => Self::Digit,
            byte if SPECIAL.has(byte) => Self::Special,
            _ => Self::Joint,
        }
    }
}

/// How many different bytes there are in `value`, counting ASCII only.
pub(super) fn distinct(value: &[u8]) -> u32 {
    let ascii = value.iter().filter(|byte| byte.is_ascii());
    ascii.fold(0_u128, |seen, byte| seen | 1 << *byte).count_ones()
}

/// Words joined by dashes, dots, underscores or capitals, each with two digits at most: a name.
pub(super) fn is_slug(value: &[u8]) -> bool {
    let joined = value.split(|byte| b"-_.:/".contains(byte));
    let capital = |left: &u8, right: &u8| left.is_ascii_uppercase() || !right.is_ascii_uppercase();
    joined.flat_map(|part| part.chunk_by(capital)).all(|part| {
        let word = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let tail = part.get(word..).unwrap_or_default();
        let short = tail.len() <= if word == 0 { 4 } else { 2 };
        short && tail.iter().all(u8::is_ascii_digit)
    })
}

/// What people put into passwords and nobody into names.
const SPECIAL: Set = Set::of(b"!@#$%^&*+=~?()[]{}|;");

/// A label such as `Forgot?` has its mark at the end.
fn without_punctuation(value: &[u8]) -> &[u8] {
    let marks = value.iter().rev().take_while(|byte| b"?!*:.".contains(byte)).count();
    value.get(..value.len() - marks).unwrap_or_default()
}

fn has(value: &[u8], literal: &[u8]) -> bool {
    value.windows(literal.len()).any(|window| window.eq_ignore_ascii_case(literal))
}

fn starts(value: &[u8], literal: &[u8]) -> bool {
    value.get(..literal.len()).is_some_and(|start| start.eq_ignore_ascii_case(literal))
}

fn is_template(value: &[u8]) -> bool {
    const OPENERS: &[&[u8]] = &[b"${", b"$(", b"{{", b"<%", b"#{", b"%{", b"%(", b"(?", MARKER.as_bytes()];
    let variable = |rest: &[u8]| {
        let braced = Set::of(b"{(:");
        let named = |byte: &u8| WORD.has(*byte) || Set::of(b"{}():>.-").has(*byte);
        rest.first().is_some_and(|byte| LETTER.has(*byte) || *byte == b'_' || braced.has(*byte))
            && rest.iter().all(named)
    };
    match value {
        [b'<' | b'{' | b'[', ..] | [b'%', .., b'%'] => true,
        [b'$', rest @ ..] if variable(rest) => true,
        _ => OPENERS.iter().any(|opener| has(value, opener)),
    }
}

fn is_masked(value: &[u8]) -> bool {
    const MASKS: &[&[u8]] =
        &[b"xxxx", b"XXXX", b"***", b"...", b"____", b"----", "…".as_bytes(), "••".as_bytes()];
    let masks = |mask: &&[u8]| value.windows(mask.len()).any(|window| window == *mask);
    distinct(value) < 3 && value.is_ascii() || MASKS.iter().any(masks)
}

/// Names of places where the secret is, digests, numbers, and ids of the hosts.
fn is_reference(value: &[u8]) -> bool {
    const STARTS: &[&[u8]] = &[
        b"process.env", b"os.environ", b"os.getenv", b"import.meta", b"env.", b"env:", b"env[",
        b"secrets.", b"vars.", b"vault:", b"arn:", b"urn:", b"ref+", b"data:", b"file:", b"!",
        b"sha1:", b"sha1-", b"sha256:", b"sha256-", b"sha384-", b"sha512:", b"sha512-", b"md5:",
        b"ses_", b"msg_", b"prt_", b"toolu_", b"call_", b"req_",
    ];
    let named = STARTS.iter().any(|start| starts(value, start));
    // A YAML tag is a `!` and a word; a password may begin with `!` too.
    let tag = value.first() != Some(&b'!') || !value.iter().any(u8::is_ascii_digit);
    let number = matches!(value, [b'0', b'x', hex @ ..] if hex.len() <= 16
        && hex.iter().all(u8::is_ascii_hexdigit));
    named && tag || number || is_file(value) || has(value, b"://")
}

/// `key.json`, `server-1.pem`.
fn is_file(value: &[u8]) -> bool {
    const ENDINGS: &[&[u8]] = &[
        b"json", b"pem", b"key", b"txt", b"yaml", b"yml", b"toml", b"p12", b"pfx", b"crt", b"cer",
        b"jks", b"env", b"conf", b"ini", b"rs", b"ts", b"js", b"py", b"go", b"md",
    ];
    let mut parts = value.rsplitn(2, |byte| *byte == b'.');
    let ending = parts.next().unwrap_or_default();
    parts.next().is_some_and(|stem| ENDINGS.contains(&ending) && !looks_random(stem))
}

/// Calls, member accesses, indexing, borrows: the right-hand sides of code.
fn is_expression(value: &[u8]) -> bool {
    let called = value.iter().any(|byte| b"([".contains(byte));
    let borrowed = matches!(value, [b'&' | b'*' | b'@', ..]);
    // `keys.x25519PrivateKey2`; no name is as long as the parts of a key.
    let member = value.contains(&b'.') && value.split(|byte| *byte == b'.').all(|p| p.len() < 32);
    let path = has(value, b"::") || has(value, b"->");
    called || borrowed || member || path
}

fn is_path(value: &[u8]) -> bool {
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
fn is_placeholder(value: &[u8]) -> bool {
    const PARTS: &[&[u8]] = &[
        b"your", b"example", b"placeholder", b"changeme", b"change-me", b"change_me", b"changethis",
        b"change-this", b"change_this", b"replace", b"redacted", b"dummy", b"sample", b"-here",
        b"_here", b"fixme", b"hidden", b"masked",
    ];
    const STARTS: &[&[u8]] = &[
        b"required", b"nullable", b"optional", b"argon2", b"bcrypt", b"scrypt", b"pbkdf2", b"^",
    ];
    const TYPES: &[&[u8]] = &[
        b"int", b"uint", b"float", b"varchar", b"utf", b"utf-", b"base", b"sha", b"sha-", b"oauth",
        b"uuid",
    ];
    const WHOLE: &[&[u8]] = &[
        b"password", b"passwd", b"passphrase", b"secret", b"token", b"apikey", b"api_key",
        b"api-key", b"username", b"undefined", b"string", b"boolean", b"number", b"integer",
        b"unknown", b"default", b"disabled", b"enabled", b"inherit", b"include", b"same-origin",
        b"sensitive", b"private", b"public", b"object", b"secretstr", b"anonymous",
    ];
    let named = |name: &[u8]| {
        let rest = value.get(name.len()..).unwrap_or_default();
        starts(value, name) && rest.iter().all(u8::is_ascii_digit)
    };
    // Placeholders are short, and the list of them is long.
    value.len() <= 64 && PARTS.iter().any(|part| has(value, part))
        || STARTS.iter().any(|start| starts(value, start))
        || TYPES.iter().any(|name| named(name))
        || WHOLE.iter().any(|word| value.eq_ignore_ascii_case(word))
}

fn is_uuid(value: &[u8]) -> bool {
    let dashed = |(place, byte): (usize, &u8)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    value.len() == 36 && value.iter().enumerate().all(dashed)
}
