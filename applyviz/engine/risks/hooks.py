"""Risk of a Helm hook: an object that Helm creates at its own time, and apply like any other.

Rule: https://helm.sh/docs/topics/charts_hooks/: the annotation `helm.sh/hook` names when Helm creates the object
(pre-install, post-upgrade, test …); Helm waits for it, may delete it again, and counts it to no release.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import field, fields
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import position_of, texts_of

HOOK = "helm.sh/hook"
_PATH = ("metadata", "annotations", HOOK)


HELM_HOOK = RiskKind(
    "helm-hook",
    "Helm hook",
    lambda f: (
        "Helm runs this object as a hook ({hooks}). It is left out, so nothing runs it."
        if f["left_out"]
        else "Helm runs this object as a hook ({hooks}), and may delete it afterwards. Apply creates it like any other "
        "object, and keeps it.",
    ),
    level=RiskLevel.HIGH,
)


def read_hooks(obj: JSONObject | None) -> tuple[str, ...]:
    """Return the moments at which Helm creates an object, () for an object that is no hook."""
    text = texts_of(obj, "annotations").get(HOOK, "")
    return tuple(name.strip() for name in text.split(",") if name.strip())


def describe_hook(obj: JSONObject | None, *, is_left_out: bool, position: SourcePosition) -> Iterator[Risk]:
    """Yield the risk of an object that is a hook: high when it is applied, a note when it is left out."""
    hooks = read_hooks(obj)
    if hooks:
        facts = {"hooks": ", ".join(hooks), "left_out": "yes" if is_left_out else ""}
        level = RiskLevel.INFO if is_left_out else RiskLevel.HIGH
        yield HELM_HOOK.at((*fields("metadata", "annotations"), field(HOOK)), facts, position, level=level)


@rule(290)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a manifest that Helm would create as a hook."""
    yield from describe_hook(subject.manifest, is_left_out=False, position=position_of(subject, _PATH))
