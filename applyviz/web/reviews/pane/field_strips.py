"""The three-way strip of a field of a change, from its masked versions."""

from __future__ import annotations

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.explain.reasons import FieldOperation, FieldReason
from applyviz.engine.explain.three_way import Equality, FourValues, knows_last_applied, read_three_way
from applyviz.engine.objects.lookups import FieldFinder
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import is_same_json
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.web.components.badges import style_field
from applyviz.web.components.field_strip import FieldStrip, present_opened_strip, present_strip
from applyviz.web.components.values import ABSENT, ShowValue, show_value


def _find_after(change: PlannedObject) -> FieldFinder:
    """Return the fields after apply; of a rejected object the live ones, because nothing of it is written."""
    versions = change.versions
    is_rejected = versions.after is None and versions.manifest is not None
    return versions.in_live if is_rejected else versions.in_after


def _read_values(
    change: PlannedObject, reason: FieldReason, options: ApplyOptions, applied: FieldFinder | None
) -> tuple[FourValues, bool]:
    """The four values of a field, and whether what was last applied is known.

    - `applied`: what a run last applied, if one did. A masked value has tags of its plan, so it is not compared.
    """
    versions = change.versions
    manifest, live, after = (
        finder.find(reason.path) for finder in (versions.in_manifest, versions.in_live, _find_after(change))
    )
    if options.mode is ApplyMode.CLIENT:
        is_known, last_applied = True, versions.in_last_applied.find(reason.path)
    else:
        is_known = knows_last_applied(reason, manager=options.field_manager, is_new=versions.live is None)
        last_applied = live if is_known else ABSENT
        if not is_known and applied is not None and reason.operation in (FieldOperation.CONFLICT, FieldOperation.KEPT):
            recorded = applied.find(reason.path)
            is_known, last_applied = (False, ABSENT) if is_masked(recorded) else (True, recorded)
    return FourValues(last_applied, manifest, live, after), is_known


def present_strips(
    change: PlannedObject,
    reason: FieldReason,
    *,
    options: ApplyOptions,
    is_equal: Equality,
    show: ShowValue,
    applied: FieldFinder | None = None,
) -> tuple[FieldStrip, FieldStrip]:
    """The strip of a row, and the picture that opening the row shows.

    - `show` returns the text of a value; `applied` is what a run last applied.
    """
    values, is_known = _read_values(change, reason, options, applied)
    picture = read_three_way(reason, values, is_known=is_known, is_equal=is_equal)
    shown = [show(value) for value in values]
    tone = style_field(reason).tone
    return present_strip(picture, shown, tone=tone), present_opened_strip(picture, shown, tone=tone)


def present_result_strips(
    change: PlannedObject, reason: FieldReason, *, options: ApplyOptions, applied: FieldFinder | None = None
) -> dict[str, FieldStrip]:
    """The strip of the result of each resolution of a conflict, by the value of its kind; none for other fields."""
    if reason.operation is not FieldOperation.CONFLICT:
        return {}
    values, is_known = _read_values(change, reason, options, applied)
    forced, kept = replace(reason, operation=FieldOperation.CHANGED), replace(reason, operation=FieldOperation.KEPT)
    results = {
        ResolutionKind.OVERWRITE: (forced, values._replace(after=values.manifest), "change"),
        ResolutionKind.GIVE_UP: (kept, values._replace(manifest=ABSENT, after=values.live), "keep"),
        ResolutionKind.SHARE: (kept, values._replace(manifest=values.live, after=values.live), "keep"),
    }
    strips = {}
    for resolution, (result, outcome, tone) in results.items():
        picture = read_three_way(result, outcome, is_known=is_known, is_equal=is_same_json)
        strips[resolution.value] = present_strip(picture, [show_value(value) for value in outcome], tone=tone)
    return strips
