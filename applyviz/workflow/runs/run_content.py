"""The content of the changes of a run: read for the check of the plan, forgotten, and read again where it is used.

A run of thousands of objects holds the content of those in progress only. The second reading is compared with a digest
of the first one, so the rows that were checked against the approved plan are the rows that are used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.json_text import write_json
from applyviz.records.models import ApplyRun, ObjectChange, ObjectResult
from applyviz.workflow.clusters import permissions
from applyviz.workflow.clusters.permissions import RequiredAccess
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.plan_mac import ContentDigest, hash_bytes

TOGETHER = 32
"""How many rows are read at once."""


class ContentChangedError(ApplyVizError):
    """A stored change is another one than the run checked before its first write."""


class _Content(Struct, frozen=True):
    """What is kept of the content of one row: its digest for the MAC of the plan, a hash of its document, its needs.

    - `document` is compared with later readings: writing canonical JSON for them would take ten times as long.
    """

    digest: ContentDigest
    document: bytes
    needs: tuple[RequiredAccess, ...]

    @classmethod
    def of(cls, row: ObjectChange) -> _Content:
        return cls(ContentDigest.of(row), _hash_document(row), _list_needs(row))

    def is_that_of(self, row: ObjectChange) -> bool:
        """Return whether a row that was read later has this content."""
        return _hash_document(row) == self.document and hash_bytes(row.sealed.token) == self.digest.sealed


def _hash_document(row: ObjectChange) -> bytes:
    return hashlib.sha256(write_json([row.document, row.found_risks])).digest()


def _list_needs(row: ObjectChange) -> tuple[RequiredAccess, ...]:
    """Return the permissions that a change needs; none where its document is damaged, which fits no MAC."""
    try:
        return permissions.list_needs(changes.read_masked_requests(row))
    except (ApplyVizError, LookupError, TypeError, ValueError, AttributeError):
        return ()


class RunContent:
    """The results of a run, and the content of their changes while it is needed."""

    def __init__(self, run: ApplyRun) -> None:
        self._contents: dict[int, _Content] = {}
        self.results: list[ObjectResult] = []
        rows = ObjectResult.objects.filter(run=run).select_related("change").order_by("step", "position")
        for result in rows.iterator(chunk_size=TOGETHER):
            # They share the claimed run and its plan, so that no object reads them again.
            result.run, result.change.plan = run, run.plan
            row = result.change
            self._contents[row.pk] = _Content.of(row)
            changes.forget_content(row)
            self.results.append(result)

    def list_stored(self) -> list[tuple[ObjectChange, ContentDigest]]:
        """Return the changes with the digests of their content, in the order of the plan."""
        rows = sorted((result.change for result in self.results), key=lambda row: row.position)
        return [(row, self._contents[row.pk].digest) for row in rows]

    def each_change(self) -> Iterator[ObjectChange]:
        """Yield the changes with their content, in the order of the plan; drop it when the next one is asked for."""
        for result in self.each(sorted(self.results, key=lambda result: result.change.position)):
            yield result.change
            self.forget(result)

    def list_needs(self, results: Iterable[ObjectResult]) -> tuple[RequiredAccess, ...]:
        """Return the permissions that the writes of these results need, each once."""
        return tuple(dict.fromkeys(need for r in results for need in self._contents[r.change.pk].needs))

    def load(self, results: Sequence[ObjectResult]) -> None:
        """Read the content of these changes again, unless it is there.

        - Raises `ContentChangedError` when it is not what was read before.
        """
        absent = [result.change for result in results if not result.change.sealed.token]
        stored = ObjectChange.objects.only("document", "found_risks", "sealed").in_bulk([row.pk for row in absent])
        for row in absent:
            found = stored.get(row.pk)
            if found is None or not self._contents[row.pk].is_that_of(found):
                raise ContentChangedError(f"the stored change of {changes.ref_of(row)} was altered: re-plan")
            row.document, row.found_risks, row.sealed = found.document, found.found_risks, found.sealed

    def forget(self, result: ObjectResult) -> None:
        """Drop the content of a change that ended."""
        changes.forget_content(result.change)

    def each(self, results: Sequence[ObjectResult]) -> Iterator[ObjectResult]:
        """Yield results with their content, some of which are read together."""
        for start in range(0, len(results), TOGETHER):
            together = results[start : start + TOGETHER]
            self.load(together)
            yield from together
