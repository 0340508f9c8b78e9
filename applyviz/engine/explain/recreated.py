"""Explain what happens to one leaf of an object that is deleted and created again.

Rule: nothing of the old object reaches the new one: no value that only live has, and no owner. The new object has what
the manifest sets, what the server adds, and later what controllers write by their job.
"""

from __future__ import annotations

from applyviz.engine.explain.reasons import FieldOperation, Reason, Stage
from applyviz.engine.explain.rows import Row
from applyviz.engine.explain.verdict import (
    AS_IT_IS,
    GONE_ALREADY,
    NULL_AGAIN,
    UNCHANGED,
    LeafExplanation,
    is_answer_to,
    judge_set,
    name_operation,
)
from applyviz.engine.explain.versions import ObjectVersions
from applyviz.engine.objects.controller_fields import is_controller_written
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.schema.walk import MISSING

RECREATED = "recreated"


def judge_recreated(versions: ObjectVersions, path: FieldPath, row: Row) -> LeafExplanation:
    """Return why a leaf of the new object differs from the old one, or is the same again."""
    after, live, wanted, _, _, _, _, _ = row
    operation = name_operation(live, after)
    if operation is FieldOperation.CLEARED:
        is_empty = wanted is not MISSING and wanted is not None and not wanted
        lost = Reason.SET_AGAIN if _is_set_again(versions, path) else Reason.GOES_WITH_OLD
        return LeafExplanation(operation, Reason.MANIFEST_SETS if is_empty else lost)
    if operation is not UNCHANGED:
        return _judge_written(versions, path, row, operation)
    if wanted is not MISSING:
        return NULL_AGAIN if wanted is None and live is MISSING else AS_IT_IS
    if live is MISSING:
        return GONE_ALREADY
    is_within = versions.manifest.find_above(path) is not None
    return AS_IT_IS if is_within else LeafExplanation(UNCHANGED, Reason.SERVER_DEFAULT, stage=Stage.DEFAULTS)


def _is_set_again(versions: ObjectVersions, path: FieldPath) -> bool:
    """Return whether a controller writes a field of the new object by its job, as it wrote that of the old one."""
    return versions.result is not None and is_controller_written(path, versions.result)


def _judge_written(versions: ObjectVersions, path: FieldPath, row: Row, operation: FieldOperation) -> LeafExplanation:
    after, _, wanted, _, _, _, _, _ = row
    if wanted is MISSING or wanted is None or is_answer_to(wanted, after, versions.find_topology(path)):
        return judge_set(versions, path, operation)
    return LeafExplanation(operation, Reason.SERVER_CHANGED, stage=Stage.SERVER)
