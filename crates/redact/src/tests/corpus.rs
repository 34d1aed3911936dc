//! Made-up secrets in the formats that people leak, and real lines that are innocent.
//! The test prints recall by format and false positives, and demands all and none.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::{Dice, redact};

/// One made-up secret: its format, the text around it, and what must not be left.
struct Leak {
    format: &'static str,
    text: String,
    secret: String,
}

/// Issuers: a prefix, the alphabet and the length of the body, and what follows it.
const ISSUERS: &[(&str, &str, usize, &str)] = &[
    ("glrtr-", Dice::B64URL, 20, ""),
    ("glimt-", Dice::ALNUM, 25, ""),
    ("GR1348941", Dice::B64URL, 20, ""),
    ("CCIPAT_", Dice::ALNUM, 40, ""),
    ("CCIPRJ_", Dice::ALNUM, 40, ""),
    ("oy2", "abcdefghijklmnopqrstuvwxyz0123456789", 43, ""),
    ("CLOJARS_", Dice::LOWER_HEX, 60, ""),
    ("packagist_ort_", Dice::LOWER_HEX, 40, ""),
    ("jsrp_", Dice::ALNUM, 40, ""),
    ("cmVmd", Dice::ALNUM, 59, ""),
    ("bkat_", Dice::LOWER_HEX, 40, ""),
    ("sgp_", Dice::LOWER_HEX, 40, ""),
    ("API-", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 30, "7"),
    ("ATTA", Dice::LOWER_HEX, 64, ""),
    ("LTAI", Dice::ALNUM, 19, "5"),
    ("AKID", Dice::ALNUM, 31, "5"),
    ("AQVN", Dice::B64URL, 37, "5"),
    ("AQ.Ab8", Dice::B64URL, 45, "5"),
    ("4/0A", Dice::B64URL, 70, ""),
    ("GOOG1E", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 55, ""),
    ("vcp_", Dice::ALNUM, 56, ""),
    ("rnd_", Dice::ALNUM, 32, ""),
    ("napi_", "abcdefghijklmnopqrstuvwxyz0123456789", 64, ""),
    ("mdb_sa_sk_", Dice::B64URL, 43, ""),
    ("AVNS_", Dice::B64URL, 19, ""),
    ("nfc_", Dice::ALNUM, 36, ""),
    ("ddp_", Dice::ALNUM, 36, ""),
    ("sha256~", Dice::ALNUM, 43, ""),
    ("ico-", Dice::ALNUM, 32, ""),
    ("tk-us-", Dice::ALNUM, 48, ""),
    ("duffel_live_", Dice::B64URL, 43, ""),
    ("EZAK", Dice::ALNUM, 54, ""),
    ("FLWSECK_TEST-", Dice::LOWER_HEX, 32, "-X"),
    ("pdl_live_apikey_", Dice::WORD, 50, ""),
    ("polar_pat_", Dice::ALNUM, 40, ""),
    ("shippo_live_", Dice::LOWER_HEX, 40, ""),
    ("live_", Dice::ALNUM, 40, ""),
    ("mlsn.", Dice::LOWER_HEX, 64, ""),
    ("os_v2_app_", "abcdefghijklmnopqrstuvwxyz234567", 103, ""),
    ("EAAC", Dice::ALNUM, 120, "7"),
    ("lin_api_", Dice::ALNUM, 40, ""),
    ("tfp_", Dice::ALNUM, 59, ""),
    ("rdme_", "abcdefghijklmnopqrstuvwxyz0123456789", 70, ""),
    ("hcaik_", "abcdefghijklmnopqrstuvwxyz0123456789", 58, ""),
    ("rootly_", Dice::LOWER_HEX, 64, ""),
    ("pnu_", Dice::ALNUM, 36, ""),
    ("sm_pat_", Dice::ALNUM, 16, ""),
    ("n8n_api_", Dice::LOWER_HEX, 80, ""),
    ("cal_live_", Dice::LOWER_HEX, 32, ""),
    ("secret-live-", Dice::B64URL, 36, "7"),
    ("p8e-", Dice::ALNUM, 32, ""),
    ("fio-u-", Dice::B64URL, 64, ""),
    ("jina_", Dice::ALNUM, 60, ""),
    ("fw_", Dice::ALNUM, 24, ""),
    ("pa-", Dice::ALNUM, 43, ""),
    ("wandb_v1_", Dice::WORD, 77, ""),
    ("llx-", Dice::ALNUM, 48, ""),
    ("fc-", Dice::LOWER_HEX, 32, ""),
    ("e2b_", Dice::LOWER_HEX, 40, ""),
    ("dtn_", Dice::LOWER_HEX, 64, ""),
    ("nsec1", "qpzry9x8gf2tvdw0s3jn54khce6mua7l", 58, ""),
    ("xprv", Dice::ALNUM, 107, ""),
    ("phs_", Dice::ALNUM, 43, ""),
    ("NRAL-", Dice::ALNUM, 36, ""),
    ("ghp_", Dice::ALNUM, 36, ""),
    ("glpat-", Dice::B64URL, 20, ""),
    ("sk-ant-api03-", Dice::B64URL, 93, "7A"),
    ("xoxb-1234567890-", Dice::ALNUM, 24, ""),
    ("AIza", Dice::B64URL, 35, ""),
    ("hvs.", Dice::B64URL, 90, ""),
];

