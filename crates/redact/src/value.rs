//! Judges values by their characters alone: random, made by people, or not secret at all.
//! Each rule sets how much like a secret a value must look.

use crate::MARKER;
use crate::view::{count, find, words};

/// Rank of a value: how much it looks like a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// A placeholder, a reference, a path, a type, an expression, a sentence.
    None,
    /// Digits and nothing else: a count as often as a PIN.
    Digits,
    /// Words, perhaps with dashes between them.
    Words,
    /// Letters with a digit or a special character, as people make passwords.
    Mixed,
    /// Random, as machines make keys.
    Random,
}

/// The place of a value in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Between quotes: a literal.
    Quoted,
    /// Bare where only literals are, such as an env file.
    Literal,
    /// Bare where an expression of a programming language may be.
    Bare,
}

/// Shorter values are not worth the false alarms.
const SHORTEST: usize = 6;

/// Returns how much `value` looks like a secret.
pub(crate) fn strength(value: &[u8], written: Written) -> Strength {
    // `=` and `:` are the rest of an operator. Blanks, and everything from U+0800 up, CJK foremost,
    // make a sentence or a label.
    let foreign = |byte: &u8| matches!(byte, 0..=b' ' | 0x7f | 0xe0..);
    count(value.len());
    if value.len() < SHORTEST || matches!(value, [b'=' | b':', ..]) || value.iter().any(foreign) {
        return Strength::None;
    }
    let expression = match written {
        Written::Quoted => false,
        Written::Literal => value.contains(&b'('),
        Written::Bare => is_expression(value),
    };
    if is_template(value) || is_masked(value) || is_reference(value) || expression || is_path(value)
    {
        return Strength::None;
    }
    if looks_random(value) {
        return Strength::Random;
    }
    if is_placeholder(value) {
        return Strength::None;
    }
    // A label such as `Forgot?` has its mark at the end.
    let marks = value
        .iter()
        .rev()
        .take_while(|byte| b"?!*:.".contains(byte));
    let unmarked = value.get(..value.len() - marks.count()).unwrap_or_default();
    let letters = value.iter().any(u8::is_ascii_alphabetic) || !value.is_ascii();
    let digits = value.iter().any(u8::is_ascii_digit);
    let special = unmarked.iter().any(|byte| is_special(*byte));
    match (letters, digits, special) {
        (true, true, _) | (true, _, true) | (_, true, true) => Strength::Mixed,
        (true, false, false) => Strength::Words,
        (false, true, false) if value.iter().all(u8::is_ascii_digit) => Strength::Digits,
        (false, ..) => Strength::None,
    }
}

// Checks of the rules: each sees the beginning of what a pattern matched.

/// Some variety, so that `sk-ant-api03-xxxxxxxx` stays: eight equal neighbours are never random.
pub(crate) fn is_varied(body: &[u8]) -> bool {
    let mut runs = body.chunk_by(|left, right| left == right);
    distinct(body) >= 5 && !runs.any(|run| run.len() >= 8)
}

/// Some variety in the first 52 bytes: the rest of a key by Azure says where it is used, and may
/// have thirteen equal letters.
pub(crate) fn begins_varied(body: &[u8]) -> bool {
    body.get(..52).is_some_and(is_varied)
}

pub(crate) fn has_digit(body: &[u8]) -> bool {
    is_varied(body) && body.iter().take(64).any(u8::is_ascii_digit)
}

/// A digit, or letters of both cases that are not the words of a placeholder.
pub(crate) fn is_jumbled(body: &[u8]) -> bool {
    let begin = body.get(..64).unwrap_or(body);
    let cases =
        begin.iter().any(u8::is_ascii_uppercase) && begin.iter().any(u8::is_ascii_lowercase);
    has_digit(body) || is_varied(body) && cases && !is_placeholder(begin)
}

/// Several beginnings are tried, as a name may precede what is random.
pub(crate) fn is_random_somewhere(body: &[u8]) -> bool {
    let mut beginnings = [20, 32, 64, body.len().min(64)].into_iter();
    is_varied(body) && beginnings.any(|length| body.get(..length).is_some_and(looks_random))
}

