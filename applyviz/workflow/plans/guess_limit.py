"""A limit to guessing: how many values of one Secret a person may plan with per day.

A plan may reveal to its author whether a value equals the live one, or let them infer it from what blocks the plan. A
legitimate author changes a password once a day; twenty values do not make a search feasible. Counted is what a plan
masks, not the field where it is written: every set of masked values of an object is one, also in a patch, inside an
annotation, and of credentials outside Secrets; of a JSON patch, which tests live values too, what is masked of its
result.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from datetime import timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.diff.marks import find_tags
from applyviz.engine.diff.masking import Beside, MaskPolicy, make_masker, mask
from applyviz.engine.diff.patch_masking import mask_operation
from applyviz.engine.manifests.documents import ManifestDocument, PatchType
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.objects.operation_masking import mask_operations
from applyviz.records.models import Cluster, PlannedSecretValue
from applyviz.workflow.foundation import digests
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotAllowedError
from applyviz.workflow.foundation.locks import lock_cluster
from applyviz.workflow.people import humans

MOST_A_DAY = 20
_KEPT = timedelta(days=2)
_LONGEST_NAME = 253
_SCOPE = "guesses"


def _find_guess(document: ManifestDocument, key: bytes, policy: MaskPolicy) -> list[JSONValue]:
    """Return the marks of everything in a document that is masked, wherever it is written; [] when nothing is.

    - One value has one mark in `data` and `stringData`. A value of `data` that `stringData` overrides, with null too,
      has another one, because it may be what comes of the plan.
    """
    masked = mask(document.obj, gvk=document.ref.gvk, tag_key=key, scope=_SCOPE, policy=policy)
    if masked == document.obj:  # most documents: their plain parts are compared by identity
        return []
    found: list[JSONValue] = [*sorted(find_tags(masked))]
    return found


def _is_operations(document: ManifestDocument) -> bool:
    return document.patch is not None and document.patch.type is PatchType.JSON


def _find_guessed_operations(
    document: ManifestDocument, change: PlannedObject, key: bytes, policy: MaskPolicy
) -> list[JSONValue]:
    """Return the marks of the values that a JSON patch writes or tests where the live object holds masked ones."""
    live, gvk = change.versions.live, change.ref.gvk
    operations = document.patch.body if document.patch is not None else None
    if not isinstance(operations, list):
        return []
    masker = make_masker(operations, gvk, key, _SCOPE, policy, None, None)
    if live is None:
        masked: JSONValue = [mask_operation(one, None, masker) for one in operations]
    else:
        shown = mask(live, gvk=gvk, tag_key=key, scope=_SCOPE, policy=policy)
        masked = list(mask_operations(operations, Beside(live, shown), masker).operations)
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


class GuessLimit:
    """Counts the masked values that a person plans with today, on one cluster.

    - `namespace` is that of documents that name none; `policy` says what the plan masks besides Secrets.
    - Both methods raise `NotAllowedError` above `MOST_A_DAY` values of one object; a repeated value does not count
      again.
    """

    def __init__(self, cluster: Cluster, *, namespace: str, by: Person, policy: MaskPolicy) -> None:
        self._cluster, self._namespace, self._by, self._policy = cluster, namespace, by, policy
        self._key = hmac.digest(digests.digest_key(), b"applyviz planned values of Secrets", "sha256")
        self._operations: dict[SourcePosition, ManifestDocument] = {}

    def count_documents(self, documents: Sequence[ManifestDocument]) -> None:
        """Count the values of documents, before anything is compared with live; those of JSON patches come later."""
        self._operations = {one.position: one for one in documents if _is_operations(one)}
        whole = (document for document in documents if not _is_operations(document))
        self._count((document, _find_guess(document, self._key, self._policy)) for document in whole)

    def count_operations(self, change: PlannedObject) -> None:
        """Count the values of a JSON patch, once its change is known and before it is stored.

        - Its operations name fields by position, so that only the live object says which of them hold masked values.
        """
        document = self._operations.get(change.position)
        if document is not None:
            found = _find_guessed_operations(document, change, self._key, self._policy)
            self._count([(document, found)])

    def _count(self, guessed: Iterable[tuple[ManifestDocument, list[JSONValue]]]) -> None:
        found = [
            (document, hmac.digest(self._key, canonical_json(content).encode(), "sha256").hex())
            for document, content in guessed
            if content
        ]
        if not found:
            return
        human = humans.name_humans([self._by])[self._by.pk]
        with transaction.atomic():
            lock_cluster(self._cluster.pk)  # concurrent plans are counted one after the other
            PlannedSecretValue.objects.filter(day__lt=(clock.now() - _KEPT).date()).delete()
            over = [d for d, v in found if _count(human, self._cluster, self._name_namespace(d), d, v) > MOST_A_DAY]
        if over:
            names = ", ".join(sorted({str(document.ref) for document in over}))
            text = _("%(name)s has used the daily limit of %(most)d values for %(secrets)s. Try again tomorrow")
            raise NotAllowedError(text % {"name": self._by.get_username(), "most": MOST_A_DAY, "secrets": names})

    def _name_namespace(self, document: ManifestDocument) -> str:
        return document.ref.namespace or self._namespace
