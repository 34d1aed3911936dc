//! Secrets that are recognised on their own, in every context where agents meet them.

use std::collections::BTreeSet;

use super::{Dice, gone, unchanged};
use crate::marker;
use crate::rule::RULES;
use crate::view::View;

/// A kind, the prefix of its tokens, the alphabet and the length of their bodies.
const VENDORS: &[(&str, &str, &str, usize)] = &[
    ("anthropic-key", "sk-ant-api03-", Dice::B64URL, 95),
    ("anthropic-key", "sk-ant-admin01-", Dice::B64URL, 95),
    ("anthropic-key", "sk-ant-oat01-", Dice::B64URL, 95),
    ("openai-key", "sk-", Dice::ALNUM, 48),
    ("openai-key", "sk-", Dice::LOWER_HEX, 32),
    ("openai-key", "sk-proj-", Dice::B64URL, 156),
    ("openai-key", "sk-svcacct-", Dice::B64URL, 120),
    ("openai-key", "sk-admin-", Dice::B64URL, 60),
    ("openrouter-key", "sk-or-v1-", Dice::LOWER_HEX, 64),
    ("hugging-face-token", "hf_", Dice::ALNUM, 34),
    ("groq-key", "gsk_", Dice::ALNUM, 52),
    ("xai-key", "xai-", Dice::ALNUM, 80),
    ("perplexity-key", "pplx-", Dice::ALNUM, 48),
    ("replicate-token", "r8_", Dice::ALNUM, 37),
    ("nvidia-key", "nvapi-", Dice::B64URL, 64),
    ("github-token", "ghp_", Dice::ALNUM, 36),
    ("github-token", "gho_", Dice::ALNUM, 36),
    ("github-token", "ghu_", Dice::ALNUM, 36),
    ("github-token", "ghs_", Dice::ALNUM, 36),
    ("github-token", "ghr_", Dice::ALNUM, 76),
    ("github-token", "github_pat_", Dice::WORD, 82),
    ("gitlab-token", "glpat-", Dice::B64URL, 20),
    ("gitlab-token", "glrt-", Dice::B64URL, 20),
    ("npm-token", "npm_", Dice::ALNUM, 36),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc", Dice::B64URL, 140),
    ("crates-io-token", "cio", Dice::ALNUM, 32),
    ("rubygems-key", "rubygems_", Dice::LOWER_HEX, 48),
    ("docker-token", "dckr_pat_", Dice::B64URL, 27),
    ("sonar-token", "squ_", Dice::LOWER_HEX, 40),
    ("atlassian-token", "ATATT3xFfGF0", Dice::B64URL, 170),
    ("aws-access-key-id", "AKIA", Dice::UPPER_DIGIT, 16),
    ("aws-access-key-id", "ASIA", Dice::UPPER_DIGIT, 16),
    ("google-api-key", "AIza", Dice::B64URL, 35),
    ("google-oauth-token", "ya29.", Dice::B64URL, 120),
    ("google-oauth-token", "GOCSPX-", Dice::B64URL, 28),
    ("google-refresh-token", "1//0", Dice::B64URL, 60),
    ("digitalocean-token", "dop_v1_", Dice::LOWER_HEX, 64),
    ("heroku-key", "HRKU-", Dice::B64URL, 60),
    ("cloudflare-key", "v1.0-", Dice::LOWER_HEX, 171),
    ("databricks-token", "dapi", Dice::LOWER_HEX, 32),
    ("supabase-token", "sbp_", Dice::LOWER_HEX, 40),
    ("supabase-token", "sb_secret_", Dice::B64URL, 31),
    ("planetscale-token", "pscale_tkn_", Dice::B64URL, 43),
    ("netlify-token", "nfp_", Dice::ALNUM, 36),
    ("tailscale-key", "tskey-auth-", Dice::ALNUM, 40),
    ("vault-token", "hvs.", Dice::B64URL, 90),
    ("doppler-token", "dp.pt.", Dice::ALNUM, 43),
    ("pulumi-token", "pul-", Dice::LOWER_HEX, 40),
    ("stripe-key", "sk_live_", Dice::ALNUM, 24),
    ("stripe-key", "sk_test_", Dice::ALNUM, 99),
    ("stripe-key", "rk_live_", Dice::ALNUM, 24),
    ("webhook-secret", "whsec_", Dice::ALNUM, 32),
    ("square-token", "EAAA", Dice::B64URL, 60),
    ("square-token", "sq0csp-", Dice::B64URL, 43),
    ("shopify-token", "shpat_", Dice::LOWER_HEX, 32),
    ("mailgun-key", "key-", Dice::LOWER_HEX, 32),
    ("twilio-key", "SK", Dice::LOWER_HEX, 32),
    ("slack-token", "xoxb-1234567890-", Dice::ALNUM, 24),
    ("slack-token", "xoxp-1234567890-", Dice::LOWER_HEX, 32),
    ("slack-token", "xapp-1-A0123-", Dice::LOWER_HEX, 64),
    ("linear-key", "lin_api_", Dice::ALNUM, 40),
    ("notion-token", "secret_", Dice::ALNUM, 43),
    ("notion-token", "ntn_", Dice::ALNUM, 46),
    ("newrelic-key", "NRAK-", Dice::UPPER_DIGIT, 27),
    ("sentry-token", "sntryu_", Dice::LOWER_HEX, 64),
    ("sentry-token", "sntrys_", Dice::B64, 120),
    ("grafana-token", "glsa_", Dice::ALNUM, 41),
    ("figma-token", "figd_", Dice::B64URL, 40),
    ("age-secret-key", "AGE-SECRET-KEY-1", Dice::UPPER_DIGIT, 58),
];

