//! The table of rules: which literals may begin a secret, and the shape it then must have.
//! How a shape is read is in the module named after it.
//!
//! Order matters where two rules share a beginning: the specific one stands first.

use super::bytes::{ALNUM, B64, B64ANY, B64URL, DIGIT, DOTTED, HEX, Set, UPPER, View, WORD};
use super::rule::{Rule, Shape, read, read_any_case, vendor};
use super::token::Token;
use super::{Finding, MARKER, assign, block, header, token, url};

/// The vendor's token that begins at `at`: its name says more than the key it is assigned to.
pub(super) fn token_at(view: View<'_>, at: usize) -> Option<Finding> {
    let mut tokens = RULES
        .iter()
        .filter(|rule| matches!(rule.shape, Shape::Token { .. }));
    tokens.find_map(|rule| rule.find(view, at))
}

const UPPER_DIGIT: Set = UPPER.and(DIGIT);
const SLASHED: Set = B64URL.and(Set::of(b"/"));
const COOKIE_TOKEN: Set = B64URL.and(Set::of(b"%+/="));

/// Every rule. The table is read by the compiler too, see `trigger`.
pub(super) static RULES: &[Rule] = &[
    Rule {
        triggers: &[MARKER],
        any_case: false,
        shape: Shape::Marker,
    },
    // Models.
    vendor("anthropic-key", &["sk-ant-"], Token::of(B64URL, 20).digit()),
    vendor("openrouter-key", &["sk-or-"], Token::of(B64URL, 32).digit()),
    vendor("langfuse-key", &["sk-lf-"], Token::of(B64URL, 32).digit()),
    vendor(
        "openai-key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"],
        Token::of(B64URL, 20).digit(),
    ),
    // Many vendors copied the prefix; CSS and package names use it as well.
    vendor(
        "openai-key",
        &["sk-"],
        Token::of(B64URL, 20).random().alone(),
    ),
    vendor(
        "hugging-face-token",
        &["hf_", "api_org_"],
        Token::of(ALNUM, 30).alone(),
    ),
    vendor("groq-key", &["gsk_"], Token::of(ALNUM, 40)),
    vendor("xai-key", &["xai-"], Token::of(ALNUM, 60)),
    vendor("perplexity-key", &["pplx-"], Token::of(ALNUM, 40)),
    vendor("replicate-token", &["r8_"], Token::of(ALNUM, 36).alone()),
    vendor(
        "langsmith-key",
        &["lsv2_pt_", "lsv2_sk_"],
        Token::of(WORD, 32),
    ),
    vendor("nvidia-key", &["nvapi-"], Token::of(B64URL, 48)),
    vendor("pinecone-key", &["pcsk_"], Token::of(WORD, 48)),
    vendor("tavily-key", &["tvly-"], Token::of(B64URL, 28).digit()),
    vendor("cerebras-key", &["csk-"], Token::of(ALNUM, 40).alone()),
    vendor("together-key", &["tgp_v1_"], Token::of(B64URL, 36)),
    vendor(
        "elevenlabs-key",
        &["sk_"],
        Token::of(HEX, 48).exact().alone(),
    ),
    // Code hosts and registries.
    vendor(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghr_"],
        Token::of(ALNUM, 30),
    ),
    vendor("github-token", &["ghs_"], Token::of(DOTTED, 30)),
    vendor("github-token", &["github_pat_"], Token::of(WORD, 40)),
    vendor(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "gloas-", "glagent-",
            "glft-",
        ],
        Token::of(DOTTED, 20),
    ),
    vendor("npm-token", &["npm_"], Token::of(ALNUM, 36)),
    vendor("pypi-token", &["pypi-"], Token::of(B64URL, 50).digit()),
    vendor(
        "crates-io-token",
        &["cio"],
        Token::of(ALNUM, 32).exact().digit().alone(),
    ),
    vendor("rubygems-key", &["rubygems_"], Token::of(HEX, 48)),
    vendor(
        "docker-token",
        &["dckr_pat_", "dckr_oat_"],
        Token::of(B64URL, 24),
    ),
    vendor("artifactory-key", &["AKCp"], Token::of(ALNUM, 60)),
    vendor(
        "sonar-token",
        &["sqp_", "squ_", "sqa_"],
        Token::of(HEX, 40).exact(),
    ),
    vendor("buildkite-token", &["bkua_"], Token::of(HEX, 40)),
    vendor(
        "atlassian-token",
        &["ATATT3", "ATCTT3", "ATBB"],
        Token::of(B64URL.and(Set::of(b"=")), 28).digit(),
    ),
    // Clouds.
    vendor(
        "aws-access-key-id",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        Token::of(UPPER_DIGIT, 16).exact(),
    ),
    vendor("google-api-key", &["AIza"], Token::of(B64URL, 35)),
    vendor(
        "google-oauth-token",
        &["ya29.", "GOCSPX-"],
        Token::of(DOTTED, 20).digit(),
    ),
    vendor(
        "google-refresh-token",
        &["1//0"],
        Token::of(B64URL, 40).alone(),
    ),
    vendor(
        "azure-key",
        &["AccountKey=", "SharedAccessKey=", "SharedKey="],
        Token::of(B64, 40).after_prefix(),
    ),
    read(&["7Q~", "8Q~"], token::azure_client_secret),
    vendor(
        "signed-url",
        &["sig="],
        Token::of(B64.and(Set::of(b"%")), 40)
            .random()
            .alone()
            .after_prefix(),
    ),
    vendor(
        "signed-url",
        &["X-Amz-Signature=", "X-Goog-Signature="],
        Token::of(HEX, 32).after_prefix(),
    ),
    vendor(
        "digitalocean-token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        Token::of(HEX, 40),
    ),
    vendor("heroku-key", &["HRKU-"], Token::of(B64URL, 36)),
    vendor(
        "cloudflare-key",
        &["v1.0-"],
        Token::of(HEX.and(Set::of(b"-")), 100),
    ),
    vendor(
        "cloudflare-key",
        &["cfk_", "cfut_", "cfat_"],
        Token::of(WORD, 40).digit(),
    ),
    vendor("databricks-token", &["dapi"], Token::of(HEX, 32)),
    vendor(
        "fly-token",
        &["fo1_", "fm1r_", "fm2_"],
        Token::of(B64ANY.and(Set::of(b",")), 40).digit(),
    ),
    vendor(
        "supabase-token",
        &["sbp_", "sb_secret_"],
        Token::of(B64URL, 20).digit(),
    ),
    vendor(
        "planetscale-token",
        &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"],
        Token::of(DOTTED, 32),
    ),
    vendor("netlify-token", &["nfp_"], Token::of(ALNUM, 36)),
    vendor("tailscale-key", &["tskey-"], Token::of(B64URL, 20).digit()),
    vendor(
        "vault-token",
        &["hvs.", "hvb.", "hvr."],
        Token::of(B64URL, 24),
    ),
    vendor(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim."],
        Token::of(DOTTED, 40),
    ),
    vendor(
        "pulumi-token",
        &["pul-"],
        Token::of(HEX, 40).exact().alone(),
    ),
    vendor("onepassword-token", &["ops_eyJ"], Token::of(B64URL, 100)),
    // Payments, mail and messages.
    vendor(
        "stripe-key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        Token::of(ALNUM, 16),
    ),
    vendor("webhook-secret", &["whsec_"], Token::of(B64, 24)),
    vendor(
        "square-token",
        &["EAAA", "EAAl"],
        Token::of(B64URL, 56).digit().apart(),
    ),
    vendor(
        "square-token",
        &["sq0atp-", "sq0csp-", "sq0idp-"],
        Token::of(B64URL, 22),
    ),
    vendor(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        Token::of(HEX, 32),
    ),
    vendor(
        "sendgrid-key",
        &["SG."],
        Token::of(DOTTED, 60).digit().alone(),
    ),
    vendor("mailgun-key", &["key-"], Token::of(HEX, 32).exact().alone()),
    vendor(
        "brevo-key",
        &["xkeysib-", "xsmtpsib-"],
        Token::of(B64URL, 64),
    ),
    vendor("twilio-key", &["SK"], Token::of(HEX, 32).exact().alone()),
    vendor(
        "slack-token",
        &[
            "xoxa-", "xoxb-", "xoxc-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-",
            "xoxe.",
        ],
        Token::of(DOTTED, 16).digit(),
    ),
    vendor(
        "slack-token",
        &["xoxd-"],
        Token::of(COOKIE_TOKEN, 16).digit(),
    ),
    vendor(
        "slack-webhook",
        &[
            "hooks.slack.com/services/",
            "hooks.slack.com/workflows/",
            "hooks.slack.com/triggers/",
        ],
        Token::of(SLASHED, 20).digit().after_prefix(),
    ),
    vendor(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        Token::of(SLASHED, 60).after_prefix(),
    ),
    vendor(
        "teams-webhook",
        &["webhook.office.com/webhookb2/"],
        Token::of(SLASHED.and(Set::of(b"@")), 60).after_prefix(),
    ),
    read(
        &[
            "MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT", "Oj", "Oz",
        ],
        token::discord_bot,
    ),
    read(&[":AA"], token::telegram_bot),
    // Tools.
    vendor(
        "linear-key",
        &["lin_api_", "lin_oauth_"],
        Token::of(ALNUM, 32),
    ),
    vendor("notion-token", &["ntn_"], Token::of(ALNUM, 40)),
    vendor(
        "notion-token",
        &["secret_"],
        Token::of(ALNUM, 40).digit().alone(),
    ),
    vendor(
        "postman-key",
        &["PMAK-"],
        Token::of(HEX.and(Set::of(b"-")), 50),
    ),
    vendor(
        "newrelic-key",
        &["NRAK-", "NRII-", "NRIQ-"],
        Token::of(B64URL, 24),
    ),
    vendor(
        "sentry-token",
        &["sntrys_", "sntryu_"],
        Token::of(B64.and(Set::of(b"_-")), 40),
    ),
    vendor(
        "grafana-token",
        &["glsa_", "glc_"],
        Token::of(B64.and(Set::of(b"_")), 32).digit(),
    ),
    vendor("figma-token", &["figd_", "figu_"], Token::of(B64URL, 36)),
    vendor("contentful-token", &["CFPAT-"], Token::of(B64URL, 40)),
    vendor("posthog-key", &["phx_"], Token::of(ALNUM, 40)),
    vendor(
        "dropbox-token",
        &["sl."],
        Token::of(B64URL, 100).digit().alone(),
    ),
    vendor(
        "age-secret-key",
        &["AGE-SECRET-KEY-1"],
        Token::of(UPPER_DIGIT, 50),
    ),
    // Shapes that no vendor owns.
    read(&["eyJ"], token::json_web),
    read(&["-----BEGIN ", "---- BEGIN "], block::private_key),
    read(&["Private-Lines:"], block::putty),
    read(&["://", ":\\/\\/"], url::userinfo),
    read(&["-u ", "--user "], url::curl_user),
    read_any_case(&["authorization"], header::authorization),
    read_any_case(&["bearer"], header::bearer),
    read_any_case(&["cookie"], header::cookie),
    // Values whose key says that they are secret.
    read_any_case(
        &["password", "passwd", "passphrase", "passcode", "pwd"],
        assign::password,
    ),
    read(
        &["パスワード", "暗証番号", "密码", "密碼", "비밀번호"],
        assign::password,
    ),
    read_any_case(&["pass"], assign::pass),
    read_any_case(&["secret"], assign::secret),
    read_any_case(&["token"], assign::token),
    read_any_case(&["key"], assign::key),
    read_any_case(&["credential"], assign::credential),
    read_any_case(&["auth"], assign::auth),
];
