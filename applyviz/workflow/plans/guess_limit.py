"""A limit to guessing: how many values of one Secret a person may plan with per day.

A plan may reveal to its author whether a value equals the live one, or let them infer it from what blocks the plan. A
legitimate author changes a password once a day; twenty values do not make a search feasible. A value counts once
however it is written (`data`, `stringData`, an item of a List), also in Secrets inside annotations of any object.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.diff.embedded import decode_secret, names_secret
from applyviz.engine.diff.masking import is_masked, mask
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.values import JSONObject, canonical_json, get_at
from applyviz.records.models import Cluster, PlannedSecretValue
from applyviz.workflow.foundation import digests
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotAllowedError
from applyviz.workflow.foundation.locks import lock_cluster
from applyviz.workflow.people import humans

MOST_A_DAY = 20
_KEPT = timedelta(days=2)
_LONGEST_NAME = 253
_ANNOTATIONS = ("metadata", "annotations")


def _list_values(obj: JSONObject) -> dict[str, str]:
    """Return the values that a Secret will have, however they are written."""
    found = {}
    for holder in ("data", "stringData"):
        values = obj.get(holder)
        for name, value in values.items() if isinstance(values, dict) else ():
            text = value if isinstance(value, str) else canonical_json(value)
            raw = decode_secret(text) if holder == "data" else text.encode("utf-8", "surrogatepass")
            found[name] = raw.hex()
    return found


def _list_embedded(document: ManifestDocument, key: bytes) -> dict[str, str]:
    """Return the annotations that hold masked values, as text in which a tag stands for each value."""
    written = get_at(document.obj, _ANNOTATIONS)
    if not isinstance(written, dict) or not written:
        return {}
    about = {"metadata": {"annotations": written}}
    masked = get_at(mask(about, gvk=document.ref.gvk, tag_key=key, scope="guesses"), _ANNOTATIONS)
    return {name: text for name, text in masked.items() if is_masked(text)}


def _list_guessed(document: ManifestDocument, key: bytes) -> dict[str, dict[str, str]]:
    values = _list_values(document.obj) if names_secret(document.ref.gvk.kind) else {}
    found = {"values": values, "annotations": _list_embedded(document, key)}
    return {where: values for where, values in found.items() if values}


def _name_counted(document: ManifestDocument) -> str:
    """Return the name that values are counted under: of a Secret its own, of other objects with their kind."""
    ref = document.ref
    name = ref.name if names_secret(ref.gvk.kind) else f"{ref.gvk.group}/{ref.gvk.kind}/{ref.name}"
    return name if len(name) <= _LONGEST_NAME else hashlib.sha256(name.encode()).hexdigest()


def _count(by: str, cluster: Cluster, namespace: str, document: ManifestDocument, value: str) -> int:
    """Return how many values this makes today, this one included; 0 for a value that was planned with before."""
    today = clock.now().date()
    where = {"human": by, "cluster": cluster, "namespace": namespace, "name": _name_counted(document), "day": today}
    known = PlannedSecretValue.objects.filter(**where)
    if known.filter(value=value).exists():
        return 0
    count = known.count() + 1
    if count <= MOST_A_DAY:
        PlannedSecretValue.objects.create(**where, value=value)
    return count


def limit_guesses(documents: Iterable[ManifestDocument], cluster: Cluster, *, namespace: str, by: Person) -> None:
    """Count the values of each Secret that a person plans with today.

    - `namespace` is that of documents that name none.
    - Raises `NotAllowedError` above `MOST_A_DAY` values of one Secret; a repeated value does not count again.
    """
    key = hmac.digest(digests.digest_key(), b"applyviz planned values of Secrets", "sha256")
    guessed = ((document, _list_guessed(document, key)) for document in documents)
    found = [
        (d, hmac.digest(key, canonical_json(content).encode(), "sha256").hex()) for d, content in guessed if content
    ]
    if not found:
        return
    human = humans.name_humans([by])[by.pk]
    with transaction.atomic():
        lock_cluster(cluster.pk)  # concurrent plans are counted one after the other
        PlannedSecretValue.objects.filter(day__lt=(clock.now() - _KEPT).date()).delete()
        over = [d for d, v in found if _count(human, cluster, d.ref.namespace or namespace, d, v) > MOST_A_DAY]
    if over:
        names = ", ".join(sorted({str(document.ref) for document in over}))
        text = _("%(name)s has used the daily limit of %(most)d values for %(secrets)s. Try again tomorrow")
        raise NotAllowedError(text % {"name": by.get_username(), "most": MOST_A_DAY, "secrets": names})
