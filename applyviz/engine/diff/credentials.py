"""Find credentials in plain fields, by the name of the field and by the form of the text.

Known forms: names of environment variables, headers, flags and fields (`DB_PASS`, `X-Api-Key`, `--token`,
`clientSecret`), passwords in URLs, connection strings and commands, Authorization headers, tokens of well-known
services (`known_tokens`), JSON Web Tokens, PEM private keys, the keys of a kubeconfig, and Docker's registry logins; in
YAML, JSON, XML and properties. A name that says where a secret is (`secretName`, `TOKEN_FILE`, `--password-file`) is
not a credential. The decision depends only on the text itself; the cost is linear in its length.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache

from applyviz.engine.diff.credential_names import gives_in_text, names_credential, names_plural
from applyviz.engine.diff.sought_forms import VALUE, SoughtForm
from applyviz.engine.diff.text_forms import DSNS, GROUPS, NAMED, TURNED, WHOLE, Sought, find_parts
from applyviz.engine.objects.values import JSONValue

_OF_NAMES = frozenset({"name", "key", "namespace", "kind", "type", "file", "path", "id", "user", "username"})
_PEM = ("PRIVATE KEY-----", "PRIVATE KEY BLOCK-----", "OpenVPN Static key V1-----")
_BLOCK = re.compile(
    r"^([ \t]{0,200})(?:-[ ])?[\"']?([\w.\-]{1,200})[\"']?[ \t]{0,20}:[ \t]{0,20}([|>][-+0-9]{0,3})?[ \t]{0,20}$", re.M
)
_OPENED = re.compile(r"[\"']?\b([A-Za-z_\-]{3,40})[\"']?[ \t]{0,20}:\s{0,20}([\[{])")
_BRACKET = re.compile(r"[\[\]{}]")
_VALUE_BELOW = re.compile(r"[\"']?\bvalue[\"']?\s{0,20}:\s{0,20}" + VALUE)
_ENTRY = re.compile(
    r"(?<![\w:.\-])(?:\"([\w.\-]{1,200})\"\s{0,20}:\s{0,20}|'?([\w.\-]{1,200})'?[ \t]{0,20}:\s{1,20})?" + VALUE
)
_ESCAPED, _BLANKS, _MOST_ESCAPES = re.compile(r"\\([\"\\nrt])"), {"n": "\n", "r": "\r", "t": "\t"}, 3
_LONGEST_LIST, _SHORTEST_PAIR = 65536, 8
_BARE_QUOTE = re.compile(r"(?<!\\)\"")
_CIPHERTEXT = re.compile(r"(?:A[IQYg]|BA)[A-D][A-Za-z0-9+/\s]{20,}+={0,2}\s*")
_REFERENCE = re.compile(
    r"\$\([\w.]+\)|\$\((?:cat |<)[^()|;&]*\)|\$\{(?:(?!:-)[^}])*\}|\$\w+|\$[a-z][\w.:-]*(?i:token|secret|password|key)"
    r"|\{\{.*\}\}|<[^<>]*>|\*+"
)
_LITERALS = frozenset({"true", "false", "null", "none", "~"})


# Kinds of these groups name the keys of Secrets; they hold no value.
_KEYS_BY_GROUP = {
    "external-secrets.io": frozenset({"secretKey"}),
    "secrets-store.csi.x-k8s.io": frozenset({"secretKey"}),
}


_TEMPLATES = frozenset(
    (holder, data) for holder in ("template", "secretTemplate") for data in ("data", "stringData", "binaryData")
)


def names_of_keys(group: str) -> frozenset[str]:
    """Return the fields that only name a key of a Secret in the kinds of an API group."""
    return _KEYS_BY_GROUP.get(group, frozenset())


def is_ciphertext(text: str) -> bool:
    """Return whether a text begins as what kubeseal writes: the length of a key of RSA, then that key."""
    return _CIPHERTEXT.fullmatch(text) is not None


def holds_ciphertext(group: str, kind: str, path: tuple[str, ...]) -> bool:
    """Return whether a field holds what only its controller can read: a value of a SealedSecret."""
    return (group, kind, path[-3:-1]) == ("bitnami.com", "SealedSecret", ("spec", "encryptedData"))


@lru_cache(maxsize=64)
def compile_globs(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one case-insensitive expression for many globs."""
    return re.compile("|".join(translate(pattern) for pattern in patterns) or r"(?!)", re.IGNORECASE)


