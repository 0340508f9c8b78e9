"""Tokens of services, passwords in commands and files of settings, and names: each is found in a text."""

from __future__ import annotations

import pytest

from applyviz.engine.diff import credential_names as names
from applyviz.engine.diff.credentials import redact

WORD = "Xk7qLm2pRt9w"
LONG = "Xk7qLm2pRt9wAb3dEf5gHj8kMn1pQs4t"
HEX = "3f9a1c7be24d58061b7a9ce0d4f2856a"
TOKENS = [
    f"dapi{HEX}",
    f"lin_api_{LONG}{LONG[:8]}",
    f"hf_{LONG}ab",
    f"shpat_{HEX}",
    f"shpss_{HEX}",
    f"sq0atp-{LONG[:22]}",
    f"sq0csp-{LONG}{LONG[:11]}",
    f"sntrys_{LONG}{LONG}",
    f"glsa_{LONG}_{HEX[:8]}",
    f"glc_{LONG}{LONG}",
    f"NRAK-{LONG[:27].upper()}",
    f"NRII-{LONG}",
    f"PMAK-{HEX[:24]}-{HEX}ab",
    f"abcdefghij1234.atlasv1.{LONG}{LONG}",
    f"fo1_{LONG}{LONG[:11]}",
    f"FlyV1 fm2_{LONG}{LONG}",
    f"pscale_tkn_{LONG}{LONG[:11]}",
    f"pscale_pw_{LONG}{LONG[:11]}",
    f"sbp_{HEX}{HEX[:8]}",
    f"secret_{LONG}{LONG[:11]}",
    f"ntn_{LONG}{LONG[:14]}",
    f"ATATT3xFfGF0{LONG}{LONG}",
    f"dp.pt.{LONG}{LONG[:11]}",
    f"dp.st.prod.{LONG}{LONG[:11]}",
    f"1234567890:AA{LONG}a",
    f"key-{HEX}",
    f"rubygems_{HEX}{HEX[:16]}",
    f"figd_{LONG}{LONG[:8]}",
    f"pnu_{LONG}{LONG[:4]}",
    f"pul-{HEX}{HEX[:8]}",
    f"xapp-1-A012345-1234567890123-{HEX}{HEX}",
    f"xkeysib-{HEX}{HEX}-{LONG[:16]}",
    f"sendinblue xsmtpsib-{HEX}{HEX}-{LONG[:16]}",
    f"tskey-auth-{WORD}CNTRL-{LONG}",
    f"AKCp{LONG}{LONG}{LONG[:9]}",
    f"EZAK{LONG}{LONG[:22]}",
    f"rzp_live_{LONG[:14]}",
    f"r8_{LONG}{LONG[:5]}",
    f"gsk_{LONG}{LONG[:20]}",
    f"whsec_{LONG}",
    f"CLOJARS_{HEX}{HEX[:28]}",
    f"oy2{LONG[:11].lower()}{LONG.lower()}",
    f"GOCSPX-{LONG[:28]}",
    f"1//0{LONG}{LONG}",
    f"sl.B{LONG}{LONG}{LONG}{LONG}a",
    f"v1.0-{HEX[:24]}-{HEX}{HEX}{HEX}",
    f"ops_eyJ{LONG}{LONG}{LONG}{LONG}{LONG}{LONG}{LONG}{LONG}",
    "A3-XXXXXX-ABCDEF-ABCDE-ABCDE-ABCDE-ABCDE",
    f"glagent-{LONG}{LONG[:18]}",
    f"CFPAT-{LONG}{LONG[:11]}",
    f"phx_{LONG}{LONG[:11]}",
    f"nvapi-{LONG}{LONG}",
    f"xai-{LONG}{LONG}{LONG[:16]}",
    f"pplx-{LONG}{LONG[:16]}",
    f"abc8Q~{LONG}",
    f"sha256~{LONG}{LONG[:11]}",
    f"K10{HEX}{HEX}::server:{HEX}",
    f"vck_{LONG}",
    f"GR1348941{LONG[:20]}",
    f"bkua_{HEX}{HEX[:8]}",
    f"circleci CCIPAT_{LONG[:22]}_{HEX}{HEX[:8]}",
    f"sgp_{HEX}{HEX[:8]}",
    f"tfp_{LONG}{LONG[:24]}",
    f"duffel_live_{LONG}{LONG[:11]}",
    f"ABSK{LONG}{LONG}{LONG}{WORD}",
    f"eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..{LONG}.{LONG}.{LONG}",
    f"sha512-crypt $6$abcdefgh${LONG}{LONG}{LONG[:22]}",
    f"admin:$apr1$abcdefgh${LONG[:22]}",
    f"admin:{{SHA}}{LONG[:27]}=",
    f"user:$2y$10${LONG}{LONG[:21]}",
    f"$argon2id$v=19$m=65536,t=3,p=4${LONG[:22]}${LONG}{LONG[:11]}",
    f"SCRAM-SHA-256$4096:{LONG[:22]}==${LONG}{LONG[:11]}=:{LONG}{LONG[:11]}=",
    f"md5{HEX}",
    f"$pbkdf2-sha256$29000${LONG[:22]}${LONG}{LONG[:11]}",
]
TEXTS = [
    f"mc alias set m http://h me {WORD}",
    f"gh auth login --with-token <<< {WORD}",
    f"echo '{WORD}' | gh auth login --with-token",
    f"printf '%s' {WORD} | docker login --password-stdin",
    f"http -a me:{WORD} GET x",
    f"lftp -u me,{WORD} ftp.x",
    f"sftp me:{WORD}@h",
    f"sqlcmd -S h -U sa -P {WORD}",
    f"bcp x in f -U sa -P {WORD}",
    f"sqlplus me/{WORD}@db",
    f"isql -U x -P {WORD}",
    f"cqlsh -u x -p {WORD}",
    f"etcdctl --user root:{WORD} get x",
    f"openssl enc -k {WORD} -in f",
    f"openssl passwd -6 {WORD}",
    f"mkpasswd {WORD}",
    f"chpasswd <<< root:{WORD}",
    f"echo root:{WORD} | chpasswd",
    f"echo 'root:{WORD}' | chpasswd",
    f"useradd -p {WORD} x",
    f"wpa_passphrase net {WORD}",
    f"kinit x <<< {WORD}",
    f"snmpget -v3 -u x -A {WORD} -X {WORD} h",
    f"snmpwalk -v2c -c {WORD} h",
    f"ipmitool -U x -P {WORD} x",
    f"rclone config create x webdav pass {WORD}",
    f"rclone obscure {WORD}",
    f"swaks -ap {WORD}",
    f"podman login -u me -p{WORD} h",
    f"rabbitmqadmin -u me -p {WORD} list",
    f"mosquitto_pub -u me -P {WORD} -t x",
    f"neo4j-admin set-initial-password {WORD}",
    f"cypher-shell -u x -p {WORD}",
    f"UID=u;PWD={WORD};",
    f"x?key={WORD}&y=z",
    f"x?code={WORD}",
    f"x?signature={WORD}",
    f"Cookie: session={WORD}",
    f"Ocp-Apim-Subscription-Key: {WORD}",
    f"X-Functions-Key: {WORD}",
    f"user default on >{WORD} ~* +@all",
    f"ACL SETUSER x on >{WORD}",
    f"auth-pass {WORD}",
    f"auth_pass {WORD}",
    f"authentication {{\n auth_type PASS\n auth_pass {WORD}\n}}",
    f"stats auth me:{WORD}",
    f"user me insecure-password {WORD}",
    f"user me password {WORD}",
    f"secret {WORD};",
    f'key "x" {{ algorithm hmac; secret "{WORD}"; }};',
    f"neighbor 1.2.3.4 password {WORD}",
    f"enable secret {WORD}",
    f"snmp-server community {WORD}",
    f"rocommunity {WORD}",
    f"rwcommunity {WORD} 1.2.3.4",
    f"com2sec x default {WORD}",
    f"createUser x SHA {WORD} AES {WORD}",
    f"CREATE USER x IDENTIFIED BY '{WORD}';",
    f"CREATE ROLE x LOGIN PASSWORD '{WORD}';",
    f"ALTER USER x WITH PASSWORD '{WORD}';",
    f"ALTER USER x WITH ENCRYPTED PASSWORD '{WORD}';",
    f"SET PASSWORD FOR x = PASSWORD('{WORD}');",
    f"SET PASSWORD FOR x = '{WORD}'",
    f"GRANT ALL ON *.* TO x IDENTIFIED BY '{WORD}'",
    f'db.auth("x", "{WORD}")',
    f"h:5432:d:u:{WORD}",
    f"*:*:*:postgres:{WORD}",
    f"passwordHash: {WORD}",
    f"password_hash: {WORD}",
    f"hash: $2a$10${LONG}{LONG[:21]}",
    f"userpass: {WORD}",
    f"dbpass: {WORD}",
    f"passwort: {WORD}",
    f"kennwort: {WORD}",
    f"contraseña: {WORD}",
    f"motdepasse: {WORD}",
    f"senha: {WORD}",
    f"clientsecret: {WORD}",
    f"cipherKey: {WORD}",
    f"aesKey: {WORD}",
    f"activation_key: {WORD}",
    f"psk: {WORD}",
    f"PSK={WORD}",
    f"PresharedKey = {WORD}",
    f': PSK "{WORD}"',
    f"wpa_psk={WORD}",
    f"totp_secret: {WORD}",
    f"mfaSecret: {WORD}",
    f"recovery_code: {WORD}",
    f"backupCodes: [{WORD}]",
    f"access-key-secret: {WORD}",
    f"accessKeySecret: {WORD}",
    f"ENCRYPT_KEY={WORD}",
    f"GH_PAT={WORD}",
    f"STRIPE_KEY={WORD}",
    f"SMTPPASS={WORD}",
    f"ADMIN_PASS_HASH={WORD}",
    f"POSTGRES_PASSWORD_ENC={WORD}",
    f"pass_1: {WORD}",
    f"cred: {WORD}",
    f"me:{{PLAIN}}{WORD}",
    f"me:{{SSHA}}{LONG}",
    f"password: $ummer.{WORD}",
    f"password: $(echo {WORD})",
]
VARIABLES = [
    "JWT_PRIVATE_KEY",
    "PRIVATE_KEY_PEM",
    "SLACK_WEBHOOK_URL",
    "AZURE_SAS",
    "CONN_STR",
    "PGPASS",
    "BINDPASS",
    "MASTERKEY",
    "GPG_KEY",
    "AUTH_HEADER",
    "BEARER",
    "CSRF_KEY",
    "DUO_SKEY",
    "WRITE_KEY",
    "FCM_SERVER_KEY",
    "CREDENTIALS_JSON",
    "SERVICE_ACCOUNT_JSON",
    "DBKEY",
    "PRIVKEY",
    "TOTP_SEED",
    "ADMIN_KEY",
    "SERVICE_ROLE_KEY",
    "TOKEN_B64",
    "PIN_OLD",
    "GH_PAT",
    "DB_PW2",
]
READABLE = [
    "kubectl get pods -p 8080 | login",
    "zip -r a.zip b && openssl req -keyout /certs/tls.key -key2048",
    "curl -u $USER:$PASS http://x/ -a",
    "user me on the day > /dev/null",
    "run --user me on >/dev/null",
    "http://x/?key=name&code=de",
    "cd /srv;PWD=/srv;run",
    "asset-1//0 and sk-none, key-value, hf_space, dapi, secret_name, sl.yaml, pat-test",
    "image: shop/app@sha256:3f9a1c7be24d58061b7a9ce0d4f2856a3f9a1c7be24d58061b7a9ce0d4f2856a",
    "etag md5:3f9a1c7be24d58061b7a9ce0d4f2856a",
    "the password is asked for, and the secret is kept",
    "clientSecret: $oidc.okta.clientSecret\ntoken: $slack-token\npassword: $(cat /run/db)",
    "login failed for user x: wrong password",
    "enable: secret",
    "routing_key: orders.created",
    "cookie SERVERID insert indirect",
    "stats auth admin",
    "passphrase_file: /run/x",
    "PARTITION_KEY=user_id\nBYPASS=yes\nWEBHOOK_URL=https://x/y\nCONFIG_JSON=a\nRANDOM_SEED=a\nSERVICE_ACCOUNT=robot",
    "bypass: yes\ncompass: north\ncode: 200\nbackup: daily",
    "fe80:5432:a:b",
    "githubTokenSecret: login\nsshKeySecret: deploy\nhashKey: user",
]


