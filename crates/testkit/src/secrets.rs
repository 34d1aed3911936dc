//! Made-up secrets of several hundred kinds, drawn anew from the formats in `data/`, and innocent
//! lines that look like them.
//!
//! No file here holds anything that a scanner would take for a secret.

use std::fmt::Write as _;
use std::path::Path;

/// A made-up secret in a text.
#[derive(Clone, Debug)]
pub struct Leak {
    /// Family of its format, for a table.
    pub family: &'static str,
    /// Its format, which no other leak has.
    pub kind: String,
    /// The text that holds it.
    pub text: String,
    /// Its random parts, none of which may be left.
    pub secrets: Vec<String>,
}

impl Leak {
    /// Returns the part of the secret that is left in `clean`: twelve characters are too many.
    pub fn left_in(&self, clean: &str) -> Option<&str> {
        self.secrets.iter().find_map(|secret| {
            let length = secret.len().min(12);
            let parts = (0..=secret.len() - length).filter_map(|at| secret.get(at..at + length));
            parts.into_iter().find(|part| clean.contains(part))
        })
    }
}

/// Reproducible randomness: the same secrets for the same number.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

const DIGITS: &str = "0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap_or_default() % sides
    }

    /// Draws `length` characters of the alphabet that a letter of the formats stands for.
    pub fn draw(&mut self, letter: char, length: usize) -> String {
        let alphabet = match letter {
            'a' => [UPPER, LOWER, DIGITS].concat(),
            'x' => [LOWER, DIGITS].concat(),
            'A' => [UPPER, DIGITS].concat(),
            'h' => "0123456789abcdef".to_owned(),
            'H' => "0123456789ABCDEF".to_owned(),
            'd' => DIGITS.to_owned(),
            'l' => LOWER.to_owned(),
            'b' => [UPPER, LOWER, DIGITS, "+/"].concat(),
            'w' => [UPPER, LOWER, DIGITS, "-_"].concat(),
            'm' => [UPPER, LOWER].concat(),
            'n' => [UPPER, LOWER, "-_"].concat(),
            _ => [UPPER, "234567"].concat(),
        };
        let alphabet = alphabet.as_bytes();
        let drawn = (0..length).map(|_| alphabet.get(self.roll(alphabet.len())).copied());
        drawn.flatten().map(char::from).collect()
    }

    /// Draws a UUID.
    pub fn uuid(&mut self) -> String {
        [8, 4, 4, 4, 12]
            .map(|length| self.draw('h', length))
            .join("-")
    }

    /// Draws a password as people make them: a word, a sign and a number.
    fn password(&mut self) -> String {
        let sign = ["", "!", "_", "-", "+"].get(self.roll(5)).copied();
        [
            &*self.draw('l', 7),
            sign.unwrap_or_default(),
            &self.draw('d', 2),
            &self.draw('l', 2),
        ]
        .concat()
    }

    /// Fills the places of a format. Returns the text and what was drawn.
    fn fill(&mut self, format: &str) -> (String, Vec<String>) {
        let (mut text, mut drawn) = (String::new(), Vec::new());
        let (key, password) = (self.draw('a', 30) + "7e", self.password());
        let mut rest = format;
        while let Some(at) = rest.find(['{', '§', '¶']) {
            text += rest.get(..at).unwrap_or_default();
            rest = rest.get(at..).unwrap_or_default();
            let place = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            let letter = place.and_then(|(place, _)| place.chars().next());
            let length = place.and_then(|(place, _)| place.get(1..)?.parse().ok());
            let (part, after) = match (letter, length, place) {
                (Some(letter), Some(length), Some((_, after))) => {
                    let mut part = self.draw(letter, length);
                    // Random text of any length has a digit, but not each short one.
                    let digits = !['l', 'm', 'n'].contains(&letter);
                    if digits && length > 12 && !part.contains(|c: char| c.is_ascii_digit()) {
                        part.replace_range(3..4, "7");
                    }
                    (part, after)
                }
                (Some('U'), _, Some((_, after))) => (self.uuid(), after),
                _ if rest.starts_with('§') => (key.clone(), rest.trim_start_matches('§')),
                _ if rest.starts_with('¶') => (password.clone(), rest.trim_start_matches('¶')),
                _ => {
                    text.push('{');
                    rest = rest.get(1..).unwrap_or_default();
                    continue;
                }
            };
            // `§§` is a longer key.
            let times = (rest.len() - after.len()) / '§'.len_utf8();
            let times = if rest.starts_with('§') { times } else { 1 };
            text += &part.repeat(times);
            drawn.push(part);
            rest = after;
        }
        text += rest;
        drawn.retain(|part| part.len() >= 6);
        (text, drawn)
    }
}

