//! Values with a telling name, as in `KEY=value` of shells and env files, `key: value` of YAML and
//! headers, JSON, TOML, XML, code, flags, queries and connection strings.
//!
//! ```text
//!   "db_password" : "hunter2…",
//!    └── name ──┘└gap┘└literal┘
//! ```
//!
//! The keyword is inside the name. From there the name is read in both directions, then the gap,
//! then the value, and last both are judged together. Nothing is read further than a few hundred
//! bytes before the value is accepted. There is no pattern here because names such as `token` and
//! `key` are in every text: a title about them must not compile anything.

use crate::Finding;
use crate::literal::Literal;
use crate::rule::Spot;
use crate::rules;
use crate::value::{Strength, Written, holds_marker, is_jumble, is_slug, is_telling, strength};
use crate::view::{View, is_base64, is_blank, is_quote, words};

/// The keyword of a name, and with it what else the name must say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// People make passwords; weak ones are secret too.
    Password,
    /// `pass` is a word of test reports; as the end of a name it is a password.
    Short,
    /// Also what stores of secrets call the names of theirs: `secret: "db-creds"`.
    Secret,
    /// Parsers, models and design systems have tokens as well.
    Token,
    /// A map has keys too, so the name must say that it is a credential: `api_key`.
    Key,
    /// `GITHUB_PAT`, but neither `path` nor `pat`.
    Pat,
    Credential,
    /// `"auth": "…"` of container registries and `_auth=` of npm.
    Auth,
}

/// The way in which name and value are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `KEY=value`, without blanks.
    Env,
    /// `--key=value`.
    Flag,
    /// `--key value`, which may also be a sentence about the flag; `ENV KEY value`.
    Spaced,
    /// `secret_access_key value`, as arguments of a command.
    Beside,
    /// `?key=value`.
    Query,
    /// `("key", "value")`.
    Pair,
    /// `${KEY:-value}`.
    Default,
    /// Everything else.
    Plain,
}

/// Returns the value of the name around `spot`, if it is a secret.
pub(crate) fn find(spot: Spot<'_>, kind: &'static str, named: Named) -> Option<Finding> {
    let view = spot.view;
    let name = Name::around(spot)?;
    let (at, form) = value_of(view, &name)?;
    if !name.fits(named, form) {
        return None;
    }
    let mut literal = Literal::read(view, at, form == Form::Query);
    if form == Form::Default && !literal.quoted() {
        literal = literal.until(view, b'}');
    }
    let value = view.slice(literal.start..literal.end);
    let written = match (literal.quoted(), form) {
        (true, _) => Written::Quoted,
        (false, Form::Plain | Form::Pair | Form::Beside) => Written::Bare,
        (false, _) => Written::Literal,
    };
    let strength = strength(value, written);
    let loose = named == Named::Key && !name.is_key_of_lock();
    // Registries hold base64 there, and many other things are called `auth`.
    let foreign = named == Named::Auth && !value.iter().all(|byte| is_base64(*byte));
    if foreign
        || loose && strength < Strength::Random
        || !suffices(named, form, value, strength, literal.quoted())
    {
        return None;
    }
    let end = literal.full_end(view);
    let token = rules::token_at(view, literal.start);
    Some(Finding {
        start: literal.start,
        end: token.map_or(end, |token| token.end.max(end)),
        kind: token.map_or(kind, |token| token.kind),
    })
}

/// Returns true if a value of this strength is a secret, given what its name promises.
fn suffices(named: Named, form: Form, value: &[u8], strength: Strength, quoted: bool) -> bool {
    let password = matches!(named, Named::Password | Named::Short);
    let key = matches!(named, Named::Secret | Named::Key);
    let joined = |byte: &u8| b"-_.:/".contains(byte);
    let plainly_mixed = strength == Strength::Mixed && !value.iter().any(joined);
    let long = value.len() >= 8;
    // `SECRET_VALUE_REF`: the name of another variable.
    let constant = value
        .iter()
        .all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    let enough = match form {
        // Tables of patterns are pairs as well: `("token", "a|b")`.
        Form::Pair if !value.iter().all(|byte| is_base64(*byte) || is_name(*byte)) => return false,
        Form::Pair | Form::Beside => Strength::Random,
        Form::Env | Form::Flag if password => Strength::Digits,
        _ if password && quoted && is_passphrase(value) => Strength::Words,
        _ if password && strength == Strength::Digits => Strength::Digits,
        _ if password && is_jumble(value) => Strength::Words,
        _ if password => Strength::Mixed,
        Form::Env if long && !constant && named != Named::Pat => Strength::Words,
        Form::Flag | Form::Spaced | Form::Query if long => Strength::Mixed,
        _ if key && long && plainly_mixed && !is_slug(value) => Strength::Mixed,
        _ => Strength::Random,
    };
    strength >= enough
}

