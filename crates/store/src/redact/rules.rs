//! The table of rules: which literals may begin a secret, and the shape it then must have.
//! How a shape is read is in the module named after it.
//!
//! Order matters where two rules share a beginning: the specific one stands first.

use super::bytes::{ALNUM, B64, B64ANY, B64URL, DIGIT, DOTTED, HEX, Set, UPPER, View, WORD};
use super::token::{Proof, Token};
use super::{Finding, MARKER, assign, block, header, token, url};

/// One rule: it is tried wherever one of its triggers stands.
pub(super) struct Rule {
    pub(super) triggers: &'static [&'static str],
    /// Whether the triggers are found in capitals too.
    pub(super) any_case: bool,
    shape: Shape,
}

enum Shape {
    /// One of our own replacements, which the iteration steps over before it asks any rule.
    Marker,
    /// A vendor's prefix and a body.
    Token(Token),
    /// Anything that needs its surroundings; told where its trigger begins and which it is.
    Read(Reader),
}

type Reader = fn(View<'_>, usize, &'static str) -> Option<Finding>;

impl Rule {
    /// The secret that this rule sees at `at`.
    pub(super) fn find(&self, view: View<'_>, at: usize) -> Option<Finding> {
        let trigger = *self.triggers.iter().find(|trigger| {
            view.has(at, trigger) || self.any_case && view.has_any_case(at, trigger)
        })?;
        match &self.shape {
            Shape::Marker => None,
            Shape::Token(shape) => token::find(view, at, trigger, shape),
            Shape::Read(read) => read(view, at, trigger),
        }
    }
}

/// The vendor's token that begins at `at`: its name says more than the key it is assigned to.
pub(super) fn token_at(view: View<'_>, at: usize) -> Option<Finding> {
    let mut tokens = RULES.iter().filter(|rule| matches!(rule.shape, Shape::Token(_)));
    tokens.find_map(|rule| rule.find(view, at))
}

const fn vendor(
    kind: &'static str,
    triggers: &'static [&'static str],
    body: Set,
    min: usize,
) -> Rule {
    Rule { triggers, any_case: false, shape: Shape::Token(Token::new(kind, body, min)) }
}

const fn read(triggers: &'static [&'static str], reader: Reader) -> Rule {
    Rule { triggers, any_case: false, shape: Shape::Read(reader) }
}

const fn read_any_case(triggers: &'static [&'static str], reader: Reader) -> Rule {
    Rule { triggers, any_case: true, shape: Shape::Read(reader) }
}

impl Rule {
    const fn with(self, change: Change) -> Self {
        let Self { triggers, any_case, shape } = self;
        let shape = match shape {
            Shape::Token(token) => Shape::Token(match change {
                Change::Exact => token.exact(),
                Change::Alone => token.alone(),
                Change::Apart => token.apart(),
                Change::Digit => token.proven(Proof::Digit),
                Change::Random => token.proven(Proof::Random),
                Change::AfterPrefix => token.after_prefix(),
            }),
            other => other,
        };
        Self { triggers, any_case, shape }
    }

    /// A longer body is something else.
    const fn exact(self) -> Self {
        self.with(Change::Exact)
    }

    /// The prefix is weak: nothing that could belong to a longer name may stand before it.
    const fn alone(self) -> Self {
        self.with(Change::Alone)
    }

    /// The prefix is common in base64, so it must not follow any of its characters.
    const fn apart(self) -> Self {
        self.with(Change::Apart)
    }

    /// The prefix is weak: words may follow it, so the body must hold a digit.
    const fn digit(self) -> Self {
        self.with(Change::Digit)
    }

    /// The prefix says next to nothing: the body must look drawn by lot.
    const fn random(self) -> Self {
        self.with(Change::Random)
    }

    /// The prefix is no part of the secret and stays.
    const fn after_prefix(self) -> Self {
        self.with(Change::AfterPrefix)
    }
}

#[derive(Clone, Copy)]
enum Change {
    Exact,
    Alone,
    Apart,
    Digit,
    Random,
    AfterPrefix,
}

