"""Field owners of a live object as shown: names of list entries repeat values, which may be masked.

Pages show the last writes of owners beside runs and plans, so they use our clock, too.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import timedelta

from applyviz.clusters.server_clock import convert_text
from applyviz.engine.diff.marks import remove_tags
from applyviz.engine.diff.mask_policy import MaskPolicy
from applyviz.engine.diff.masking import mask
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import SchemaSource
from applyviz.workflow.clusters import masking_settings


def show_owners(live: JSONObject, ref: ObjectRef, policy: MaskPolicy, catalog: SchemaSource) -> JSONObject:
    """Return a live object whose managedFields show no masked value; masks have no tags, so that readings compare.

    - `policy` is that of the cluster; `catalog` says which fields of a custom kind are passwords.
    """
    owners = get_at(live, ("metadata", "managedFields"))
    if not owners:
        return live
    if bundled().find_kind(ref.gvk) is None:
        policy = masking_settings.with_passwords(policy, masking_settings.find_passwords(ref.gvk, catalog))
    shown = mask({"metadata": {"managedFields": owners}}, gvk=ref.gvk, tag_key=secrets.token_bytes(32), policy=policy)
    named = remove_tags(shown["metadata"]["managedFields"])
    return {**live, "metadata": {**live["metadata"], "managedFields": named}}


def date_write(time: str, ahead: timedelta | None) -> str:
    """Return the time of an owner's last write by our clock; `ahead` is how far that of the API server is ahead."""
    return convert_text(time, ahead)


def date_owners(owners: Iterable[Owner], ahead: timedelta | None) -> tuple[Owner, ...]:
    """Return owners whose last writes are dated by our clock."""
    return tuple(replace(owner, time=date_write(owner.time, ahead)) for owner in owners)
