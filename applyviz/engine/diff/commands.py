"""Passwords in the commands of well-known programs, written as one text or as a list of arguments.

The list is for people to read and extend: one line for each program. Each expression has a fixed beginning and bounded
repetitions, so that the search costs time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

VALUE = r"(\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}'|[^\s\"';&|,)}]{1,4096})"
"""A value in a text, with or without quotes."""


class SoughtForm(Struct, frozen=True):
    """An expression, and texts in small letters of which everything that it matches contains one."""

    expression: re.Pattern[str]
    needs: tuple[str, ...]

    def find(self, text: str, small: str) -> Iterable[re.Match[str]]:
        """Return the matches in a text, which is given in small letters too; most texts need no search."""
        return self.expression.finditer(text) if any(need in small for need in self.needs) else ()


def _seek(needs: str, expression: str) -> SoughtForm:
    return SoughtForm(re.compile(expression, re.M), tuple(needs.split()))


_BETWEEN = r"\b[^\n;|&]{0,300}?[ ]"
COMMANDS = (
    _seek(
        "mysql mariadb 7z",
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|7z|7za)" + _BETWEEN + r"-p([^\s\"']{1,512})",
    ),
    _seek("mongo login", r"\b(?:mongo|mongosh|mongodump|mongorestore|login)" + _BETWEEN + r"-p[ ]{1,4}" + VALUE),
    _seek("sshpass", r"\bsshpass[ ]{1,4}-p[ ]{0,4}" + VALUE),
    _seek("redis-cli", r"\bredis-cli" + _BETWEEN + r"(?:-a|--pass)[ ]{1,4}" + VALUE),
    _seek(
        "curl", r"\bcurl" + _BETWEEN + r"(?:-u|--user|--proxy-user)[ =]{0,4}[\"']?[^\s:\"']{0,200}:([^\s\"']{1,512})"
    ),
    _seek("ldap", r"\bldap(?:search|add|modify|delete|whoami|passwd)" + _BETWEEN + r"-w[ ]{1,4}" + VALUE),
    _seek("zip", r"\b(?:zip|unzip)" + _BETWEEN + r"-P[ ]{1,4}" + VALUE),
    _seek("smbclient", r"\bsmbclient" + _BETWEEN + r"-U[ ]{1,4}[\"']?[^\s%\"']{1,200}%([^\s\"']{1,512})"),
    _seek(
        "htpasswd", r"\bhtpasswd[ ]{1,4}-[A-Za-z]{0,8}b[A-Za-z]{0,8}[ ]{1,4}\S{1,200}[ ]{1,4}\S{1,200}[ ]{1,4}" + VALUE
    ),
    _seek("vault", r"\bvault[ ]{1,4}login[ ]{1,4}(?!-)(?![\w.]{1,40}=)" + VALUE),
    _seek("rabbitmqctl", r"\brabbitmqctl[ ]{1,4}(?:add_user|change_password)[ ]{1,4}\S{1,200}[ ]{1,4}" + VALUE),
    _seek(
        "echo", r"\becho[ ]{1,4}(?:-n[ ]{1,4})?" + VALUE + r"[ ]{0,4}\|[^\n;&]{0,300}(?:--password-stdin|\bsudo[ ]-S)"
    ),
    _seek("pass:", r"\bpass(?:in|out)?[ ]{1,4}pass:" + VALUE),
    # Files of settings whose lines are a word and a value.
    _seek(
        "requirepass masterauth bindpw rootpw",
        r"^[ \t]{0,40}(?:requirepass|masterauth|bindpw|rootpw)[ \t]{1,40}" + VALUE,
    ),
    _seek("login", r"\blogin[ \t]{1,20}\S{1,200}\s{1,20}password[ \t]{1,20}" + VALUE),
)
_SHORT = frozenset({"-p"})
_PROGRAMS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump", "mariadb-admin", "sshpass"), _SHORT
    ),
    **dict.fromkeys(("mongo", "mongosh", "mongodump", "mongorestore", "7z", "7za"), _SHORT),
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami"), frozenset({"-w"})),
    **dict.fromkeys(("zip", "unzip"), frozenset({"-P"})),
    "redis-cli": frozenset({"-a", "--pass"}),
    "curl": frozenset({"-u", "--user", "--proxy-user"}),
}


def find_arguments(items: Sequence[object]) -> frozenset[int]:
    """Return the positions of arguments that a program of the list takes as a password: `redis-cli -a x`."""
    found: set[int] = set()
    flags: frozenset[str] = frozenset()
    for at, item in enumerate(items):
        text = item if isinstance(item, str) else ""
        flags = _PROGRAMS.get(text.rpartition("/")[2], flags)
        if text in flags:
            found.add(at + 1)
        elif text[:2] in flags and text[:2] != "--":  # `-px`
            found.add(at)
    return frozenset(one for one in found if one < len(items))