/// Tokens with a structure of their own.
fn structured(dice: &mut Dice) -> Vec<(&'static str, String)> {
    let sendgrid = format!(
        "SG.{}.{}",
        dice.draw(Dice::B64URL, 22),
        dice.draw(Dice::B64URL, 43)
    );
    let postman = format!(
        "PMAK-{}-{}",
        dice.draw(Dice::LOWER_HEX, 24),
        dice.draw(Dice::LOWER_HEX, 34)
    );
    let jwt = format!(
        "eyJ{}.eyJ{}.{}",
        dice.draw(Dice::ALNUM, 33),
        dice.draw(Dice::B64URL, 70),
        dice.draw(Dice::B64URL, 43)
    );
    let telegram = format!(
        "{}:AA{}",
        dice.draw("123456789", 10),
        dice.draw(Dice::B64URL, 33)
    );
    let discord = format!(
        "MT{}{}.{}.{}",
        // The base64 of digits.
        dice.draw("AEIMQUYcgk", 1),
        dice.draw(Dice::ALNUM, 23),
        dice.draw(Dice::B64URL, 6),
        dice.draw(Dice::ALNUM, 38)
    );
    let azure = format!(
        "{}8Q~{}",
        dice.draw(Dice::ALNUM, 3),
        dice.draw(Dice::ALNUM, 34)
    );
    let langfuse = format!("sk-lf-{}", dice.uuid());
    vec![
        ("sendgrid-key", sendgrid),
        ("postman-key", postman),
        ("jwt", jwt),
        ("telegram-token", telegram),
        ("discord-token", discord),
        ("azure-client-secret", azure),
        ("langfuse-key", langfuse),
    ]
}

/// Texts around a token; `@` is the token.
const CONTEXTS: &[&str] = &[
    "@",
    "SERVICE=@\nNEXT=1\n",
    "export VALUE=\"@\"",
    "{\"service\": {\"value\": \"@\", \"id\": 7}}",
    "service:\n  value: @\n  other: 3\n",
    "$ deploy --with @ --verbose",
    "curl -H 'X-Thing: @' https://example.org/",
    "https://example.org/call?value=@&page=2",
    "2026-08-24T10:11:12Z WARN rejected credential @, retrying",
    "Use `@` as in the [docs](https://example.org).",
    "次の値を使います：@。以上です",
    "キーは「@」です🎉",
    "{\"log\":\"first line\\n@\\nlast line\"}",
    "\u{1b}[32m@\u{1b}[0m ok",
    "value%3D@%26next%3D1",
    "(@).",
];