/// The texts around tokens that their issuer's prefix gives away.
const AROUND_TOKENS: &[&str] = &[
    "rejected § with 401",
    "{\"a\":\"x\\n§\\ny\"}",
    "const client = new Client('§')",
];

fn issued(dice: &mut Dice) -> Vec<Leak> {
    let mut tokens: Vec<String> = ISSUERS
        .iter()
        .map(|(prefix, alphabet, length, end)| {
            [*prefix, &dice.draw(alphabet, *length), end].concat()
        })
        .collect();
    let mut draw = |alphabet, length| dice.draw(alphabet, length);
    tokens.extend([
        format!("pat{}.{}", draw(Dice::ALNUM, 14), draw(Dice::LOWER_HEX, 64)),
        format!(
            "{}.atlasv1.{}",
            draw(Dice::ALNUM, 14),
            draw(Dice::B64URL, 67)
        ),
        format!("re_{}_{}9", draw(Dice::ALNUM, 8), draw(Dice::ALNUM, 23)),
        format!("{}AZDO{}", draw(Dice::ALNUM, 76), draw(Dice::ALNUM, 4)),
        format!("{}JQQJ99{}", draw(Dice::ALNUM, 52), draw(Dice::ALNUM, 26)),
        format!("{}AzFu{}==", draw(Dice::ALNUM, 44), draw(Dice::ALNUM, 6)),
        format!("{}+ASt{}==", draw(Dice::B64, 76), draw(Dice::ALNUM, 6)),
        format!("{}-us12", draw(Dice::LOWER_HEX, 32)),
        format!(
            "dt0c01.{}.{}",
            draw(Dice::UPPER_DIGIT, 24),
            draw(Dice::UPPER_DIGIT, 64)
        ),
        format!(
            "pat.{}.{}.{}",
            draw(Dice::ALNUM, 22),
            draw(Dice::LOWER_HEX, 24),
            draw(Dice::ALNUM, 20)
        ),
        format!("sk.eyJ{}.{}", draw(Dice::ALNUM, 80), draw(Dice::ALNUM, 22)),
        format!(
            "eyJ{}.eyJ{}.{}",
            draw(Dice::ALNUM, 20),
            draw(Dice::ALNUM, 60),
            draw(Dice::B64URL, 43)
        ),
        format!("eyJ{}.eyJ{}.", draw(Dice::ALNUM, 20), draw(Dice::ALNUM, 60)),
    ]);
    for prefix in ["pat-na1-", "access-production-", "sdk-", "xaat-"] {
        tokens.push([prefix, &dice.uuid()].concat());
    }
    let leak = |token: String| {
        AROUND_TOKENS.iter().map(move |around| Leak {
            format: "issuer prefixes",
            text: around.replace('§', &token),
            secret: token.trim_end_matches('.').to_owned(),
        })
    };
    tokens.into_iter().flat_map(leak).collect()
}

