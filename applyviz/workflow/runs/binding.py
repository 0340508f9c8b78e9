"""Is the stored plan still the one that was approved? Asked before the first write, of every row that is used.

The database is trusted to keep plans immutable; whoever can write past its triggers is found out here: what is sealed
gives the digest anew, what is shown is masked anew, and every column that decides anything is derived anew.
"""

from __future__ import annotations

import hmac

from applyviz.engine.planning import fingerprint
from applyviz.engine.planning import plan as engine
from applyviz.engine.planning.masked import mask_change
from applyviz.engine.planning.serialize import options_from_json
from applyviz.records.models import ApplyRun, ObjectChange
from applyviz.workflow import calculation, changes, digests


def _find_odd_column(row: ObjectChange, change: engine.ObjectChange, tag_key: bytes) -> str:
    """The first column of a stored change that is not what its sealed content gives; "" when all are."""
    anew = changes.derive_columns(change, mask_change(change, tag_key=tag_key))
    stored = {name: getattr(row, name) for name in anew}
    # A finished plan gives an object its step after its content was masked.
    shown, masked = ({k: v for k, v in one["document"].items() if k != "step"} for one in (stored, anew))
    odd = [name for name in anew if name != "document" and stored[name] != anew[name]]
    return odd[0] if odd else "" if shown == masked else "what was shown of it"


def find_difference(run: ApplyRun) -> str:
    """What of the stored plan of a run is not what was approved, in words; "" when all of it is.

    - A plan whose digest was made under another key cannot be compared: it counts as another one.
    """
    plan = run.plan
    tag_key = plan.tag_key.open_bytes()
    stored: list[engine.ObjectChange] = []
    for row in plan.changes.order_by("position"):
        change = changes.open_sealed(row)
        odd = _find_odd_column(row, change, tag_key)
        if odd:
            return f"{change.ref}: {odd}"
        stored.append(change)
    digest = fingerprint.digest_plan(
        engine.Plan(options_from_json(plan.options), tuple(stored)),
        key=digests.digest_key(),
        target=plan.cluster_uid,
        identity=calculation.IDENTITY,
        policy_version=plan.policy_version,
        decisions=plan.decisions,
    )
    if not hmac.compare_digest(digest, plan.digest):
        return "its digest"
    named = run.approvals.exclude(digest=plan.digest).first()
    return f"the digest that {named.by_name} approved" if named else ""