#[test]
fn tokens_are_gone_from_every_context() {
    let mut dice = Dice(1);
    let mut seen = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for _ in 0..3 {
        let drawn = VENDORS.iter().map(|(kind, prefix, alphabet, length)| {
            (*kind, [*prefix, &dice.draw(alphabet, *length)].concat())
        });
        let mut tokens: Vec<_> = drawn.collect();
        tokens.extend(structured(&mut dice));
        for (kind, token) in tokens {
            for context in CONTEXTS {
                let clean = gone(&context.replace('@', &token), &token);
                let marker = format!("[redacted:{kind}]");
                assert_eq!(clean, context.replace('@', &marker), "of {token}");
            }
            kinds.insert(kind);
            seen.insert(token);
        }
    }
    assert!(
        seen.len() >= 200 && kinds.len() >= 30,
        "{} of {} kinds",
        seen.len(),
        kinds.len()
    );
}

#[test]
fn tokens_on_a_long_line_are_gone_whole_wherever_something_is_invisible() {
    let mut dice = Dice(9);
    let mut token = || ["ghp", "_", &dice.draw(Dice::ALNUM, 36)].concat();
    let (seen, hidden) = (token(), token());
    let (left, right) = hidden.split_at(20);
    let filler = "word ".repeat(4000);
    // What is near to something invisible ends somewhere within the first 20 KB after it.
    for distance in (7_900..8_300).step_by(7).chain(3_900..3_902) {
        let before = &filler[..distance];
        let text = format!("{seen} {before} a\u{200b}b {before} {seen} {left}\u{ad}{right}");
        let clean = gone(&text, &seen);
        assert!(!clean.contains(&right[..12]), "{distance}");
        assert_eq!(clean.matches("[redacted:github-token]").count(), 3);
    }
}

#[test]
fn tokens_go_with_their_key_and_keep_their_kind() {
    let mut dice = Dice(2);
    for (kind, prefix, alphabet, length) in VENDORS {
        let token = [*prefix, &dice.draw(alphabet, *length)].concat();
        for context in [
            "API_TOKEN=@",
            "\"token\": \"@\"",
            "password: @",
            "Authorization: Bearer @",
        ] {
            let clean = gone(&context.replace('@', &token), &token);
            assert_eq!(clean, context.replace('@', &format!("[redacted:{kind}]")));
        }
    }
}

#[test]
fn the_part_of_a_link_that_gives_access_is_gone() {
    let mut dice = Dice(3);
    let slack = [9, 11, 24]
        .map(|length| dice.draw(Dice::ALNUM, length))
        .join("/");
    let discord = [dice.draw(Dice::DIGITS, 18), dice.draw(Dice::B64URL, 68)].join("/");
    let signature = dice.draw(Dice::ALNUM, 41) + "%3D";
    let presigned = dice.draw(Dice::LOWER_HEX, 64);
    let account = dice.draw(Dice::B64, 86) + "==";
    let link = |before: &str, secret: &str, after: &str, kind: &str| {
        let clean = gone(&[before, secret, after].concat(), secret);
        assert_eq!(clean, format!("{before}[redacted:{kind}]{after}"));
    };
    link(
        "POST https://hooks.slack.com/services/",
        &slack,
        " 200",
        "slack-webhook",
    );
    link(
        "<https://discord.com/api/webhooks/",
        &discord,
        ">",
        "discord-webhook",
    );
    link(
        "https://a.blob.core.windows.net/c/b?sv=2022-11-02&sig=",
        &signature,
        "&se=2026",
        "signed-url",
    );
    link(
        "https://b.s3.amazonaws.com/k?X-Amz-Signature=",
        &presigned,
        "&x=1",
        "signed-url",
    );
    link(
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=",
        &account,
        ";EndpointSuffix=core.windows.net",
        "azure-key",
    );
}