def is_reference(text: str) -> bool:
    """Return whether text only says where a value comes from, or that it is to be filled in."""
    return not text.strip() or _REFERENCE.fullmatch(text.strip()) is not None


def holds_value(value: JSONValue) -> bool:
    """Return whether a value under the name of a credential is one, not a reference, a template or a boolean."""
    if not isinstance(value, str):
        return not isinstance(value, bool)
    return not is_reference(value) and "{{" not in value and value.strip().lower() not in _LITERALS


def is_template(path: tuple[str, ...]) -> bool:
    """Return whether a path is that of the values of a Secret that a controller makes from a template."""
    return path[-2:] in _TEMPLATES


def is_registry_login(text: str) -> bool:
    """Return whether text is a Docker configuration that holds logins."""
    return '"auths"' in text and ('"auth"' in text or '"password"' in text)


def _find_private_keys(text: str) -> Iterator[tuple[int, int, str]]:
    start = text.find("-----BEGIN ")
    while start >= 0:
        line = text[start : start + 80]
        if not any(one in line for one in _PEM):
            start = text.find("-----BEGIN ", start + 11)
            continue
        end = text.find("-----END ", start)
        close = text.find("-----", end + 9) if end >= 0 else -1
        stop = close + 5 if close >= 0 else len(text)
        yield start, stop, "pem"
        start = text.find("-----BEGIN ", stop)