/// A private key: the first bytes that its type has in base64, and lines.
fn private_keys(dice: &mut Dice) -> Vec<Leak> {
    const TYPES: &[(&str, &str, usize)] = &[
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
        (
            "OPENSSH PRIVATE KEY",
            "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ",
            6,
        ),
        ("ENCRYPTED PRIVATE KEY", "MIIFLTBXBgkqhkiG9w0BBQ0w", 26),
    ];
    let mut leaks = Vec::new();
    for (label, first, count) in TYPES {
        let mut lines = vec![[*first, &dice.draw(Dice::B64, 64 - first.len())].concat()];
        lines.extend((1..*count).map(|_| dice.draw(Dice::B64, 64)));
        lines.push(dice.draw(Dice::B64, 22) + "==");
        let body = lines.join("\n");
        let (begin, end) = (
            format!("-----BEGIN {label}-----"),
            format!("-----END {label}-----"),
        );
        let mut numbered = String::new();
        for (number, line) in lines.iter().enumerate() {
            writeln!(numbered, "id.pem:{}:{line}", number + 2).unwrap();
        }
        let title = format!("BEGIN {label}----- {}", lines.join(" "));
        let cut = title.get(..70).unwrap().to_owned();
        let texts = [
            ("private keys", format!("{begin}\n{body}\n{end}\n")),
            (
                "private keys on one line",
                format!("{begin} {} {end}", lines.join(" ")),
            ),
            (
                "private keys in JSON",
                format!(
                    "{{\"private_key\": \"{begin}\\n{}\\n{end}\\n\"}}",
                    lines.join("\\n")
                ),
            ),
            (
                "private keys in env files",
                format!("KEY=\"{begin}\\n{}\\n{end}\"", lines.join("\\n")),
            ),
            (
                "private keys under grep -n",
                format!("id.pem:1:{begin}\n{numbered}id.pem:99:{end}"),
            ),
            ("private keys without armour", format!("the key:\n{body}\n")),
            ("private keys without dashes", title),
            ("private keys in cut titles", cut),
        ];
        for (format, text) in texts {
            let secret = lines.first().unwrap().clone();
            // A title that was cut off has a part of the first line.
            let secret = (20..=secret.len())
                .rev()
                .map(|n| &secret[..n])
                .find(|part| text.contains(part));
            let secret = secret.unwrap().to_owned();
            leaks.push(Leak {
                format,
                text,
                secret,
            });
        }
    }
    leaks
}

