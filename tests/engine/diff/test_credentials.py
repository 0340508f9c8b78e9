"""What is a credential by its name or by the text around it, and what only looks like one?"""

from __future__ import annotations

import json

import pytest

from applyviz.engine.diff.credential_names import names_credential
from applyviz.engine.diff.credentials import compile_globs, is_reference, is_registry_login, redact
from tests.pace import measure


@pytest.mark.parametrize(
    "name",
    [
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASS",
        "DB_PASSWORD",
        "PGPASSWORD",
        "MYSQL_ROOT_PASSWORD",
        "GITHUB_TOKEN",
        "TOKEN",
        "JWT_SECRET",
        "SECRET",
        "SLACK_BOT_TOKEN2",
        "REDIS_PWD",
        "API_KEY",
        "APIKEY",
        "STRIPE_API_KEY",
        "SECRET_KEY",
        "PRIVATE_KEY",
        "SENTRY_DSN",
        "PASSWORD_SALT",
        "adminPassword",
        "clientSecret",
        "apiToken",
        "bearerToken",
        "privateKey",
        "Authorization",
        "X-Api-Key",
        "PRIVATE-TOKEN",
        "--password",
        "--client-secret",
        "spring.datasource.password",
        "auth_token",
        "accessToken",
        "db.pass",
    ],
)
def test_names_of_credentials(name):
    assert names_credential(name)


@pytest.mark.parametrize(
    "name",
    [
        "secretName",
        "tokenReview",
        "automountServiceAccountToken_not",
        "AWS_ACCESS_KEY_ID",
        "TOKEN_FILE",
        "PASSWORD_FILE",
        "SECRET_NAME",
        "DATABASE_URL",
        "secretKeyRef",
        "passwordSecretRef",
        "existingSecret",
        "tokenReviewerJwtPath",
        "--tls-private-key-file",
        "--authorization-mode",
        "PWD",
        "OLDPWD",
        "secret",
        "key",
        "keys",
        "tokens",
        "bypass",
        "compass",
        "monkey",
        "123",
        "___",
        "imagePullSecrets",
        "PORT",
        "serviceAccountTokenExpirationSeconds",
    ],
)
def test_names_of_other_things(name):
    assert not names_credential(name)


def test_name_too_long_to_tell_counts():
    assert names_credential("x" * 80_000)


def mark(found: str, name: str) -> str:
    return f"<{name}>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://app:s3cret@db:5432/shop", "postgres://app:<url>@db:5432/shop"),
        ("https://db:5432/shop", "https://db:5432/shop"),
        ("postgres://app:$(DB_PASS)@db", "postgres://app:$(DB_PASS)@db"),
        ("--password=s3cret", "--password=<password>"),
        ("exec mysql --password 's3 cret' -h db", "exec mysql --password '<password>' -h db"),
        ("--password-file=/run/secrets/db", "--password-file=/run/secrets/db"),
        ("Authorization: Bearer abc.def", "Authorization: <Authorization>"),
        ("curl -H 'Authorization: Basic dXNlcg=='", "curl -H 'Authorization: Basic <authorization>'"),
        ("a bearer abcdefgh12345678x of", "a bearer <authorization> of"),
        ("db.password=s3cret\ndb.user=app", "db.password=<db.password>\ndb.user=app"),
        ("export DB_PASS=s3cret", "export DB_PASS=<DB_PASS>"),
        ("password: ${DB_PASS}\ntoken: null", "password: ${DB_PASS}\ntoken: null"),
        ('{"user": "a", "password": "s3\\"cret"}', '{"user": "a", "password": "<password>"}'),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nend", "<pem>\nend"),
        ("-----BEGIN PRIVATE KEY-----\nMII", "<pem>"),
        ("-----BEGIN PRIVATE KEY-----\nMII\n-----END ", "<pem> "),
        ("-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----", None),
        ("the key of it is a token of trust", None),
        ("nothing at all", None),
    ],
)
def test_credentials_leave_text(text, shown):
    assert redact(text, mark) == (text if shown is None else shown)


def test_overlapping_finds_are_masked_once():
    assert redact("Authorization: Bearer abcdefgh12345678x", mark) == "Authorization: <Authorization>"


def test_references_logins_and_globs():
    assert all(map(is_reference, ["", " ", "$(A)", "${A}", "{{ .Values.x }}", "<changeme>", "****"]))
    assert not is_reference("s3cret")
    assert is_registry_login('{"auths": {"r.example": {"auth": "YTpi"}}}')
    assert not is_registry_login('{"auths": {}}')
    assert compile_globs(("*_pin",)).fullmatch("CARD_PIN")
    assert not compile_globs(()).fullmatch("")


