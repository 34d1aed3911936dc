//! Secrets that only their key, header or place in a URL betrays.

use super::{Dice, gone, unchanged};

/// Asserts that `§` of `form` is replaced, and nothing else.
#[track_caller]
fn replaced(form: &str, secret: &str, kind: &str) {
    let clean = gone(&form.replace('§', secret), secret);
    assert_eq!(clean, form.replace('§', &format!("[redacted:{kind}]")));
}

/// Forms in which a key that ends in `KEY` takes any value.
const FORMS: &[&str] = &[
    "KEY=§",
    "export KEY='§'",
    "KEY=\"§\" make",
    "docker run -e KEY=§ image",
    "key: §",
    "key: \"§\"",
    "  key: '§'  # comment",
    "{\"key\":\"§\"}",
    "{\"key\": \"§\", \"n\": 1}",
    "\"{\\\"key\\\":\\\"§\\\"}\"",
    "{'key': '§'}",
    "key = \"§\"",
    "key=§;server=db",
    "const key = `§`;",
    "let key: &str = \"§\";",
    "key := \"§\"",
    "key => '§',",
    "if key == \"§\" {",
    "os.environ[\"KEY\"] = \"§\"",
    "tool --key §",
    "tool --key=§ --verbose",
    "tool --key '§'",
    "https://example.org/?key=§&page=1",
    "<key>§</key>",
    "**Key:** §",
    "- **Key**: `§`",
    "name: KEY\n  value: §\n",
    "{\"name\": \"KEY\", \"value\": \"§\"}",
    "<input name=\"key\" value=\"§\">",
    "次のkey：§を使う",
    "KEY=§\\nOTHER=1",
    "config.key = '§'",
    "my_key: §, other: 1",
    "(key=§)",
];

#[track_caller]
fn replaced_in_all_forms(key: &str, secret: &str, kind: &str) {
    for form in FORMS {
        let capital = key[..1].to_uppercase() + &key[1..];
        let form = form.replace("KEY", &key.to_uppercase());
        let form = form.replace("Key", &capital).replace("key", key);
        replaced(&form, secret, kind);
    }
}

#[test]
fn passwords_are_gone_with_any_form_of_key() {
    let mut dice = Dice(11);
    for key in [
        "password",
        "db_password",
        "passwd",
        "smtp-passphrase",
        "mysql_pwd",
        "db_pass",
    ] {
        let weak = dice.draw(Dice::LOWER, 6) + &dice.draw(Dice::DIGITS, 1);
        let strong = dice.draw(Dice::ALNUM, 14) + "!+";
        let special = dice.draw(Dice::LOWER, 5) + "@$w" + &dice.draw(Dice::DIGITS, 2);
        for secret in [weak, strong, special, dice.draw(Dice::ALNUM, 300)] {
            replaced_in_all_forms(key, &secret, "password");
        }
    }
}

#[test]
fn machine_made_values_are_gone_with_any_form_of_key() {
    let mut dice = Dice(12);
    for (key, kind) in [
        ("token", "token"),
        ("access_token", "token"),
        ("refresh-token", "token"),
        ("client_secret", "secret"),
        ("jwt_secret", "secret"),
        ("secret_key_base", "secret"),
        ("aws_secret_access_key", "secret"),
        ("api_key", "api-key"),
        ("api-key", "api-key"),
        ("apikey", "api-key"),
        ("x-api-key", "api-key"),
        ("private_key", "api-key"),
        ("encryption_key", "api-key"),
        ("service_role_key", "api-key"),
        ("credentials", "credential"),
    ] {
        let values = [
            dice.draw(Dice::LOWER_HEX, 32),
            dice.draw(Dice::ALNUM, 24),
            dice.draw(Dice::B64URL, 43),
            dice.draw(Dice::B64, 40).replace('/', "+"),
            dice.draw(Dice::ALNUM, 500),
            dice.uuid(),
        ];
        for value in values {
            replaced_in_all_forms(key, &value, kind);
        }
    }
}

#[test]
fn keys_in_camel_case_count() {
    let mut dice = Dice(13);
    let value = dice.draw(Dice::ALNUM, 32);
    for (key, kind) in [
        ("accessToken", "token"),
        ("botToken", "token"),
        ("clientSecret", "secret"),
        ("secretKey", "secret"),
        ("SecretAccessKey", "secret"),
        ("dbPassword", "password"),
        ("smtpPass", "password"),
        ("apiKey", "api-key"),
        ("privateKeyPem", "api-key"),
        ("PrivateKey", "api-key"),
    ] {
        replaced(&format!("{{\"{key}\": \"§\"}}"), &value, kind);
        replaced(&format!("const {key}: string = '§';"), &value, kind);
    }
    replaced("API_KEY_OPENAI=§", &value, "api-key");
    replaced("API key: §", &value, "api-key");
    replaced("Secret access key: §", &value, "api-key");
    replaced("headers.set('X-Api-Key', '§')", &value, "api-key");
    replaced(
        "{\"auths\":{\"ghcr.io\":{\"auth\":\"§\"}}}",
        &value,
        "basic-auth",
    );
    replaced("//registry.npmjs.org/:_authToken=§", &value, "token");
    replaced("PRIVATE-TOKEN: §", &value, "token");
}

