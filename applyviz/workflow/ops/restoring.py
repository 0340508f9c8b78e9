"""End the work that a restored database contains, so that it continues only if a person starts it.

A restored database contains runs in progress, scheduled starts and sessions that have ended since. Workers would
continue such a run and write changes that people may have undone meanwhile. Rule: before the workers start again,
unfinished runs and scheduled starts are canceled, each with its audit entry, and waiting emails and webhook deliveries
are withdrawn. Approvals stay valid: a person starts the next run of an approved plan, and the run compares every object
with live first. Work that only reads continues: plans in progress, followed branches, scans, comparisons.
"""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.records.enums import AuditAction
from applyviz.records.models import ApiToken
from applyviz.workflow import notifications, runs
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.people import sessions


class EndedWork(Struct, frozen=True):
    """The runs, scheduled starts, sessions and messages ended after a restore, and the API tokens to check.

    - `runs`: numbers of the runs that were canceled; `starts`, `sessions`: how many were ended.
    - `messages`: the emails and webhook deliveries that are not sent.
    - `tokens`: how many API tokens work now; the database does not know which were revoked after the backup.
    """

    runs: tuple[int, ...]
    starts: int
    sessions: int
    messages: notifications.WithdrawnMessages
    tokens: int


def end_unfinished_work(*, reason: str) -> EndedWork:
    """Cancel unfinished runs, scheduled starts and old messages, end all sessions, and record the restore.

    - Raises `NotValidError` without a reason. Calling it again is harmless.
    """
    if not reason.strip():
        raise NotValidError(_("give a reason for the restore"))
    with transaction.atomic():
        messages = notifications.withdraw_unsent()  # first, because messages about the cancellations below are sent
        tokens = ApiToken.objects.filter(revoked_at=None, expires_at__gt=clock.now()).count()
        canceled, starts = runs.cancel_unfinished_runs(reason=reason), runs.cancel_all_starts()
        found = EndedWork(canceled, starts, sessions.end_all(), messages, tokens)
        detail = {
            "reason": reason,
            "runs": list(found.runs),
            "starts": found.starts,
            "sessions": found.sessions,
            "emails": messages.mails,
            "deliveries": messages.deliveries,
        }
        trail.record(AuditAction.BACKUP_RESTORED, by=None, about=trail.AuditSubject(), detail=detail)
    return found