/// Any word, in a place where only passwords are.
pub(crate) fn is_word(value: &[u8]) -> bool {
    !is_template(value)
        && !is_masked(value)
        && !is_reference(value)
        && !is_path(value)
        && (looks_random(value) || !is_placeholder(value))
}

pub(crate) fn is_mixed(value: &[u8]) -> bool {
    strength(value, Written::Quoted) >= Strength::Mixed
}

/// Any word with a letter, in a place where numbers are of something else.
pub(crate) fn is_wordy(value: &[u8]) -> bool {
    strength(value, Written::Quoted) >= Strength::Words
}

/// Letters with a digit or a special character, unlike names of things: `CRAM-MD5`, `db_pass1`.
pub(crate) fn is_no_name(value: &[u8]) -> bool {
    is_mixed(value) && !is_slug(value) && !is_telling(value)
}

/// Names say what they are for.
pub(crate) fn is_telling(value: &[u8]) -> bool {
    let mut parts = ["pass", "pwd", "secret", "token", "key", "auth"].into_iter();
    parts.any(|part| has(value, part))
}

/// Opaque credentials in a header.
pub(crate) fn is_credential(value: &[u8]) -> bool {
    let plain = without_slashes(value);
    // The cheaper question first.
    looks_random(&plain) && strength(&plain, Written::Quoted) == Strength::Random
}

/// Credentials or a session where the name before them leaves no doubt.
pub(crate) fn is_session(value: &[u8]) -> bool {
    let plain = without_slashes(value);
    plain.len() >= 8 && is_mixed(&plain)
}

/// One of the cookies is random, or is named after a session and mixed.
pub(crate) fn gives_access(cookies: &[u8]) -> bool {
    const SESSIONS: &str = "sess sid auth token jwt remember login";
    cookies.split(|byte| *byte == b';').any(|cookie| {
        let mut parts = cookie.splitn(2, |byte| *byte == b'=');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next());
        let session = || words(SESSIONS).any(|part| has(name, part));
        value.is_some_and(|value| {
            value.len() >= 8
                && !value.starts_with(b"=")
                && (is_credential(value) || session() && is_session(value))
        })
    })
}

/// `Basic` is followed by the base64 of a name and a password, or in prose by another word.
pub(crate) fn is_basic_pair(text: &[u8]) -> bool {
    let digit = |byte: &u8| match *byte {
        byte @ b'A'..=b'Z' => u32::from(byte - b'A'),
        byte @ b'a'..=b'z' => u32::from(byte - b'a') + 26,
        byte @ b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' | b'-' => 62,
        _ => 63,
    };
    let digits: Vec<u32> = text
        .iter()
        .filter(|byte| **byte != b'=')
        .map(digit)
        .collect();
    let decoded = digits.chunks(4).flat_map(|chunk| {
        let bits = chunk.iter().fold(0, |bits, digit| bits << 6 | digit);
        let [_, bytes @ ..] = (bits << (6 * (4 - chunk.len()))).to_be_bytes();
        bytes.into_iter().take(chunk.len() - 1)
    });
    let decoded: Vec<u8> = decoded.collect();
    digits.len() % 4 != 1
        && decoded.contains(&b':')
        && decoded.iter().all(|byte| *byte >= b' ' && *byte != 0x7f)
}

/// The user of a URL is a token.
pub(crate) fn is_url_user(userinfo: &[u8]) -> bool {
    let user = userinfo
        .split(|byte| *byte == b':')
        .next()
        .unwrap_or_default();
    strength(user, Written::Quoted) == Strength::Random
}

/// Returns true for a password in a URL: every word counts, even a weak one; only templates do not.
pub(crate) fn is_url_password(password: &[u8]) -> bool {
    // The host ended and the `@` is of something else: `http://host:80,me@example.org`.
    let digits = password
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let after = password.get(digits).filter(|_| digits > 0);
    let port = after.is_some_and(|byte| b",;)".contains(byte) || *byte >= 0x80);
    let variable = match password {
        [b'$' | b'%' | b':', first, rest @ ..] => {
            let named = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.()%".contains(byte);
            (first.is_ascii_alphabetic() || b"_(".contains(first)) && rest.iter().all(named)
        }
        _ => false,
    };
    let masked = password.iter().all(|byte| b"*.xX".contains(byte)) || has(password, "***");
    !port && !variable && !masked
}

