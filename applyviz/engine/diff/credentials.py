"""Find credentials in plain fields, by the name of the field and by the form of the text.

Known forms: names of environment variables, headers, flags and fields (`DB_PASS`, `X-Api-Key`, `--token`,
`clientSecret`), passwords in URLs, Authorization headers, JSON Web Tokens, PEM private keys, the keys of a kubeconfig,
and Docker's registry logins. A name that says where a secret is (`secretName`, `TOKEN_FILE`, `--password-file`) is not
a credential. The decision depends only on the text itself; the cost is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from fnmatch import translate
from functools import lru_cache

LONGEST_NAME = 200
_ENDS = frozenset(
    (
        *("password", "passwd", "passphrase", "passcode", "pwd", "htpasswd", "token", "otp", "jwt", "authorization"),
        *("apikey", "secretkey", "privatekey", "accesskey", "credential", "credentials", "creds"),
        *("dockercfg", "dockerconfigjson"),
    )
)
_PHRASES = frozenset(
    (
        *(f"{what} key" for what in ("api", "secret", "private", "signing", "encryption", "access", "auth", "master")),
        *(f"{what} key" for what in ("shared", "account", "storage", "license")),
        *(f"{what} secret" for what in ("client", "app", "shared", "consumer", "webhook", "oauth", "session")),
        *(f"{what} secret" for what in ("cookie", "auth", "hmac", "signing", "jwt")),
        *("secret access key", "connection string", "basic auth", "set cookie", "registry auth", "client key data"),
    )
)
_SUFFIXES = ("password", "passwd", "passphrase", "apikey", "token")
_NONE = frozenset(("PWD", "OLDPWD"))  # the current working directory of a shell
_UPPER_ENDS = frozenset({"secret", "pass", "dsn", "salt", "cookie"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# A cheap first check: text without any of these cannot hold a credential.
_HINT = re.compile(
    r"pass|pwd|token|secret|key|auth|cred|jwt|otp|cookie|bearer|dsn|salt|connection|://|BEGIN|eyJ", re.IGNORECASE
)

_PEM = "PRIVATE KEY-----"
_URL = re.compile(r"(?<=://)[^\s/@:\"'<>]{0,256}:([^\s/@\"'<>]{1,512})@")
_FLAG = re.compile(
    r"(?<![\w-])--?([A-Za-z][\w.-]{1,100})[= ](\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}'|[^\s\"'-][^\s]{0,4096})"
)
_LINE = re.compile(
    r"^[ \t]{0,200}(?:export[ ]|-[ ])?[\"']?([\w.\-]{1,200})[\"']?[ \t]{0,20}[:=][ \t]{0,20}([^\s|>{\[&*!#].*)$", re.M
)
_FLOW = re.compile(
    r"[{,][ \t]{0,20}([\w.\-]{1,200})[ \t]{0,20}:[ ][ \t]{0,20}"
    r"(\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}'|[^\s,{}\[\]\"']{1,4096})"
)
_WEB_TOKEN = re.compile(r"(?<![\w-])eyJ[A-Za-z0-9_-]{8,8192}\.eyJ[A-Za-z0-9_-]{2,16384}\.[A-Za-z0-9_-]{0,8192}")
_JSON_PAIR = re.compile(r'"([\w.\-]{1,200})"\s{0,20}:\s{0,20}"((?:[^"\\]|\\.){1,65536})"')
_HEADER = re.compile(
    r"\bauthorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:[A-Za-z]{1,20}[ ]{1,4})?([^\s\"']{1,8192})", re.I
)
_BEARER = re.compile(r"\bbearer[ ]{1,4}([A-Za-z0-9._~+/=-]{16,8192})", re.I)
_REFERENCE = re.compile(r"\$\([\w.]+\)|\$\{[^}]*\}|\$\w+|\{\{.*\}\}|<[^<>]*>|\*+")
_LITERALS = frozenset({"true", "false", "null", "none", "~"})


# Kinds of these groups name the keys of Secrets; they hold no value.
_KEYS_BY_GROUP = {
    "external-secrets.io": frozenset({"secretKey"}),
    "secrets-store.csi.x-k8s.io": frozenset({"secretKey"}),
}


def names_of_keys(group: str) -> frozenset[str]:
    """Return the fields that only name a key of a Secret in the kinds of an API group."""
    return _KEYS_BY_GROUP.get(group, frozenset())


def is_ciphertext(group: str, kind: str, path: tuple[str, ...]) -> bool:
    """Return whether only its controller can read a text: the values of a SealedSecret."""
    return (group, kind, path[-3:-1]) == ("bitnami.com", "SealedSecret", ("spec", "encryptedData"))


def _split(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


@lru_cache(maxsize=4096)
def names_credential(name: str) -> bool:
    """Return whether a field, flag, header or variable of this name holds a credential; overlong names count."""
    if len(name) > LONGEST_NAME:
        return True
    words = _split(name.rstrip("0123456789"))
    if not words or name in _NONE:
        return False
    last = words[-1]
    if last in _ENDS or last.endswith(_SUFFIXES) or {" ".join(words[-n:]) for n in (2, 3)} & _PHRASES:
        return True
    is_constant = name.upper() == name
    return (is_constant and last in _UPPER_ENDS) or (len(words) > 1 and last == "pass")


@lru_cache(maxsize=64)
def compile_globs(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one case-insensitive expression for many globs."""
    return re.compile("|".join(translate(pattern) for pattern in patterns) or r"(?!)", re.IGNORECASE)