/// Formats of names and values, headers, URLs, commands and files; `§` is the secret.
const FORMATS: &[(&str, &[&str])] = &[
    (
        "shell and .env",
        &[
            "export DB_PASSWORD='§'",
            "API_KEY=§",
            "STRIPE_KEY=\"§\"",
            "GITHUB_PAT=§",
            "CLIENT_SECRET=§ npm start",
            "set -gx SERVICE_TOKEN §",
            "setx API_TOKEN \"§\"",
            "ENV DB_PASSWORD §",
            "ENV API_SECRET=§",
            "DB_PW=§",
            "aws configure set aws_secret_access_key §",
            "npm config set //registry.npmjs.org/:_authToken §",
            "deploy --api-key § --verbose",
            "deploy --token=§",
        ],
    ),
    (
        "JSON",
        &[
            "{\"password\": \"§\"}",
            "{\"apiKey\":\"§\",\"n\":1}",
            "{\"password\":\n    \"§\"\n}",
            "{\\\"client_secret\\\":\\\"§\\\"}",
            "{\"name\": \"API_TOKEN\", \"value\": \"§\"}",
        ],
    ),
    (
        "YAML",
        &[
            "db:\n  password: §\n",
            "  api_key: \"§\"",
            "secret: '§'",
            "password: |\n  §\n",
            "token: >-\n    §\n",
            "- name: API_TOKEN\n  value: §\n",
        ],
    ),
    (
        "TOML and INI",
        &[
            "password = \"§\"",
            "[db]\nsecret_key = '§'\n",
            "passwd = §",
            "psk=\"§\"",
        ],
    ),
    (
        "XML",
        &[
            "<password>§</password>",
            "<property name=\"password\">§</property>",
            "<add key=\"ApiKey\" value=\"§\" />",
            "<string name=\"api_key\">§</string>",
        ],
    ),
    (
        "code",
        &[
            "const apiKey = '§';",
            "password := \"§\"",
            "let token: &str = \"§\";",
            "client.setHeader('X-Api-Key', '§')",
            "os.environ[\"DB_PASSWORD\"] = \"§\"",
        ],
    ),
    (
        "connection strings",
        &[
            "Server=db;User Id=sa;Password=§;Encrypt=true",
            "app:§@tcp(127.0.0.1:3306)/app?parseTime=true",
            "jdbc:oracle:thin:scott/§@//db:1521/orcl",
            "jdbc:mysql://db/app?user=root&password=§",
            "host=db user=app password=§ dbname=app",
            "Endpoint=sb://x/;SharedAccessKeyName=k;SharedAccessKey=§§§",
        ],
    ),
    (
        "URLs",
        &[
            "postgres://app:§@db:5432/app",
            "https://bot:§@git.example.org/x.git",
            "redis://:§@cache:6379/0",
            "https://example.org/hook?key=§§&x=1",
            "https://example.org/hook?api_key=§",
            "amqp://app:§/x#1@mq.example.org/vhost",
            "mysql://root:a?§[@db.example.org/app",
        ],
    ),
    (
        "headers",
        &[
            "Authorization: Bearer §",
            "authorization: Token §",
            "-H 'X-Auth-Token: §'",
            "X-Vault-Token: §",
            "Cookie: theme=dark; session_id=§",
            "Set-Cookie: sid=§; Path=/",
            "Proxy-Authorization: Bearer §",
        ],
    ),
    (
        "files",
        &[
            "machine api.example.org login bot password §",
            "machine api.example.org\n  login bot\n  password §\n",
            "db.example.org:5432:app:bot:§",
            "{\"auths\":{\"ghcr.io\":{\"auth\":\"§§\"}}}",
        ],
    ),
    (
        "SQL and commands",
        &[
            "CREATE USER app IDENTIFIED BY '§'",
            "ALTER USER app WITH PASSWORD '§'",
            "create role app with login password '§'",
            "docker login -u bot -p § ghcr.io",
            "sshpass -p '§' ssh host",
            "redis-cli -h cache -a § ping",
            "curl -u bot:§ https://example.org",
            "keytool -storepass § -list",
            "openssl rsa -passin pass:§",
        ],
    ),
    (
        "other languages",
        &[
            "Passwort: §",
            "contraseña: §",
            "mot de passe : §",
            "パスワード：§",
            "пароль: §",
        ],
    ),
];

fn formatted(dice: &mut Dice) -> Vec<Leak> {
    let mut leaks = Vec::new();
    for (format, texts) in FORMATS {
        for text in *texts {
            for secret in [
                dice.draw(Dice::ALNUM, 26) + "7e",
                dice.draw(Dice::LOWER_HEX, 32),
            ] {
                let text = text.replace('§', &secret);
                leaks.push(Leak {
                    format,
                    text,
                    secret,
                });
            }
        }
    }
    leaks
}

/// Tokens with something invisible inside.
fn disguised(dice: &mut Dice) -> Vec<Leak> {
    let inside = [
        "\u{200b}",
        "\u{2060}",
        "\u{feff}",
        "\u{1b}[1m",
        "\u{1b}[0;31m",
    ];
    let leak = |hidden: &str| {
        let (left, right) = (dice.draw(Dice::ALNUM, 12), dice.draw(Dice::ALNUM, 24));
        Leak {
            format: "disguised",
            text: format!("token ghp_{left}{hidden}{right} leaked"),
            secret: right,
        }
    };
    inside.into_iter().map(leak).collect()
}

