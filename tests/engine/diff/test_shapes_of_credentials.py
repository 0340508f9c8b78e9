"""Credentials in plain fields are masked in every usual spelling; what only looks like one stays readable."""

from __future__ import annotations

import base64
import gzip
import json

import pytest
import yaml

from applyviz.engine.diff.marks import is_masked
from applyviz.engine.diff.masking import mask
from applyviz.engine.objects.refs import GroupVersionKind

WORD = "Xk7qLm2pRt9w"
KEY = b"key of plan 1"
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
CUSTOM = GroupVersionKind("shop.example.com", "v1", "Shop")
EXTERNAL = GroupVersionKind("external-secrets.io", "v1", "ExternalSecret")

TEXTS = [
    # shell
    f"PASSWORD={WORD} run",
    f"export PGPASSWORD={WORD} ; psql",
    f"set -e; DB_PASS='{WORD}' exec run",
    f"mysql -h db -p{WORD} shop",
    f"sshpass -p {WORD} ssh host",
    f"redis-cli -h r -a {WORD} ping",
    f"curl -s -u me:{WORD} https://x/",
    f"helm upgrade x --set auth.password={WORD}",
    f"kubectl create secret generic x --from-literal=password={WORD}",
    f"docker login -u me -p {WORD} r.example",
    # flags
    f"run --secret={WORD}",
    f"run --pass {WORD}",
    f"run --auth={WORD}",
    # addresses
    f"https://x/?password={WORD}",
    f"https://x/?a=b&access_token={WORD}&c=d",
    f"https://x/?api_key={WORD}",
    f"https://{WORD}@host/x",
    f"jdbc:postgresql://h/d?user=u&password={WORD}",
    # connection strings
    f"Server=h;User Id=sa;Password={WORD};Encrypt=true",
    f"AccountName=x;AccountKey={WORD}==;EndpointSuffix=y",
    # YAML
    f"{{password: {WORD}, user: x}}",
    f"password: >-\n  {WORD}\nuser: x",
    f"auth:\n  password: |\n    {WORD}\n  user: x",
    f"? password\n: {WORD}",
    f"passwords:\n- {WORD}\n- other-{WORD}",
    f"passwords:\n  admin: {WORD}",
    f"tokens: [{WORD}, b]",
    f"secrets:\n  db: {WORD}",
    # JSON
    json.dumps({"secret": WORD}),
    json.dumps({"credentials": {"value": WORD}}),
    json.dumps({"tokens": [WORD]}),
    json.dumps({"credentials": {"value": WORD}}, separators=(",", ":")),
    json.dumps({"a": 1, "tokens": ["b", WORD]}, separators=(",", ":")),
    # properties and XML
    f"pin = {WORD}",
    f"secret = {WORD}",
    f"db.password={WORD}",
    f"<password>{WORD}</password>",
    f'<property name="password" value="{WORD}"/>',
    # pairs
    f"{{key: password, value: {WORD}}}",
    f"env:\n- name: DB_PW\n  value: {WORD}",
    # headers
    f'proxy_set_header Authorization "Basic {WORD}";',
    f'more_set_headers "Authorization: Bearer {WORD}";',
    f"proxy_set_header X-Api-Key {WORD};",
    f'set $token "{WORD}";',
    f"curl -H 'X-Api-Key: {WORD}' https://x/",
    # other programs
    f"mongosh -u me -p {WORD} --host h",
    f"ldapsearch -D cn=x -w {WORD}",
    f"smbclient -U user%{WORD} //h/s",
    f"unzip -P {WORD} a.zip",
    f"7z x -p{WORD} a.7z",
    f"keytool -storepass {WORD}",
    f"openssl rsa -passin pass:{WORD}",
    f"htpasswd -b f user {WORD}",
    f"vault login {WORD}",
    f"rabbitmqctl add_user me {WORD}",
    f"echo {WORD} | docker login -u me --password-stdin r",
    f"curl --proxy-user me:{WORD} https://x/",
    f"aws configure set aws_secret_access_key {WORD}",
    f"setenv DB_PASSWORD {WORD}",
    f'$env:DB_PASSWORD = "{WORD}"',
    f"psql ${{PASSWORD:-{WORD}}}",
    # files of settings
    f"//npm.example.com/:_authToken={WORD}",
    f"//npm.example.com/:_auth={WORD}",
    f"machine h login me password {WORD}",
    f"requirepass {WORD}",
    f"bindpw {WORD}",
    f"{{'password': '{WORD}'}}",
    f'x = {{ password = "{WORD}" }}',
    f"<password><![CDATA[{WORD}]]></password>",
    f'<entry key="password">{WORD}</entry>',
    f'<property name="password"><value>{WORD}</value></property>',
    f"<property>\n  <name>password</name>\n  <value>{WORD}</value>\n</property>",
    # more addresses and connections
    f"http://{WORD}@host/x",
    f"https://{WORD}:x-oauth-basic@github.com/x",
    f"https://x/?sv=1&sig={WORD}",
    f"u:{WORD}@tcp(h:3306)/d",
    f"user/{WORD}@//h:1521/x",
    f"Server=h; Password = {WORD} ;",
    # more YAML and JSON
    f"password: &pw {WORD}",
    f"password: !!str {WORD}",
    f"password:\n  {WORD}",
    f"accessTokens: [{WORD}]",
    f"api_keys:\n  - {WORD}",
    f"api_tokens:\n  admin: {WORD}",
    json.dumps({"value": WORD, "name": "password"}),
    json.dumps({"api-keys": [WORD]}),
]
TOKENS = [
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2_" * 6,
    "glpat-" + "a1B2c" * 4,
    "xoxb-1234567890-abcdefghij",
    "https://hooks.slack.com/services/T000/B000/abcdefghijkl",
    "https://discord.com/api/webhooks/123456789/abcdefghijklmnopqrstuvwx",
    "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/2",
    "AKIAIOSFODNN7EXAMPLE",
    "AIza" + "a1B2c" * 7,
    "sk_live_" + "a1B2" * 6,
    "npm_" + "a1B2" * 9,
    "hvs." + "a1B2" * 8,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----",
]
NAMES = ["REDIS_AUTH", "DB_PW", "SECRET_KEY_BASE", "VAULT_SECRET_ID", "APP_KEY", "STORE_SK", "CARD_PIN", "SMTP_PASS"]
NAMES += ["DBPASS", "SSH_KEY", "FERNET_KEY", "SEED_PHRASE", "DB_PASSWORD_OLD", "API_TOKEN_PROD", "GITHUB_PAT", "rootPw"]
NAMES += ["apiSecret", "DOCKER_AUTH_CONFIG", "passwordValue"]


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def shown(obj: dict[str, object], gvk: GroupVersionKind) -> str:
    """What is shown of an object."""
    return json.dumps(mask(obj, gvk=gvk, tag_key=KEY, scope="x"), ensure_ascii=False)