/// A password that was not encoded for its URL. A path after a port is not a password.
pub(crate) fn is_raw_password(password: &[u8]) -> bool {
    let mut parts = password.split(|byte| b"/?#".contains(byte));
    // No port is empty before a `#`: that is the first character of a password.
    let port = !password.starts_with(b"#")
        && parts
            .next()
            .is_none_or(|part| part.iter().all(u8::is_ascii_digit));
    !port && !has(password, "$") && is_url_password(password)
}

/// Base64 contains slashes, which would make it a path. Its beginning is enough to judge it.
fn without_slashes(text: &[u8]) -> Vec<u8> {
    let plain = text.iter().copied().filter(|byte| *byte != b'/');
    plain.take(96).collect()
}

/// A line of a private key has at least this much base64.
pub(crate) const KEY_LINE: usize = 24;

/// Returns true if `run` can be a line of a private key; paths are as long.
pub(crate) fn is_key_line(run: &[u8]) -> bool {
    run.len() >= KEY_LINE && looks_random(run.get(..64).unwrap_or(run))
}

// Values that are not secrets, in places where one could be.

/// Returns true if a replacement begins in `text`: then it has been looked at before.
pub(crate) fn holds_marker(text: &[u8]) -> bool {
    find(text, MARKER).is_some()
}

/// Returns true if `value` contains `literal`, whatever the case.
pub(crate) fn has(value: &[u8], literal: impl AsRef<[u8]>) -> bool {
    let literal = literal.as_ref();
    let begins = |first: &u8| {
        value.contains(&first.to_ascii_lowercase()) || value.contains(&first.to_ascii_uppercase())
    };
    let mut windows = value.windows(literal.len());
    // Most values do not even contain the first byte.
    literal.first().is_some_and(begins)
        && windows.any(|window| window.eq_ignore_ascii_case(literal))
}

fn starts(value: &[u8], literal: &[u8]) -> bool {
    let start = value.get(..literal.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(literal))
}

/// Variables, and what is filled in later.
fn is_template(value: &[u8]) -> bool {
    const OPENERS: &str = "${ $( {{ <% #{ %{ %( (?";
    let variable = |rest: &[u8]| {
        let begins = |byte: &u8| byte.is_ascii_alphabetic() || b"_{(:".contains(byte);
        let named = |byte: &u8| byte.is_ascii_alphanumeric() || b"_{}():>.-".contains(byte);
        rest.first().is_some_and(begins) && rest.iter().all(named)
    };
    match value {
        [b'<' | b'{' | b'[', ..] | [b'%', .., b'%'] => true,
        [b'$', rest @ ..] if variable(rest) => true,
        _ => holds_marker(value) || words(OPENERS).any(|opener| has(value, opener)),
    }
}

/// A value that another program blanked.
pub(crate) fn is_masked(value: &[u8]) -> bool {
    const MASKS: &str = "xxxx XXXX *** ... ____ ---- … ••";
    let mut masks = words(MASKS);
    distinct(value) < 3 && value.is_ascii() || masks.any(|mask| find(value, mask).is_some())
}

/// Names of places where the secret is, digests, numbers, files, and ids of the hosts.
fn is_reference(value: &[u8]) -> bool {
    const STARTS: &str = "\
        process.env os.environ os.getenv import.meta env. env: env[ secrets. vars. vault: arn: \
        urn: ref+ data: file: ! sha1: sha1- sha256: sha256- sha384- sha512: sha512- md5: ses_ \
        msg_ prt_ toolu_ call_ req_";
    const FILES: &str =
        "json pem key txt yaml yml toml p12 pfx crt cer jks env conf ini rs ts js py go md";
    let named = words(STARTS).any(|start| starts(value, start));
    // A YAML tag is a `!` and a word; a password may begin with `!` too.
    let tag = value.first() != Some(&b'!') || !value.iter().any(u8::is_ascii_digit);
    let number = matches!(value, [b'0', b'x', hex @ ..] if hex.len() <= 16
        && hex.iter().all(u8::is_ascii_hexdigit));
    let mut parts = value.rsplitn(2, |byte| *byte == b'.');
    let ending = parts.next().unwrap_or_default();
    let file = parts
        .next()
        .is_some_and(|stem| words(FILES).any(|known| known == ending) && !looks_random(stem));
    named && tag || number || file || has(value, "://")
}

