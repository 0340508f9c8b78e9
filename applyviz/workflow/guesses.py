"""A limit to guessing: how many values of one Secret a person may plan with on one day.

A plan may tell its author whether a value is the live one, or lets them infer it from what blocks it. Twenty different
values a day answer no search; whoever means it well changes a password once.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz.engine.diff.embedded import decode_secret, names_secret
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.values import JSONObject, canonical_json
from applyviz.records.models import Cluster, PlannedSecretValue
from applyviz.workflow import clock, digests, people
from applyviz.workflow.access import Person
from applyviz.workflow.errors import NotAllowedError
from applyviz.workflow.locks import hold_cluster

MOST_A_DAY = 20
_KEPT = timedelta(days=2)


def _list_values(obj: JSONObject) -> dict[str, str]:
    """The values that a Secret will have, however they are written."""
    found = {}
    for holder in ("data", "stringData"):
        values = obj.get(holder)
        for name, value in values.items() if isinstance(values, dict) else ():
            text = value if isinstance(value, str) else canonical_json(value)
            raw = decode_secret(text) if holder == "data" else text.encode("utf-8", "surrogatepass")
            found[name] = raw.hex()
    return found


def _digest(obj: JSONObject) -> str:
    key = hmac.digest(digests.digest_key(), b"applyviz planned values of Secrets", "sha256")
    return hmac.digest(key, canonical_json(_list_values(obj)).encode(), "sha256").hex()


def _count(by: str, cluster: Cluster, namespace: str, document: ManifestDocument) -> int:
    """How many values this makes today, this one too; 0 for a value that was planned with before."""
    today = clock.now().date()
    where = {"human": by, "cluster": cluster, "namespace": namespace, "name": document.ref.name, "day": today}
    known, value = PlannedSecretValue.objects.filter(**where), _digest(document.obj)
    if known.filter(value=value).exists():
        return 0
    count = known.count() + 1
    if count <= MOST_A_DAY:
        PlannedSecretValue.objects.create(**where, value=value)
    return count


def limit_guesses(documents: Iterable[ManifestDocument], cluster: Cluster, *, namespace: str, by: Person) -> None:
    """Count the values of each Secret that a person plans with today.

    - `namespace` is that of documents that name none.
    - Raises `NotAllowedError` beyond `MOST_A_DAY` values of one Secret; a value of earlier that day is none more.
    """
    found = [document for document in documents if names_secret(document.ref.gvk.kind) and _list_values(document.obj)]
    if not found:
        return
    human = people.name_humans([by])[by.pk]
    with transaction.atomic():
        hold_cluster(cluster.pk)  # two plans at once are counted one after the other
        PlannedSecretValue.objects.filter(day__lt=(clock.now() - _KEPT).date()).delete()
        over = [d for d in found if _count(human, cluster, d.ref.namespace or namespace, d) > MOST_A_DAY]
    if over:
        names = ", ".join(sorted({str(document.ref) for document in over}))
        text = _("%(name)s planned with %(most)d values of %(secrets)s today, and no more are taken until tomorrow")
        raise NotAllowedError(text % {"name": by.get_username(), "most": MOST_A_DAY, "secrets": names})
