"""How the files of a plan become one list of objects: each file, its origin, its documents, and the objects in them.

Rule: the visitors of kubectl. Files, links, folders and rendered output are read in order; a file is a stream of
documents, and a List is taken apart into its items. Everything comes from the stored positions of the objects, which do
not depend on the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.values import JSONValue
from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_change
from applyviz.web.reviews.pages.sources.provenance import FileOrigin, list_origins

MOST_OBJECTS = 500
Row = tuple[int, str, str, str, JSONValue]


class ChainObject(Struct, frozen=True):
    """One object: where in its file it was read, and its page."""

    where: str
    kind: str
    name: str
    namespace: str
    url: str


class ChainFile(Struct, frozen=True):
    """One file with its origin and its objects; `origin` is None for a file that the plan no longer lists."""

    name: str
    origin: FileOrigin | None
    summary: str
    objects: tuple[ChainObject, ...]


class VisitorChain(Struct, frozen=True):
    """All files in order; `summary` has the counts at each step, and `more` objects are not listed.

    - `chart_notes`: the NOTES of a chart, without credentials.
    """

    summary: str
    files: tuple[ChainFile, ...]
    more: int
    chart_notes: str = ""


def _read_number(position: JSONValue, name: str) -> int:
    value = position.get(name, 0) if isinstance(position, dict) else 0
    return value if isinstance(value, int) else 0


def _name_file(row: Row) -> str:
    position = row[4]
    return str(position.get("file", "")) if isinstance(position, dict) else ""


def _sort_key(row: Row) -> tuple[str, int, int, int]:
    document, item, line = (_read_number(row[4], name) for name in ("document", "item", "line"))
    return _name_file(row), document, item, line


def _describe(position: JSONValue) -> str:
    document, item, line = (_read_number(position, name) for name in ("document", "item", "line"))
    facts = {"document": document, "item": item, "line": line}
    if item:
        return _("document %(document)d, item %(item)d of its List, line %(line)d") % facts
    return _("document %(document)d, line %(line)d") % facts if document else _("line %(line)d") % facts


def _present_objects(plan: Plan, rows: Iterable[Row]) -> Iterator[ChainObject]:
    for position, kind, namespace, name, source in rows:
        yield ChainObject(_describe(source), kind, name, namespace, link_change(plan, position))


def _count_documents(rows: Iterable[Row]) -> Iterator[str]:
    """Yield how many documents hold these objects, and how many of them are Lists; nothing for unknown positions."""
    items: dict[tuple[str, int], int] = {}
    for row in rows:
        number = _read_number(row[4], "document")
        if number:
            key = (_name_file(row), number)
            items[key] = items.get(key, 0) + bool(_read_number(row[4], "item"))
    lists = [number for number in items.values() if number]
    if items:
        yield ngettext("%(n)d document", "%(n)d documents", len(items)) % {"n": len(items)}
    if lists:
        text = ngettext("%(n)d List of %(items)d", "%(n)d Lists of %(items)d in all", len(lists))
        yield text % {"n": len(lists), "items": sum(lists)}


def _count_methods(files: Iterable[FileOrigin]) -> str:
    """Return by which method the files came, with numbers for several; "" without a file that the plan lists."""
    methods = Counter(file.method for file in files if file.method)
    if len(methods) == 1:
        return str(next(iter(methods)))
    return ", ".join(_("%(n)d %(method)s") % {"n": number, "method": method} for method, number in methods.items())


def _summarize(rows: Sequence[Row], *before: str) -> str:
    """Return the counts at each step of a chain, from its sources to its objects."""
    objects = ngettext("%(n)d object", "%(n)d objects", len(rows)) % {"n": len(rows)}
    return " → ".join(filter(None, (*before, *_count_documents(rows), objects)))


def present_chain(plan: Plan) -> VisitorChain:
    """Return the files of a plan with the objects that were read from them; a file without one is listed too."""
    values = plan.changes.values_list("position", "kind", "namespace", "name", "document__position")
    rows: list[Row] = sorted((row for row in values if isinstance(row[4], dict) and row[4].get("file")), key=_sort_key)
    by_file = {name: list(found) for name, found in groupby(rows[:MOST_OBJECTS], key=_name_file)}
    listed = list_origins(plan)
    origins = {origin.name: origin for origin in listed.files}
    names = dict.fromkeys((*origins, *by_file))
    files = tuple(
        ChainFile(name, origins.get(name), _summarize(found), tuple(_present_objects(plan, found)))
        for name, found in ((name, by_file.get(name, [])) for name in names)
    )
    number = len(names) + listed.more
    read = ngettext("%(n)d file", "%(n)d files", number) % {"n": number}
    methods = "" if listed.more else _count_methods(listed.files)
    notes = "" if listed.chart is None else listed.chart.notes
    return VisitorChain(_summarize(rows, methods, read), files, max(0, len(rows) - MOST_OBJECTS), notes)