def is_reference(text: str) -> bool:
    """Return whether text only says where a value comes from, or that it is to be filled in."""
    return not text.strip() or _REFERENCE.fullmatch(text.strip()) is not None


def is_registry_login(text: str) -> bool:
    """Return whether text is a Docker configuration that holds logins."""
    return '"auths"' in text and ('"auth"' in text or '"password"' in text)


def _find_private_keys(text: str) -> Iterator[tuple[int, int, str]]:
    start = text.find("-----BEGIN ")
    while start >= 0:
        line = text[start : start + 80]
        if _PEM not in line:
            start = text.find("-----BEGIN ", start + 11)
            continue
        end = text.find("-----END ", start)
        close = text.find("-----", end + 9) if end >= 0 else -1
        stop = close + 5 if close >= 0 else len(text)
        yield start, stop, "pem"
        start = text.find("-----BEGIN ", stop)


def _find_spans(text: str, shown: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the span of each credential in a text, and the name that it is known by."""
    yield from _find_private_keys(text)
    for match in _URL.finditer(text):
        yield *match.span(1), "url"
    for expression in (_FLAG, _LINE, _FLOW, _JSON_PAIR):
        for match in expression.finditer(text):
            if match[1] not in shown and names_credential(match[1]):
                yield *match.span(2), match[1]
    for match in _WEB_TOKEN.finditer(text):
        yield *match.span(), "jwt"
    for expression in (_HEADER, _BEARER):
        for match in expression.finditer(text):
            yield *match.span(1), "authorization"


def redact(text: str, mask: Callable[[str, str], str], shown: Collection[str] = ()) -> str:
    """Return the text with each credential replaced by `mask(credential, name)`; names in `shown` hold none."""
    if _HINT.search(text) is None:
        return text
    pieces: list[str] = []
    at = 0
    for start, end, name in sorted(_find_spans(text, shown), key=lambda span: (span[0], -span[1])):
        found = text[start:end].rstrip(" \t\r,;").strip("\"'")
        if start < at or is_reference(found) or found.lower() in _LITERALS:
            continue
        start = text.index(found, start)
        pieces += (text[at:start], mask(found, name))
        at = start + len(found)
    return "".join((*pieces, text[at:])) if pieces else text