/// A key in its armour, with `join` between its lines.
fn armour(dice: &mut Dice, label: &str, lines: usize, join: &str) -> (String, Vec<String>) {
    let lines: Vec<_> = (0..lines).map(|_| dice.draw(Dice::B64, 64)).collect();
    let (begin, end) = (
        format!("-----BEGIN {label}-----"),
        format!("-----END {label}-----"),
    );
    let mut all = vec![begin];
    all.extend(lines.iter().cloned());
    all.push(dice.draw(Dice::B64, 22) + "==");
    all.push(end);
    (all.join(join), lines)
}

const LABELS: &[&str] = &[
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
    "DSA PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "PGP PRIVATE KEY BLOCK",
];

#[test]
fn private_keys_are_gone_whole() {
    let mut dice = Dice(4);
    for label in LABELS {
        for join in [
            "\n",
            "\r\n",
            "\\n",
            "\\\\n",
            " ",
            "\n    ",
            "\n> ",
            "\",\n\"",
            "\n00012| ",
            "\n  12→",
        ] {
            let (block, lines) = armour(&mut dice, label, 5, join);
            let clean = gone(&format!("key: {block} done"), &lines[0]);
            assert_eq!(clean, "key: [redacted:private-key] done", "{join:?}");
        }
    }
}

#[test]
fn private_keys_are_gone_when_cut_off() {
    let mut dice = Dice(5);
    for label in LABELS {
        for join in ["\n", "\r\n", "\\n", "\n    ", "\n  12→"] {
            let (block, lines) = armour(&mut dice, label, 5, join);
            // The last line and the end are missing, and half of the line before.
            let cut = &block[..block.len() - label.len() - 80];
            for line in &lines[..4] {
                assert_eq!(gone(cut, line), "[redacted:private-key]", "{join:?}");
            }
            let clean = gone(&format!("{cut}\n\nand then a sentence"), &lines[3]);
            assert_eq!(clean, "[redacted:private-key]\n\nand then a sentence");
        }
    }
}

#[test]
fn private_keys_with_headers_and_of_putty_are_gone() {
    let mut dice = Dice(6);
    let label = LABELS[1];
    let headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n";
    let lines = [dice.draw(Dice::B64, 64), dice.draw(Dice::B64, 64)];
    let text = format!(
        "-----BEGIN {label}-----\n{headers}{}\n{}\n",
        lines[0], lines[1]
    );
    assert_eq!(gone(&text, &lines[1]), "[redacted:private-key]\n");
    let text = format!(
        "Private-Lines: 2\n{}\n{}\nPrivate-MAC: 1f",
        lines[0], lines[1]
    );
    assert_eq!(
        gone(&text, &lines[0]),
        "Private-Lines: 2\n[redacted:private-key]\nPrivate-MAC: 1f"
    );
}

#[test]
fn a_key_that_was_cut_off_does_not_take_the_text_before_the_next() {
    let mut dice = Dice(7);
    let (first, lines) = armour(&mut dice, LABELS[0], 3, "\n");
    let (second, _) = armour(&mut dice, LABELS[4], 3, "\n");
    let cut = &first[..first.len() - 51];
    let clean = gone(&format!("{cut}\nthe middle stays\n{second}"), &lines[2]);
    assert!(clean.contains("the middle stays"), "{clean}");
}

#[test]
fn placeholders_of_tokens_stay() {
    for (_, prefix, _, length) in VENDORS {
        unchanged(&[*prefix, &"x".repeat(*length)].concat());
        unchanged(&format!("tokens begin with {prefix} and go on"));
        unchanged(&format!("{prefix}..."));
    }
}

#[test]
fn every_rule_has_a_kind_that_is_recognised_as_a_marker() {
    for rule in &RULES {
        let long_enough = |keyword: &str| keyword.len() >= 2;
        assert!(
            rule.keywords.split('|').all(long_enough),
            "{}",
            rule.keywords
        );
        if !rule.kind.is_empty() {
            let text = format!("[redacted:{}]", rule.kind);
            let bytes = text.as_bytes();
            let end = marker(View { bytes, floor: 0 }, 0);
            assert_eq!(end, Some(text.len()), "{}", rule.kind);
        }
    }
}
