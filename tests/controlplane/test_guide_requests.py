"""The guide is right about the requests of the real kubectl, about `diff`, `get -f` and repeated patches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.proxying import JSONObject, Recorder
from tests.controlplane.test_guide_statements import Person, config, workload

pytestmark = pytest.mark.controlplane
CLIENT = {"fieldManager": "kubectl-client-side-apply"}
STRICT = {"fieldValidation": "Strict"}
FLAGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\ndata: {theme: THEME}\n"


@pytest.fixture(scope="module")
def recorder(control_plane: ControlPlane) -> Iterator[Recorder]:
    with Recorder(control_plane) as proxy:
        yield proxy


@pytest.fixture
def person(control_plane: ControlPlane, recorder: Recorder, request: pytest.FixtureRequest) -> Person:
    name = request.node.name.removeprefix("test_").partition("[")[0].replace("_", "-")[:50]
    return Person(control_plane, recorder, f"asks-{name}")


def sent(writes: list[JSONObject]) -> list[tuple[str, str, dict[str, str]]]:
    return [(w["method"], w["content_type"].partition("/")[2], dict(w["query"])) for w in writes]


def test_apply_names_its_manager_and_asks_for_strict_validation(person):
    """requests.md: the table of commands."""
    created = person.apply(config(theme="dark"))[1]
    changed = person.apply(config(theme="light"))[1]
    moved = person.apply(config(theme="light"), "--server-side")[1]

    assert sent(created) == [("POST", "json", {**CLIENT, **STRICT})]
    assert sent(changed) == [("PATCH", "strategic-merge-patch+json", {**CLIENT, **STRICT})]
    assert sent(moved)[0] == ("PATCH", "apply-patch+yaml", {"fieldManager": "kubectl", **STRICT, "force": "false"})


@pytest.mark.long
def test_diff_tries_the_apply_and_stores_nothing(person, control_plane):
    """requests.md: the request of apply with dryRun, nothing for an empty patch, and the exit code."""
    person.apply(config(theme="dark"))

    text, writes = person.run("diff", "-f", "-", obj=config(theme="light"))
    assert sent(writes) == [("PATCH", "strategic-merge-patch+json", {**CLIENT, "dryRun": "All"})]
    assert "-  theme: dark\n+  theme: light" in text
    assert person.ask("GET", "v1/configmaps/flags")[1]["data"] == {"theme": "dark"}
    _text, writes = person.run("diff", "--server-side", "-f", "-", obj=config(theme="light"))
    query = {"fieldManager": "kubectl", "dryRun": "All", "force": "false"}
    assert sent(writes) == [("PATCH", "apply-patch+yaml", query)]
    assert person.run("diff", "-f", "-", obj=config(theme="dark")) == ("", [])
    exits = [
        control_plane.kubectl(
            "diff", "-n", person.namespace, "-f", "-", stdin=FLAGS.replace("THEME", theme), check=False
        ).returncode
        for theme in ("dark", "light")
    ]
    assert exits == [0, 1]


@pytest.mark.long
def test_file_names_the_live_object(person):
    """ways.md: `get -f` shows the live object, its owners by a flag; `create` refuses an object that exists."""
    person.apply(workload())

    text, _writes = person.run("get", "-o", "yaml", "-f", "-", obj=workload())
    with_owners, _writes = person.run("get", "-o", "yaml", "--show-managed-fields", "-f", "-", obj=workload())
    again, _writes = person.run("create", "-f", "-", obj=workload())

    assert ("revisionHistoryLimit: 10" in text, "managedFields" in text, "managedFields" in with_owners) == (
        True,
        False,
        True,
    )
    assert "(AlreadyExists)" in again


@pytest.mark.long
def test_fields_of_another_version_are_null_or_of_their_version(person):
    """comparison.md: last-applied keeps a field that the new version does not know; an entry names its version."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    average = {"type": "AverageValue", "averageValue": "1Gi"}
    metric = {"type": "Resource", "resource": {"name": "memory", "target": average}}

    def scaler(version: str, **spec: object) -> JSONObject:
        return {
            "apiVersion": f"autoscaling/{version}",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web"},
            "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3, **spec},
        }

    person.apply(scaler("v1", targetCPUUtilizationPercentage=50))
    _text, (write,) = person.apply(scaler("v2", metrics=[metric]))

    assert write["body"]["spec"] == {"metrics": [metric], "targetCPUUtilizationPercentage": None}
    person.run("delete", "hpa/web")
    person.apply(scaler("v1", targetCPUUtilizationPercentage=50), "--server-side")
    person.apply(scaler("v2"), "--server-side", "--field-manager=other")
    entries = person.ask("GET", "autoscaling:v2/horizontalpodautoscalers/web")[1]["metadata"]["managedFields"]
    assert {(e["manager"], e["apiVersion"]) for e in entries} == {
        ("kubectl", "autoscaling/v1"),
        ("other", "autoscaling/v2"),
    }


@pytest.mark.long
def test_change_of_one_of_two_ports_with_a_number_is_sent_at_every_apply(person):
    """duplicates.md: the other port gets it each time; what equals live is not sent."""

    def service(**udp: object) -> JSONObject:
        ports = [{"name": "tcp", "port": 53, "protocol": "TCP"}, {"name": "udp", "port": 53, "protocol": "UDP", **udp}]
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns"}, "spec": {"ports": ports}}

    person.apply(service())

    assert person.apply(service())[0] == "service/dns unchanged\n"
    assert [person.apply(service(targetPort=5353))[0] for _ in range(3)] == ["service/dns configured\n"] * 3
    found = person.ask("GET", "v1/services/dns")[1]["spec"]["ports"]
    assert [(port["name"], port["targetPort"]) for port in found] == [("tcp", 5353), ("udp", 53)]