/// Calls, member accesses, indexing, borrows: the right-hand sides of code.
fn is_expression(value: &[u8]) -> bool {
    let called = value.iter().any(|byte| b"([".contains(byte));
    let borrowed = matches!(value, [b'&' | b'*' | b'@', ..]);
    // `keys.x25519PrivateKey2`; no name is as long as the parts of a key.
    let member = value.contains(&b'.') && value.split(|byte| *byte == b'.').all(|p| p.len() < 32);
    called || borrowed || member || has(value, "::") || has(value, "->")
}

/// Files and folders; base64 contains slashes too.
fn is_path(value: &[u8]) -> bool {
    match value {
        [b'.' | b'~', b'/', ..] | [b'.', b'.', b'/', ..] | [b'\\', b'\\', ..] => true,
        [drive, b':', b'\\' | b'/', ..] => drive.is_ascii_alphabetic(),
        [b'/', rest @ ..] => {
            let first = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
            first.len() > 1 && first.iter().all(u8::is_ascii_lowercase) || !looks_random(value)
        }
        _ => value.contains(&b'/') && !looks_random(value),
    }
}

/// Words that are where a secret will be, or that say of which type or make it is.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    const PARTS: &str = "\
        your example placeholder changeme change-me change_me changethis change-this \
        change_this replace redacted dummy sample -here _here fixme hidden masked";
    const STARTS: &str = "required nullable optional argon2 bcrypt scrypt pbkdf2 ^";
    const TYPES: &str = "int uint float varchar utf utf- base sha sha- oauth uuid";
    const WHOLE: &str = "\
        password passwd passphrase secret token apikey api_key api-key username undefined \
        string boolean number integer unknown default disabled enabled inherit include \
        same-origin sensitive private public object secretstr anonymous";
    let typed = |name: &[u8]| {
        let rest = value.get(name.len()..).unwrap_or_default();
        starts(value, name) && rest.iter().all(u8::is_ascii_digit)
    };
    let whole = |word: &[u8]| value.eq_ignore_ascii_case(word);
    // Placeholders are short, and the list of them is long.
    value.len() <= 64 && words(PARTS).any(|part| has(value, part))
        || words(STARTS).any(|start| starts(value, start))
        || words(TYPES).any(typed)
        || words(WHOLE).any(whole)
}

/// Words joined by dashes, dots, underscores or capitals, each with two digits at most: a name.
pub(crate) fn is_slug(value: &[u8]) -> bool {
    let joined = value.split(|byte| b"-_.:/".contains(byte));
    let capital = |left: &u8, right: &u8| left.is_ascii_uppercase() || !right.is_ascii_uppercase();
    joined.flat_map(|part| part.chunk_by(capital)).all(|part| {
        let word = part
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let tail = part.get(word..).unwrap_or_default();
        let short = tail.len() <= if word == 0 { 4 } else { 2 };
        short && tail.iter().all(u8::is_ascii_digit)
    })
}

// Randomness.

/// Returns true if `value` looks random rather than made of words.
pub(crate) fn looks_random(value: &[u8]) -> bool {
    if value.len() < 12 || distinct(value) < 7 {
        return false;
    }
    let mut runs = value.split(|byte| !byte.is_ascii_alphanumeric());
    is_uuid(value) || changes_often(value) || runs.any(is_gibberish)
}

/// Letters, digits and cases change places too often for words. Of random base64 and hex nearly
/// every second neighbour changes; of `camelCaseNames` every fifth at most, as only the capital is
/// counted, and twice where no word follows it.
fn changes_often(value: &[u8]) -> bool {
    let changes = changes(value);
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    changes * 5 >= value.len() && digits >= 2 || changes * 4 >= value.len()
}

