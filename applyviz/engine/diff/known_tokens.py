"""Tokens of well-known services, which their form alone gives away, wherever they are written.

The list is for people to read and extend: one line for each service. Each expression has a fixed beginning, so that the
search costs time linear in the text.
"""

from __future__ import annotations

import re

_FORMS = (
    r"gh[pousr]_[A-Za-z0-9]{30,255}",  # GitHub
    r"github_pat_[A-Za-z0-9_]{22,255}",
    r"gl(?:pat|rt|dt|ptt|cbt|soat|ft)-[A-Za-z0-9_-]{20,255}",  # GitLab
    r"xox[abeoprs]-[A-Za-z0-9-]{10,255}",  # Slack
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/-]{10,255}",
    r"discord(?:app)?\.com/api/webhooks/[0-9]{5,30}/[A-Za-z0-9_-]{20,255}",
    r"[a-z0-9-]{1,63}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{20,512}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",  # AWS
    r"AIza[A-Za-z0-9_-]{35}",  # Google
    r"ya29\.[A-Za-z0-9_-]{20,2048}",
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}",  # Stripe
    r"sk-(?:proj-|ant-)?[A-Za-z0-9_-]{32,255}",
    r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}",  # SendGrid
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[A-Za-z0-9_-]{32,512}",
    r"dop_v1_[a-f0-9]{64}",  # DigitalOcean
    r"hv[sb]\.[A-Za-z0-9_-]{20,512}",  # Vault
    r"dckr_pat_[A-Za-z0-9_-]{20,255}",  # Docker Hub
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,64}",
)
BEGINNINGS = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "xox", "hooks.", "webhook", "akia", "asia", "abia", "acia"),
    *("acca", "aiza", "ya29", "k_live", "k_test", "sk-", "sg.", "npm_", "pypi-", "dop_v1", "hvs.", "hvb.", "dckr_pat"),
    "age-secret",
)
"""In small letters: every token contains one of them, or `BEGINNING` matches it."""
BEGINNING = re.compile(r"gl[a-z]{2,4}-")
FORM = re.compile(r"(?<![A-Za-z0-9_-])(?:" + "|".join(_FORMS) + r")")