PLACES = {
    "ConfigMap": lambda text: ({"data": {"file": text}}, CONFIG_MAP),
    "env": lambda text: ({"spec": {"containers": [{"env": [{"name": "ARGS", "value": text}]}]}}, DEPLOYMENT),
    "argument": lambda text: ({"spec": {"containers": [{"command": ["sh", "-c", text]}]}}, DEPLOYMENT),
    "annotation": lambda text: ({"metadata": {"annotations": {"example.com/x": text}}}, CONFIG_MAP),
    "custom": lambda text: ({"spec": {"config": text}}, CUSTOM),
    "base64": lambda text: ({"binaryData": {"file": encode(text)}}, CONFIG_MAP),
    "base64 twice": lambda text: ({"metadata": {"annotations": {"x": encode(encode(text))}}}, CONFIG_MAP),
    "compressed": lambda text: (
        {"binaryData": {"file": base64.b64encode(gzip.compress(text.encode())).decode()}},
        CONFIG_MAP,
    ),
}


@pytest.mark.covering
@pytest.mark.core(230)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", TEXTS)
def test_shape_is_masked_everywhere(text: str, place: str) -> None:
    obj, gvk = PLACES[place](text)

    said = shown(obj, gvk)

    assert (WORD in said, encode(WORD)[:12] in said, "masked" in said) == (False, False, True)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("token", TOKENS)
def test_token_of_a_known_form_is_masked_everywhere(token: str, place: str) -> None:
    obj, gvk = PLACES[place](f"the one of the day is {token}")

    assert token.rpartition("/")[2].splitlines()[-1][:20] not in shown(obj, gvk) or "@" in token
    assert "masked" in shown(obj, gvk)