#[test]
fn made_up_secrets_are_gone_from_every_format() {
    let mut dice = Dice(41);
    let mut leaks = Vec::new();
    for _ in 0..2 {
        leaks.extend(issued(&mut dice));
        leaks.extend(formatted(&mut dice));
        leaks.extend(private_keys(&mut dice));
        leaks.extend(disguised(&mut dice));
    }
    let mut formats: BTreeMap<&str, (usize, Vec<String>)> = BTreeMap::new();
    for Leak {
        format,
        text,
        secret,
    } in &leaks
    {
        let (tried, left) = formats.entry(format).or_default();
        *tried += 1;
        let clean = redact(text);
        // Nothing of it is left that is long enough to matter.
        let part = |part: &[u8]| clean.contains(std::str::from_utf8(part).unwrap());
        if secret.as_bytes().windows(12).any(part) {
            left.push(format!("{text}  ->  {clean}"));
        }
    }
    let mut missed = Vec::new();
    for (format, (tried, left)) in formats {
        println!("{format:32} {:4} of {tried:4}", tried - left.len());
        missed.extend(left);
    }
    println!(
        "{:32} {:4} of {:4}",
        "all",
        leaks.len() - missed.len(),
        leaks.len()
    );
    assert!(leaks.len() >= 400);
    assert!(
        missed.is_empty(),
        "{} left:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

/// Lines of this repository: lock files, source and prose. The tests and the table of redaction
/// are full of what looks like secrets and are left out.
fn real_lines() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![
        root.join("Cargo.lock"),
        root.join("plugins/opencode/package-lock.json"),
        root.join("README.md"),
        root.join("CHANGELOG.md"),
    ];
    let mut folders: Vec<_> = ["docs", "crates", "plugins/opencode/src"]
        .map(|path| root.join(path))
        .into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap_or_default();
            let source = ["rs", "md", "ts", "toml"].iter().any(|ending| {
                path.extension()
                    .is_some_and(|extension| extension == *ending)
            });
            if path.is_dir() && !["tests", "node_modules", "target"].contains(&name.as_str()) {
                folders.push(path);
            } else if source && !name.contains("test") && name != "rules.rs" {
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

/// Lines of logs and lock files with digests, UUIDs and data, drawn anew.
fn drawn_lines(dice: &mut Dice) -> Vec<String> {
    let mut lines = Vec::new();
    for number in 0..200 {
        let (hash, digest) = (
            dice.draw(Dice::LOWER_HEX, 40),
            dice.draw(Dice::LOWER_HEX, 64),
        );
        let (uuid, integrity) = (dice.uuid(), dice.draw(Dice::B64, 86));
        let (id, name) = (dice.draw(Dice::ALNUM, 26), dice.draw(Dice::LOWER, 9));
        lines.extend([
            format!("commit {hash}"),
            format!("{name}@sha256:{digest}"),
            format!("\"integrity\": \"sha512-{integrity}==\","),
            format!(
                "github.com/{name}/x v1.{number}.0 h1:{}=",
                dice.draw(Dice::B64, 43)
            ),
            format!("2026-11-16T18:00:00Z INFO request {uuid} took {number} ms"),
            format!("\"sessionID\": \"ses_{id}\", \"etag\": \"{hash}\""),
            format!(
                "<img src=\"data:image/png;base64,{}\">",
                dice.draw(Dice::B64, 120)
            ),
            format!("--hash=sha256:{digest} \\"),
            format!("token_count={number} cache_key={hash} key: {name}"),
            format!("/tmp/build-{id}/{name}.rs:{number}: warning: unused `{name}_key`"),
            format!("machine {name} login and password fields are checked"),
            format!("POST /login password field {name} missing, error {number}"),
            format!("mkdir -p {name} && docker run -p 80{number}:80 -a stdin {name}"),
        ]);
    }
    lines
}

#[test]
fn innocent_lines_stay() {
    let mut lines = real_lines();
    let real = lines.len();
    lines.extend(drawn_lines(&mut Dice(42)));
    let changed: Vec<_> = lines
        .iter()
        .filter(|line| redact(line) != line.as_str())
        .collect();
    println!(
        "{real} real lines, {} drawn; false positives: {}",
        lines.len() - real,
        changed.len()
    );
    assert!(real >= 2000, "{real}");
    assert!(changed.is_empty(), "{changed:#?}");
}