/// Texts around a token that its issuer's prefix gives away.
const AROUND: &[&str] = &[
    "§",
    "rejected § with 401",
    "{\"a\":\"x\\n§\\ny\"}",
    "const client = new Client('§')",
];

/// Returns a made-up secret of every kind.
pub fn leaks(dice: &mut Dice) -> Vec<Leak> {
    let mut leaks = Vec::new();
    let mut family = "";
    let tokens = include_str!("../data/tokens.txt").lines().skip(4);
    for format in tokens {
        if let Some(name) = format.strip_prefix("# ") {
            family = name;
            continue;
        }
        let (token, secrets) = dice.fill(format);
        let around = AROUND.get(leaks.len() % AROUND.len()).unwrap_or(&"§");
        leaks.push(Leak {
            family,
            kind: format.to_owned(),
            text: around.replace('§', &token),
            secrets,
        });
    }
    for format in include_str!("../data/forms.txt").lines().skip(2) {
        if let Some(name) = format.strip_prefix("# ") {
            family = name;
            continue;
        }
        let (text, secrets) = dice.fill(&format.replace("\\n", "\n"));
        leaks.push(Leak {
            family,
            kind: format.to_owned(),
            text,
            secrets,
        });
    }
    leaks.extend(private_keys(dice));
    leaks.extend(disguised(dice));
    leaks
}

