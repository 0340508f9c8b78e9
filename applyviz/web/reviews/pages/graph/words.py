"""The words of a node: its name, what happens to what runs, and the whole of it for who does not see the picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.planning.model.plan import DELETIONS, Operation
from applyviz.engine.risks.model import RiskLevel
from applyviz.web.components.badges import LEVEL_STYLES, OBJECT_STYLES
from applyviz.web.reviews.pages.graph.nodes import WORKLOAD, ShownNode
from applyviz.web.reviews.pages.graph.text_width import fit, measure

_SHORT = {
    "HorizontalPodAutoscaler": "HPA",
    "PodDisruptionBudget": "PDB",
    "NetworkPolicy": "NetPol",
    "PersistentVolumeClaim": "PVC",
    "CustomResourceDefinition": "CRD",
}
_KUBECTL = {
    "ConfigMap": "cm",
    "CustomResourceDefinition": "crd",
    "DaemonSet": "ds",
    "Deployment": "deploy",
    "HorizontalPodAutoscaler": "hpa",
    "Ingress": "ing",
    "NetworkPolicy": "netpol",
    "PersistentVolumeClaim": "pvc",
    "PodDisruptionBudget": "pdb",
    "Service": "svc",
    "ServiceAccount": "sa",
    "StatefulSet": "sts",
}
# Kinds that their column names already.
_SAID = frozenset(("Deployment", "Service", "Ingress", "ConfigMap"))
LINE_SIZE, DOCK_SIZE = 11, 10.5
_NAME_SIZE = 12
_NAME_ROOM, _LINE_ROOM, _PILL_ROOM, _DOCK_ROOM = 144, 142, 156, 160


def fit_name(name: str) -> str:
    """Return the first line of a node as far as it has room."""
    return fit(name, _NAME_SIZE, _NAME_ROOM, is_mono=True)


def name_kind(kind: str) -> str:
    """A kind in as few letters as people use for it."""
    return _SHORT.get(kind, kind)


def name_node(shown: ShownNode) -> str:
    """The first line of a node."""
    if shown.count:
        return f"{shown.count} {name_kind(shown.node.kind)}"
    # A definition is named by its plural and its group; the group is said by what it defines.
    name = shown.node.name.partition(".")[0] if shown.node.kind == "CustomResourceDefinition" else shown.node.name
    return name or _("no pod")


def name_short(shown: ShownNode) -> str:
    """Kind and name as people type them for kubectl."""
    kind = _KUBECTL.get(shown.node.kind, shown.node.kind.lower())
    return name_node(shown) if shown.count or not shown.node.name else f"{kind}/{name_node(shown)}"


def _describe_limit(facts: Mapping[str, str]) -> str:
    word = {
        "minReplicas": _("min"),
        "maxReplicas": _("max"),
        "minAvailable": _("min"),
        "maxUnavailable": _("max unavailable"),
    }[facts["limit"]]
    before = f"{facts['limit_before']} → " if "limit_before" in facts else ""
    return f"{word} {before}{facts['limit_after']}"


def _describe_restart(facts: Mapping[str, str]) -> str:
    if "downtime" in facts:
        return _("downtime")
    if "restarts" not in facts:
        return ""
    return _("restarts %(count)s") % {"count": facts["restarts"]} if facts["restarts"] else _("restarts")


def _describe_workload(facts: Mapping[str, str], operation: Operation | None) -> Iterator[str]:
    if "conflicts" in facts:
        yield _("conflict")
    elif "image_before" in facts:
        of = f"{facts['image_of']} " if "image_of" in facts else ""
        yield f"{of}{facts['image_before']} → {facts['image_after']}"
    yield _describe_restart(facts)
    if operation is Operation.CREATE and "pods" in facts:
        count = int(facts["pods"])
        yield ngettext("%(count)d pod", "%(count)d pods", count) % {"count": count}
    if operation is Operation.CREATE and "image_after" in facts:
        yield facts["image_after"]


def _describe_fields(facts: Mapping[str, str]) -> str:
    if "keys" in facts:
        count = int(facts["keys"])
        return ngettext("%(count)d key", "%(count)d keys", count) % {"count": count} if count else ""
    count = int(facts.get("fields", "0"))
    if count == 1:
        return facts["field"].rpartition("/")[2]
    return ngettext("%(count)d field", "%(count)d fields", count) % {"count": count} if count else ""


def _list_words(shown: ShownNode) -> Iterator[str]:
    node, facts = shown.node, shown.node.facts
    if node.is_missing:
        yield _("does not exist") if node.name else _("matches nothing")
        return
    if shown.operation is None:
        yield _("live") if node.is_seen else _("not checked")
        return
    if shown.operation is Operation.CREATE:
        yield _("new")
    if shown.operation in (
        Operation.UNCHANGED,
        Operation.NOT_FOUND,
        *DELETIONS,
        Operation.REPLACE,
        Operation.WITHHELD,
        Operation.ERROR,
        Operation.LEFT_OUT,
    ):
        yield str(OBJECT_STYLES[shown.operation].word)
        return
    if "limit" in facts:
        yield _describe_limit(facts)
        return
    sentences = (
        [word for word in _describe_workload(facts, shown.operation) if word] if shown.column == WORKLOAD else []
    )
    yield from sentences or [_describe_fields(facts)]


def describe_node(shown: ShownNode) -> str:
    """The second line of a node, whole."""
    if shown.count:
        return ", ".join(shown.names)
    kind = [] if shown.node.kind in _SAID or not shown.node.name else [name_kind(shown.node.kind)]
    return " · ".join([*kind, *filter(None, _list_words(shown))])


def _list_brief(shown: ShownNode) -> Iterator[str]:
    """Yield lines without the kind, then without the version before, then with the last word only."""
    words = [word for word in _list_words(shown) if word]
    yield " · ".join(words)
    yield " · ".join(f"→{word.rpartition('→')[2]}" if "→" in word else word for word in words)
    yield " · ".join(words[-1:])


def _list_general(shown: ShownNode) -> Iterator[str]:
    """Yield the line of an object that is no workload, without the name of its only field."""
    facts = shown.node.facts
    if shown.node.is_missing:
        yield f"{name_kind(shown.node.kind)} · {_('missing')}"
    elif facts.get("fields") == "1" and "keys" not in facts and describe_change(shown) == _describe_fields(facts):
        word = _("label") if facts["field"].endswith(" label") else _("1 field")
        yield f"{name_kind(shown.node.kind)} · {word}"


def fit_line(shown: ShownNode) -> str:
    """Return the second line of a node, shortened to its room.

    The line of a workload loses its kind first, then the version before, and keeps what happens to its pods. The line
    of any other object keeps its kind and loses the name of the field.
    """
    whole = describe_node(shown)
    if shown.count:
        return fit(whole, LINE_SIZE, _LINE_ROOM)
    shorter = _list_brief(shown) if shown.column == WORKLOAD else _list_general(shown)
    found = (line for line in (whole, *shorter) if measure(line, LINE_SIZE) <= _LINE_ROOM)
    return next(found, fit(whole, LINE_SIZE, _LINE_ROOM))


def describe_change(shown: ShownNode) -> str:
    """The second line of a node without its kind."""
    return " · ".join(filter(None, _list_words(shown)))


def label_dock(shown: ShownNode) -> str:
    """The words of a dock: kind, glyph and limit."""
    glyph = OBJECT_STYLES[shown.operation].glyph if shown.operation is not None else "·"
    limit = _describe_limit(shown.node.facts) if "limit" in shown.node.facts else _describe_fields(shown.node.facts)
    return fit(f"{name_kind(shown.node.kind)} {glyph} {limit}".strip(), DOCK_SIZE, _DOCK_ROOM)


def label_pill(shown: ShownNode) -> str:
    """The words of a node that is folded."""
    kind = name_kind(shown.node.kind)
    if shown.count:
        text = _("+%(count)d unchanged: %(kind)s") % {"count": shown.count, "kind": kind}
        return fit(text, LINE_SIZE, _PILL_ROOM)
    sign = "=" if shown.operation is not None else "·"
    return fit(f"{sign} {kind} {shown.node.name}", LINE_SIZE, _PILL_ROOM)


def read_aloud(shown: ShownNode) -> str:
    """Everything that a node says: what happens to it, its name, its second line, its risk."""
    operation = [str(OBJECT_STYLES[shown.operation].word)] if shown.operation is not None else []
    risk = [str(LEVEL_STYLES[RiskLevel(shown.risk)].word)] if shown.risk is not None else []
    kind = [shown.node.kind] if shown.node.name and not shown.count else []
    first = " ".join([*operation, *kind, name_node(shown)])
    line = describe_node(shown)
    return ", ".join([f"{first}: {line}" if line else first, *risk])