/// Labels of forms are single words ("Passwort") and constants say what they are for; a passphrase
/// is longer than the former and unlike the latter.
fn is_passphrase(value: &[u8]) -> bool {
    value.len() >= 16 && !is_telling(value)
}

/// A name around a keyword.
struct Name<'t> {
    view: View<'t>,
    start: usize,
    end: usize,
    keyword: std::ops::Range<usize>,
}

/// Maximum length of a name. Longer runs are not treated as names, which also bounds the cost of a text
/// that consists of names only.
const LONGEST: usize = 64;

fn is_name(byte: u8) -> bool {
    crate::view::is_name(byte) || byte == b'$'
}

impl<'t> Name<'t> {
    /// Returns the name around the keyword, unless the rest of it changes the meaning.
    fn around(spot: Spot<'t>) -> Option<Self> {
        let Spot { view, at, .. } = spot;
        let start = view.run_back(at, LONGEST, is_name);
        // The dash of `${KEY-default}` ends the name.
        let dash = if is_expanded(view, start) { b'-' } else { 0 };
        let end = view.run(spot.end, LONGEST, |byte| is_name(byte) && byte != dash);
        if at - start == LONGEST || end - spot.end == LONGEST {
            return None;
        }
        // A full stop or a dash at the end belongs to the sentence.
        let tail = view.slice(spot.end..end).iter().rev();
        let end = end - tail.take_while(|byte| b".-".contains(byte)).count();
        // `tokenizer`, `TOKENS`; only a capital begins the next word.
        let ends_word = is_between_words(view.at(spot.end - 1), view.at(spot.end));
        let keyword = at..spot.end;
        let name = Self {
            view,
            start,
            end,
            keyword,
        };
        (ends_word && name.keeps_meaning()).then_some(name)
    }

    /// Returns true if the part of the name after the keyword leaves its meaning alone:
    /// `SECRET_KEY_BASE` is a secret, `secret_name` and `token_count` are not.
    fn keeps_meaning(&self) -> bool {
        const NEUTRAL: &str = "\
            key base base64 b64 value secret access string text plain raw data prod production dev \
            development staging test live main default old new current previous primary secondary \
            confirm confirmation hex pem token password";
        /// In capitals an owner may follow, as in `API_KEY_OPENAI`; these are not owners.
        const CHANGING: &str = "\
            ID NAME URL URI PATH FILE TYPE HASH ARN COUNT LIMIT TTL EXPIRY EXPIRES LENGTH SIZE REF \
            VERSION HEADER PREFIX REGEX FIELD ALGORITHM ISSUER AUDIENCE ENDPOINT DIR PROVIDER \
            ROTATION POLICY BUDGET USAGE MAX MIN IN AT";
        let name = self.view.slice(self.start..self.end);
        let capitals = name
            .iter()
            .all(|byte| !byte.is_ascii_lowercase() && *byte != b'.');
        let rest = self.view.slice(self.keyword.end..self.end);
        let parts = rest.split(|byte| !byte.is_ascii_alphanumeric());
        let mut rest = parts
            .flat_map(|part| part.chunk_by(|_, next| !next.is_ascii_uppercase() || capitals))
            .filter(|word| !word.is_empty());
        rest.all(|word| {
            let is = |other: &[u8]| word.eq_ignore_ascii_case(other);
            word.iter().all(u8::is_ascii_digit)
                || words(NEUTRAL).any(is)
                || capitals && !words(CHANGING).any(is)
        })
    }