/// Returns how often letters, digits and cases change places.
fn changes(value: &[u8]) -> usize {
    let classes = || value.iter().map(|byte| Class::of(*byte));
    let after_next = classes().skip(2).map(Some).chain([None]);
    let changes = classes().zip(classes().skip(1)).zip(after_next);
    let changes = changes.map(|((left, right), next)| match (left, right) {
        // What joins words says nothing, and `Word` is how words begin.
        (Class::Joint, _) | (_, Class::Joint) | (Class::Upper, Class::Lower) => 0,
        (Class::Lower, Class::Upper) => 1 + usize::from(next != Some(Class::Lower)),
        (left, right) => usize::from(left != right),
    });
    changes.sum()
}

/// One long word that cannot be pronounced, with digits inside, or all of hex.
fn is_gibberish(run: &[u8]) -> bool {
    let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
    let hex = run.iter().all(u8::is_ascii_hexdigit) && digits >= 4 && digits < run.len();
    if run.len() < 20 {
        return hex && run.len() >= 16;
    }
    let numbers = run.chunk_by(|left, right| left.is_ascii_digit() == right.is_ascii_digit());
    let numbers = numbers.filter(|part| part.first().is_some_and(u8::is_ascii_digit));
    // `y` is a vowel here. Seven consonants do not meet in words, six do: "catchphrase".
    let vowel = |byte: &u8| {
        let vowel = matches!(
            byte.to_ascii_lowercase(),
            b'a' | b'e' | b'i' | b'o' | b'u' | b'y'
        );
        vowel || !byte.is_ascii_alphabetic()
    };
    hex || numbers.count() >= 2 || run.split(vowel).any(|run| run.len() >= 7)
}

/// Letters of both cases that are no words, although no digit is among them: pairs that are rare in
/// words, and capitals inside. Half of the pairs of a random text are rare or change the case; of
/// 100 names in programs, none is like that, or one.
pub(crate) fn is_jumble(value: &[u8]) -> bool {
    /// The letters that often follow each letter in words and in programs, `a` in the lowest bit.
    const FOLLOW: [u32; 26] = [
        0x13e_bd6f, 0x16_4917, 0x1e_4d95, 0x16_4919, 0xff_f97f, 0x1e_4939, 0x16_6991, 0x1a_4111,
        0x2ae_f87f, 0x0, 0x4_0110, 0x11c_4919, 0x14_d113, 0x3c_ed7d, 0x7e_fd6f, 0x1e_c991,
        0x10_0000, 0x13e_fd7d, 0x11c_ddd5, 0x11e_d9b5, 0xe_b977, 0x4111, 0x2_6111, 0x8_8111,
        0x4_a000, 0x10,
    ];
    let cases =
        value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    if value.len() < 10 || !cases || !value.iter().all(u8::is_ascii_alphabetic) || is_telling(value)
    {
        return false;
    }
    let letter = |byte: u8| usize::from(byte.to_ascii_lowercase() - b'a');
    let rare = value.array_windows().filter(|[left, right]| {
        let follow = FOLLOW.get(letter(*left)).copied().unwrap_or_default();
        follow >> letter(*right) & 1 == 0
    });
    (rare.count() + changes(value)) * 2 >= value.len()
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
            byte if is_special(byte) => Self::Special,
            _ => Self::Joint,
        }
    }
}

/// Returns true for what people put into passwords and not into names.
fn is_special(byte: u8) -> bool {
    b"!@#$%^&*+=~?()[]{}|;".contains(&byte)
}

/// Returns the number of different ASCII bytes in `value`.
fn distinct(value: &[u8]) -> u32 {
    let ascii = value.iter().filter(|byte| byte.is_ascii());
    let seen = ascii.fold(0_u128, |seen, byte| seen | 1 << *byte);
    seen.count_ones()
}

fn is_uuid(value: &[u8]) -> bool {
    let dashed = |(place, byte): (usize, &u8)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    value.len() == 36 && value.iter().enumerate().all(dashed)
}
