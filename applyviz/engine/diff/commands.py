"""Passwords in the commands of well-known programs, written as one text or as a list of arguments.

The lists are for people to read and extend: one line for each kind of program. Each expression has a fixed beginning
and bounded repetitions, so that the search costs time linear in the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from applyviz.engine.diff.sought_forms import VALUE, SoughtForm, make_form, seek

# Programs, and their flags that take a password.
_TAKING = (
    ("mongo mongosh mongodump mongorestore mongoexport mongoimport", "-p"),
    ("sshpass cqlsh cypher-shell rabbitmqadmin login useradd usermod", "-p"),
    ("redis-cli keydb-cli valkey-cli", "-a --pass"),
    ("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd", "-w"),
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
    ("curl", "--proxy-user"),
    ("etcdctl", "--user"),
    ("lftp", "-u"),
)
_BETWEEN = r"\b[^\n;|&]{0,300}?[ ]"
_USER = r"[ =]{0,4}[\"']?[^\s:,\"']{0,200}[:,]([^\s\"']{1,512})"
_PIPED = (
    r"--password-stdin|--with-token|--token-stdin|--passphrase-fd|\bsudo[ ]-S|\bchpasswd|\bkinit|\bpasswd[ ]--stdin"
)


def _seek_flags(programs: str, flags: str, value: str) -> SoughtForm:
    names = programs.split()
    named = "|".join(sorted(names, key=len, reverse=True))
    needs = [one for one in names if not any(other != one and other in one for other in names)]
    return seek(" ".join(needs), rf"\b(?:{named}){_BETWEEN}(?:{'|'.join(flags.split())}){value}")


COMMANDS = (
    *(_seek_flags(programs, flags, r"(?:[ =]{1,4}|(?=\S{0,64}[0-9]))" + VALUE) for programs, flags in _TAKING),
    *(_seek_flags(programs, flags, r"([^\s\"']{1,512})") for programs, flags in _ATTACHED),
    *(_seek_flags(programs, flags, _USER) for programs, flags in _PAIRED),
    _seek_flags("http https", "-a --auth", _USER),
    _seek_flags("openssl", "-k", r"[ ]{1,4}" + VALUE),
    seek("sshpass", r"\bsshpass[ ]{1,4}-p[ ]{0,4}" + VALUE),
    seek("smbclient", r"\bsmbclient" + _BETWEEN + r"-U[ ]{1,4}[\"']?[^\s%\"']{1,200}%([^\s\"']{1,512})"),
    seek(
        "htpasswd", r"\bhtpasswd[ ]{1,4}-[A-Za-z]{0,8}b[A-Za-z]{0,8}[ ]{1,4}\S{1,200}[ ]{1,4}\S{1,200}[ ]{1,4}" + VALUE
    ),
    seek("vault", r"\bvault[ ]{1,4}login[ ]{1,4}(?!-)(?![\w.]{1,40}=)" + VALUE),
    seek("rabbitmqctl", r"\brabbitmqctl[ ]{1,4}(?:add_user|change_password)[ ]{1,4}\S{1,200}[ ]{1,4}" + VALUE),
    seek("alias", r"\bmc[ ]{1,4}alias[ ]{1,4}set(?:[ ]{1,4}[^\s]{1,200}){3}[ ]{1,4}" + VALUE),
    seek("sqlplus", r"\bsqlplus[ ]{1,4}(?:-\S{1,20}[ ]{1,4}){0,4}[\"']?[^\s/\"'-][^\s/\"']{0,99}/([^\s@\"']{1,512})"),
    seek("sftp", r"\bsftp[ ]{1,4}[^\s:@]{1,100}:([^\s@]{1,512})@"),
    seek("rclone", r"\brclone[ ]{1,4}(?:obscure|config[^\n;|&]{0,300}?[ ]pass)[ =]{1,4}" + VALUE),
    seek("wpa_passphrase", r"\bwpa_passphrase[ ]{1,4}\S{1,200}[ ]{1,4}" + VALUE),
    seek("passwd", r"\b(?:mkpasswd|openssl[ ]{1,4}passwd)[ ]{1,4}(?:-\S{1,40}[ ]{1,4}){0,4}(?!-)" + VALUE),
    seek("set-initial-password", r"\bset-initial-password[ ]{1,4}(?!-)" + VALUE),
    seek(
        "echo printf",
        r"\b(?:echo|printf)[ ]{1,4}(?:-[neE]{1,3}[ ]{1,4}|[\"']?%s(?:\\n)?[\"']?[ ]{1,4})?"
        + VALUE
        + rf"[ ]{{0,4}}\|[^\n;&]{{0,300}}(?:{_PIPED})",
    ),
    seek("<<<", r"\b(?:login|chpasswd|kinit|passwd|sudo)\b[^\n;|&<]{0,300}[ ]<<<[ ]{0,4}" + VALUE),
    seek("pass:", r"\bpass(?:in|out)?[ ]{1,4}pass:" + VALUE),
    # Statements of databases.
    seek(
        "identified",
        r"(?i:\bidentified[ ]{1,4}(?:with[ ]{1,4}\S{1,60}[ ]{1,4})?(?:by|as)[ ]{1,4}(?:password[ ]{1,4})?)"
        r"'([^'\n]{1,512})'",
    ),
    seek(
        "password",
        r"(?i:\bpassword[ ]{1,4}(?:for[ ]{1,4}[^\s=]{1,200}[ ]{0,4})?(?:=[ ]{0,4})?(?:password[ ]{0,4}\([ ]{0,4})?)"
        r"'([^'\s]{1,512})'",
    ),
    # Files of settings whose lines are words and a value.
    seek(
        "requirepass masterauth bindpw rootpw auth_pass auth-pass password passwd",
        r"^[ \t]{0,40}(?:requirepass|masterauth|bindpw|rootpw|auth_pass|auth-pass|password"
        r"|passwd|sentinel[ ]{1,4}auth-pass[ ]{1,4}\S{1,100})[ \t]{1,40}" + VALUE + r";?[ \t]{0,40}$",
    ),
    seek("login", r"\blogin[ \t]{1,20}\S{1,200}\s{1,20}password[ \t]{1,20}" + VALUE),
    seek(
        "password",
        r"\b(?:user|neighbor)[ ]{1,4}\S{1,100}[ ]{1,4}(?:insecure-)?password[ ]{1,4}(?:[057][ ]{1,4})?" + VALUE,
    ),
    seek("enable", r"\benable[ ]{1,4}(?:secret|password)[ ]{1,4}(?:[05789][ ]{1,4})?" + VALUE),
    make_form(r"^\"[^\"\n]{1,100}\"[ ]\"([^\"\n]{1,512})\"[ ]{0,8}$", {'" "'}),  # PgBouncer
    seek("stats", r"\bstats[ ]{1,4}auth[ ]{1,4}[^\s:]{1,100}:(\S{1,512})"),
    seek("secret", r"\bsecret[ \t]{1,8}(?:\"([^\"\n]{1,512})\"|([^\s\";=:]{8,512});)"),
    seek("community", r"^[ \t]{0,40}(?:snmp-server[ ]{1,4}community|r[ow]community6?)[ \t]{1,8}" + VALUE),
    seek("com2sec", r"^[ \t]{0,40}com2sec6?[ \t]{1,8}\S{1,100}[ \t]{1,8}\S{1,100}[ \t]{1,8}" + VALUE),
    seek("createuser", r"\bcreateUser[ ][^\n]{0,300}?[ ](?:MD5|SHA(?:-?[0-9]{3})?)[ ]{1,4}" + VALUE),
    seek("createuser", r"\bcreateUser[ ][^\n]{0,300}[ ](?:AES|DES)[ ]{1,4}" + VALUE),
    seek("user", r"(?i:user[ ]{1,4}\S{1,100}[ ]on[ ])(?:[^\n]{0,200}?[ ])?>([^\s/&]\S{0,511})"),
    seek("psk xauth eap", r":[ ]{1,4}(?:PSK|XAUTH|EAP)[ ]{1,4}\"([^\"\n]{1,512})\""),
    seek("cookie:", r"\b[Cc]ookie:[ ]{1,4}([^\s=;\"']{1,200}=[^\n\"']{1,4096})"),
)
PARTS = (
    seek(
        "auth( changeuserpassword(",
        r"\b(?:auth|changeUserPassword)\([ ]{0,4}[\"'][^\"'\n]{1,200}[\"'],[ ]{0,4}[\"']([^\"'\n]{1,512})[\"']",
    ),
    seek(
        "_key", r"\b(?:routing|service|integration)_key[\"']?[ ]{0,4}[:=][ ]{0,4}[\"']?([A-Za-z0-9]{32})(?![A-Za-z0-9])"
    ),
    seek("{plain} {cleartext}", r"\{(?:PLAIN|CLEARTEXT)\}(\S{1,512})"),
    seek(":5432: :6432: :*:", r"^[^\s:#/]{1,200}:(?:5432|6432|\*):[^\s:]{1,100}:[^\s:]{1,100}:(\S{1,512})$"),
    seek("signature=", r"(?i:[?&](?:x-amz-|x-goog-)?signature)=([^\s&\"'<>]{8,512})"),
    seek(
        "?key= &key= ?code= &code=",
        r"(?i:[?&](?:key|code))=(?=[A-Za-z_%/+.~-]{0,60}[0-9])([A-Za-z0-9_%/+=.~-]{10,512})",
    ),
    seek("pwd", r"(?i:;[ ]{0,8}pwd[ ]{0,4})=[ ]{0,4}([^\s;\"'/][^;\"'\n]{0,511})"),
)
"""Passwords in lines of a file, addresses and connection strings that may have no space."""
_PROGRAMS: dict[str, frozenset[str]] = {}
for _programs, _flags in (*_TAKING, *_ATTACHED, *_PAIRED):
    for _program in _programs.split():
        _PROGRAMS[_program] = _PROGRAMS.get(_program, frozenset()) | frozenset(_flags.split())


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
