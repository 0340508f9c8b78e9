"""Masking settings of a cluster besides Secrets: credentials in plain fields, and fields named by the installation.

A plan stores the settings from its creation, so that every page masks it alike.
"""

from __future__ import annotations

from django.conf import settings
from django.db import transaction

from applyviz.engine.diff.masking import MaskPolicy
from applyviz.engine.objects.values import JSONObject
from applyviz.records.enums import AuditAction
from applyviz.records.models import Cluster, Plan
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person


def policy_for(cluster: Cluster) -> MaskPolicy:
    """Return the masking policy of a cluster now."""
    has_plain = cluster.masks_credentials and settings.APPLYVIZ_MASK_CREDENTIALS
    return MaskPolicy(has_plain, tuple(settings.APPLYVIZ_MASK_NAMES), tuple(settings.APPLYVIZ_MASK_PATHS))


def policy_to_json(policy: MaskPolicy) -> JSONObject:
    """Convert a masking policy to the JSON that a plan stores."""
    return {"plain": policy.has_plain, "names": list(policy.names), "paths": list(policy.paths)}


def policy_of(plan: Plan) -> MaskPolicy:
    """Return the masking policy of a plan; the built-in list where it stores none."""
    kept = plan.masking
    return MaskPolicy(kept.get("plain", True), tuple(kept.get("names", ())), tuple(kept.get("paths", ())))


def mask_credentials(cluster: Cluster, *, is_on: bool, by: Person | None) -> bool:
    """Mask or show credentials in plain fields of a cluster's plans; return whether the setting changed.

    - Existing plans keep their settings. `by` None: the installation's own administrator command.
    """
    if by is not None:
        access.require(by, Action.MANAGE)
    with transaction.atomic():
        changed = Cluster.objects.filter(pk=cluster.pk, masks_credentials=not is_on).update(masks_credentials=is_on)
        if changed:
            word = "masked" if is_on else "shown"
            about = trail.AuditSubject(cluster=cluster.slug)
            trail.record(AuditAction.CLUSTER_CHANGED, by=by, about=about, detail={"credentials in plain fields": word})
    cluster.masks_credentials = is_on
    return bool(changed)
