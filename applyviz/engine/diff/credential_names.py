"""Names of credentials: those of fields, environment variables, flags and headers that hold one.

The lists are for people to read and extend. For most, the name is enough ("password"). Some hold a credential only if
their value looks random, as a "mail key" may and a "sort key" does not.
"""

from __future__ import annotations

import re
from functools import lru_cache

from applyviz.engine.objects.values import JSONValue

LONGEST_NAME = 200
_ENDS = frozenset(
    (
        *("password", "passwd", "passphrase", "passcode", "pwd", "htpasswd", "token", "otp", "jwt", "authorization"),
        *("apikey", "secretkey", "privatekey", "accesskey", "credential", "credentials", "cred", "creds", "psk"),
        *("passwort", "kennwort", "wachtwoord", "contrasena", "senha", "motdepasse", "rpcauth", "dockercfg"),
        *("dockerconfigjson", "clientsecret", "appsecret", "sharedsecret", "jwtsecret", "webhooksecret", "masterkey"),
        *("privkey", "dbkey", "signkey"),
    )
)
_KEYS = (
    *("api", "secret", "private", "signing", "encryption", "access", "auth", "master", "shared", "account", "storage"),
    *("license", "ssh", "deploy", "session", "fernet", "hmac", "unseal", "recovery", "jwt", "encrypt", "decryption"),
    *("cipher", "aes", "preshared", "subscription", "functions", "activation", "stripe", "cookie", "crypto", "gpg"),
    *("csrf", "sign", "write", "server", "admin", "priv", "gossip", "validator", "role", "pagerduty", "opsgenie"),
    *(
        "datadog",
        "datadog app",
        "dd app",
        "certificate",
        "serial",
        "instrumentation",
        "mailgun",
        "sendgrid",
        "firebase",
    ),
    *("saml", "maxmind", "integration"),
)
_SECRETS = (
    *("client", "app", "shared", "consumer", "webhook", "oauth", "session", "cookie", "auth", "hmac", "signing", "jwt"),
    *("role", "api", "totp", "mfa", "otp", "csrf", "access key", "rpc", "factor"),
)
_PHRASES = frozenset(
    (
        *(f"{what} key" for what in _KEYS),
        *(f"{what} secret" for what in _SECRETS),
        *(f"{what} seed" for what in ("totp", "otp", "wallet")),
        *(f"{what} phrase" for what in ("seed", "recovery", "pass")),
        *(f"{what} code" for what in ("recovery", "backup", "scratch", "pass")),
        *(f"{what} json" for what in ("service account", "credentials", "secrets")),
        *(f"{what} webhook{url}" for what in ("slack", "discord", "teams", "mattermost") for url in ("", " url")),
        *("secret access key", "secret key base", "secret id", "client key data", "root token id", "access signature"),
        *("connection string", "connection str", "conn str", "basic auth", "registry auth", "auth config"),
        *("auth header", "set cookie", "erlang cookie", "secret string", "sim pin", "security answer"),
        "contrase a",  # its letters that are ASCII
    )
)
_SUFFIXES = (
    *("password", "passwd", "passphrase", "apikey", "token", "storepass", "keypass", "requirepass", "bindpw"),
    *("dbpass", "userpass", "adminpass", "rootpass", "smtppass", "authpass", "mailpass", "authkey", "writekey"),
    "authtok",
)
_NONE = frozenset(("PWD", "OLDPWD"))  # the current working directory of a shell
_UPPER_ENDS = frozenset({"secret", "pass", "dbpass", "dsn", "salt", "cookie", "pin", "mnemonic", "bearer", "hmac"})
_UPPER_LAST = frozenset({"auth", "pw", "sk", "pat", "sas", "skey"})
_NO_PASSWORDS = frozenset(
    {"bypass", "compass", "encompass", "multipass", "overpass", "surpass", "trespass", "underpass"}
)
_LAST = frozenset({"pass", "pw"})
# What comes after the name of a credential, and leaves it one: `DB_PASSWORD_OLD`.
_QUALIFIERS = frozenset(
    (
        *("old", "new", "previous", "current", "prod", "dev", "staging", "test", "value", "primary", "secondary"),
        *("backup", "enc", "encrypted", "hash", "hashed", "plain", "plaintext", "base", "b", "raw", "pem"),
    )
)
_UPPER_NAMES = frozenset({"APP_KEY"})
# Last words of names whose value is a credential if it looks random; the second list also where it is the only word.
_WEAK_ENDS = frozenset({"sk", "pat", "auth", "code", "webhook", "hook"})
_WEAK_NAMES = frozenset(
    {"key", "secret", "pin", "cookie", "license", "licence", "mnemonic", "seed", "salt", "sas", "dsn", "encrypt"}
)
# Names of one word that hold a credential in a text, where no field of Kubernetes is called so.
_OF_TEXTS = frozenset({"secret", "pin", "pass", "pw", "auth", "sig", "mnemonic"})
_METHODS = frozenset(
    {"basic", "bearer", "oidc", "oauth", "oauth2", "ldap", "saml", "kubernetes", "plain", "login", "md5"}
)
PLURALS = frozenset({"passwords", "tokens", "apikeys", "passphrases", "stringdata", "secretdata"})
"""Fields whose entries are credentials; `secrets` names Secrets outside of a text."""
_PLURALS_OF_TEXTS = PLURALS | {"secrets", "credentials"}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_UNBROKEN = re.compile(r"[A-Za-z0-9+/_=~!@#$%^&*-]{6,4096}")
_LOWERCASE = re.compile(r"[a-z0-9-]+")
_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")
_DIGITS, _ENCLOSED = re.compile(r"[0-9]+"), re.compile(r"[A-Za-z][0-9]+[A-Za-z]")


