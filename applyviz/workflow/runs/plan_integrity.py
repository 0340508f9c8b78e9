"""Plan integrity: is the stored plan still the approved one? Checked before the first write for every row in use.

The database keeps plans immutable; a change that bypassed its triggers is detected here, by the MAC of the plan or,
where that does not match, by deriving the digest, the masked content and every column again; risks, and what pages say
of the whole plan, have MACs of their own.
"""

from __future__ import annotations

from collections.abc import Iterable

from applyviz.engine.diff.masking import MaskPolicy
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest import fingerprint
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.records.keyed_hashes import is_same
from applyviz.records.models import ApplyRun, ObjectChange, Plan, PlanDetails
from applyviz.records.sealing import SealError
from applyviz.workflow.clusters import impersonation, masking_settings
from applyviz.workflow.foundation import digests
from applyviz.workflow.foundation.stored_json import as_stored
from applyviz.workflow.plans import changes, plan_mac
from applyviz.workflow.runs.run_content import RunContent


def _find_differing_column(row: ObjectChange, change: engine.PlannedObject, tag_key: bytes, policy: MaskPolicy) -> str:
    """Return the first column of a stored change that differs from its encrypted content; "" when all match."""
    hidden = mask_change(change, tag_key=tag_key, policy=policy)
    derived = changes.derive_columns(change, hidden, as_stored(changes.write_document(hidden)))
    stored = {name: getattr(row, name) for name in derived}
    # A finished plan assigns steps to objects after their content was masked.
    shown, masked = ({k: v for k, v in one["document"].items() if k != "step"} for one in (stored, derived))
    differing = [name for name in derived if name != "document" and stored[name] != derived[name]]
    return differing[0] if differing else "" if shown == masked else "what was shown of it"


def _derive_again(plan: Plan, rows: Iterable[ObjectChange]) -> str:
    """Return the first difference between the plan and its encrypted content; "" when there is none."""
    tag_key, policy = plan.tag_key.open_bytes(), masking_settings.policy_of(plan)
    stored: list[engine.PlannedObject] = []
    effects: list[str] = []
    risks: list[tuple[ObjectChange, str]] = []
    for row in rows:
        try:
            change = replace(changes.open_sealed(row), risks=changes.read_risks(row))
        except SealError as error:
            return f"{changes.ref_of(row)}: {error}"
        except (ApplyVizError, LookupError, TypeError, ValueError, AttributeError):
            return f"{changes.ref_of(row)}: its risks"
        risks.append((row, plan_mac.hash_risks(row)))
        differing = _find_differing_column(row, change, tag_key, policy)
        if differing:
            return f"{change.ref}: {differing}"
        stored.append(change)
        effects.append(row.effect)
    digest = fingerprint.digest_plan(
        engine.PlannedSet(options_from_json(plan.options), tuple(stored)),
        key=digests.digest_key(),
        target=plan.cluster_uid,
        identity=impersonation.name_for_digest(plan),
        policy_version=plan.policy_version,
        policy_digest=plan.policy_digest,
        review=plan.review_id,
        decisions=plan.decisions,
        effects=effects,
    )
    if not is_same(digest, plan.digest):
        return "its digest"
    return "" if plan_mac.risks_fit(plan, risks) else "its risks"


def find_difference(run: ApplyRun, content: RunContent) -> str:
    """Return what differs between the stored plan of a run and the approved one, in words; "" when nothing does.

    - `content`: the changes that the run will use; exactly all changes of the plan.
    - A matching MAC proves that the plan is unchanged. Without one (another key, re-encrypted content, a changed row)
      every column is derived again and the difference is named.
    - A plan whose digest was made under another key cannot be compared and counts as different.
    """
    plan = run.plan
    stored = content.list_stored()
    if {row.pk for row, _ in stored} != set(plan.changes.values_list("pk", flat=True)):
        return "its objects"
    differing = "" if plan_mac.fits(plan, stored) else _derive_again(plan, content.each_change())
    if differing:
        return differing
    # Read the row again: a plan that was shown to a reader has other counts.
    details = PlanDetails.objects.select_related("plan").filter(plan=plan.pk).first()
    if details is None or not plan_mac.summary_fits(details.plan, details):
        return "its summary"
    named = run.approvals.exclude(digest=plan.digest).first()
    return f"the digest that {named.by_name} approved" if named else ""
