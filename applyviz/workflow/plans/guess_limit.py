"""A limit to guessing: how many values of one Secret a person may plan with per day.

A plan may reveal to its author whether a value equals the live one, or let them infer it from what blocks the plan. A
legitimate author changes a password once a day; twenty values do not make a search feasible. Counted is what a plan
masks, not the field where it is written: every set of masked values of an object is one, also in a patch, inside an
annotation, and of credentials outside Secrets.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.diff.marks import find_tags
from applyviz.engine.diff.masking import MaskPolicy, mask
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.models import Cluster, PlannedSecretValue
from applyviz.workflow.foundation import digests
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotAllowedError
from applyviz.workflow.foundation.locks import lock_cluster
from applyviz.workflow.people import humans

MOST_A_DAY = 20
_KEPT = timedelta(days=2)
_LONGEST_NAME = 253


def _find_guess(document: ManifestDocument, key: bytes, policy: MaskPolicy) -> list[JSONValue]:
    """Return the marks of everything in a document that is masked, wherever it is written; [] when nothing is.

    - One value has one mark in `data` and `stringData`. A value of `data` that `stringData` overrides, with null too,
      has another one, because it may be what comes of the plan.
    """
    masked = mask(document.obj, gvk=document.ref.gvk, tag_key=key, scope="guesses", policy=policy)
    found: list[JSONValue] = [*sorted(find_tags(masked))]
    return found


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


def limit_guesses(
    documents: Iterable[ManifestDocument], cluster: Cluster, *, namespace: str, by: Person, policy: MaskPolicy
) -> None:
    """Count the masked values of each object that a person plans with today.

    - `namespace` is that of documents that name none; `policy` says what the plan masks besides Secrets.
    - Raises `NotAllowedError` above `MOST_A_DAY` values of one object; a repeated value does not count again.
    """
    key = hmac.digest(digests.digest_key(), b"applyviz planned values of Secrets", "sha256")
    guessed = ((document, _find_guess(document, key, policy)) for document in documents)
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