/// The labels of private keys, the first bytes of their encoding, and their number of lines.
const KEYS: &[(&str, &str, usize)] = &[
    ("RSA PRIVATE KEY", "MIIEpAIBAAKCAQEA", 25),
    ("PRIVATE KEY", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", 26),
    ("PRIVATE KEY", "MC4CAQAwBQYDK2VwBCIEI", 1),
    (
        "PRIVATE KEY",
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg",
        2,
    ),
    ("EC PRIVATE KEY", "MHcCAQEEI", 2),
    ("EC PRIVATE KEY", "MIGkAgEBBD", 3),
    ("DSA PRIVATE KEY", "MIIBuwIBAAKBgQ", 8),
    (
        "OPENSSH PRIVATE KEY",
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ",
        6,
    ),
    ("ENCRYPTED PRIVATE KEY", "MIIFLTBXBgkqhkiG9w0BBQ0w", 26),
    ("PGP PRIVATE KEY BLOCK", "lQVYBGV", 20),
];

/// Returns every kind of private key in every layout.
fn private_keys(dice: &mut Dice) -> Vec<Leak> {
    let mut leaks = Vec::new();
    for (label, first, count) in KEYS {
        let mut lines = vec![[*first, &dice.draw('b', 64 - first.len())].concat()];
        lines.extend((1..*count).map(|_| dice.draw('b', 64)));
        lines.push(dice.draw('b', 22) + "==");
        let (begin, end) = (
            format!("-----BEGIN {label}-----"),
            format!("-----END {label}-----"),
        );
        let joined = |join: &str| {
            let all = [&begin].into_iter().chain(&lines).chain([&end]);
            all.map(String::as_str).collect::<Vec<_>>().join(join)
        };
        let prefixed = |prefix: &dyn Fn(usize) -> String| {
            let mut text = String::new();
            for (number, line) in joined("\n").lines().enumerate() {
                let _ = writeln!(text, "{}{line}", prefix(number + 1));
            }
            text
        };
        let body = lines.join("\n");
        let bare = *first != "lQVYBGV";
        let layouts = [
            ("in a file", joined("\n") + "\n"),
            ("with CRLF", joined("\r\n")),
            ("on one line", joined(" ")),
            ("in JSON", format!("{{\"k\": \"{}\\n\"}}", joined("\\n"))),
            ("in JSON in JSON", format!("\\\"{}\\\"", joined("\\\\n"))),
            ("in an env file", format!("KEY=\"{}\"", joined("\\n"))),
            (
                "indented",
                format!("key: |\n{}", prefixed(&|_| "    ".to_owned())),
            ),
            ("quoted in mail", prefixed(&|_| "> ".to_owned())),
            ("in code", joined("\\n\" +\n    \"")),
            ("under grep -n", prefixed(&|n| format!("id.pem:{n}:"))),
            (
                "under grep -rn",
                prefixed(&|n| format!("./etc/ssl/id-{n}.pem:{n}:")),
            ),
            ("under cat -n", prefixed(&|n| format!("{n:6}\t"))),
            ("in a numbered view", prefixed(&|n| format!("{n:5}→"))),
            ("added by a diff", prefixed(&|_| "+".to_owned())),
            ("removed by a diff", prefixed(&|_| "-".to_owned())),
            ("in a comment", prefixed(&|_| "# ".to_owned())),
            ("in a URL", joined("%0A").replace(' ', "%20")),
            ("cut off at its end", format!("{begin}\n{body}")),
            ("cut off at its beginning", format!("{body}\n{end}\n")),
            (
                "without dashes",
                format!("BEGIN {label}----- {}", lines.join(" ")),
            ),
            ("without armour", format!("the key:\n{body}\n")),
        ];
        for (layout, text) in layouts {
            if layout == "without armour" && !bare {
                continue;
            }
            let secrets = lines.iter().filter(|line| line.len() == 64);
            leaks.push(Leak {
                family: "Private keys",
                kind: format!("{label} ({first}) {layout}"),
                text,
                secrets: secrets
                    .map(|line| line.get(12..).unwrap_or(line).to_owned())
                    .collect(),
            });
        }
    }
    leaks
}

/// Returns tokens with something invisible inside: one of every range of characters that are drawn
/// as nothing, and the sequences that terminals take for commands.
fn disguised(dice: &mut Dice) -> Vec<Leak> {
    const NOTHING: &str = "\
        00AD 034F 061C 115F 1160 17B4 180B 180E 200B 200C 200D 200E 200F 202A 202E 2060 2064 2066 \
        2069 206F 3164 FE00 FE0F FEFF FFA0 FFF0 1BCA0 1D173 E0001 E0041 E007F E0100";
    const SEQUENCES: &[(&str, &str)] = &[
        ("bold", "\u{1b}[1m"),
        ("red", "\u{1b}[0;31m"),
        ("a true colour", "\u{1b}[38:2:255:0:0m"),
        ("the end of a colour", "\u{1b}[0m"),
        ("an erased line", "\u{1b}[K"),
        ("a hidden cursor", "\u{1b}[?25l"),
        ("a colour in one character", "\u{9b}31m"),
        ("another character set", "\u{1b}(B"),
        ("a saved cursor", "\u{1b}7"),
        ("a link", "\u{1b}]8;;https://example.org\u{1b}\\"),
        (
            "a link that a bell ends",
            "\u{1b}]8;;https://example.org\u{7}",
        ),
        (
            "a link in one character",
            "\u{9d}8;;https://example.org\u{9c}",
        ),
        ("a window title", "\u{1b}]0;a title\u{7}"),
        ("a string for the terminal", "\u{1b}Pq#0\u{1b}\\"),
        ("two colours", "\u{1b}[0m\u{1b}[31m"),
        ("a colour and a zero-width space", "\u{1b}[1m\u{200b}"),
    ];
    let mut inside: Vec<(String, String)> = NOTHING
        .split(' ')
        .filter_map(|code| {
            let hidden = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
            Some((format!("U+{code}"), hidden.to_string()))
        })
        .collect();
    let sequences = SEQUENCES.iter();
    inside.extend(sequences.map(|(name, hidden)| ((*name).to_owned(), (*hidden).to_owned())));
    let leak = |(name, hidden): (String, String)| {
        let (left, right) = (dice.draw('a', 18), dice.draw('a', 18));
        Leak {
            family: "Disguised",
            kind: format!("with {name} inside"),
            text: format!(
                "token {}{left}{hidden}{right} leaked",
                ["gh", "p_"].concat()
            ),
            secrets: vec![left, right],
        }
    };
    let mut leaks: Vec<_> = inside.into_iter().map(leak).collect();
    let (left, right, password) = (dice.draw('a', 40), dice.draw('a', 12), dice.password());
    leaks.extend([
        Leak {
            family: "Disguised",
            kind: "with a zero-width space after what is enough".to_owned(),
            text: format!("{}{left}\u{200b}{right}", ["gh", "p_"].concat()),
            secrets: vec![left, right],
        },
        Leak {
            family: "Disguised",
            kind: "a coloured value".to_owned(),
            text: format!("password: \u{1b}[32m{password}\u{1b}[39m"),
            secrets: vec![password],
        },
    ]);
    leaks
}

/// Returns lines of this repository below `root`: lock files, source and documents. Files about
/// secrets are full of what looks like them and are left out.
pub fn real_lines(root: &Path) -> Vec<String> {
    let mut files = vec![
        root.join("Cargo.lock"),
        root.join("plugins/opencode/package-lock.json"),
        root.join("README.md"),
        root.join("CHANGELOG.md"),
    ];
    let mut folders: Vec<_> = ["docs", "crates", "xtask", "benches", "plugins/opencode"]
        .map(|path| root.join(path))
        .into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap_or_default();
            let ending = path.extension().and_then(|ending| ending.to_str());
            let known = ["rs", "md", "ts", "mjs", "toml", "sql", "snap"];
            let about = ["node_modules", "target", "redact"].contains(&&*name)
                || name.contains("test")
                || name.contains("secret")
                || name.contains("hostile");
            if path.is_dir() && !about {
                folders.push(path);
            } else if ending.is_some_and(|ending| known.contains(&ending)) && !about {
                files.push(path);
            }
        }
    }
    let texts = files
        .into_iter()
        .filter_map(|file| std::fs::read_to_string(file).ok());
    texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Draws lines of logs, lock files and minified code with digests, ids and data in them.
