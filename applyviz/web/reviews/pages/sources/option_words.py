"""Options of a plan as the pages name them, and the differences between the options of two plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct
from msgspec.structs import asdict

from applyviz.engine.channels.model import ChannelPlan
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.requests.options import (
    ApplyOptions,
    Handover,
    Order,
    Prune,
    PruneMode,
    Replacement,
    SetAction,
    TakenField,
    TakenManager,
)
from applyviz.web.reviews.pages.plan_names import ACTION_WORDS, MODE_WORDS

_SHOWN = 5
LABELS: Mapping[str, str | Promise] = {
    "mode": gettext_lazy("Method"),
    "field_manager": gettext_lazy("Field manager"),
    "takes_over": gettext_lazy("Force conflicts"),
    "takes_client_side": gettext_lazy("Migrate field ownership"),
    "takes_from": gettext_lazy("Ownership from"),
    "is_overwriting": gettext_lazy("Overwrite live values"),
    "validation": gettext_lazy("Field validation"),
    "namespace": gettext_lazy("Namespace"),
    "is_namespace_enforced": gettext_lazy("Refuse objects in other namespaces"),
    "subresource": gettext_lazy("Subresource"),
    "dry_run": gettext_lazy("Dry run only"),
    "selector": gettext_lazy("Label selector"),
    "is_recursive": gettext_lazy("Subfolders"),
    "prune.mode": gettext_lazy("Prune"),
    "prune.allowlist": gettext_lazy("Kinds to prune"),
    "prune.applyset": gettext_lazy("ApplySet parent"),
    "prune.is_all": gettext_lazy("Prune without a selector"),
    "prune.excepted": gettext_lazy("Kinds that are never pruned"),
    "order": gettext_lazy("Order"),
    "has_preconditions": gettext_lazy("Check uid and resourceVersion"),
    "is_replacing_on_error": gettext_lazy("Replace on any refusal"),
    "handovers": gettext_lazy("Fields given up"),
    "taken_fields": gettext_lazy("Fields taken from other managers"),
    "taken_managers": gettext_lazy("Managers that give up their fields"),
    "replacement.objects": gettext_lazy("Objects to replace"),
    "replacement.kinds": gettext_lazy("Kinds to replace"),
    "replacement.policy_kinds": gettext_lazy("Kinds to replace by policy"),
    "replacement.annotations": gettext_lazy("Annotations that allow replacement"),
    "propagation": gettext_lazy("Dependents of deleted objects"),
    "deletion_seconds": gettext_lazy("Wait for a deletion (seconds)"),
    "left_out": gettext_lazy("Objects left out"),
    "left_out_reason": gettext_lazy("Reason for leaving objects out"),
    "channel": gettext_lazy("Addons applied"),
    "addons_anyway": gettext_lazy("Addons planned anyway"),
    "marking_addons": gettext_lazy("Addons that mark nodes"),
    "action": gettext_lazy("Operation"),
    "clear_patch": gettext_lazy("Patch that clears managedFields"),
}
"""The labels of all options; a part of an option has the name of the option in front."""
_WORDS: Mapping[str, Mapping[str, str | Promise]] = {
    "mode": {mode.value: word for mode, word in MODE_WORDS.items()},
    "action": {
        SetAction.APPLY.value: gettext_lazy("apply"),
        **ACTION_WORDS,
    },
    "prune.mode": {
        PruneMode.NONE.value: gettext_lazy("nothing"),
        PruneMode.ALLOWLIST.value: gettext_lazy("by allowlist"),
        PruneMode.APPLYSET.value: gettext_lazy("by ApplySet"),
        PruneMode.NAMED.value: gettext_lazy("named objects"),
    },
    "order": {
        Order.DEPENDENCY.value: gettext_lazy("by dependencies"),
        Order.AS_GIVEN.value: gettext_lazy("as in the files"),
    },
}
"""The words for stored values of an option; other values are what kubectl calls them."""
_OBJECTS = frozenset({"replacement.objects", "left_out"})


class ObjectDifference(Struct, frozen=True):
    """A difference of the plans as a whole: source, mode, field manager, resolutions."""

    label: str | Promise
    first: str
    second: str


def list_values(options: ApplyOptions) -> Iterator[tuple[str, object]]:
    """Yield every option with its name; an option with parts yields one entry per part."""
    for name, value in asdict(options).items():
        if isinstance(value, (Prune, Replacement)):
            yield from ((f"{name}.{part}", chosen) for part, chosen in asdict(value).items())
        else:
            yield name, value


def _name_object(name: str) -> str:
    """Return `batch/Job/default/migrate` as pages name objects."""
    parts = name.split("/")
    if len(parts) != 4:
        return name
    _group, kind, namespace, own = parts
    facts = {"name": f"{kind}/{own}", "namespace": namespace}
    return _("%(name)s in %(namespace)s") % facts if namespace else facts["name"]


def _name_field(key: tuple[str, ...], path: FieldPath) -> str:
    return f"{_name_object('/'.join(key))} {render_path(path)}"


def _print_entry(name: str, entry: object) -> str:
    match entry:
        case Handover():
            facts = {"field": _name_field(entry.key, entry.path), "manager": entry.manager}
            return _("%(field)s to %(manager)s") % facts
        case TakenField():
            facts = {"field": _name_field(entry.key, entry.path), "manager": entry.manager}
            return _("%(field)s from %(manager)s") % facts if entry.manager else facts["field"]
        case TakenManager():
            return f"{entry.manager}: {_name_object('/'.join(entry.key))}"
    return _name_object(str(entry)) if name in _OBJECTS else str(entry)


def _print_lists(name: str, first: tuple[object, ...], second: tuple[object, ...]) -> Iterator[str]:
    """Yield the entries that only the first and only the second list has, each with the number of shared ones."""
    shared = [one for one in first if one in second]
    for mine in (first, second):
        alone = [_print_entry(name, one) for one in mine if one not in shared]
        parts = alone[:_SHOWN]
        if len(alone) > _SHOWN:
            parts.append(_("%(n)d more") % {"n": len(alone) - _SHOWN})
        if shared:
            parts.append(_("%(n)d in both plans") % {"n": len(shared)})
        yield ", ".join(parts) or _("none")


def _print_value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return _("on") if value else _("off")
    return str(_WORDS.get(name, {}).get(str(value), value)) if value not in ("", None) else _("none")


def _list_applied(value: object) -> tuple[str, ...]:
    return tuple(one.name for one in value.applied) if isinstance(value, ChannelPlan) else ()


def _print_pair(name: str, first: object, second: object) -> tuple[str, str]:
    if name == "channel":
        first, second = _list_applied(first), _list_applied(second)
    if isinstance(first, tuple) and isinstance(second, tuple):
        before, after = _print_lists(name, first, second)
    else:
        before, after = _print_value(name, first), _print_value(name, second)
    return before, after if before != after else _("same entries, but details or order differ")


def compare_options(first: ApplyOptions, second: ApplyOptions) -> Iterator[ObjectDifference]:
    """Yield each option that differs, defaults included, in words."""
    for (name, before), (_name, after) in zip(list_values(first), list_values(second), strict=True):
        if before != after:
            yield ObjectDifference(LABELS[name], *_print_pair(name, before, after))
