"""Entries of the manifest that go with another one of the same merge key."""

from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.risks.lists import find_shared_keys
from applyviz.engine.risks.model import RiskSubject
from applyviz.engine.schema.builtin import bundled


def test_entry_that_the_manifest_deletes_by_a_directive_is_meant_to_go():
    kind = bundled().find_kind(GroupVersionKind("", "v1", "Service"))
    live = {"spec": {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}, {"port": 80}]}}
    manifest = {"spec": {"ports": [{"$patch": "delete", "port": 53, "protocol": "UDP"}, {"port": 80}]}}
    after = {"spec": {"ports": [{"port": 80}]}}
    ref = ObjectRef(kind.gvk, "n", "s")
    subject = RiskSubject(ref, manifest=manifest, live=live, merged=after, is_server_side=False, kind=kind)

    assert list(find_shared_keys(subject)) == []