const UPPER_DIGIT: Set = UPPER.and(DIGIT);
const SLASHED: Set = B64URL.and(Set::of(b"/"));
const COOKIE_TOKEN: Set = B64URL.and(Set::of(b"%+/="));

/// Every rule. The table is read by the compiler too, see `trigger`.
pub(super) static RULES: &[Rule] = &[
    Rule { triggers: &[MARKER], any_case: false, shape: Shape::Marker },
    // Models.
    vendor("anthropic-key", &["sk-ant-"], B64URL, 20).digit(),
    vendor("openrouter-key", &["sk-or-"], B64URL, 32).digit(),
    vendor("langfuse-key", &["sk-lf-"], B64URL, 32).digit(),
    vendor("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], B64URL, 20).digit(),
    // Many vendors copied the prefix; CSS and package names use it as well.
    vendor("openai-key", &["sk-"], B64URL, 20).random().alone(),
    vendor("hugging-face-token", &["hf_", "api_org_"], ALNUM, 30).alone(),
    vendor("groq-key", &["gsk_"], ALNUM, 40),
    vendor("xai-key", &["xai-"], ALNUM, 60),
    vendor("perplexity-key", &["pplx-"], ALNUM, 40),
    vendor("replicate-token", &["r8_"], ALNUM, 36).alone(),
    vendor("langsmith-key", &["lsv2_pt_", "lsv2_sk_"], WORD, 32),
    vendor("nvidia-key", &["nvapi-"], B64URL, 48),
    vendor("pinecone-key", &["pcsk_"], WORD, 48),
    vendor("tavily-key", &["tvly-"], B64URL, 28).digit(),
    vendor("cerebras-key", &["csk-"], ALNUM, 40).alone(),
    vendor("together-key", &["tgp_v1_"], B64URL, 36),
    vendor("elevenlabs-key", &["sk_"], HEX, 48).exact().alone(),
    // Code hosts and registries.
    vendor("github-token", &["ghp_", "gho_", "ghu_", "ghr_"], ALNUM, 30),
    vendor("github-token", &["ghs_"], DOTTED, 30),
    vendor("github-token", &["github_pat_"], WORD, 40),
    vendor(
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "gloas-", "glagent-", "glft-"],
        DOTTED,
        20,
    ),
    vendor("npm-token", &["npm_"], ALNUM, 36),
    vendor("pypi-token", &["pypi-"], B64URL, 50).digit(),
    vendor("crates-io-token", &["cio"], ALNUM, 32).exact().digit().alone(),
    vendor("rubygems-key", &["rubygems_"], HEX, 48),
    vendor("docker-token", &["dckr_pat_", "dckr_oat_"], B64URL, 24),
    vendor("artifactory-key", &["AKCp"], ALNUM, 60),
    vendor("sonar-token", &["sqp_", "squ_", "sqa_"], HEX, 40).exact(),
    vendor("buildkite-token", &["bkua_"], HEX, 40),
    vendor("atlassian-token", &["ATATT3", "ATCTT3", "ATBB"], B64URL.and(Set::of(b"=")), 28).digit(),
    // Clouds.
    vendor("aws-access-key-id", &["AKIA", "ASIA", "ABIA", "ACCA"], UPPER_DIGIT, 16).exact(),
    vendor("google-api-key", &["AIza"], B64URL, 35),
    vendor("google-oauth-token", &["ya29.", "GOCSPX-"], DOTTED, 20).digit(),
    vendor("google-refresh-token", &["1//0"], B64URL, 40).alone(),
    vendor("azure-key", &["AccountKey=", "SharedAccessKey=", "SharedKey="], B64, 40).after_prefix(),
    read(&["7Q~", "8Q~"], token::azure_client_secret),
    vendor("signed-url", &["sig="], B64.and(Set::of(b"%")), 40).random().alone().after_prefix(),
    vendor("signed-url", &["X-Amz-Signature=", "X-Goog-Signature="], HEX, 32).after_prefix(),
    vendor("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], HEX, 40),
    vendor("heroku-key", &["HRKU-"], B64URL, 36),
    vendor("cloudflare-key", &["v1.0-"], HEX.and(Set::of(b"-")), 100),
    vendor("cloudflare-key", &["cfk_", "cfut_", "cfat_"], WORD, 40).digit(),
    vendor("databricks-token", &["dapi"], HEX, 32),
    vendor("fly-token", &["fo1_", "fm1r_", "fm2_"], B64ANY.and(Set::of(b",")), 40).digit(),
    vendor("supabase-token", &["sbp_", "sb_secret_"], B64URL, 20).digit(),
    vendor("planetscale-token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], DOTTED, 32),
    vendor("netlify-token", &["nfp_"], ALNUM, 36),
    vendor("tailscale-key", &["tskey-"], B64URL, 20).digit(),
    vendor("vault-token", &["hvs.", "hvb.", "hvr."], B64URL, 24),
    vendor("doppler-token", &["dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim."], DOTTED, 40),
    vendor("pulumi-token", &["pul-"], HEX, 40).exact().alone(),
    vendor("onepassword-token", &["ops_eyJ"], B64URL, 100),
    // Payments, mail and messages.
    vendor("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], ALNUM, 16),
    vendor("webhook-secret", &["whsec_"], B64, 24),
    vendor("square-token", &["EAAA", "EAAl"], B64URL, 56).digit().apart(),
    vendor("square-token", &["sq0atp-", "sq0csp-", "sq0idp-"], B64URL, 22),
    vendor("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], HEX, 32),
    vendor("sendgrid-key", &["SG."], DOTTED, 60).digit().alone(),
    vendor("mailgun-key", &["key-"], HEX, 32).exact().alone(),
    vendor("mailchimp-key", &["xkeysib-", "xsmtpsib-"], B64URL, 64),
    vendor("twilio-key", &["SK"], HEX, 32).exact().alone(),
    vendor(
        "slack-token",
        &["xoxa-", "xoxb-", "xoxc-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "xoxe."],
        DOTTED,
        16,
    )
    .digit(),
    vendor("slack-token", &["xoxd-"], COOKIE_TOKEN, 16).digit(),
    vendor(
        "slack-webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"],
        SLASHED,
        20,
    )
    .digit()
    .after_prefix(),
    vendor(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        SLASHED,
        60,
    )
    .after_prefix(),
    vendor("teams-webhook", &["webhook.office.com/webhookb2/"], SLASHED.and(Set::of(b"@")), 60)
        .after_prefix(),
    read(
        &["MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT", "Oj", "Oz"],
        token::discord_bot,
    ),
    read(&[":AA"], token::telegram_bot),
    // Tools.
    vendor("linear-key", &["lin_api_", "lin_oauth_"], ALNUM, 32),
    vendor("notion-token", &["ntn_"], ALNUM, 40),
    vendor("notion-token", &["secret_"], ALNUM, 40).digit().alone(),
    vendor("postman-key", &["PMAK-"], HEX.and(Set::of(b"-")), 50),
    vendor("newrelic-key", &["NRAK-", "NRII-", "NRIQ-"], B64URL, 24),
    vendor("sentry-token", &["sntrys_", "sntryu_"], B64.and(Set::of(b"_-")), 40),
    vendor("grafana-token", &["glsa_", "glc_"], B64.and(Set::of(b"_")), 32).digit(),
    vendor("figma-token", &["figd_", "figu_"], B64URL, 36),
    vendor("contentful-token", &["CFPAT-"], B64URL, 40),
    vendor("posthog-key", &["phx_"], ALNUM, 40),
    vendor("dropbox-token", &["sl."], B64URL, 100).digit().alone(),
    vendor("age-secret-key", &["AGE-SECRET-KEY-1"], UPPER_DIGIT, 50),
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
    read(&["パスワード", "暗証番号", "密码", "密碼", "비밀번호"], assign::password),
    read_any_case(&["pass"], assign::pass),
    read_any_case(&["secret"], assign::secret),
    read_any_case(&["token"], assign::token),
    read_any_case(&["key"], assign::key),
    read_any_case(&["credential"], assign::credential),
    read_any_case(&["auth"], assign::auth),
];
