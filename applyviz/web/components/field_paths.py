"""Paths of fields as people read them: names without the letters of their kind."""

from __future__ import annotations

from applyviz.engine.objects.paths import FieldPath, PathElement, element_value


def name_element(element: PathElement) -> str:
    """One step of a path for people."""
    named = element_value(element)
    if element[0] == "k":
        return " ".join(str(v) for v in named.values())
    return str(named)


def split_path(path: FieldPath) -> tuple[str, str]:
    """The parent and the leaf of a path; the value of a named entry has the name of its entry."""
    has_value = len(path) > 1 and path[-1] == "f:value" and path[-2][0] == "k"
    names = [name_element(element) for element in (path[:-1] if has_value else path)]
    return "".join(f"{name}." for name in names[:-1]), names[-1] if names else str(element_value(path[-1]))