@pytest.mark.parametrize("name", NAMES)
def test_name_of_a_variable_is_that_of_a_credential(name: str) -> None:
    for pair in ({"name": name, "value": WORD}, {"key": name, "value": WORD}):
        assert WORD not in shown({"spec": {"env": [pair]}}, DEPLOYMENT)
    assert WORD not in shown({"data": {name: WORD}}, CONFIG_MAP)


@pytest.mark.parametrize(
    ("obj", "gvk"),
    [
        ({"spec": {"passwords": [WORD]}}, CUSTOM),
        ({"spec": {"tokens": {"admin": WORD}}}, CUSTOM),
        ({"spec": {"containers": [{"command": ["mysql", "-h", "db", f"-p{WORD}"]}]}}, DEPLOYMENT),
        ({"spec": {"apiKeys": [WORD]}}, CUSTOM),
        ({"spec": {"containers": [{"command": ["ldapsearch", "-D", "cn=x", "-w", WORD]}]}}, DEPLOYMENT),
        ({"spec": {"containers": [{"command": ["/usr/bin/redis-cli", "-a", WORD, "ping"]}]}}, DEPLOYMENT),
        ({"spec": {"target": {"template": {"data": {"config": WORD}}}}}, EXTERNAL),
        ({"spec": {"secretTemplate": {"stringData": {"x": WORD}}}}, CUSTOM),
    ],
)
def test_lists_arguments_and_templates_are_masked(obj: dict[str, object], gvk: GroupVersionKind) -> None:
    assert WORD not in shown(obj, gvk)


READABLE = """
env:
- name: DB_PASSWORD
  valueFrom: {secretKeyRef: {name: login, key: password}}
- {name: PASSWORD_FILE, value: /run/secrets/x}
- {name: SMTP_AUTH, value: "true"}
- {name: AWS_ACCESS_KEY_ID_FROM, value: login}
args: [--tls-private-key-file=/certs/tls.key, --authorization-mode=RBAC, --auth=oidc, -p, "8080"]
more: [--secret=/run/secrets/x]
command: [sh, -c, "mkdir -p /tmp/x && curl -s https://x/healthz?port=1 && run --pass=$(DB_PASS)"]
passwordPolicy: strict
passwordKey: db
minPasswordLength: 12
secretName: login
secrets: [login, other]
imagePullSecrets: [{name: login}]
tokens: 100
url: https://github.com/shop/app.git
ssh: git@github.com:shop/app.git
template: {data: {url: "postgres://{{ .user }}@db", key: "{{ .password }}"}}
certificate: |
  -----BEGIN CERTIFICATE-----
  MIIB
  -----END CERTIFICATE-----
publicKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ
text: the secret of it is a pin, and the token of trust
settings: "add_header X-A b;\\nproxy_set_header Authorization $http_authorization;\\nset $host a.example;"
shell: "curl --user-agent x:y https://x/ && docker run --user=1000:1000 x && vault login -method=oidc && zip -r a.zip b"
defaults: "${PASSWORD} ${PASSWORD:?missing} ${VAULT:secret/x#key}"
xml: "<property><name>role</name><value>reader</value></property>"
limits: [{name: MAX_TOKENS, value: "4096"}, {name: API_TOKEN_TTL, value: 1h}]
keys: "password:\\n  secretKeyRef: {name: login}\\ntoken:\\n  - a\\n"
"""


def test_value_of_a_credential_that_is_a_number_is_masked_and_a_switch_stays() -> None:
    pairs = [("DB_PASSWORD", 70314), ("USE_PASSWORD", True), ("PORT", 5432)]
    obj = {"spec": {"settings": [{"name": name, "value": value} for name, value in pairs]}}

    found = mask(obj, gvk=CUSTOM, tag_key=KEY)["spec"]["settings"]

    assert is_masked(found[0])
    assert found[1:] == obj["spec"]["settings"][1:]


def test_what_is_no_credential_stays_readable() -> None:
    obj = yaml.safe_load(READABLE)

    assert mask({"spec": obj}, gvk=CUSTOM, tag_key=KEY, scope="x") == {"spec": obj}
