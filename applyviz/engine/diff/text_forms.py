"""The forms of credentials in a text: what each expression finds, and what a text needs to be searched for it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from applyviz.engine.diff.commands import COMMANDS
from applyviz.engine.diff.known_tokens import TOKENS
from applyviz.engine.diff.setting_forms import PARTS, SETTINGS
from applyviz.engine.diff.sought_forms import VALUE, SoughtForm, make_form

_URL = r"(?<=://)[^\s/@:\"'<>]{0,256}:([^\s/@\"'<>]{1,512})@"
# A user without a password in a web address is a token.
_URL_TOKEN = r"\bhttps?://([^\s/@:\"'<>]{8,512})(?::|:x-oauth-basic)?@"
# `user:password@tcp(host)`, `user/password@//host`.
_DSN = (
    r"(?<![\w/])[\w.\-]{1,100}(?::([^\s@/\"']{1,128})@(?:tcp|udp|unix)\(|/([^\s@/\"']{1,512})@//)"
    r"|\bjdbc:oracle:\w{1,20}:[\w.\-]{1,100}/([^\s@/\"']{1,512})@"
)
# In a command, a query, a connection string, or after another flag: `PASSWORD=x run`, `?password=x`, `;Password=x`.
_ASSIGNED = r"(?<![\w.\-$])([A-Za-z_][\w.\-]{1,200})=" + VALUE
# `; Password = x ;`, `${PASSWORD:-x}`, `set $token "x"`, `-H "X-Api-Key: x"`.
_SPACED = r"(?:^|;)[ \t]{0,8}([A-Za-z][\w .\-]{1,60}?)[ \t]{1,8}=[ \t]{0,8}" + VALUE
_SPACED_LATER = r"(?<=[ \t])([A-Za-z][\w.\-]{1,60})[ \t]{1,8}=[ \t]{1,8}" + VALUE
_DEFAULT = r"\$\{(\w{1,200}):?[-=]([^}\n$]{1,512})\}"
_SETTING = (
    r"\b(?:setx?|setenv|SetEnv|ENV|ARG|define|add_header|proxy_set_header|fastcgi_param|uwsgi_param)[ \t]{1,8}"
    r"[^\s\w]{0,4}(?:[\w./]{1,200}:)?"
    r"([\w.\-]{1,200})[ \t]{1,8}" + VALUE
)
_INLINE = r"(?<![\w\-])([A-Za-z]{1,40}(?:-[A-Za-z]{1,40}){1,6}):[ ]{1,4}" + VALUE
_CONTENT = r">\s{0,40}(?:<!\[CDATA\[)?([^<>\s\]][^<>\n\]]{0,4096})"
_XML = r"<([\w.:\-]{1,200})(?:[ ][^<>]{0,200})?" + _CONTENT
_XML_VALUE = r"<([\w.:\-]{1,200})[ ](?:[^<>]{0,200}[ ])?value=[\"']([^\"'<>]{1,4096})[\"']"
_XML_PAIRS = (
    r"(?:\bname|\bkey)=[\"']([\w.\-]{1,200})[\"'][ ]{0,4}(?:>\s{0,40}<value)?" + _CONTENT,
    r"<(?:name|key)>([\w.\-]{1,200})</(?:name|key)>\s{0,40}<(?:value|string)" + _CONTENT,
)
_PAIR = (
    r"\b(?:name|key|path)[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:/[\w./~\-]{0,200}/)?([\w.\-]{1,200})[\"']?[,\s]{1,80}"
    r"[\"']?value[\"']?[ \t]{0,4}[:=][ \t]{0,4}" + VALUE
)
_PAIR_TURNED = (
    r"\bvalue[\"']?[ \t]{0,4}[:=][ \t]{0,4}" + VALUE + r"[,\s]{1,80}[\"']?(?:name|key)[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
    r"[\"']?([\w.\-]{1,200})"
)
_QUOTED = r"[\"'`]([^\"'`\n]{1,4096})[\"'`]"
# Source code: `x["PASSWORD"] = "x"`, `'password' => 'x'`, `define('DB_PASSWORD', 'x')`, `env.TOKEN || 'x'`,
# `setPassword("x")`.
_ITEM = r"[\"']([\w.\-]{1,200})[\"']\][ ]{0,4}=[ ]{0,4}" + _QUOTED
_ROCKET = r"[:\"']([\w.\-]{1,200})[\"']?[ \t]{0,40}=>[ \t]{0,8}" + _QUOTED
_GIVEN = r"\([ ]?[\"']([\w.\-]{1,200})[\"'],[ ]{0,4}" + _QUOTED
_OTHERWISE = r"\b([A-Za-z_][\w.]{1,200})[ ]{1,4}(?:\|\||\?\?)[ ]{1,4}" + _QUOTED
_CALLED = r"(?<![\w\-])(?!get|find|read|fetch|load|lookup|has|is|check)([A-Za-z_]\w{1,60})\([ ]?" + _QUOTED + r"[ ]?\)"
# `password%3Dx`, `%22password%22%3A%22x%22`, `&quot;password&quot;:&quot;x&quot;`, `password&#61;x`.
_MARK = r"(?:%22|%27|&quot;|&#34;|&#39;)"
_ESCAPED_SIGN = (
    rf"([A-Za-z_][\w.\-]{{1,200}})(?:{_MARK})?(?:(?:%3[ADad]|&#61;|&#58;)(?:%20|\+)?{_MARK}?|(?<=;)[:=][ ]?{_MARK})"
    r"([^\s%&\"'<>]{1,4096})"
)
_READ = r"\bread[ ]{1,4}(?:-\w{1,4}[ ]{1,4}){0,4}(\w{1,200})[ ]{1,4}<{1,3}[ ]{0,4}(?:<?\([ ]?echo[ ]{1,4})?" + VALUE
_SLASHED = r"(?<=[ ])/([A-Za-z][\w\-]{1,40}):" + VALUE
_WRITTEN = (
    r"\becho[ ]{1,4}(?:-n[ ]{1,4})?" + VALUE + r"[ ]{0,4}>{1,2}[ ]{0,4}[\"']?(?:[^\s\"'/]{0,60}/){0,12}([\w.\-]{1,200})"
)
_COMPLEX_KEY = r"^[ \t]{0,200}\?[ \t]{1,20}[\"']?([\w.\-]{1,200})[\"']?[ \t]{0,20}\n[ \t]{0,200}:[ \t]{1,20}(.+)$"
_NEXT_LINE = (
    r"^[ \t]{0,200}(?:-[ ])?[\"']?([\w.\-]{1,200})[\"']?[ \t]{0,20}:[ \t]{0,20}\n"
    r"[ \t]{1,200}([^\s:#\-{\[|>&*!][^\n:]{0,4096})$"
)
_FLAG = r"(?<![\w-])--?([A-Za-z][\w.-]{1,100})[= ](\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}'|[^\s\"'-][^\s]{0,4096})"
_LINE = (
    r"^[ \t]{0,200}(?:export[ ]|-[ ]|\$env:)?[\"']?([\w.\-]{1,200})[\"']?[ \t]{0,20}:?[:=][ \t]{0,20}"
    r"(?:[&!][\w!./\-]{0,80}[ \t]{1,20}){0,2}([^\s|>{\[&*!#].*)$"
)
_FLOW = (
    r"[{,][ \t]{0,20}['\"]?([\w.\-]{1,200})['\"]?[ \t]{0,20}(?::[ ]|=)[ \t]{0,20}"
    r"(\"(?:[^\"\\\n]|\\.){1,4096}\"|'[^'\n]{1,4096}'|[^\s,{}\[\]\"']{1,4096})"
)
_WEB_TOKEN = r"(?<![\w-])eyJ[A-Za-z0-9_-]{8,8192}\.eyJ[A-Za-z0-9_-]{2,16384}\.[A-Za-z0-9_-]{0,8192}"
_ENCRYPTED_WEB_TOKEN = r"(?<![\w-])eyJ[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{0,16384}){3}\.[A-Za-z0-9_-]{8,8192}"
_JSON_PAIR = r'"([\w.\-]{1,200})"\s{0,20}:\s{0,20}"((?:[^"\\]|\\.){1,65536})"'
_HEADER = (
    r"(?i:\bauthorization)[\"']?(?:[ \t]{0,4}[:=][ \t]{0,4}|[ \t]{1,4}(?=[\"']))[\"']?(?:[A-Za-z]{1,20}[ ]{1,4})?"
    r"([^\s\"']{1,8192})"
)
_BEARER = r"(?i:\bbearer)[ ]{1,4}([A-Za-z0-9._~+/=-]{16,8192})"
NAMED = tuple(
    make_form(pattern, needs)
    for needs, pattern in (
        *((("-",), _FLAG), ((":", "="), _LINE), ((": ", "="), _FLOW), (('"',), _JSON_PAIR), (("=",), _ASSIGNED)),
        *(
            (("=",), _SPACED),
            (("${",), _DEFAULT),
            (("set", "env", "arg", "define", "add_header", "_param"), _SETTING),
            ((": ",), _INLINE),
        ),
        *((("<",), _XML), ((">",), _XML_PAIRS[0]), (("<value", "<string"), _XML_PAIRS[1]), (("value",), _PAIR)),
        *(
            (("?",), _COMPLEX_KEY),
            (("\n ", "\n\t"), _NEXT_LINE),
            ((" =", "\t="), _SPACED_LATER),
            (("value=",), _XML_VALUE),
        ),
        *((("'] ", '"] ', "']=", '"]='), _ITEM), (("=>",), _ROCKET), (("(",), _GIVEN), (("||", "??"), _OTHERWISE)),
        *((("(",), _CALLED), (("%3", "&#", "&quot;"), _ESCAPED_SIGN), (("read ",), _READ), ((" /",), _SLASHED)),
    )
)
"""A name, then its value."""
TURNED = (make_form(_PAIR_TURNED, {"value"}), make_form(_WRITTEN, {"echo "}))
"""A value, then its name."""
_WEB_TOKENS = (("jwt", make_form(_WEB_TOKEN, {"eyj"})), ("jwt", make_form(_ENCRYPTED_WEB_TOKEN, {"eyj"})))
_ADDRESSES = (("url", make_form(_URL, {"://"})), ("url", make_form(_URL_TOKEN, {"://"})))
_HEADERS = (("authorization", make_form(_HEADER, {"auth"})), ("authorization", make_form(_BEARER, {"bearer"})))
WHOLE = (*_WEB_TOKENS, *(("token", one) for one in TOKENS))
"""Forms whose whole match is a credential, each with its name."""
GROUPS = (*_ADDRESSES, *(("command", one) for one in (*COMMANDS, *SETTINGS, *PARTS)), *_HEADERS)
"""Forms whose matching group is a credential, each with its name."""
DSNS = make_form(_DSN, {"@tcp(", "@udp(", "@unix(", "@//", "jdbc:oracle:"})
"""A user and a password before an address in parentheses, or behind a slash."""
# Every name of a credential contains one of these, and so does every form but commands and tokens. They are lowercase,
# as all needs are: to search a lowercase copy of a text is far faster than to search with an expression that ignores
# case.
_TWO_WORDS = (("conn", "str"), ("account", "json"), ("access", "signature"), ("security", "answer"))
_HINTS = (
    *("pass", "pwd", "token", "secret", "key", "auth", "cred", "jwt", "otp", "cookie", "bearer", "dsn", "salt", "eyj"),
    *("connection", "://", "begin", "_pin", "_pw", "_sk", "psk", "phrase", "mnemonic", "recovery", "backup", "scratch"),
    *(
        "signature=",
        "licen",
        "encrypt",
        "seed",
        "sas",
        "hook",
        "jdbc:oracle:",
        "tcp(",
        "udp(",
        "unix(",
        "@//",
        "wort",
        "woord",
        "senha",
        "contrase",
        "dockerc",
        "hmac",
        "webhook",
    ),
    *(f"{word}{after}" for word in ("pin", "pw", "sig", "_pat", "_sas") for after in "=: \"'_-12"),
    *(f"{one}{between}{other}" for one, other in _TWO_WORDS for between in ("", "_", "-")),
)
_SHORTEST_TOKEN = 15


def _list_needs(forms: Iterable[SoughtForm]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(need for form in forms for need in sorted(form.needs)))


_OF_COMMANDS, _OF_PARTS, _OF_TOKENS = _list_needs((*COMMANDS, *SETTINGS)), _list_needs(PARTS), _list_needs(TOKENS)
_OF_OTHERS = _list_needs((*NAMED, *TURNED, DSNS, *(form for _, form in (*_WEB_TOKENS, *_ADDRESSES, *_HEADERS))))


class Sought(Struct, frozen=True):
    """The needs of forms that a text contains.

    - `has_name`: whether it may contain the name of a credential.
    - `parts`: the needs that it contains.
    """

    has_name: bool
    parts: frozenset[str]


def find_parts(small: str) -> Sought | None:
    """Return the needs of forms that a text, in lowercase, contains; None: it holds no credential."""
    has_name = False
    for hint in _HINTS:  # hot: for most texts, this is nearly all that happens
        if hint in small:
            has_name = True
            break
    parts = [part for part in _OF_PARTS if part in small]
    if len(small) >= _SHORTEST_TOKEN:
        parts += [part for part in _OF_TOKENS if part in small]
    if " " in small or "\t" in small:
        parts += [part for part in _OF_COMMANDS if part in small]
    if not has_name and not parts:
        return None
    return Sought(has_name, frozenset((*parts, *(part for part in _OF_OTHERS if part in small))))
