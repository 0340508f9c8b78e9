"""Values that go although neither the manifest nor last-applied names them: what takes them along."""

from __future__ import annotations

from types import SimpleNamespace

from applyviz.engine.explain.fields import explain
from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.merge import patches
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.openapi import OpenAPISource
from tests.engine.explain.test_corners import explain_field
from tests.engine.explain.test_shared_keys import POD, find, service


def pod(*containers):
    return {"spec": {"template": {"spec": {"containers": list(containers)}}}}


def test_port_of_another_protocol_takes_the_entry_of_its_number_over():
    case = {
        "kind": "Service",
        "manifest": {"spec": {"ports": [{"port": 80, "protocol": "UDP"}]}},
        "live": service({"port": 80, "name": "web"}),
    }

    found = find(case, '.spec.ports[port=80,protocol="TCP"].name')

    assert found[:2] == ["cleared", "replaced-whole"]
    assert '`spec.ports[port=80,protocol="TCP"]`' in found[2]


def test_entry_that_goes_with_its_twin_comes_again_with_what_the_manifest_sets():
    udp = {"port": 53, "protocol": "UDP"}
    case = {
        "kind": "Service",
        "last_applied": service({"port": 53}, udp),
        "manifest": service({"port": 53}),
        "live": service({"port": 53, "targetPort": 5353}, udp),
        "merged": service({"port": 53}),
    }

    found = find(case, '.spec.ports[port=53,protocol="TCP"].targetPort')

    assert found[:2] == ["cleared", "replaced-whole"]
    assert '`spec.ports[port=53,protocol="TCP"]`' in found[2]


def test_entry_with_a_directive_goes_by_it_and_not_by_another_entry():
    case = {
        "manifest": pod({"name": "a", "$patch": "delete"}, {"name": "b"}),
        "live": pod({"name": "a", "image": "nginx"}, {"name": "b"}),
        "merged": pod({"name": "b"}),
    }

    assert find(case, f"{POD}.image")[:2] == ["cleared", "directive"]


def test_map_that_the_schema_replaces_loses_what_others_set_in_it():
    gvk = GroupVersionKind("example.com", "v1", "Budget")
    names = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
    text = {"type": "string"}
    chosen = {"type": "object", "x-kubernetes-patch-strategy": "replace", "properties": {"app": text, "tier": text}}
    schema = {"type": "object", "properties": {"chosen": chosen}, "x-kubernetes-group-version-kind": [names]}
    body = {"content": {"application/strategic-merge-patch+json": {}}}
    patching = {"patch": {"x-kubernetes-group-version-kind": names, "requestBody": body}}
    paths = {"/apis/example.com/v1/namespaces/{namespace}/budgets/{name}": patching}
    document = {"components": {"schemas": {"example.Budget": schema}}, "paths": paths}
    kind = OpenAPISource({"apis/example.com/v1": document}).find_kind(gvk)
    manifest = {"apiVersion": "example.com/v1", "kind": "Budget", "chosen": {"app": "web"}}
    live = {**manifest, "chosen": {"app": "shop", "tier": "front"}}
    patch = patches.compute({}, manifest, live, kind=kind)
    merged = patches.apply(live, patch.body, patch.content_type, kind=kind)
    versions = SimpleNamespace(last_applied={}, manifest=manifest, live=live, merged=merged, after=None)

    reasons = {one.path: one for one in explain(versions=versions, mode="client", manager="kubectl", kind=kind)}
    tier = reasons[fields("chosen", "tier")]

    assert merged == manifest
    assert (tier.operation, tier.reason) == (FieldOperation.CLEARED, Reason.REPLACED_WHOLE)


def test_null_that_an_answer_has_filled_already_is_a_default():
    filled = {"spec": {"paused": False}}

    found = explain_field(
        fields("spec", "paused"), mode="client", manifest={"spec": {"paused": None}}, live={"spec": {}}, after=filled
    )

    assert found == (FieldOperation.DEFAULTED, Reason.SERVER_DEFAULT)


def test_of_very_many_entries_with_one_key_each_still_shares_it():
    def ports(*first):
        others = ({"containerPort": 53, "protocol": f"P{n:02}"} for n in range(20))
        return pod({"name": "a", "ports": [*first, *others]})

    tcp = {"containerPort": 53, "protocol": "TCP"}
    both, dropped = ports({**tcp, "hostPort": 5353}), ports(tcp)
    case = {"manifest": both, "live": both, "merged": dropped, "after": dropped}

    found = find(case, f'{POD}.ports[containerPort=53,protocol="TCP"].hostPort')

    assert found[:2] == ["cleared", "from-another-entry"]


def test_entry_that_the_server_shrinks_unasked_is_changed_by_the_server():
    both = {"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd", "zone": "a"}}}}}
    one = {"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}}
    path = fields("spec", "template", "spec", "nodeSelector")

    found = explain_field(path, mode="client", manifest=both, live=both, merged=both, after=one)

    assert found == (FieldOperation.CHANGED, Reason.SERVER_CHANGED)
