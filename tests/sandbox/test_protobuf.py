"""Bodies in protobuf, as commands of kubectl send them; a broken one is refused, whatever is broken."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.kubernetes.parity.protobuf import ProtobufError, read_protobuf


def message(*fields: tuple[int, int | bytes]) -> bytes:
    found = b""
    for number, value in fields:
        if isinstance(value, int):
            found += bytes([number << 3]) + varint(value)
        else:
            found += bytes([number << 3 | 2]) + varint(len(value)) + value
    return found


def varint(value: int) -> bytes:
    found = b""
    while value >= 0x80:
        found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
    return found + bytes([value])


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    type_meta = message((1, api_version.encode()), (2, kind.encode()))
    return b"k8s\x00" + message((1, type_meta), (2, raw))


CONFIG_MAP = envelope(
    "v1", "ConfigMap", message((1, message((1, b"a"))), (2, message((1, b"k"), (2, "wört".encode()))))
)


def test_maps_and_texts_are_read():
    assert read_protobuf(CONFIG_MAP) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"k": "wört"},
    }


def test_embedded_structs_quantities_and_ports_are_read():
    port = message((1, b"http"), (3, 80), (4, message((1, 1), (3, b"web"))))
    assert read_protobuf(envelope("v1", "Service", message((2, message((1, port))))))["spec"] == {
        "ports": [{"name": "http", "port": 80, "targetPort": "web"}]
    }
    quota = message((2, message((1, message((1, b"cpu"), (2, message((1, b"500m"))))))))
    assert read_protobuf(envelope("v1", "ResourceQuota", quota))["spec"] == {"hard": {"cpu": "500m"}}
    secret_volume = message((1, b"v"), (2, message((6, message((1, b"s"), (3, 420))))))
    pod = read_protobuf(envelope("v1", "Pod", message((2, message((1, secret_volume))))))
    assert pod["spec"]["volumes"] == [{"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}]


def test_negative_numbers_are_read():
    spec = message((1, (1 << 64) - 3))
    assert read_protobuf(envelope("apps/v1", "Deployment", message((2, spec))))["spec"] == {"replicas": -3}


@pytest.mark.parametrize(
    "data", [b"", b"k8s", b"{}", envelope("v1", "Nothing", b""), CONFIG_MAP[:-3], CONFIG_MAP + b"\xff"]
)
def test_what_is_no_object_is_refused(data):
    with pytest.raises(ProtobufError):
        read_protobuf(data)


@given(st.binary(max_size=200), st.sampled_from(["ConfigMap", "Pod", "Service"]))
def test_any_bytes_are_read_or_refused(data, kind):
    with contextlib.suppress(ProtobufError):
        assert read_protobuf(envelope("v1", kind, data))["kind"] == kind