    /// Returns true if the name is one that `named` is about.
    fn fits(&self, named: Named, form: Form) -> bool {
        /// Names of opaque values that are not credentials: cursors, locks, vocabularies.
        const HARMLESS: &str = "\
            next page continuation cancellation cancel sync resume fencing lease request change \
            idempotency eos bos pad stop special mask";
        /// Owners of passwords in one word with them: `SSHPASS`, but neither `BYPASS` nor `SUBPASS`.
        const OWNERS: &str = "\
            ssh db pg my mysql sql smtp mail imap ftp root admin user redis mongo ldap vnc wifi sudo \
            become keystore store";
        let last = self.end == self.keyword.end;
        let before = self.view.slice(self.start..self.keyword.start);
        match named {
            Named::Password | Named::Secret | Named::Credential => true,
            Named::Short => {
                last && (self.begins_word() || form == Form::Env && self.is_qualified(OWNERS))
            }
            Named::Token => !self.is_qualified(HARMLESS),
            Named::Key => {
                let query = form == Form::Query && before.is_empty();
                self.is_key_of_lock() || query || last && self.is_env() && self.is_key_of_owner()
            }
            Named::Pat => last && self.is_env(),
            Named::Auth => last && matches!(before, [] | [b'_']),
        }
    }

    /// `smtpPass`, but neither `bypass` nor `BYPASS`.
    fn begins_word(&self) -> bool {
        let Self { view, keyword, .. } = self;
        is_between_words(view.back(keyword.start, 1), view.at(keyword.start))
    }

    fn is_key_of_lock(&self) -> bool {
        const LOCKS: &str = "\
            api access secret private auth signing signature encryption crypt cipher master \
            account shared preshared license client service functions storage subscription admin app \
            application deploy webhook hmac aes jwt ssh consumer integration role";
        self.is_qualified(LOCKS)
    }

    /// `STRIPE_KEY`, but not `CACHE_KEY`.
    fn is_key_of_owner(&self) -> bool {
        const MAPS: &str = "\
            public pub primary foreign cache sort partition hash index routing lookup idempotency \
            group row range map object storage translation message dedup deduplication i18n";
        self.keyword.start > self.start && !self.is_qualified(MAPS)
    }

    /// Returns true if one of `names` qualifies the keyword, however the two are joined.
    fn is_qualified(&self, names: &str) -> bool {
        let view = self.view;
        let before = match view.slice(self.start..self.keyword.start) {
            // "API key: …", as people and consoles write it.
            [] if view.back(self.start, 1) == Some(b' ') => {
                let letters = |byte: u8| byte.is_ascii_alphabetic();
                view.slice(view.run_back(self.start - 1, LONGEST, letters)..self.start - 1)
            }
            before => before,
        };
        words(names).any(|name| {
            let letters = before
                .iter()
                .rev()
                .filter(|byte| byte.is_ascii_alphanumeric());
            let mut letters = letters.map(u8::to_ascii_lowercase);
            name.iter().rev().all(|byte| letters.next() == Some(*byte))
        })
    }

    /// Returns true if it consists of words in small letters, joined by underscores.
    fn is_joined(&self) -> bool {
        let name = self.view.slice(self.start..self.end);
        name.contains(&b'_')
            && name
                .iter()
                .all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
    }

    /// Returns true if it is written as variables of the environment are.
    fn is_env(&self) -> bool {
        let name = self.view.slice(self.start..self.end).iter();
        name.copied()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    }
}

/// Returns true unless two neighbours are letters of one word.
fn is_between_words(left: Option<u8>, right: Option<u8>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) if left.is_ascii_alphabetic() && right.is_ascii_alphabetic() => {
            left.is_ascii_lowercase() && right.is_ascii_uppercase()
        }
        _ => true,
    }
}

/// Returns true if the name at `start` is of a variable that is expanded, as in `${NAME}`.
fn is_expanded(view: View<'_>, start: usize) -> bool {
    view.back(start, 1) == Some(b'{') && view.back(start, 2) == Some(b'$')
}

