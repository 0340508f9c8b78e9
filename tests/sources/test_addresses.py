"""Which addresses count as public, in every form that hides another."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from applyviz.sources.addresses import find_link_local, find_public, is_public


@pytest.mark.parametrize(
    "text",
    [
        "93.184.216.34",
        "1.1.1.1",
        "223.255.255.1",
        "2606:2800:220:1:248:1893:25c8:1946",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "2600:1f18::5efe:808:808",
    ],
)
def test_public_addresses_are_public(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.9",
        "192.88.99.1",
        "198.19.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::8.8.8.8",
        "::ffff:169.254.169.254",
        "64:ff9b::808:808",
        "64:ff9b:1::808:808",
        "2002:808:808::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:db8::1",
        "3fff::1",
        "5f00::1",
        "fe80::1",
        "fec0::1",
        "fd00:ec2::254",
        "ff02::1",
        "2600:1f18::5efe:a9fe:a9fe",
        "2600:1f18::200:5efe:7f00:1",
    ],
)
def test_other_addresses_are_not(text: str) -> None:
    assert not is_public(ip_address(text))


def test_one_bad_address_spoils_all() -> None:
    assert find_public(("1.1.1.1", "2606:4700::1111")) == ("1.1.1.1", "2606:4700::1111")
    assert find_public(("1.1.1.1", "10.0.0.1")) == ()
    assert find_public(("1.1.1.1", "fe80::1%eth0")) == ()
    assert find_public(()) == ()


@pytest.mark.parametrize(
    "text",
    [
        "169.254.169.254", "169.254.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
        "::169.254.169.254", "fe80::1", "fe80::1%eth0", "febf::1", "fe80::5efe:169.254.169.254", "fd00:ec2::254",
        "168.63.129.16", "100.100.100.200", "::ffff:100.100.100.200", "192.0.0.192",
    ],
)  # fmt: skip
def test_link_local_addresses_and_metadata_services_are_found(text):
    assert find_link_local(["10.0.0.1", text]) == text


@pytest.mark.parametrize(
    "text", ["10.0.0.1", "127.0.0.1", "192.168.1.1", "fd00::1", "2001:db8::1", "::1", "8.8.8.8", "x"]
)
def test_addresses_of_one_s_own_network_are_not_link_local(text):
    assert find_link_local([text]) == ""