#[test]
fn secrets_of_aws_with_slashes_are_gone() {
    let mut dice = Dice(14);
    for _ in 0..50 {
        let value = dice.draw(Dice::B64, 40);
        replaced("aws_secret_access_key = §\n", &value, "secret");
        replaced("AWS_SECRET_ACCESS_KEY=§", &value, "secret");
        replaced("\"SecretAccessKey\": \"§\",", &value, "secret");
    }
}

#[test]
fn weak_secrets_are_gone_from_env_files() {
    let mut dice = Dice(15);
    let words = [dice.draw(Dice::LOWER, 7), dice.draw(Dice::LOWER, 6)].join("-");
    replaced("JWT_SECRET=§", &words, "secret");
    replaced("DB_PASSWORD=§", &words, "password");
    replaced("password=§", &dice.draw("123456789", 8), "password");
    replaced(
        "secret: \"§\"",
        &(dice.draw(Dice::LOWER, 11) + "347"),
        "secret",
    );
    replaced(
        "パスワード：§です",
        &(dice.draw(Dice::LOWER, 7) + "4"),
        "password",
    );
    replaced("密码: §", &(dice.draw(Dice::LOWER, 7) + "4"), "password");
}

#[test]
fn headers_lose_their_credentials() {
    let mut dice = Dice(16);
    // base64 of `alice:` and of a password.
    let basic = ["YWxp", "Y2U6", "aHVu", "dGVy", "Mg=="].concat();
    let opaque = dice.draw(Dice::B64URL, 40);
    for header in [
        "Authorization: ~ §",
        "\"authorization\": \"~ §\"",
        "-H 'Authorization: ~ §'",
    ] {
        replaced(&header.replace('~', "Basic"), &basic, "basic-auth");
        replaced(&header.replace('~', "Bearer"), &opaque, "bearer-token");
        replaced(&header.replace('~', "Token"), &opaque, "authorization");
    }
    replaced("Proxy-Authorization: Basic §\r\n", &basic, "basic-auth");
    replaced("Authorization: §", &opaque, "authorization");
    replaced(
        "setHeader('Authorization', 'Bearer §')",
        &opaque,
        "bearer-token",
    );
    replaced("got Bearer §, expected none", &opaque, "bearer-token");
    let cookies = format!(
        "theme=dark; session={}; lang=de",
        dice.draw(Dice::ALNUM, 40)
    );
    replaced("Cookie: §\nHost: example.org", &cookies, "cookie");
    replaced(
        "curl -H 'Cookie: §' https://example.org",
        &cookies,
        "cookie",
    );
    let sid = dice.draw(Dice::B64, 40);
    replaced(
        "Set-Cookie: connect.sid=§; Path=/; HttpOnly",
        &sid,
        "cookie",
    );
    replaced(
        "set-cookie: PHPSESSID=§; path=/",
        &dice.draw(Dice::ALNUM, 26),
        "cookie",
    );
}

#[test]
fn urls_lose_their_credentials() {
    let mut dice = Dice(17);
    let weak = dice.draw(Dice::LOWER, 6) + "7";
    let encoded = dice.draw(Dice::LOWER, 4) + "%40%2F" + &dice.draw(Dice::ALNUM, 4);
    let unencoded = dice.draw(Dice::LOWER, 4) + "@" + &dice.draw(Dice::ALNUM, 4);
    for password in [weak, encoded, dice.draw(Dice::ALNUM, 30), unencoded] {
        let hides = |form: &str| {
            let clean = gone(&form.replace('~', &password), &password);
            assert_eq!(clean, form.replace('~', "[redacted:password]"));
        };
        hides("https://user:~@example.org/path?x=1");
        hides("DATABASE_URL=postgres://app:~@db:5432/app");
        hides("redis://:~@localhost:6379/0");
        hides("amqp://guest:~@mq/vhost");
        hides("mongodb+srv://u:~@a,b/db");
        hides("git clone https://oauth2:~@gitlab.com/x.git");
        hides("\"url\": \"https:\\/\\/user:~@example.org\\/\"");
        hides("接続先はmysql://root:~@dbです");
    }
    let token = dice.draw(Dice::ALNUM, 40);
    replaced("https://§@github.com/a/b.git", &token, "url-token");
    let github = ["ghp", "_", &dice.draw(Dice::ALNUM, 36)].concat();
    let both = [&github, ":x-oauth-basic"].concat();
    let clean = gone(&format!("https://{both}@github.com/a/b"), &github);
    assert_eq!(clean, "https://[redacted:github-token]@github.com/a/b");
    let clean = gone(
        &format!("https://x-access-token:{github}@github.com/a/b"),
        &github,
    );
    assert_eq!(
        clean,
        "https://x-access-token:[redacted:github-token]@github.com/a/b"
    );
    let password = dice.draw(Dice::ALNUM, 12);
    replaced("curl -u alice:§ https://example.org", &password, "password");
    replaced(
        "curl -s --user 'alice:§' https://example.org",
        &password,
        "password",
    );
}

