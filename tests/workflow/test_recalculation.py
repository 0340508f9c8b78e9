"""One object of a plan is calculated again from its own document, which is found without a search through all."""

from __future__ import annotations

import pytest
import yaml

from applyviz.clusters import connect
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.workflow.plans.calculation import Calculation, prepare
from tests.stories import Team, config_map

pytestmark = pytest.mark.django_db
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def calculate(team: Team, *texts: str) -> Calculation:
    return prepare(team.plan(*texts), connect.open_reader(team.cluster), has_notes=False)


def count_references(team: Team, number: int) -> int:
    """Calculate the last of a number of objects again; return how often the reference of a document was read."""
    prepared = calculate(team, *(config_map(f"object-{n}") for n in range(number)))
    read: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ManifestDocument, "ref", property(lambda d: read.append(1) or ObjectRef.from_object(d.obj)))
        assert prepared.recompute(ObjectRef(CONFIG_MAP, "default", f"object-{number - 1}")) is not None
    return len(read)


def test_work_for_one_object_does_not_grow_with_the_set():
    team = Team()

    assert count_references(team, 3) == count_references(team, 30) > 0


def test_objects_of_one_name_in_two_namespaces_are_two_objects():
    def in_namespace(namespace: str, **data: str) -> str:
        return yaml.safe_dump(
            yaml.safe_load(config_map(**data)) | {"metadata": {"name": "settings", "namespace": namespace}}
        )

    prepared = calculate(Team(), in_namespace("default", a="1"), in_namespace("kube-system", a="2"), config_map(a="3"))
    found = [
        prepared.recompute(ObjectRef(CONFIG_MAP, namespace, "settings")) for namespace in ("default", "kube-system")
    ]

    assert [change.versions.manifest["data"] for change in found] == [{"a": "1"}, {"a": "2"}]
    assert prepared.recompute(ObjectRef(CONFIG_MAP, "default", "other")) is None