def _split(name: str) -> list[str]:
    return [word.lower() for word in WORD.findall(name)]


@lru_cache(maxsize=4096)
def names_credential(name: str) -> bool:
    """Return whether a field, flag, header or variable of this name holds a credential; overlong names count."""
    if len(name) > LONGEST_NAME:
        return True
    words = _split(name.rstrip("0123456789"))
    if not words or name in _NONE:
        return False
    while len(words) > 1 and words[-1] in _QUALIFIERS:
        words.pop()
    last = words[-1]
    if last in _ENDS or last.endswith(_SUFFIXES) or {" ".join(words[-n:]) for n in (2, 3)} & _PHRASES:
        return True
    is_constant = name.upper() == name
    is_upper = name in _UPPER_NAMES or last in _UPPER_ENDS or (len(words) > 1 and last in _UPPER_LAST)
    is_upper = is_upper or (last.endswith("pass") and last not in _NO_PASSWORDS)
    return (is_constant and is_upper) or (len(words) > 1 and last in _LAST)


@lru_cache(maxsize=4096)
def may_name_credential(name: str) -> bool:
    """Return whether a name holds a credential if its value looks random: "mail key", "license"."""
    words = _split(name[:LONGEST_NAME].rstrip("0123456789"))
    while len(words) > 1 and words[-1] in _QUALIFIERS:
        words.pop()
    return bool(words) and (words[-1] in _WEAK_NAMES or (len(words) > 1 and words[-1] in _WEAK_ENDS))


def looks_random(text: str, *, is_constant: bool) -> bool:
    """Return whether a text is no word, path or name: digits between letters at two places, or 32 hexadecimal ones.

    - `is_constant`: it is the value of a variable. Elsewhere, lowercase text may be the name of a Secret or its key.
    """
    if _UNBROKEN.fullmatch(text) is None or text[0] == "/":
        return False
    if _HEX.fullmatch(text) is not None:
        return True
    if (not is_constant and _LOWERCASE.fullmatch(text) is not None) or ("/" in text and text.lower() == text):
        return False
    return _ENCLOSED.search(text) is not None and len(_DIGITS.findall(text)) > 1


def gives_credential(name: str, value: JSONValue) -> bool:
    """Return whether a value under this name may be a credential: by the name alone, or by both."""
    if names_credential(name):
        return True
    return (
        isinstance(value, str) and may_name_credential(name) and looks_random(value, is_constant=name.upper() == name)
    )


def names_list(name: str) -> bool:
    """Return whether the entries of a field of this name are credentials."""
    return name.lower() in PLURALS or (name[-1:] in ("s", "S") and names_credential(name[:-1]))


def names_plural(name: str) -> bool:
    """Return whether the entries of a list or map of this name in a text are credentials."""
    return name.lower() in _PLURALS_OF_TEXTS or names_list(name)


def gives_in_text(name: str, value: str) -> bool:
    """Return whether a name in a text gives a value that is a credential."""
    if names_credential(name):  # hot: most names
        return True
    bare = value.strip().strip("\"',;")
    if gives_credential(name, bare):
        return True
    if name.lower().rpartition(".")[2].strip("_0123456789") not in _OF_TEXTS:
        return False
    return not (bare.startswith(("/", "./")) or bare.lower() in _METHODS or not bare)
