"""Mask every value of a Secret in a change, wherever it appears.

Rule: `docs/architecture.md`, invariant 8. Text of the manifest is compared only with secrets of the manifest, and no
text with secrets of live: an annotation of a live Secret is shown if it is that of the manifest or of last applied, and
masked otherwise. A result and the body of a request show an annotation as in the version that it comes from; what a
JSON patch copies or renames stays masked. A server mixes both, so its messages are withheld beside a masked value. The
masked change has the same shape; its requests cannot be sent.
"""

from __future__ import annotations

from msgspec import Struct

from applyviz.engine.diff.masking import DEFAULT_POLICY, Beside, MaskPolicy, is_masked, make_masker, mask
from applyviz.engine.diff.patch_masking import mask_patch
from applyviz.engine.diff.plain_values import PlainValues
from applyviz.engine.diff.repeating import Repeats, find_secrets
from applyviz.engine.merge.calculation import PatchSteps
from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.exchange import JSON_PATCH, Request
from applyviz.engine.objects.lookups import FieldFinder
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.model.plan import PlannedObject, Versions
from applyviz.engine.planning.objects.name_masking import PathNames, mask_paths, mask_risk_names, read_names
from applyviz.engine.planning.objects.operation_masking import MaskedPatch, mask_operations
from applyviz.engine.planning.objects.resolution_masking import ResolutionMask
from applyviz.engine.planning.objects.withheld_messages import holds_masked, withhold
from applyviz.engine.risks.model import Risk
from applyviz.engine.risks.texts import RETYPED_VALUE


class _Mask(Struct, frozen=True):
    """Masks the parts of one change."""

    change: PlannedObject
    tag_key: bytes
    policy: MaskPolicy
    plain: PlainValues

    @property
    def scope(self) -> str:
        return "/".join(self.change.ref.key)

    def mask_one(
        self, obj: JSONObject | None, beside: tuple[Beside, ...] | None = None, *, is_live: bool = False
    ) -> JSONObject | None:
        if obj is None:
            return None
        gvk = self.change.ref.gvk
        return mask(
            obj,
            gvk=gvk,
            tag_key=self.tag_key,
            scope=self.scope,
            policy=self.policy,
            beside=beside,
            is_live=is_live,
            plain=self.plain,
        )

    def mask_requests(
        self, beside: tuple[Beside, ...], live: tuple[Beside, ...]
    ) -> tuple[tuple[Request, ...], list[MaskedPatch]]:
        """Return the requests, and what the JSON patches among them make of the live object."""
        requests, patches = [], []
        for request in self.change.requests:
            if request.content_type == JSON_PATCH and isinstance(request.body, list) and live:
                masker = make_masker(
                    request.body, self.change.ref.gvk, self.tag_key, self.scope, self.policy, beside, None
                )
                patches.append(mask_operations(request.body, live[0], masker))
                requests.append(replace(request, body=list(patches[-1].operations)))
            elif request.body is not None:
                requests.append(replace(request, body=self._mask_map(request.body, beside, request.content_type)))
            else:
                requests.append(request)
        return tuple(requests), patches

    def mask_result(
        self, obj: JSONObject | None, beside: tuple[Beside, ...], patches: list[MaskedPatch]
    ) -> JSONObject | None:
        """Return what is shown of a version that the requests make."""
        shown = self.mask_one(obj, beside)
        for patch in patches:
            masker = make_masker({}, self.change.ref.gvk, self.tag_key, self.scope, self.policy, beside, None)
            shown = patch.hide(obj, shown, masker)
        return shown

    def _mask_map(self, body: JSONValue, beside: tuple[Beside, ...], content_type: str = "") -> JSONValue:
        shown: JSONValue = mask_patch(
            body,
            content_type,
            gvk=self.change.ref.gvk,
            tag_key=self.tag_key,
            scope=self.scope,
            policy=self.policy,
            beside=beside,
            plain=self.plain,
        )
        return shown

    def mask_calculation(self, found: PatchSteps | None, beside: tuple[Beside, ...]) -> PatchSteps | None:
        if found is None:
            return None
        deletions, additions = (as_mapping(self._mask_map(one, beside)) for one in (found.deletions, found.additions))
        return PatchSteps(deletions, additions, found.sets_annotation)

    def pair(self, raw: JSONObject | None, shown: JSONObject | None) -> tuple[Beside, ...]:
        return () if raw is None or shown is None else (Beside(raw, shown, self.plain),)

    def read_names(self) -> PathNames:
        return read_names(self.change, self.tag_key, self.policy)


