"""Passwords in statements of databases, in files of settings, and in addresses and connection strings.

The lists are for people to read and extend: one line for each form. Each expression has a fixed beginning and bounded
repetitions, so that the search costs time linear in the text.
"""

from __future__ import annotations

from applyviz.engine.diff.sought_forms import VALUE, make_form, seek

SETTINGS = (
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
        "requirepass masterauth bindpw rootpw auth_pass auth-pass password passwd wpa-psk",
        r"^[ \t]{0,40}(?:requirepass|masterauth|bindpw|rootpw|auth_pass|auth-pass|password|wpa-psk"
        r"|passwd|sentinel[ ]{1,4}auth-pass[ ]{1,4}\S{1,100})[ \t]{1,40}(?:\{\w{1,20}\})?" + VALUE + r";?[ \t]{0,40}$",
    ),
    seek("login", r"\blogin[ \t]{1,20}\S{1,200}\s{1,20}password[ \t]{1,20}" + VALUE),
    seek(
        "password",
        r"\b(?:user|neighbor)[ ]{1,4}\S{1,100}[ ]{1,4}(?:insecure-)?password[ ]{1,4}(?:[057][ ]{1,4})?" + VALUE,
    ),
    make_form(r"(?i:\buser)[ ]{1,4}\S{1,100}[ \t\n](?i:pass)[ ]{1,4}" + VALUE, {" pass ", "\tpass ", "\npass "}),
    make_form(r"\bauthentication[ ]psk[ ]{1,4}" + VALUE, {"authentication psk"}),
    seek("]:", r"^\[[^\]\s]{1,200}\]:[0-9]{1,5}[ \t]{1,20}[^\s:]{1,200}:(\S{1,512})$"),
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
"""Forms that contain a space."""
PARTS = (
    seek("sonar.login", r"sonar\.login=" + VALUE),
    seek(
        "password_maps",
        r"password_maps[ \t]{0,8}=[ \t]{0,8}static:[^\s:]{1,200}:" + VALUE,
    ),
    seek(
        "auth( changeuserpassword( login( credential( credentials( auth=( connection(",
        r"(?i:(?:auth|changeUserPassword|login|credentials?|auth=|getConnection))\((?:[\w.]{1,100},[ ]{0,4})?"
        r"(?:[ ]{0,4}[\"'][^\"'\n]{1,200}[\"'],)?(?<=,)[ ]{0,4}[\"']([^\"'\n]{1,512})[\"']",
    ),
    seek(
        "/webhooks/ /webhookb2/ /webhook/",
        r"\b(?:discord(?:app)?\.com/api/webhooks/[0-9]{1,30}/|office\.com/webhook(?:b2)?/)([^\s\"'<>]{8,512})",
    ),
    seek("jsessionid=", r"(?i:;jsessionid)=([^\s?&#;\"']{8,512})"),
    seek("telegram.org/bot", r"telegram\.org/bot([^\s/]{8,512})"),
    seek("instrumentationkey=", r"(?i:\binstrumentationkey)=([^\s;\"']{8,512})"),
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
"""Forms that may have no space."""
