"""The enums of changes that need a second administrator."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class PendingKind(models.TextChoices):
    """The kind of a change that needs a second administrator."""

    GRANT = "grant", _("grant a role")
    MEMBER = "member", _("add to a team")
    END_GRANT = "remove-grant", _("remove a grant")
    END_MEMBER = "remove-member", _("remove from a team")
    ARCHIVE_TEAM = "archive-team", _("archive a team")
    DEACTIVATE = "deactivate", _("deactivate an account")
    ACTIVATE = "activate", _("reactivate an account")
    IDENTITY = "identity", _("link a commit identity")
    LINK = "link", _("link accounts")
    UNLINK = "unlink", _("unlink an account")
    MAIL = "mail", _("change an email address")
    CLAIM = "claim", _("activate a claimed account")
    POLICY = "policy", _("publish a policy that requires less")
    ARCHIVE_POLICY = "archive-policy", _("archive a policy")


class PendingState(models.TextChoices):
    """The state of a change that needs a second administrator."""

    WAITING = "waiting", _("waiting for a second administrator")
    CONFIRMED = "confirmed", _("confirmed")
    DECLINED = "declined", _("declined")