def _find_entries(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield the entries of a list or map of credentials; names of Secrets and users among them stay."""
    for match in _ENTRY.finditer(text, start, end):
        name = match[1] or match[2] or ""
        if name.lower() not in _OF_NAMES:
            yield *match.span(3), name or "entry"


def _find_end(text: str, start: int) -> tuple[int, bool]:
    """Return where the bracket at `start` is closed, and whether no other one is between."""
    depth = 0
    for count, match in enumerate(_BRACKET.finditer(text, start, start + _LONGEST_LIST)):
        depth += 1 if match[0] in "[{" else -1
        if depth == 0:
            return match.start(), count == 1
    return min(start + _LONGEST_LIST, len(text)), False


def _find_listed(text: str, shown: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the credentials in flow lists and maps: `tokens: [x, y]`, `"password": {"value": "x"}`."""
    at = 0
    while (match := _OPENED.search(text, at)) is not None:
        at = start = match.end()
        is_plural = names_plural(match[1])
        if match[1] in shown or not (is_plural or names_credential(match[1])):
            continue
        at, is_flat = _find_end(text, match.start(2))
        if is_flat and (is_plural or match[2] == "["):
            yield from _find_entries(text, start, at)
        else:
            yield from ((*found.span(1), "value") for found in _VALUE_BELOW.finditer(text, start, at))


def _find_blocks(text: str, shown: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield block scalars of credentials (`password: |`), and the entries below `tokens:`; each line is read once."""
    at = 0
    while (match := _BLOCK.search(text, at)) is not None:
        at = match.end()
        is_plural = match[3] is None and names_plural(match[2])
        if match[2] in shown or not (is_plural or (match[3] is not None and gives_in_text(match[2], "x"))):
            continue
        start = at = min(at + 1, len(text))
        while at < len(text):
            end = text.find("\n", at) + 1 or len(text)
            line = text[at:end]
            depth = len(line) - len(line.lstrip(" \t"))
            is_item = is_plural and line.lstrip().startswith("- ") and depth >= len(match[1])
            if line.strip() and depth <= len(match[1]) and not is_item:
                break
            if is_plural and line.strip():
                yield from _find_below(text, at, end)
            at = end
        if not is_plural and text[start:at].strip():
            yield start, at, match[2]


_BELOW = re.compile(
    r"[ \t]{0,200}(?:-[ ]{1,4})?(?:[\"']?([\w.\-]{1,200})[\"']?[ \t]{0,20}:[ ]{1,20})?(\S[^\n]{0,4096})$", re.M
)


def _find_below(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    match = _BELOW.match(text, start, end)
    if match is not None and (match[1] or "").lower() not in _OF_NAMES and not match[2].rstrip().endswith(":"):
        yield *match.span(2), match[1] or "entry"


def _find_forms(text: str, parts: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    """Yield what its form or its command alone shows."""
    for name, form in WHOLE:
        for match in form.find(text, parts):
            yield *match.span(), name
    for name, form in GROUPS:
        for match in form.find(text, parts):
            yield *match.span(match.lastindex or 0), name


def _find_pairs(
    form: SoughtForm, matches: Iterable[re.Match[str]], shown: Collection[str], depth: int = 1
) -> Iterator[tuple[int, int, str]]:
    """Yield the values that the name before them shows, also inside the quotes of another: `X="user=me;password=x"`."""
    for match in matches:
        if match[1] not in shown and gives_in_text(match[1], match[2]):
            yield *match.span(2), match[1]
        elif depth and match[2][0] in "\"'" and len(match[2]) > _SHORTEST_PAIR:
            below = form.expression.finditer(match.string, match.start(2) + 1, match.end(2) - 1)
            yield from _find_pairs(form, below, shown, depth - 1)


def _find_named(text: str, parts: frozenset[str], shown: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield what follows the name of a credential, or comes before it, and what only a longer search finds."""
    yield from _find_private_keys(text)
    for match in DSNS.find(text, parts):
        yield *match.span(match.lastindex or 0), "dsn"
    for form in NAMED:
        yield from _find_pairs(form, form.find(text, parts), shown)
    for form in TURNED:
        for match in form.find(text, parts):
            if match[2] not in shown and gives_in_text(match[2], match[1]):
                yield *match.span(1), match[2]
    yield from _find_listed(text, shown)
    yield from _find_blocks(text, shown)


def _find_spans(text: str, sought: Sought | None, shown: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the span of each credential in a text, and the name that it is known by."""
    if sought is not None:
        yield from _find_forms(text, sought.parts)
        if sought.has_name:
            yield from _find_named(text, sought.parts, shown)


def _trim(found: str) -> str:
    """Return a credential without its quotes and what separates it from the next one."""
    return found.rstrip(" \t\r,;").strip("\"'")


def _find_escaped(text: str, shown: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the credentials in a text whose quotes and line ends are escaped, as those of JSON or YAML inside JSON."""
    at: Sequence[int] = range(len(text) + 1)  # where each character of the text without escapes is in the text
    for _ in range(_MOST_ESCAPES):
        if _ESCAPED.search(text) is None:
            return
        text, at = _unescape(text, at)
        for start, end, name in _find_spans(text, find_parts(text.lower()), shown):
            found = _trim(text[start:end])  # here, because its quotes are escaped in the text
            start = text.index(found, start)
            yield at[start], at[start + len(found)], name


def _unescape(text: str, at: Sequence[int]) -> tuple[str, Sequence[int]]:
    """Return a text with one level of escapes less; a line break replaces each quote without an escape."""
    text = _BARE_QUOTE.sub("\n", text)
    pieces: list[str] = []
    kept = array("L")
    end = 0
    for match in _ESCAPED.finditer(text):
        pieces += (text[end : match.start()], _BLANKS.get(match[1], match[1]))
        kept.extend(at[end : match.start() + 1])
        end = match.end()
    kept.extend(at[end:])
    return "".join((*pieces, text[end:])), kept


def redact(text: str, mask: Callable[[str, str], str], shown: Collection[str] = ()) -> str:
    """Return the text with each credential replaced by `mask(credential, name)`; names in `shown` hold none."""
    sought = find_parts(text.lower())
    if sought is None:
        return text
    pieces: list[str] = []
    at = 0
    spans = (*_find_spans(text, sought, shown), *(_find_escaped(text, shown) if "\\" in text else ()))
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        found = _trim(text[start:end])
        if start < at or is_reference(found) or found.lower() in _LITERALS:
            continue
        start = text.index(found, start)
        pieces += (text[at:start], mask(found, name))
        at = start + len(found)
    return "".join((*pieces, text[at:])) if pieces else text