/// Returns where the default of the variable begins whose name ends at `at`: `${KEY:-…}` of shells,
/// `${key:…}` of Spring. The text after `:?` is a message.
fn default_of(view: View<'_>, at: usize) -> Option<usize> {
    let after = at + usize::from(view.at(at) == Some(b':'));
    match view.at(after)? {
        b'-' | b'=' | b'+' => Some(after + 1),
        b'?' | b'}' => None,
        _ => (after > at).then_some(after),
    }
}

/// Returns true if the name at `start` is the first argument of a function that takes the name of a
/// setting and then its value, or the value that it has if it is not set.
fn is_looked_up(view: View<'_>, start: usize) -> bool {
    const FUNCTIONS: &str = "\
        define getenv get_env environ.get environ.setdefault env fetch putenv setenv getordefault \
        getproperty setproperty";
    let open = view.run_back(start.saturating_sub(1), 4, is_blank);
    if view.back(open, 1) != Some(b'(') {
        return false;
    }
    let called = view.slice(view.run_back(open - 1, 32, is_name)..open - 1);
    words(FUNCTIONS).any(|function| {
        let begin = called.len().saturating_sub(function.len());
        let ends = called.get(begin..).unwrap_or_default();
        let before = begin.checked_sub(1).and_then(|place| called.get(place));
        ends.eq_ignore_ascii_case(function) && before.is_none_or(|byte| *byte == b'.')
    })
}

/// Returns where the value of `name` begins, and how the two are put together.
fn value_of(view: View<'_>, name: &Name<'_>) -> Option<(usize, Form)> {
    if is_expanded(view, name.start) {
        return default_of(view, name.end).map(|at| (at, Form::Default));
    }
    // Flags of PowerShell have one dash: `-Password`.
    let flag = view.has(name.start, "--")
        || view.has(name.start, "-") && view.is(name.start + 1, |byte| byte.is_ascii_uppercase());
    let beside = name.is_joined() && !view.has(name.start, "-");
    if view.is(name.end, is_blank) && (flag || beside || follows_command(view, name.start)) {
        let at = view.run(name.end, 8, is_blank);
        // An option after the flag, or a sign after the blank: both are read below.
        if !view.is(at, |byte| b"-=:".contains(&byte)) {
            let commanded = flag || follows_command(view, name.start);
            return Some((
                at,
                if commanded {
                    Form::Spaced
                } else {
                    Form::Beside
                },
            ));
        }
    }
    let closed = after_quote(view, name.end);
    let element = view.back(name.start, 1) == Some(b'<') || closed != name.end;
    if element && view.at(closed) == Some(b'>') {
        return Some((closed + 1, Form::Plain));
    }
    let gap = named_value(view, name.end).or_else(|| Gap::after(view, name.end))?;
    // One of the names in an ARN or a URN: `…:secret:prod/db`.
    if gap.sign == Sign::Colon && view.back(name.start, 1) == Some(b':') {
        return None;
    }
    let asked = matches!(view.back(name.start, 1), Some(b'?' | b'&'));
    let form = match gap.sign {
        Sign::Comma if is_looked_up(view, name.start) => Form::Plain,
        Sign::Comma => Form::Pair,
        _ if flag => Form::Flag,
        Sign::Equals if asked => Form::Query,
        Sign::Equals if gap.tight && name.is_env() => Form::Env,
        _ => Form::Plain,
    };
    Some((gap.end, form))
}

/// Returns true if a command before `at` takes a name and a value as two words.
fn follows_command(view: View<'_>, at: usize) -> bool {
    const COMMANDS: &str = "ENV |ARG |set -x |set -gx |set -Ux |setx |setenv |configure set |\
        config set |secret set |secrets set |/:|#define ";
    let before = view.slice(view.floor..at);
    COMMANDS
        .split('|')
        .any(|command| before.ends_with(command.as_bytes()))
}

/// The bytes between a name and its value.
struct Gap {
    /// The start of the value.
    end: usize,
    sign: Sign,
    /// True if there is nothing but the sign.
    tight: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Equals,
    Colon,
    Comma,
}

