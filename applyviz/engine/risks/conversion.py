"""A webhook converts between the versions of a custom kind, and a calculation cannot call it.

Rule: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
(webhook conversion). Without a webhook only apiVersion changes, which is no risk. With one, fields may have other names
at another version, and the names of owned fields are taken from there.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.values import get_at
from applyviz.engine.risks.immutable import find_definition
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import metadata_of, position_of

WEBHOOK, UNKNOWN = "webhook", "unknown"


def _describe_conversion(f: Facts) -> Templates:
    if f["how"] == "webhook":
        head = "A webhook converts {kind} between {versions}, and applyviz did not call it"
    else:
        head = "The conversion of {kind} between {versions} is unknown"
    if f["elsewhere"]:
        return (head + ": the estimate assumes that fields owned at {elsewhere} have the same names.",)
    return (head + ": the estimate assumes that all versions have the same fields.",)


CONVERSION_NOT_ASKED = RiskKind(
    "conversion-not-asked", "Conversion not verified", _describe_conversion, level=RiskLevel.INFO
)


def _list_versions(subject: RiskSubject) -> tuple[str, tuple[str, ...]]:
    """Return how the kind is converted ("" if there is no risk), and between which versions."""
    definition = find_definition(subject, subject.ref.gvk)
    if definition is None:
        kind = subject.kind
        return (UNKNOWN, tuple(kind.version_roots)) if kind is not None and kind.is_custom else ("", ())
    is_webhook = get_at(definition, ("spec", "conversion", "strategy")) == "Webhook"
    versions = get_at(definition, ("spec", "versions"))
    names = tuple(str(get_at(v, ("name",))) for v in versions) if isinstance(versions, list) else ()
    return WEBHOOK if is_webhook else "", names


def _list_owned_elsewhere(subject: RiskSubject) -> list[str]:
    """Return the other apiVersions at which fields of the live object are owned."""
    entries = metadata_of(subject.live).get("managedFields")
    found = {str(e.get("apiVersion")) for e in entries} if isinstance(entries, list) else set()
    return sorted(found - {subject.ref.gvk.api_version})


@rule(320)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a conversion that was not called; it is high if it matters and no dry run ran.

    - If no definition can be read, it is a risk only if fields are owned at another version.
    """
    if subject.manifest is None:
        return
    how, versions = _list_versions(subject)
    elsewhere = _list_owned_elsewhere(subject)
    if not how or len(versions) < 2 or (how == UNKNOWN and not elsewhere):
        return
    is_calculated = bool(elsewhere and subject.dry_run_answer)
    facts = {
        "how": how,
        "kind": subject.ref.gvk.kind,
        "versions": ", ".join(versions),
        "elsewhere": ", ".join(elsewhere),
    }
    level = RiskLevel.MEDIUM if is_calculated else RiskLevel.INFO
    yield CONVERSION_NOT_ASKED.at(fields("apiVersion"), facts, position_of(subject, ("apiVersion",)), level=level)
