"""Passwords in the commands of well-known programs, written as one text or as a list of arguments.

The list is for people to read and extend: one line for each program. Each expression has a fixed beginning and bounded
repetitions, so that the search costs time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

VALUE = r"(\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}'|[^\s\"';&|,)}]{1,4096})"
"""A value in a text, with or without quotes."""
_BETWEEN = r"\b[^\n;|&]{0,300}?[ ]"
COMMANDS = (
    re.compile(r"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|7z|7za)" + _BETWEEN + r"-p([^\s\"']{1,512})"),
    re.compile(r"\b(?:mongo|mongosh|mongodump|mongorestore|login)" + _BETWEEN + r"-p[ ]{1,4}" + VALUE),
    re.compile(r"\bsshpass[ ]{1,4}-p[ ]{0,4}" + VALUE),
    re.compile(r"\bredis-cli" + _BETWEEN + r"(?:-a|--pass)[ ]{1,4}" + VALUE),
    re.compile(r"\bcurl" + _BETWEEN + r"(?:-u|--user|--proxy-user)[ =]{0,4}[\"']?[^\s:\"']{0,200}:([^\s\"']{1,512})"),
    re.compile(r"\bldap(?:search|add|modify|delete|whoami|passwd)" + _BETWEEN + r"-w[ ]{1,4}" + VALUE),
    re.compile(r"\b(?:zip|unzip)" + _BETWEEN + r"-P[ ]{1,4}" + VALUE),
    re.compile(r"\bsmbclient" + _BETWEEN + r"-U[ ]{1,4}[\"']?[^\s%\"']{1,200}%([^\s\"']{1,512})"),
    re.compile(r"\bhtpasswd[ ]{1,4}-[A-Za-z]{0,8}b[A-Za-z]{0,8}[ ]{1,4}\S{1,200}[ ]{1,4}\S{1,200}[ ]{1,4}" + VALUE),
    re.compile(r"\bvault[ ]{1,4}login[ ]{1,4}(?!-)(?![\w.]{1,40}=)" + VALUE),
    re.compile(r"\brabbitmqctl[ ]{1,4}(?:add_user|change_password)[ ]{1,4}\S{1,200}[ ]{1,4}" + VALUE),
    re.compile(r"\becho[ ]{1,4}(?:-n[ ]{1,4})?" + VALUE + r"[ ]{0,4}\|[^\n;&]{0,300}(?:--password-stdin|\bsudo[ ]-S)"),
    re.compile(r"\bpass(?:in|out)?[ ]{1,4}pass:" + VALUE),
    # Files of settings whose lines are a word and a value.
    re.compile(r"^[ \t]{0,40}(?:requirepass|masterauth|bindpw|rootpw)[ \t]{1,40}" + VALUE, re.M),
    re.compile(r"\blogin[ \t]{1,20}\S{1,200}\s{1,20}password[ \t]{1,20}" + VALUE),
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