#[test]
fn several_secrets_of_one_text_are_all_gone() {
    let mut dice = Dice(18);
    let secrets: Vec<_> = (0..40).map(|_| dice.draw(Dice::ALNUM, 24)).collect();
    let lines = secrets
        .iter()
        .enumerate()
        .map(|(n, secret)| format!("TOKEN_{n}={secret}\n"));
    let text: String = lines.collect();
    for secret in &secrets {
        gone(&text, secret);
    }
}

#[test]
fn flags_glued_to_their_value_are_left_alone_but_for_databases() {
    unchanged("tool -uroot -psomething1 db");
    unchanged("mysql -uroot -p db; mkdir -p x1");
    let password = Dice(19).draw(Dice::LOWER, 8) + "7";
    replaced("mysql -uroot -p§ db", &password, "password");
}

#[test]
fn defaults_of_variables_are_gone_and_messages_stay() {
    let mut dice = Dice(20);
    let (password, key) = (dice.draw(Dice::LOWER, 8) + "7!", dice.draw(Dice::ALNUM, 30));
    replaced("A=${DB_PASSWORD:-§} B=1", &password, "password");
    replaced("A=${DB_PASSWORD:=§}/x}", &password, "password");
    replaced("A=\"${DB_PASSWORD-§}\"", &password, "password");
    replaced("url: ${db.password:§}", &password, "password");
    replaced("A=${API_KEY:-'§'}", &key, "api-key");
    unchanged("A=${API_KEY:?missing1} B=${API_KEY?missing1}");
    unchanged("A=${API_KEY:-${OTHER1}} B=${DB_PASSWORD:-$OTHER1}");
}

#[test]
fn values_keep_what_is_around_them_in_formats_of_their_own() {
    let mut dice = Dice(21);
    let (word, password) = (dice.draw(Dice::LOWER, 8), dice.draw(Dice::LOWER, 8) + "7x");
    let netrc = "machine h login ada account fin password §\nmachine i login ben\n";
    replaced(netrc, &word, "password");
    replaced(
        "db:5432:shop:ada:§\n",
        &(word.clone() + "\\:x7"),
        "password",
    );
    replaced("CREATE USER ada IDENTIFIED BY §;", &word, "password");
    replaced("ALTER ROLE ada PASSWORD $$§$$;", &word, "password");
    replaced("> AUTH §\nOK", &password, "password");
    replaced(
        "docker login -u a --password-stdin <<< '§'\n",
        &word,
        "password",
    );
    replaced("printf '%s' '§' | docker login -u a\n", &word, "password");
    replaced("Driver={x};PWD={§};Encrypt=yes", &password, "password");
    replaced("password = \"\"\"§\"\"\"\n", &password, "password");
    replaced("os.getenv(\"DB_PASSWORD\", '§')", &password, "password");
    replaced("password: \u{1b}[32m§\u{1b}[39m", &password, "password");
    replaced("root:§@/shop?a=1", &password, "password");
    replaced("htpasswd -bc .htpasswd ada § && ls", &word, "password");
}

#[test]
fn a_token_that_is_wrapped_takes_no_sentence_with_it() {
    let mut dice = Dice(22);
    let mut line = |length| dice.draw(Dice::B64URL, length).replace('-', "7");
    let wrapped = format!(
        "eyJ{}.eyJ{}\n{}\n{}.{}",
        line(20),
        line(40),
        line(64),
        line(20),
        line(43)
    );
    replaced("token\n§\nDone\n", &wrapped, "jwt");
    replaced(
        "Authorization: Bearer §\nHost: example.org",
        &wrapped,
        "jwt",
    );
    let whole = format!("eyJ{}.eyJ{}.{}", line(20), line(60), line(43));
    replaced("§\nnext1Line2Of3Text4\n", &whole, "jwt");
    let text = format!("{whole}\n{whole}\n");
    assert_eq!(gone(&text, &whole), "[redacted:jwt]\n[redacted:jwt]\n");
}
