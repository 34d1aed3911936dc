//! Texts that only look like secrets. A false alarm here would cost an agent its memory.

use super::{Dice, redact, unchanged};

/// One innocent a line; lines stand for themselves and among others.
pub(super) const INNOCENTS: &str = r#"
commit 1df6cf1a5b0c9d3e7f8a2b4c6d8e0f1a3b5c7d9e
Merge 1df6cf1 into main (2faa28b..9d905d5)
git rebase --onto 9d905d5a1 3fce3b5
index 8f3e2a1..c4d5e6f 100644
tree 64f2b1c09d8e7a6f5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a
image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
checksum = "b2fdf4a1e2c3d4b5a697887766554433221100ffeeddccbbaa99887766554433"
md5: d41d8cd98f00b204e9800998ecf8427e
etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
550e8400-e29b-41d4-a716-446655440000
request 7c9e6679-7425-40de-944b-e07fc1f90ae7 took 12 ms
"id": "c56a4180-65aa-42ec-a945-5fd21dec0538"
session ses_4f1b9c2d7e8aZ3xY6wV5uT4sR3 is idle
"sessionID": "ses_4f1b9c2d7e8aZ3xY6wV5uT4sR3"
"messageID": "msg_b0e3f1c2a4d5Qw9eR8tY7uI6oP5aS4"
part prt_b0e3f1c2a4d5Qw9eR8tY7uI6oP5aS4 of the message
toolu_01A09q90qw90lq917835lq9x
"call_id": "call_h8Jk2LmN4pQr6StUvWxYz012"
request-id: req_011CSHoEeqs5C35K2UUqR7Fy
"tool_use_id": "toolu_01D7FLrfh4GYq7yT1ULFeyMV"
frame k3f9x2mq popped after push 7
token_count = 4000
max_tokens: 800
"max_tokens": 4096, "prompt_tokens": 1234567
total_tokens=123456789
tokens: 128000
input_tokens: 1203344 output_tokens: 88231
MAX_THINKING_TOKENS=31999
token_budget: 20000000
"token_type": "bearer"
token_endpoint: https://example.org/oauth2/token
token: 4000
token = 17
password: string
password: String,
"password": "string"
"password": {"type": "string", "minLength": 8}
password: Option<String>,
password: &str
fn login(user: &str, password: &str) -> Result<Token>
def login(user: str, password: str = None) -> Token:
type Credentials = { username: string; password: string };
interface Props { token?: string | null; apiKey: string }
password VARCHAR(255) NOT NULL,
const token = getToken()
const token = await getAccessToken2(request);
let token = lexer.next_token();
token = self.tokenizer.next()
const apiKey = process.env.OPENAI_API_KEY;
api_key = os.environ["OPENAI_API_KEY"]
api_key = os.getenv("ANTHROPIC_API_KEY", "")
apiKey: import.meta.env.VITE_API_KEY
password = config.database.password1
password: user.password2,
secret = settings.SECRET_KEY
this.token = token;
self.token = token2ident(value)
token => token.kind === "identifier"
if (token.type === 'STRING_LITERAL') {
Token::Ident(name) => {}
case TOKEN_STRING: return "string";
secretKeyRef:
secretKeyRef: { name: db-creds-v2, key: password }
secretName: my-tls-secret-2
imagePullSecrets: [{ name: regcred }]
secret: "db-creds-v2"
tokenizer = "cl100k_base"
tokenizer: o200k_base
tokenizer.json
from transformers import AutoTokenizer
password=${DB_PASSWORD}
password: ${{ secrets.DB_PASSWORD }}
DB_PASSWORD=$DB_PASS
PASSWORD=$(cat /run/secrets/db)
password: "{{ vault_db_password }}"
password: <%= ENV["DB_PASSWORD"] %>
password: !vault |
password=%DB_PASSWORD%
token: <token>
token=<your-token-here>
API_KEY=your-api-key-here
api_key: "YOUR_API_KEY_1"
API_KEY=xxxxxxxxxxxxxxxx
password: ********
password: "••••••••"
PASSWORD=changeme
password: changeme123
token: null
token: None
"token": true
secret: undefined
password=
password: ""
password_hash, password_file=/run/secrets/db1
PASSWORD_FILE=/run/secrets/postgres-passwd1
TOKEN_FILE=/var/run/token1
private_key_path: ~/.ssh/id_ed25519
private_key: /etc/ssl/private/server1.key
"private_key_id": "0123456789abcdef0123456789abcdef01234567"
PWD=/home/user1/project2
OLDPWD=/home/user1
secret_arn: arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbC1d2
arn:aws:iam::123456789012:role/Deploy-Role1
SECRET=arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbC1d2
token_secret_name: projects/p1/secrets/s1/versions/3
op_token = op://vault1/item2/field3
nextToken: "AAMA-EFRSURBSGhtK1pYc2V4bGF0"
"nextPageToken": "CAUQAA1b2C3d4E5f6G7h8"
'password' => 'required|min:8|confirmed',
"forgotPassword": "Forgot?"
"password": "Passwort"
"password": "パスワードを8文字以上で入力"
"passwordLabel": "Password1"
password must have at least 12 characters
Enter the password: it was sent by mail
The token expired; a new token is needed (see RFC 6749).
the secret ingredient: patience
API key: see the vault
primary_key: "user_id1"
cache_key = "3f2b8c9d0e1f2a3b4c5d6e7f8a9b0c1d"
partition_key: tenant#42a7c3
sort_key: "2024-06-01T12:34:56Z"
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7vbqajDhA5h0oPzj8Vu user@host
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
"public_key": "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1a2b3c4d5e6f7g8h9i0j"
age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p
pk_live_is_the_prefix_of_publishable_keys
2024-06-01T12:34:56.789Z
2024-06-01
v1.0-beta.3, v1.2.3-rc.1+build.456
flamestack 0.1.0 (1df6cf1 2026-08-21)
https://example.org/path?x=1&y=2#frag
https://example.org:8443/a/b@2x.png
https://user@example.org/
ssh://git@github.com:22/org/repo.git
git@github.com:org/repo.git
http://localhost:3000/@vite/client
http://localhost:3000,me@example.org
(http://localhost:3000),me@example.org
https://registry.npmjs.org/@types/node/-/node-20.1.0.tgz
postgres://localhost:5432/app
postgres://${USER}:${PASS}@db/app
postgres://user:$PASSWORD@db/app
https://user:<password>@example.org
https://user:****@example.org
https://{user}:{password}@example.org
f"postgresql://{user}:{pw}@{host}/{db}"
http://%s:%s@%s/
/https?:\/\/[^:]+:[^@]+@/
Authorization: Bearer <token>
Authorization: Bearer ${TOKEN}
Authorization: Bearer $TOKEN
Authorization: Bearer YOUR_TOKEN
"Authorization": `Bearer ${token}`
f"Bearer {token}"
headers.Authorization = token
WWW-Authenticate: Bearer realm="example"
Authorization: Basic authentication is required
authorization: required
Bearer authentication with OAuth2 tokens
the ring bearer walked to Mordor
Cookie: theme=dark; lang=de
Set-Cookie: theme=dark; Path=/
cookie: see the section on sessions
document.cookie = name
task-sk-circle12 sk-cube-grid sk-folding-cube sk-chasing-dot-before
.sk-fading-circle .sk-circle10:before { animation-delay: -0.3s }
scikit: sk-learn-pipeline-with-standard-scaler-2
npm_config_registry npm_package_version npm_lifecycle_event
hf_hub_download(repo_id="org/model", filename="config.json")
gho_st ghp_ xoxb- glpat- AKIA AIza
import dapi from './dapi'
key-value store, key-0001 and key-abcdef
cache:key-value-pairs-by-tenant
SKIP SKU SK12 SK-1234 TASK SKELETON
MTU 1500, MD5, NTLM, ODBC, OTel, MT4
SG.v2 and dp.st are not tokens
EAAA is a prefix
design=src/components/very/long/path2/to/the/index3.tsx
sig=abc
<input type="password" name="pw" placeholder="Password">
--password-file /run/secrets/x --token-limit 4000
--max-tokens 4000 --secret-name db-creds
git push -u origin feature/token-refresh2
docker run -u 1000:1000 image
rsync -u host1:/srv/data2 .
src/auth/token.rs:42: unused variable `password1`
crates/store/src/redact/rules.rs
C:\Users\me\AppData\Local\Temp\token1.txt
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
eyJhbGciOiJIUzI1NiJ9
eyJhbGciOi...
auth: "OAuth2PasswordBearer"
auth: none
credentials: "same-origin"
credentials: include
GOOGLE_APPLICATION_CREDENTIALS=/home/me/sa-1a2b3c.json
TOKEN_TTL=86400000
ACCESS_TOKEN_EXPIRY=15m
JWT_ALGORITHM=RS256RS512
"secret": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
design token: color.primary.500
"token": "spacing.4xl"
"token": "color-primary-500"
[redacted:github-token]
password=[redacted:password]
https://user:[redacted:password]@host/
API_KEY=${API_KEY:?missing}
API_KEY=${API_KEY:?set the key first, see docs/setup2.md}
API_KEY=${API_KEY:-$OTHER_API_KEY2}
TOKEN=${TOKEN:=${OTHER_TOKEN2}}
DB_PASSWORD=${DB_PASSWORD:-}
password: ${DB_PASSWORD:-changeme}
echo ${TOKEN:0:8} ${TOKEN%%-*} ${API_KEY//[0-9]/x}
password: PasswordField
password: userPwdText
password: getPasswordFromVault
password: XMLHttpRequest
"password": "MotDePasse"
AUTH LOGIN
AUTH CRAM-MD5
see the AUTH section2
Machine login and password fields
on each machine the login and password fields
machine the login and password fields of forms
Rows are identified by name
Create a user identified by email
alter role names identified by prefixes in logs
mysql -u root -p shop
docker run --name mysql -p3306:3306 mysql
printf '%s' "$TOKEN" | docker login -u ada --password-stdin
echo $TOKEN | docker login -u ada --password-stdin
docker login --password-stdin < token1.txt
docker login --password-stdin <<< "$TOKEN1"
gh secret set NAME --body "$(cat key1.pem)"
UID={user};PWD={password};
f"UID={user};PWD={db_pass1}"
COMPASS=north-east1
BYPASS=always-on1
import x from "@/components/user2"
postgres://ada@/shop
user:{password}@/shop
user:${DB_PASS}@/shop
password = """The password of the user"""
{"k":"name1","p":"q1","d":"30","oct":"october"}
os.getenv("DB_PASSWORD", "password")
define("DB_PASSWORD_FIELD", "password1")
i18n.get("password", "Forgot1?")
curl -u "$USER:$PASS1" https://example.org
curl -su $USER:${PASS1} https://example.org
sqlcmd -S db -U sa -P $PASSWORD1
htpasswd -c .htpasswd ada
nuget setapikey $NUGET_KEY1
GOCSPX-your-client-secret-goes-here
eyJhbGciOiJIUzI1NiJ9 is a header
バージョン1.2.3を使ってください。コミットは1df6cf1です🎉
"#;

pub(super) fn innocents() -> impl Iterator<Item = &'static str> {
    INNOCENTS.lines().filter(|line| !line.is_empty())
}

#[test]
fn innocents_come_back_as_they_are() {
    let changed: Vec<_> = innocents()
        .filter(|line| redact(line) != *line)
        .map(redact)
        .collect();
    assert!(changed.is_empty(), "{changed:#?}");
    assert!(innocents().count() >= 80);
}

#[test]
fn innocents_are_innocent_together() {
    unchanged(INNOCENTS);
    unchanged(&INNOCENTS.replace('\n', "\r\n"));
}

#[test]
fn innocents_are_innocent_in_their_contexts() {
    for line in innocents() {
        for context in ["- §", "> §", "    §", "+§", "1. § (see above)", "注：§"] {
            unchanged(&context.replace('§', line));
        }
    }
}

#[test]
fn public_keys_and_certificates_stay() {
    let mut dice = Dice(21);
    for label in [
        "PUBLIC KEY",
        "RSA PUBLIC KEY",
        "CERTIFICATE",
        "PGP PUBLIC KEY BLOCK",
    ] {
        let lines = [0; 4].map(|_| dice.draw(Dice::B64, 64)).join("\n");
        unchanged(&format!(
            "-----BEGIN {label}-----\n{lines}\n-----END {label}-----"
        ));
    }
}

#[test]
fn texts_about_private_keys_stay() {
    let label = ["RSA PRIVATE", "KEY"].join(" ");
    let (begin, end) = (
        format!("-----BEGIN {label}-----"),
        format!("-----END {label}-----"),
    );
    let path = "crates/store/src/redact/tests/innocents";
    unchanged(&format!("A key is between {begin} and {end}, see {path}."));
    unchanged(&format!("{begin}\n{path}\n{end}"));
    unchanged(&format!(
        "{begin} is found by {path}\n{}\n{end}",
        "some words\n".repeat(100)
    ));
    unchanged(&format!("{begin}\n...\n{end}"));
}

#[test]
fn digests_and_ids_stay_however_they_are_drawn() {
    let mut dice = Dice(22);
    for _ in 0..2000 {
        let (hash, digest) = (
            dice.draw(Dice::LOWER_HEX, 40),
            dice.draw(Dice::LOWER_HEX, 64),
        );
        let integrity = dice.draw(Dice::B64, 86);
        let id = dice.draw(Dice::ALNUM, 26);
        unchanged(&format!(
            "commit {hash}\n{}\nsha256:{digest}\n\"integrity\": \"sha512-{integrity}==\"\n\
             ses_{id} msg_{id} prt_{id} toolu_{id} call_{id} req_{id} {}",
            &hash[..7],
            dice.uuid(),
        ));
    }
}

#[test]
fn invisible_characters_and_escapes_stay() {
    unchanged("👩\u{200d}💻 soft\u{ad}hyphens, \u{200e}left and \u{202b}right\u{202c}");
    unchanged("\u{1b}[32mok\u{1b}[0m token\u{1b}[1m:\u{1b}[0m none, pass\u{200b}word=");
    unchanged("\u{1b}]8;;https://example.org/a1b2\u{7}a link\u{1b}]8;;\u{7} and \u{1b}]unended");
}

#[test]
fn images_in_base64_stay() {
    let mut dice = Dice(23);
    unchanged(&format!(
        "data:image/png;base64,{}",
        dice.draw(Dice::B64, 200_000)
    ));
}
