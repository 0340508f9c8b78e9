"""Node ports that move, and entries of a manifest that share a merge key: what decides a value, and where it goes."""

from __future__ import annotations

from tests.engine.explain.test_fields import explain_client_side, summarise

POD = '.spec.template.spec.containers[name="a"]'


def service(*ports):
    return {"spec": {"ports": [{"protocol": "TCP", **port} for port in ports]}}


def find(case, path):
    return summarise(explain_client_side({"last_applied": {}, **case}))[path]


def test_node_port_that_the_manifest_writes_elsewhere_is_set_there_and_moved_here():
    case = {
        "kind": "Service",
        "live": service({"port": 80, "nodePort": 30080}, {"port": 81}),
        "manifest": service({"port": 80}, {"port": 81, "nodePort": 30080}),
        "after": service({"port": 80}, {"port": 81, "nodePort": 30080}),
    }

    assert find(case, '.spec.ports[port=81,protocol="TCP"].nodePort') == [
        "set",
        "manifest-sets",
        "set in your manifest",
    ]
    assert find(case, '.spec.ports[port=80,protocol="TCP"].nodePort') == [
        "cleared",
        "moved-to",
        'Moved: `spec.ports[port=81,protocol="TCP"]` gets this node port',
    ]


def test_node_port_that_many_ports_have_moves_to_the_first_of_the_others():
    ports = [{"port": 80, "nodePort": 30080}, *({"port": n, "nodePort": 30080} for n in (81, 82, 83))]
    case = {
        "kind": "Service",
        "live": service(*ports),
        "manifest": service({"port": 80}, *ports[1:]),
        "after": service({"port": 80}, *ports[1:]),
    }

    assert find(case, '.spec.ports[port=80,protocol="TCP"].nodePort')[1:] == [
        "moved-to",
        'Moved: `spec.ports[port=81,protocol="TCP"]` gets this node port',
    ]


def test_node_port_that_the_server_draws_moves_from_nowhere():
    case = {
        "kind": "Service",
        "live": service({"port": 80, "nodePort": 30080}),
        "manifest": service({"port": 80}, {"port": 81}),
        "merged": service({"port": 80, "nodePort": 30080}, {"port": 81}),
        "after": service({"port": 80, "nodePort": 30080}, {"port": 81, "nodePort": 30099}),
    }

    assert find(case, '.spec.ports[port=81,protocol="TCP"].nodePort')[:2] == ["defaulted", "server-default"]


def test_value_that_another_entry_with_the_same_key_drops_is_removed_although_the_manifest_has_it():
    def pod(*ports):
        return {"spec": {"template": {"spec": {"containers": [{"name": "a", "ports": list(ports)}]}}}}

    tcp, udp = {"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}
    both = pod({**tcp, "hostPort": 5353}, udp)
    case = {"manifest": both, "live": both, "merged": pod(tcp, udp), "after": pod(tcp, udp)}

    assert find(case, f'{POD}.ports[containerPort=53,protocol="TCP"].hostPort') == [
        "cleared",
        "from-another-entry",
        "Removed although your manifest contains it: another entry with the same `containerPort` drops it",
    ]


def test_entry_without_the_protocol_of_the_live_one_sets_the_values_of_that_one():
    case = {
        "kind": "Service",
        "live": {"spec": {"ports": [{"name": "old", "port": 53, "protocol": "UDP"}]}},
        "manifest": {"spec": {"ports": [{"name": "dns", "port": 53, "targetPort": 5353}]}},
        "after": {"spec": {"ports": [{"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 5353}]}},
    }
    sentence = "set by another entry of your manifest with the same `port`"
    udp, tcp = (f'.spec.ports[port=53,protocol="{protocol}"]' for protocol in ("UDP", "TCP"))

    assert find(case, f"{udp}.name") == ["changed", "from-another-entry", sentence]
    assert find(case, f"{udp}.targetPort") == ["set", "from-another-entry", sentence]
    assert find(case, f"{tcp}.name") == [
        "unchanged",
        "from-another-entry",
        "not set: the merge treats entries with the same `port` as one",
    ]


def test_value_that_the_live_entry_has_already_matches_an_entry_without_its_protocol():
    case = {
        "kind": "Service",
        "live": {"spec": {"ports": [{"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53}]}},
        "manifest": {"spec": {"ports": [{"name": "dns", "port": 53, "targetPort": 5353}]}},
        "after": {"spec": {"ports": [{"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 5353}]}},
    }
    udp = '.spec.ports[port=53,protocol="UDP"]'
    sentence = "matches another entry of your manifest with the same `port`"

    assert find(case, f"{udp}.name") == ["kept", "from-another-entry", sentence]
    assert find(case, f"{udp}.port") == ["kept", "from-another-entry", sentence]
    assert find(case, f"{udp}.protocol") == ["kept", "live-only", "live only: kept"]
    assert find(case, f"{udp}.targetPort")[:2] == ["changed", "from-another-entry"]


def test_protocol_that_is_null_means_the_entry_with_the_default():
    case = {
        "kind": "Service",
        "live": {"spec": {"ports": [{"name": "dns", "port": 53, "protocol": "TCP", "targetPort": 53}]}},
        "manifest": {"spec": {"ports": [{"name": "dns", "port": 53, "protocol": None, "targetPort": 54}]}},
        "merged": {"spec": {"ports": [{"name": "dns", "port": 53, "targetPort": 54}]}},
        "after": {"spec": {"ports": [{"name": "dns", "port": 53, "protocol": "TCP", "targetPort": 54}]}},
    }
    found = summarise(explain_client_side({"last_applied": {}, **case}))
    tcp = '.spec.ports[port=53,protocol="TCP"]'

    assert [path for path in found if path.startswith(".spec.ports") and not path.startswith(tcp)] == []
    assert found[f"{tcp}.name"] == ["unchanged", "manifest-equals-live", "your manifest matches the live object"]
    assert found[f"{tcp}.targetPort"] == ["changed", "manifest-sets", "your manifest changes it"]
    assert found[f"{tcp}.protocol"][0] == "unchanged"
