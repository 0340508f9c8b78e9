"""Fields that programs name as text, one per line: `apps/Deployment/shop/web .spec.replicas`.

A path is written as the API server and the pages write it; because names may contain dots, it is found among the fields
of the object instead of being parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.objects.known_names import NAMING
from applyviz.engine.objects.paths import FieldPath, fields, render_path
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.replacement import name_object
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.walk import list_leaves
from applyviz.records.models import Plan
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.plans.changes import read_masked
from applyviz.workflow.plans.live_values import list_rows

MOST_FIELDS = 500


class FieldHolder(Struct, frozen=True):
    """An object whose fields may be named; `change` is its change in the latest plan, None for a new manifest."""

    ref: ObjectRef
    manifest: JSONObject
    change: PlannedObject | None = None

    def list_paths(self) -> Mapping[str, FieldPath]:
        """Return the fields of the manifest, and the maps and entries above them, by their names.

        - Only managedFields name the entries of lists of a custom resource, whose schema is not at hand.
        """
        kind, live = bundled().find_kind(self.ref.gvk), (self.change.versions.live or {}) if self.change else {}
        leaves = dict.fromkeys(
            path for o in (self.manifest, live) for path in list_leaves(kind.root if kind else None, o)
        )
        leaves |= dict.fromkeys(path for entry in read_owners(live).entries for path in entry.fields)
        return {render_path(path[:end]): path[:end] for path in leaves for end in range(1, len(path) + 1)}


class FieldNamesError(NotValidError):
    """Lines that name no field; holds every problem."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


def _place(ref: ObjectRef, namespace: str) -> ObjectRef:
    """Return a reference with the default namespace where the manifest names none and its kind needs one."""
    resource = bundled().find_resource(ref.gvk)
    is_namespaced = resource is None or resource.is_namespaced
    return ref if ref.namespace or not is_namespaced else ref._replace(namespace=namespace)


def hold_documents(files: Iterable[ParsedFile], namespace: str) -> Mapping[str, FieldHolder]:
    """Return the objects of manifests by their names."""
    placed = ((_place(d.ref, namespace), d.obj) for file in files for d in file.documents)
    return {name_object(ref): FieldHolder(ref, obj) for ref, obj in placed}


def hold_changes(plan: Plan) -> Mapping[str, FieldHolder]:
    """Return the objects of a plan that was loaded for a reader, by their names; Secret values are masked."""
    changes = map(read_masked, list_rows(plan, with_documents=True))
    return {name_object(c.ref): FieldHolder(c.ref, c.versions.manifest or {}, c) for c in changes}


def _find_declared(name: str, ref: ObjectRef) -> FieldPath | None:
    """Return the path of a field that the schema of a kind declares, below maps and structs only; None for others."""
    kind, steps = bundled().find_kind(ref.gvk), name.split(".")[1:]
    node = kind.root if kind else None
    for step in steps:
        node = node.child(step) if node is not None and step else None
    return None if node is None else fields(*steps)


def find_path(field: str, holder: FieldHolder) -> FieldPath | None:
    """Return the path of a field as pages write it, `.spec.replicas`; None if the object has no such field.

    - A new manifest may drop a field, or take it from live: then its kind has to declare it.
    - What names the object, and a map that holds it, never changes hands: a manifest without it is of no object.
    """
    name = f".{field.strip().removeprefix('.')}"
    found = holder.list_paths().get(name)
    if found is None and holder.change is None:
        found = _find_declared(name, holder.ref)
    return None if found is None or any(one[: len(found)] == found for one in NAMING) else found


def _read_line(line: str, holders: Mapping[str, FieldHolder]) -> tuple[FieldHolder, FieldPath] | str:
    name, _blank, field = line.strip().partition(" ")
    holder = holders.get(name)
    if holder is None:
        return _("%(name)s is no object of this set; write it as apps/Deployment/shop/web") % {"name": name[:300]}
    path = find_path(field, holder)
    if path is None:
        return _("%(name)s has no field %(field)s; write it as .spec.replicas") % {"name": name, "field": field[:300]}
    return holder, path


def find_fields(text: str, holders: Mapping[str, FieldHolder]) -> tuple[tuple[FieldHolder, FieldPath], ...]:
    """Return the fields that a text names; raises `FieldNamesError` with each line that names none."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_FIELDS:
        raise FieldNamesError([_("name at most %(most)d fields") % {"most": MOST_FIELDS}])
    read = [_read_line(line, holders) for line in lines]
    problems = [one for one in read if isinstance(one, str)]
    if problems:
        raise FieldNamesError(problems)
    found = {(one[0].ref, one[1]): one for one in read if not isinstance(one, str)}
    return tuple(found.values())
