"""Passwords in the commands of well-known programs, written as one text or as a list of arguments.

The lists are for people to read and extend: one line for each kind of program. Each expression has a fixed beginning
and bounded repetitions, so that the search costs time linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from applyviz.engine.diff.sought_forms import VALUE, SoughtForm, make_form, seek

# Programs, and their flags that take a password.
_TAKING = (
    ("mongo mongosh mongodump mongorestore mongoexport mongoimport", "-p"),
    ("sshpass cqlsh cypher-shell rabbitmqadmin login useradd usermod snowsql twine ncftpput ncftpget rdesktop", "-p"),
    ("caddy", "-p --plaintext"),
    ("redis-cli keydb-cli valkey-cli", "-a --pass"),
    ("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd kadmin", "-w"),
    ("zip unzip sqlcmd bcp isql ipmitool", "-P"),
    ("mosquitto_pub mosquitto_sub", "-P"),
    # One line for each flag that is given beside another one.
    ("snmpget snmpset snmpwalk snmpbulkwalk snmptrap", "-A -c"),
    ("snmpget snmpset snmpwalk snmpbulkwalk snmptrap", "-X"),
    ("swaks", "-ap"),
)
# Programs whose flag takes a password only without a space, and those whose flag takes a user and a password.
_ATTACHED = (("mysql mysqldump mysqladmin mariadb mariadb-dump mariadb-admin 7z 7za", "-p"),)
_PAIRED = (
    ("curl", "-u --user"),
    ("curl", "-E --cert"),
    ("curl", "--proxy-user"),
    ("etcdctl", "--user"),
    ("lftp", "-u"),
)
_BETWEEN = r"\b[^\n;|&]{0,300}?[ ]"
_USER = r"[ =]{0,4}[\"']?[^\s:,\"']{0,200}[:,]([^\s\"']{1,512})"
_PIPED = (
    r"--password-stdin|--with-token|--token-stdin|--passphrase-fd|\bsudo[ ]-S|\bchpasswd|\bkinit|\bpasswd\b|\bsmbpasswd"
    r"|\bsu[ ]|\bbase64(?![ ]-(?:d|-d|D))"
)


def _seek_flags(programs: str, flags: str, value: str) -> SoughtForm:
    names = programs.split()
    named = "|".join(sorted(names, key=len, reverse=True))
    needs = [one for one in names if not any(other != one and other in one for other in names)]
    return seek(" ".join(needs), rf"\b(?:{named}){_BETWEEN}(?:{'|'.join(flags.split())}){value}")


# What only these commands contain, and a command up to its password. A space stands for one to four, WORD for any word,
# … for any part of a command.
_BEFORE = (
    ("sshpass", r"\bsshpass -p[ ]{0,4}"),
    ("openssl", r"\bopenssl … -K "),
    ("openssl", r"\bopenssl … -k "),
    ("mkpasswd|openssl passwd", r"\b(?:mkpasswd|openssl[ ]passwd) (?:-\S{1,40} ){0,4}(?!-)"),
    ("pass:", r"\bpass(?:in|out)? pass:"),
    ("htpasswd|mosquitto_passwd", r"\b(?:htpasswd|mosquitto_passwd) -[A-Za-z]{0,8}b[A-Za-z]{0,8} WORD WORD "),
    ("htpasswd", r"\bhtpasswd -[A-Za-z]{0,8}n[A-Za-z]{0,8} WORD "),
    ("vault operator|vault login", r"\bvault[ ](?:operator unseal|login) (?!-)(?![\w.]{1,40}=)"),
    ("vault kv", r"\bvault[ ]kv (?:put|patch) (?:-WORD ){0,4}WORD [\w.\-]{1,200}="),
    ("nomad login|cargo login|consul login", r"\b(?:nomad|cargo|consul)[ ]login (?!-)"),
    ("set-agent-token", r"\bset-agent-token \w{1,20} "),
    ("snyk auth", r"\bsnyk[ ]auth (?!-)"),
    ("ngrok", r"\bngrok (?:config add-)?authtoken "),
    ("nuget", r"\bnuget (?i:setapikey) "),
    ("nuget", r"\bnuget push … -k "),
    ("cloudflared", r"\bcloudflared service install (?!-)"),
    ("rabbitmqctl", r"\brabbitmqctl (?:add_user|change_password|authenticate_user) WORD "),
    ("mc alias|mc config", r"\bmc[ ](?:alias set|config host add)(?: WORD){3} "),
    ("mysqladmin", r"\bmysqladmin … password "),
    ("redis-cli auth|valkey-cli auth", r"\b(?:redis|valkey)-cli[ ]AUTH (?:[^\s\"']{1,100} )?"),
    ("requirepass|masterauth", r"(?i:\bconfig set) (?:requirepass|masterauth) "),
    ("etcdctl", r"\betcdctl … user add [^\s:]{1,100}:"),
    *(
        (
            "--from-literal",
            rf"\bsecret generic(?:[^\n;|&]{{0,300}}?--from-literal){{{number}}}[ =][\"']?[^\s=]{{1,200}}=",
        )
        for number in (1, 2, 3, 4)
    ),
    (
        "composer config|poetry config",
        r"\b(?:composer|poetry)[ ]config (?:-WORD ){0,4}(?:bearer|\w{1,20}-(?:oauth|token))\.WORD ",
    ),
    ("composer config|poetry config", r"\b(?:composer|poetry)[ ]config (?:-WORD ){0,4}http-basic\.WORD WORD "),
    ("fly secrets|flyctl secrets", r"\bfly(?:ctl)?[ ]secrets set (?:-WORD ){0,4}\w{1,200}="),
    ("gcloud", r"\bgcloud … --key[ =]"),
    ("nmcli", r"\bnmcli … (?:password|\S{1,40}\.psk) "),
    ("net user ", r"\bnet[ ]user[ ]\w{1,100} (?!/)"),
    ("net use ", r"\bnet[ ]use[ ]\S{0,10}\\WORD (?!/)"),
    ("smbclient", r"\bsmbclient //WORD (?!-)"),
    ("smbpasswd", r"\bsmbpasswd -a WORD "),
    ("freerdp", r"\bx?freerdp … /p:"),
    ("curl", r"\bcurl … (?:-b|--cookie) [\"']?[\w.\-]{1,200}="),
    ("oauth2-bearer", r"--oauth2-bearer "),
    ("securestring", r"(?i:\bconvertto-securestring) (?:-String )?"),
    ("rclone", r"\brclone (?:obscure|config … pass)[ =]"),
    ("wpa_passphrase", r"\bwpa_passphrase WORD "),
    ("set-initial-password", r"\bset-initial-password (?!-)"),
    ("<<<", r"\b(?:login|chpasswd|kinit|\w{0,10}passwd|sudo|su|gpg2?)\b[^\n;|&<]{0,300}[ ]<<<[ ]{0,4}"),
    ("<(", r"pass[\w\-]{0,40}[ =]<\([ ]?(?:echo|printf) (?:-n )?"),
    ("password-command", r"password-command[ =][\"']?echo "),
)


def _spell(before: str) -> str:
    spelled = re.sub(r"(?<!\[) ", "[ ]{1,4}", before.replace(" … ", "…"))
    return spelled.replace("…", _BETWEEN).replace("WORD", r"\S{1,200}")


COMMANDS = (
    *(_seek_flags(programs, flags, r"(?:[ =]{1,4}|(?=\S{0,64}[0-9]))" + VALUE) for programs, flags in _TAKING),
    *(_seek_flags(programs, flags, r"([^\s\"']{1,512})") for programs, flags in _ATTACHED),
    *(_seek_flags(programs, flags, _USER) for programs, flags in _PAIRED),
    _seek_flags("http https", "-a --auth", _USER),
    *(make_form(_spell(before) + VALUE, needs.split("|")) for needs, before in _BEFORE),
    seek(
        "smbclient winexe rpcclient wmic",
        r"\b(?:smbclient|winexe|rpcclient|wmic)" + _BETWEEN + r"-U[ ]{1,4}[\"']?[^\s%\"']{1,200}%([^\s\"']{1,512})",
    ),
    seek("sqlplus", r"\bsqlplus[ ]{1,4}(?:-\S{1,20}[ ]{1,4}){0,4}[\"']?[^\s/\"'-][^\s/\"']{0,99}/([^\s@\"']{1,512})"),
    seek("sftp curlftpfs", r"\b(?:sftp|curlftpfs)[ ]{1,4}[^\s:@]{1,100}:([^\s@]{1,512})@"),
    seek(
        "echo printf",
        r"\b(?:echo|printf)[ ]{1,4}(?:-[neE]{1,3}[ ]{1,4}|[\"']?%s(?:\\n)?[\"']?[ ]{1,4})?"
        + VALUE
        + rf"(?=(?:;[ ]echo[ ][^\n;|&)]{{1,300}})?\)?[ ]{{0,4}}\|[^\n;&]{{0,300}}(?:{_PIPED}))",
    ),
    seek(
        "--password-stdin",
        r"<<-?[\"']?\w{1,40}[\"']?[^\n]{0,300}[ ]--password-stdin[^\n]{0,300}\n[ \t]{0,40}([^\n]{1,512})",
    ),
    seek(
        "--password-stdin", r"--password-stdin[^\n]{0,300}[ ]<<-?[\"']?\w{1,40}[^\n]{0,300}\n[ \t]{0,40}([^\n]{1,512})"
    ),
    make_form(
        r"(?i:pass(?:word|phrase|code))[^\n]{0,80}\s{1,40}send[ ](?:--[ ])?\"([^\"\n\\$]{1,512})(?:\\[rn])*\"",
        {'send "', 'send -- "'},
    ),
)
_PROGRAMS: dict[str, frozenset[str]] = {}
for _programs, _flags in (*_TAKING, *_ATTACHED, *_PAIRED):
    for _program in _programs.split():
        _PROGRAMS[_program] = _PROGRAMS.get(_program, frozenset()) | frozenset(_flags.split())


_NEEDED = tuple(dict.fromkeys(need for form in COMMANDS for need in sorted(form.needs)))
_NO_WORD = re.compile(r"[\s\"';|&]")


def find_arguments(items: Sequence[object], after: Sequence[object] = ()) -> frozenset[int]:
    """Return the positions of arguments that a program of the lists takes as a password: `redis-cli -a x`.

    - `after`: what comes before the arguments in the same command, as the entrypoint of a container does.
    """
    found: set[int] = set()
    flags: frozenset[str] = frozenset()
    start = len(after)
    for at, item in enumerate((*after, *items), start=-start):
        text = item if isinstance(item, str) else ""
        flags = _PROGRAMS.get(text.rpartition("/")[2], flags)
        if text in flags:
            found.add(at + 1)
        elif text[:2] in flags and text[:2] != "--":  # `-px`
            found.add(at)
    found.update(_find_in_line(items, after))
    return frozenset(one for one in found if 0 <= one < len(items))


def _find_in_line(items: Sequence[object], after: Sequence[object]) -> Iterator[int]:
    """Yield the positions of arguments that a form of a command finds in all arguments, written as one line."""
    words = [_NO_WORD.sub("_", item) if isinstance(item, str) else "-" for item in (*after, *items)]
    line = " ".join(words)
    small = line.lower()
    parts = frozenset(need for need in _NEEDED if need in small)
    if not parts:
        return
    starts = list(accumulate((len(word) + 1 for word in words), initial=0))
    for form in COMMANDS:
        for match in form.find(line, parts):
            yield bisect_right(starts, match.start(match.lastindex or 0)) - 1 - len(after)