impl Gap {
    /// Reads the gap after a name that ends at `at`.
    fn after(view: View<'_>, at: usize) -> Option<Self> {
        let closed = after_quote(view, at);
        let quoted = closed != at;
        // Markdown puts names in bold: `**Token:** …`, `**Token**: …`.
        let bold = |byte: u8| byte == b'*';
        let before = view.run(view.run(closed, 2, bold), 16, is_blank);
        let (sign, length) = sign(view, before, quoted)?;
        let after = before + length;
        let mut end = after_colour(view, view.run(view.run(after, 2, bold), 16, is_blank));
        if sign == Sign::Comma && !view.is(end, is_quote) {
            return None;
        }
        if sign == Sign::Colon {
            end = after_type(view, end).unwrap_or(end);
            end = next_line(view, end, quoted).unwrap_or(end);
        }
        let tight = length == 1 && end - at == 1;
        Some(Self { end, sign, tight })
    }
}

/// Returns the end of the colour at `at`, in which terminals print values.
fn after_colour(view: View<'_>, at: usize) -> usize {
    let codes = view.run(at + 2, 16, |byte| byte.is_ascii_digit() || byte == b';');
    let colour = view.has(at, "\u{1b}[") && view.at(codes) == Some(b'm');
    if colour { codes + 1 } else { at }
}

/// Returns the end of the quote that closes a name, and of the bracket of `env["KEY"]`.
fn after_quote(view: View<'_>, at: usize) -> usize {
    let slashes = view.run(at, 8, |byte| byte == b'\\');
    if !view.is(slashes, is_quote) {
        return at;
    }
    view.run(slashes + 1, 1, |byte| byte == b']')
}

fn sign(view: View<'_>, at: usize, quoted: bool) -> Option<(Sign, usize)> {
    const EQUALS: &[&str] = &["===", "==", "=>", ":=", "?=", "=", "＝", "%3D", "%3d"];
    if view.has(at, "::") || view.has(at, "=~") {
        return None;
    }
    if quoted && view.at(at) == Some(b',') {
        return Some((Sign::Comma, 1));
    }
    let found = |signs: &[&'static str]| signs.iter().copied().find(|sign| view.has(at, sign));
    let equals = found(EQUALS).map(|text| (Sign::Equals, text.len()));
    equals.or_else(|| found(&[":", "："]).map(|text| (Sign::Colon, text.len())))
}

/// Returns the end of the type in `token: Option<&str> = "…"`, and of the sign after it.
fn after_type(view: View<'_>, at: usize) -> Option<usize> {
    let typed = |byte: u8| byte.is_ascii_alphanumeric() || b" \t_&'<>[]|?,:.*".contains(&byte);
    let end = view.run(at, 48, typed);
    let assigned = end > at
        && view.at(end) == Some(b'=')
        && !view.has(end, "=>")
        && !holds_marker(view.slice(at..end));
    let spaced = view.back(end, 1).is_some_and(is_blank);
    (assigned && spaced).then(|| view.run(end + 1, 16, is_blank))
}

/// Returns the start of a value on the line after its name: a block of YAML (`password: |`), or
/// JSON that was wrapped.
fn next_line(view: View<'_>, at: usize, quoted: bool) -> Option<usize> {
    let block = view.run(at, 2, |byte| b"|>+-".contains(&byte));
    // A title has the block on the same line.
    if block > at && view.is(block, is_blank) {
        return Some(view.run(block, 64, is_blank));
    }
    let line = view.run(block, 2, |byte| b"\r\n".contains(&byte));
    let start = view.run(line, 64, is_blank);
    let begins = line > block && start > line && (block > at || quoted);
    begins.then_some(start)
}

/// Returns the gap before the value beside a name: `name: KEY` and `value: …` of Kubernetes, forms
/// and JSON.
fn named_value(view: View<'_>, at: usize) -> Option<Gap> {
    let joint = |byte: u8| b" \t\r\n,;\"'\\".contains(&byte);
    let between = view.run(after_quote(view, at), 80, joint);
    if between == at
        || !view
            .slice(between..between + "value".len())
            .eq_ignore_ascii_case(b"value")
    {
        return None;
    }
    Gap::after(view, between + "value".len()).filter(|gap| gap.sign != Sign::Comma)
}
