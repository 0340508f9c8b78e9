"""Masking settings besides Secrets: credentials in plain fields, fields named by the installation, passwords of kinds.

A plan stores the settings from its creation, so that every page masks it alike, and the fields that the schemas of its
kinds call passwords: only workers read schemas.
"""

from __future__ import annotations

from contextlib import suppress

from django.conf import settings
from django.db import transaction

from applyviz.engine.diff.mask_policy import MaskPolicy
from applyviz.engine.diff.passwords import KindPasswords, Passwords
from applyviz.engine.objects.errors import SchemaError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import from_json
from applyviz.engine.schema.model import SchemaSource
from applyviz.engine.schema.password_fields import PasswordPath, list_passwords
from applyviz.records.enums import AuditAction
from applyviz.records.models import Cluster, Plan
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, row_macs
from applyviz.workflow.foundation.access import Action, Person


def policy_for(cluster: Cluster) -> MaskPolicy:
    """Return the masking policy of a cluster now."""
    has_plain = cluster.masks_credentials or bool(row_macs.find_fault(cluster))
    return MaskPolicy(
        has_plain and settings.APPLYVIZ_MASK_CREDENTIALS,
        tuple(settings.APPLYVIZ_MASK_NAMES),
        tuple(settings.APPLYVIZ_MASK_PATHS),
    )


def find_passwords(gvk: GroupVersionKind, *sources: SchemaSource) -> Passwords:
    """Return the fields of a kind that any source calls passwords.

    - A definition among the manifests does not replace that of the cluster: else, its author would unmask live objects.
    """
    paths: dict[PasswordPath, None] = {}
    for source in sources:
        with suppress(SchemaError):  # the object cannot be planned, and its row says why
            paths |= dict.fromkeys(list_passwords(source.find_kind(gvk)))
    return Passwords((KindPasswords(gvk.group, gvk.kind, tuple(paths)),) if paths else ())


def with_passwords(policy: MaskPolicy, passwords: Passwords) -> MaskPolicy:
    """Return a masking policy that masks further passwords."""
    return replace(policy, passwords=policy.passwords.join(passwords))


def policy_of(plan: Plan) -> MaskPolicy:
    """Return the masking policy of a plan; the built-in list where it stores none."""
    return from_json(MaskPolicy, plan.masking)


def mask_credentials(cluster: Cluster, *, is_on: bool, by: Person | None) -> bool:
    """Mask or show credentials in plain fields of a cluster's plans; return whether the setting changed.

    - Existing plans keep their settings. `by` None: the installation's own administrator command.
    """
    if by is not None:
        access.require(by, Action.MANAGE)
    chosen = Cluster(slug=cluster.slug, masks_credentials=is_on)
    row_macs.vouch(chosen)
    with transaction.atomic():
        rows = Cluster.objects.filter(pk=cluster.pk, masks_credentials=not is_on)
        changed = rows.update(masks_credentials=is_on, mac=chosen.mac)
        if changed:
            word = "masked" if is_on else "shown"
            about = trail.AuditSubject(cluster=cluster.slug)
            trail.record(AuditAction.CLUSTER_CHANGED, by=by, about=about, detail={"credentials in plain fields": word})
    cluster.masks_credentials, cluster.mac = is_on, chosen.mac if changed else cluster.mac
    return bool(changed)
