"""A change as people may see it: every value of a Secret masked, wherever it stands.

Rule: `docs/architecture.md`, invariant 8. The masked change has the same shape; its requests cannot be sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from applyviz.engine.diff.masking import DEFAULT_POLICY, MaskPolicy, find_secrets, mask, mask_patch, mask_text
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.maskedways import SettlingMask
from applyviz.engine.planning.plan import ObjectChange, Versions


def _list_objects(change: ObjectChange) -> Iterable[JSONObject]:
    versions = change.versions
    yield from (
        v
        for v in (versions.last_applied, versions.manifest, versions.live, versions.merged, versions.after)
        if v is not None
    )
    yield from (r.body for r in change.requests if isinstance(r.body, Mapping))


def mask_change(change: ObjectChange, *, tag_key: bytes, policy: MaskPolicy = DEFAULT_POLICY) -> ObjectChange:
    """The same change with every secret value masked.

    - Equal values of one object have equal tags under `tag_key`; across objects and keys they do not.
    - Texts (errors, warnings, conflicts, hazards, reasons) lose every secret value that the object holds.
    """
    gvk, scope = change.ref.gvk, "/".join(change.ref.key)
    secrets = frozenset(s for obj in _list_objects(change) for s in find_secrets(obj, gvk=gvk))

    def shown(obj: JSONObject | None) -> JSONObject | None:
        return None if obj is None else mask(obj, gvk=gvk, tag_key=tag_key, scope=scope, policy=policy)

    def shown_request(request: Request) -> Request:
        if request.body is None:
            return request
        body = mask_patch(request.body, request.content_type, gvk=gvk, tag_key=tag_key, scope=scope, policy=policy)
        return replace(request, body=body)

    def shown_text(text: str) -> str:
        return mask_text(text, secrets) if text and secrets else text

    versions = change.versions
    settling = SettlingMask(change, tag_key=tag_key, policy=policy, secrets=secrets)
    return replace(
        change,
        versions=Versions(
            shown(versions.last_applied),
            shown(versions.manifest),
            shown(versions.live),
            shown(versions.merged),
            shown(versions.after),
        ),
        requests=tuple(map(shown_request, change.requests)),
        fields=tuple(replace(f, detail=shown_text(f.detail)) for f in change.fields),
        conflicts=tuple(replace(c, message=shown_text(c.message)) for c in change.conflicts),
        hazards=tuple(
            replace(h, facts={name: shown_text(fact) for name, fact in h.facts.items()}) for h in change.hazards
        ),
        ways=tuple(settling.mask_ways(ways) for ways in change.ways),
        answers=tuple(settling.mask_answer(answer) for answer in change.answers),
        patch=settling.mask_patch(change.patch, [a.edit for a in change.answers if a.edit]),
        certainty_reason=shown_text(change.certainty_reason),
        warnings=tuple(map(shown_text, change.warnings)),
        error=shown_text(change.error),
        complaints=tuple(replace(c, message=shown_text(c.message)) for c in change.complaints),
    )
