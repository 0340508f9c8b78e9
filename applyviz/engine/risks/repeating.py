"""A patch that every apply will send again, although nothing changes.

Rule: recorded behavior of kubectl: defaults inside lists that are replaced whole, `stringData` of a Secret, and nulls
for absent fields make a patch that never becomes empty. A null that only removes what was applied last is sent once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.walking import field_path, is_within, position_of

_DIRECTIVES = ("$patch", "$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys")


def _is_directive(name: str) -> bool:
    return name.startswith(_DIRECTIVES)


def _holds_directive(items: list[JSONValue]) -> bool:
    return any(isinstance(i, Mapping) and any(_is_directive(k) for k in i) for i in items)


def _repeats(
    patch: JSONObject, live: JSONObject, manifest: JSONValue, path: PlainPath
) -> Iterator[tuple[PlainPath, str]]:
    set_here: Mapping[str, JSONValue] = manifest if isinstance(manifest, Mapping) else {}
    for name, value in patch.items():
        if _is_directive(name) or name == "annotations":
            continue
        before = live.get(name)
        where = (*path, name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            yield from _repeats(value, before, set_here.get(name), where)
        elif isinstance(value, list) and isinstance(before, list) and value:
            if not _holds_directive(value) and is_within(value, before):
                yield where, "the server adds defaults to its entries"
        elif value is None and name not in live and name in set_here and path:
            yield where, "it is null here and absent there"


def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the parts of a client-side patch that the next apply will send again."""
    if subject.is_server_side or subject.live is None or subject.manifest is None:
        return
    found: list[tuple[PlainPath, str]] = []
    if isinstance(subject.patch, Mapping):
        found.extend(_repeats(subject.patch, subject.live, subject.manifest, ()))
        if subject.ref.gvk.kind == "Secret" and subject.patch.get("stringData"):
            found.append((("stringData",), "the server turns it into data and never keeps it"))
    for where, cause in found:
        facts = {"field": ".".join(str(step) for step in where), "cause": cause}
        position = position_of(subject, where)
        yield Risk(RiskKind.REPEATING_PATCH, RiskLevel.INFO, field_path(where), facts, position)