def _names() -> list[str]:
    words = sorted(names._ENDS | set(names._SUFFIXES))
    phrases = sorted(one.replace(" ", "_") for one in names._PHRASES)
    constants = [f"SHOP_{one.upper()}" for one in sorted(names._UPPER_ENDS | names._UPPER_LAST)]
    qualified = [f"PASSWORD_{one.upper()}" for one in sorted(names._QUALIFIERS)]
    return [*words, *phrases, *constants, *qualified, *sorted(names._UPPER_NAMES | names._OF_TEXTS)]


@pytest.mark.parametrize("token", TOKENS)
def test_token_is_found_by_its_form(token: str) -> None:
    assert redact(f"the one of the day is {token}", lambda found, name: "•").endswith(("•", "•=", "="))


@pytest.mark.parametrize("text", TEXTS)
def test_password_is_found_where_it_is_written(text: str) -> None:
    said = redact(text, lambda found, name: "•")

    assert (WORD in said, LONG in said, "•" in said) == (False, False, True)


def test_each_name_of_a_credential_is_found_in_a_text() -> None:
    """No name is left out by the first, cheap look at a text."""
    texts = [form.format(name, WORD) for name in _names() for form in ("{}: {}", "{}={}", '{{"{}": "{}"}}')]

    assert [text for text in texts if WORD in redact(text, lambda found, name: "•")] == []


@pytest.mark.parametrize("name", VARIABLES)
def test_variable_is_found_in_a_text(name: str) -> None:
    assert WORD not in redact(f"{name}={WORD}", lambda found, named: "•")


@pytest.mark.parametrize("text", READABLE)
def test_what_only_looks_alike_stays_readable(text: str) -> None:
    assert redact(text, lambda found, name: "•") == text