@pytest.mark.covering
@pytest.mark.core(13)
@pytest.mark.parametrize(
    "part",
    [
        "password=",
        '"password":"',
        "://a:",
        "-----BEGIN ",
        "--token ",
        "authorization: ",
        "\n \t",
        "bearer ",
        "=:@",
        '\\"',
        *("mysql ", "redis-cli ", "curl -u", "login ", "tokens: [", "tokens: {a", "password: |\n ", "tokens:\n - "),
        *("name: password, ", "? password\n", "<password>", "password=a;", "ghp_", "sk-", "a", "https://aaaaaaaa"),
        " password: |\n" * 3,
        *(
            "sqlplus ",
            "http -a",
            "http -a a",
            "identified by '",
            "createUser x SHA ",
            "createUser x AES ",
            "user x on ",
        ),
        *("snmpget -A ", "zip -P", "login -p a", "neighbor x password ", "?key=", "?key=a", "mc alias set a ", "$6$a$"),
        *("openssl -k", "echo a | ", "printf '%s' a |", "<<< login ", "set-initial-password ", "rclone config ", "eyJ"),
        *(
            "eyJaaaaaaaa.",
            "password for a ",
            "auth('a', '",
            'secret "',
            '"a" "',
            "cookie: a",
            "pwd=;",
            "glpat-",
            "1//0",
        ),
        *("aaa1Q~", "aaaaaaaaaaaaaa.atlasv1.", "dp.pt.", "a:5432:a:a:", "{PLAIN}", "openssl passwd -a "),
    ],
)
def test_the_cost_is_linear_in_hostile_text(part):
    _, seconds = measure(redact, f"token {part * (200_000 // len(part))}", mark)

    assert seconds < 2.5


WEB_TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("users:\n- name: u\n  user:\n    client-key-data: LS0tLS1CRUdJTg==\n", "LS0tLS1CRUdJTg=="),
        ("user: {username: admin, password: hunter2}", "hunter2"),
        ("user: {username: admin, password: 'hunter 2'}", "hunter 2"),
        ('{"user":{"client-key-data":"LS0tLS1CRUdJTg"}}', "LS0tLS1CRUdJTg"),
        (f"curl -d {WEB_TOKEN} http://x", WEB_TOKEN),
        (f"mounted as {WEB_TOKEN}.", WEB_TOKEN),
    ],
)
def test_credentials_of_a_kubeconfig_and_web_tokens_are_found(text, shown):
    found = []

    told = redact(text, lambda value, name: found.append(value) or "•")

    assert (found, shown in told) == ([shown], False)


def test_what_a_kubeconfig_publishes_stays_readable():
    text = "clusters:\n- cluster: {server: 'https://x', certificate-authority-data: LS0t}\ncontexts: [{name: token}]\n"

    assert redact(text, lambda value, name: "•") == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('"credentials": {"user": "alice", "value": "s3cr3t-words"}', '"credentials": {"user": "alice", "value": "•"}'),
        ("- value: s3cr3t-words\n  name: DB_PASSWORD", "- value: •\n  name: DB_PASSWORD"),
        (
            "- value: fast\n  name: MODE\n- value: s3cr3t-words\n  name: DB_PASSWORD",
            "- value: fast\n  name: MODE\n- value: •\n  name: DB_PASSWORD",
        ),
    ],
)
def test_what_only_names_a_credential_or_belongs_to_another_name_stays(text, shown):
    assert redact(text, lambda credential, name: "•") == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r'echo "{\"password\": \"$PW\"}"', r'echo "{\"password\": \"$PW\"}"'),
        (r'"{\"password\": \"hunter22\"}"', r'"{\"password\": \"?\"}"'),
        (
            r'{"a": "{\"b\": \"{\\\"token\\\": \\\"hunter22\\\"}\"}"}',
            r'{"a": "{\"b\": \"{\\\"token\\\": \\\"?\\\"}\"}"}',
        ),
        (r'{"values": "user: app\npassword: hunter22\n"}', r'{"values": "user: app\npassword: ?\n"}'),
        (r"C:\new\token\path", r"C:\new\token\path"),
    ],
)
def test_escapes_around_a_credential_stay(text, shown):
    assert redact(text, lambda found, name: "?") == shown


def test_texts_in_texts_are_searched_three_levels_deep():
    text = 'password: "hunter22"'
    for _ in range(3):
        text = json.dumps({"a": text})

    assert redact(text, lambda found, name: "?") == text.replace("hunter22", "?")
