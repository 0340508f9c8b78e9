"""After the database was restored from a backup: nothing that was in progress then goes on without a person.

A restored database says again what has ended since: runs in progress, scheduled starts, sessions. A run that went on
would write what people may have undone meanwhile, and nobody would have asked for it. Rule: before the workers start
again, everything that acts by itself is canceled, and recorded as any cancellation is. Approvals stay: the next run of
an approved plan is started by a person, and checks every object against live first.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.records.enums import AuditAction
from applyviz.records.models import ApiToken
from applyviz.workflow import runs
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.people import sessions


@dataclass(frozen=True, slots=True)
class SettledRestore:
    """What was ended after a restore, and what the operator must look at.

    - `runs`: numbers of the runs that were canceled; `starts`, `sessions`: how many were ended.
    - `tokens`: how many API tokens work now. Some may have been revoked since the backup, so they are not judged here.
    """

    runs: tuple[int, ...]
    starts: int
    sessions: int
    tokens: int


def settle_restore(*, reason: str) -> SettledRestore:
    """Cancel unfinished runs and scheduled starts, sign everybody out, and record the restore with its reason.

    - Raises `NotValidError` without a reason. Calling it again is harmless.
    """
    if not reason.strip():
        raise NotValidError(_("give the reason of the restore"))
    with transaction.atomic():
        tokens = ApiToken.objects.filter(revoked_at=None, expires_at__gt=clock.now()).count()
        found = SettledRestore(
            runs.cancel_unfinished_runs(reason=reason), runs.cancel_all_starts(), sessions.end_all(), tokens
        )
        detail = {"reason": reason, "runs": list(found.runs), "starts": found.starts, "sessions": found.sessions}
        trail.record(AuditAction.BACKUP_RESTORED, by=None, about=trail.AuditSubject(), detail=detail)
    return found
