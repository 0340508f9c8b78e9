"""Key rotation: re-encrypts sealed content under the current key, so that earlier keys can be removed.

The content of a finished plan is immutable, its encrypted bytes included: it is counted, left alone, and removed by its
retention policy. Everything else is decrypted and encrypted again, row by row, unless it changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.db import models, transaction
from msgspec import Struct

from applyviz.records.enums import AuditAction, PlanState
from applyviz.records.fields import SealedField
from applyviz.records.models import ObjectChange, Plan
from applyviz.records.sealing import SealError
from applyviz.workflow.audit import trail


class RotatedKeys(Struct, frozen=True):
    """The result of the rotation for one encrypted column.

    - `carried`: re-encrypted; `fixed`: under an earlier key, in finished plans; `unopened`: no available key fits.
    """

    column: str
    carried: int = 0
    fixed: int = 0
    unopened: int = 0


def _list_columns() -> Iterator[tuple[type[models.Model], SealedField]]:
    for model in apps.get_app_config("records").get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, SealedField):
                yield model, field


def _is_fixed(row: object) -> bool:
    plan = row.plan if isinstance(row, ObjectChange) else row
    return isinstance(plan, Plan) and plan.state != PlanState.PLANNING


def _reseal_column(model: type[models.Model], field: SealedField) -> RotatedKeys:
    carried = fixed = unopened = 0
    name, read = field.name, (field.name, *field.bound_to)
    rows = model._default_manager.exclude(**{name: None}).order_by("pk").only(*read)
    if model is ObjectChange:
        rows = rows.select_related("plan").only(*read, "plan__state")
    elif model is Plan:
        rows = rows.only(*read, "state")
    for row in rows.iterator(chunk_size=100):
        sealed = getattr(row, name)
        if sealed.is_current:
            continue
        if _is_fixed(row):
            fixed += 1
            continue
        try:
            resealed = sealed.resealed()
        except SealError:
            unopened += 1
            continue
        carried += model._default_manager.filter(pk=row.pk, **{name: sealed}).update(**{name: resealed})
    return RotatedKeys(f"{model._meta.model_name}.{name}", carried, fixed, unopened)


def rotate_keys() -> tuple[RotatedKeys, ...]:
    """Re-encrypt everything possible and record how many values; return one result for each encrypted column."""
    found = tuple(_reseal_column(model, field) for model, field in _list_columns())
    with transaction.atomic():
        trail.record(
            AuditAction.KEYS_ROTATED,
            by=None,
            about=trail.AuditSubject(),
            detail={one.column: one.carried for one in found if one.carried},
        )
    return found