pub fn drawn_lines(dice: &mut Dice, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for number in 0..count {
        let (hash, digest) = (dice.draw('h', 40), dice.draw('h', 64));
        let (uuid, integrity) = (dice.uuid(), dice.draw('b', 86));
        let (id, name) = (dice.draw('a', 26), dice.draw('l', 9));
        let public = dice.draw('b', 68);
        lines.extend([
            format!("commit {hash}"),
            format!("{name}@sha256:{digest}"),
            format!("\"integrity\": \"sha512-{integrity}==\","),
            format!("github.com/{name}/x v1.{number}.0 h1:{}=", dice.draw('b', 43)),
            format!("2026-11-16T18:00:00Z INFO request {uuid} took {number} ms"),
            format!("\"sessionID\": \"ses_{id}\", \"etag\": \"{hash}\""),
            format!("<img src=\"data:image/png;base64,{}\">", dice.draw('b', 120)),
            format!("--hash=sha256:{digest} \\"),
            format!("token_count={number} cache_key={hash} key: {name}"),
            format!("/tmp/build-{id}/{name}.rs:{number}: warning: unused `{name}_key`"),
            format!("machine {name} login and password fields are checked"),
            format!("POST /login password field {name} missing, error {number}"),
            format!("mkdir -p {name} && docker run -p 80{number}:80 -a stdin {name}"),
            format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{public} {name}@host"),
            format!("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC{integrity} {name}@host"),
            format!("256 SHA256:{} {name}@host (ED25519)", dice.draw('b', 43)),
            format!("   {number}: {name}::frame::{name}h{} at src/{name}.rs:{number}", dice.draw('h', 16)),
            format!("index {}..{} 100644", dice.draw('h', 9), dice.draw('h', 9)),
            format!("MIIDdzCCAl+gAwIBAgIE{}", dice.draw('b', 44)),
            format!("API_KEY=${{API_KEY:?missing}} URL=${{API_URL:-https://{name}.org}} X=${{TOKEN:-$OTHER}}"),
            format!("Users are identified by {name}; AUTH {name} and -p {number} are left"),
            format!("password: PasswordField, db_password: getPassword, newPassword: userPwdText // {name}"),
            format!("import {name} from \"@/{name}/x\"; postgres://{name}@/{name} and {name}:@/{name}"),
            format!("cat {name} | docker login -u {name} --password-stdin < {name}.txt"),
            format!("\u{1b}[32m{name}\u{1b}[0m \u{1b}]8;;https://{name}.org\u{7}{hash}\u{1b}]8;;\u{7}"),
            format!("!function(e,t){{var n=e.{name},r=t[\"{name}\"]||{{}};return n.key=r.k{number}}}(this)"),
        ]);
    }
    lines
}
