"""Sign stored rows under the current approval key, so that earlier ones can be removed.

Each row is verified first, under the key that it was signed with. One that does not verify is named and left alone, as
is one without a MAC. What `manage.py audit verify` finds by comparing rows with the audit log, it still finds: the new
MAC confirms no more than the earlier one did. Approvals, policies, grants and most other rows are never changed, so the
new MAC is a row of its own (`RenewedMac`); only the MACs of accounts are replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.db import models, transaction
from msgspec import Struct

from applyviz.records.enums import AuditAction
from applyviz.records.models import AccountMac, RenewedMac
from applyviz.workflow.audit import approval_macs, trail, vouched_rows
from applyviz.workflow.audit.right_macs import BadRight, list_forged_aspects
from applyviz.workflow.foundation import account_macs, failpoints, row_macs
from applyviz.workflow.foundation.renewed_macs import BATCH, SignedRow

_Model = TypeVar("_Model", bound=models.Model)
_Row = TypeVar("_Row", bound=SignedRow)
_NAMED = 20


class ReSignedRows(Struct, frozen=True):
    """The rows that were signed under the current key, by what they are called, and those that do not verify.

    - `current`: rows that were signed under it before. Accounts count once, whatever is signed of them.
    """

    signed: Counter[str]
    current: Counter[str]
    refused: tuple[BadRight, ...]


def _list_batches(rows: models.QuerySet[_Model]) -> Iterator[list[_Model]]:
    """Yield rows by primary key, so that each batch is written on its own and a crash loses one of them at most."""
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        yield batch
        last = batch[-1].pk


class _Signer:
    """Signs the rows of one model after the other, and counts."""

    def __init__(self) -> None:
        self.signed: Counter[str] = Counter()
        self.current: Counter[str] = Counter()
        self.refused: list[BadRight] = []

    def sign_rows(
        self,
        what: str,
        batch: Sequence[_Row],
        list_faults: Callable[[Sequence[_Row]], Iterator[tuple[_Row, str]]],
        list_renewals: Callable[[Sequence[_Row]], list[RenewedMac]],
    ) -> None:
        checked = [(row, fault) for row, fault in list_faults(batch) if row.mac]
        genuine = [row for row, fault in checked if not fault]
        made = list_renewals(genuine)
        RenewedMac.objects.bulk_create(made, ignore_conflicts=True)
        failpoints.reach("keys.re_signed")
        self.signed[what] += len(made)
        self.current[what] += len(genuine) - len(made)
        self.refused += [BadRight(what, row.pk, str(row), fault) for row, fault in checked if fault]

    @transaction.atomic
    def sign_accounts(self, batch: Sequence[AccountMac]) -> None:
        locked = {row.pk for row in AccountMac.objects.select_for_update().filter(pk__in=[one.pk for one in batch])}
        for person in User.objects.select_related("link", "account_mac").filter(pk__in=locked).order_by("pk"):
            counted = self.signed if account_macs.renew(person) else self.current
            counted["account"] += 1
            self.refused += list_forged_aspects(person)


def re_sign_rows() -> ReSignedRows:
    """Sign every genuine row under the current approval key, and record how many rows of each model.

    - After an interruption it continues: rows that are signed under the current key are not signed again.
    - Raises `ImproperlyConfigured` without an approval key.
    """
    if not settings.APPLYVIZ_APPROVAL_KEY:
        raise ImproperlyConfigured("APPLYVIZ_APPROVAL_KEY: it is not set here; web processes and workers hold it")
    signer = _Signer()
    for what, approvals in approval_macs.list_rows():
        for batch in _list_batches(approvals):
            signer.sign_rows(what, batch, approval_macs.list_faults, approval_macs.list_renewals)
    for what, rows in vouched_rows.list_vouched():
        for vouched in _list_batches(rows):
            signer.sign_rows(what, vouched, row_macs.list_faults, row_macs.list_renewals)
    for accounts in _list_batches(AccountMac.objects.order_by("pk")):
        signer.sign_accounts(accounts)
    found = ReSignedRows(+signer.signed, +signer.current, tuple(signer.refused))
    detail = {"signed": dict(found.signed), "signed before": dict(found.current), "refused": len(found.refused)}
    detail["rows refused"] = [str(one) for one in found.refused[:_NAMED]]
    with transaction.atomic():
        trail.record(AuditAction.ROWS_RE_SIGNED, by=None, about=trail.AuditSubject(), detail=detail)
    return found