def _begin(change: PlannedObject, tag_key: bytes, policy: MaskPolicy) -> _Mask:
    return _Mask(change, tag_key, policy, PlainValues(policy.names, policy.paths, policy.passwords))


def _mask_risk(risk: Risk, manifest: FieldFinder) -> Risk:
    """Return a risk without the quoted value of the file if the manifest's value is masked."""
    if risk.kind is not RETYPED_VALUE or not _is_hidden(manifest, risk.path):
        return risk
    return replace(risk, facts={**risk.facts, "text": "", "value": ""})


def _is_hidden(manifest: FieldFinder, path: FieldPath) -> bool:
    """Return whether the value at a path of a masked manifest, or an enclosing value, is masked."""
    return any(
        is_masked(found) for end in range(len(path), 0, -1) if isinstance(found := manifest.find(path[:end]), str)
    )


def mask_risks(change: PlannedObject, *, tag_key: bytes, policy: MaskPolicy = DEFAULT_POLICY) -> tuple[Risk, ...]:
    """Return the risks of a change as `mask_change` shows them."""
    if not change.risks:
        return ()
    using = _begin(change, tag_key, policy)
    names = using.read_names()
    risks = tuple(mask_risk_names(risk, names) for risk in change.risks) if names.paths else change.risks
    if all(risk.kind is not RETYPED_VALUE for risk in risks):
        return risks
    finder = FieldFinder(using.mask_one(change.versions.manifest))
    return tuple(_mask_risk(risk, finder) for risk in risks)


def mask_change(change: PlannedObject, *, tag_key: bytes, policy: MaskPolicy = DEFAULT_POLICY) -> PlannedObject:
    """Return the same change with every secret value masked.

    - Equal values of one field of one object have equal tags under `tag_key`; all other tags differ.
    - The messages of a server are withheld if any version of the object contains a masked value.
    """
    using = _begin(change, tag_key, policy)
    raw = change.versions
    last_applied, manifest = using.mask_one(raw.last_applied), using.mask_one(raw.manifest)
    of_manifest = using.pair(raw.manifest, manifest)
    live = using.mask_one(raw.live, (*of_manifest, *using.pair(raw.last_applied, last_applied)), is_live=True)
    of_live = using.pair(raw.live, live)
    beside = (*of_manifest, *of_live)
    requests, patches = using.mask_requests(beside, of_live)
    results = (using.mask_result(one, beside, patches) for one in (raw.merged, raw.after))
    versions = Versions(last_applied, manifest, live, *results)
    finder = FieldFinder(manifest)
    settling = ResolutionMask(change, versions, tag_key=tag_key, policy=policy)
    shown = replace(
        change,
        versions=versions,
        requests=requests,
        risks=tuple(_mask_risk(risk, finder) for risk in change.risks),
        calculation=using.mask_calculation(change.calculation, beside),
        open_fields=tuple(settling.mask_open_field(one) for one in change.open_fields),
        answers=tuple(settling.mask_answer(answer) for answer in change.answers),
        patch=settling.mask_patch(change.patch, [a.edit for a in change.answers if a.edit]),
    )
    shown = mask_paths(shown, using.read_names())
    if not holds_masked(shown, using.plain) or _is_of_the_manifest(change, policy):
        return shown
    return withhold(shown, raw.manifest)


def _is_of_the_manifest(change: PlannedObject, policy: MaskPolicy) -> bool:
    """Return whether an error is ours, is only about the manifest, and repeats no secret of it."""
    if not change.error or change.refusal is not None or change.versions.live is not None:
        return False
    manifest = change.versions.manifest or {}
    gvk = change.ref.gvk
    secrets = find_secrets(manifest, gvk=gvk) | policy.passwords.list_values(manifest, gvk)
    return not Repeats(secrets).are_in(f"{change.error} {change.certainty_reason}")
