"""The email that verifies the address of a commit identity: one link, for the person who claimed it."""

from __future__ import annotations

import logging
from datetime import timedelta
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz.records.models import CommitIdentity
from applyviz.workflow.people import commit_identities

logger = logging.getLogger(__name__)
_LATER = timedelta(minutes=5)


def _write(identity: CommitIdentity, token: str) -> EmailMessage:
    link = settings.APPLYVIZ_URL.rstrip("/") + reverse("verify-identity", args=[token])
    lines = (
        _("%(name)s asked applyviz to count commits with this email address as theirs.")
        % {"name": identity.person.get_username()},
        "",
        _("If that was you, sign in and open this link within 24 hours:"),
        link,
        "",
        _("If it was not you, ignore this email: nothing changes."),
    )
    return EmailMessage(_("[applyviz] Verify your email address"), "\n".join(lines), to=[identity.value])


def mail_identity(identity_id: int) -> None:
    """Send the link of a claim, once; does nothing when it was sent or another worker has it."""
    made = commit_identities.make_token(identity_id)
    if made is None:
        return
    try:
        _write(*made).send()
    except (SMTPException, OSError) as error:
        logger.warning("the mail server refused the email of claim %s: %s", identity_id, type(error).__name__)
        commit_identities.retry_mail(identity_id, after=_LATER)
