"""Ranges of versions are read as kOps reads them."""

import pytest

from applyviz.engine.channels.versions import RangeError, is_in_range, read_cluster_version


@pytest.mark.parametrize(
    ("version", "text", "expected"),
    [
        ("v1.36.3", ">=1.19.0", True),
        ("v1.36.3", ">=1.19.0 <1.36.0", False),
        ("v1.36.3", ">=1.19.0 <1.36.0 || >=1.36.0", True),
        ("v1.36.3", "1.36.x", True),
        ("v1.36.3", "=1.36.x", True),
        ("v1.36.3", "1.x", True),
        ("v1.36.3", "==2.*", False),
        ("v1.36.3", ">1.36.X", False),
        ("v1.37.0", ">1.36.x", True),
        ("v1.36.3", ">=1.36.x", True),
        ("v1.36.3", "<1.36.x", False),
        ("v1.36.3", "<=1.36.x", True),
        ("v1.36.3", "1.36.3", True),
        ("v1.36.3", "==1.36.3", True),
        ("v1.36.3", "!1.36.3", False),
        ("v1.36.3", "!=1.36.4", True),
        ("v1.36.3", "> 1.36.2  <= 1.36.3", True),
        ("v1.36.3", ">=1.19.0<1.20.0", False),
        ("v1.36.0-alpha.1", ">=1.36.0", True),
        ("v1.36.0+k3s1", "=1.36.0", True),
        ("1.36", "=1.36.0", True),
        ("v1.36.0", ">1.36.0-beta.1", True),
        ("v1.36.0", "<1.36.0-beta.1", False),
        ("v1.36.0", "=1.36.0+build.7", True),
    ],
)
def test_version_is_in_range(version, text, expected):
    assert is_in_range(read_cluster_version(version), text) is expected


@pytest.mark.parametrize(
    "text",
    ["", "||", "soon", ">=soon", "1.36", "1.36.3.4", "!1.36.x", "1.x.2", "x", "1.a.x", "01.2.3", ">=1.2.3 and more"],
)
def test_unreadable_range_is_an_error(text):
    with pytest.raises(RangeError):
        is_in_range(read_cluster_version("v1.36.3"), text)


@pytest.mark.parametrize("text", ["{0}.0.0", "1.{0}.x", ">=1.2.3-{0}", "1.2.3-a.{0}"])
def test_number_that_has_more_than_64_bits_is_an_error(text):
    with pytest.raises(RangeError):
        is_in_range(read_cluster_version("v1.36.3"), text.format("9" * 5_000))
    with pytest.raises(RangeError):
        read_cluster_version(f"v1.{'9' * 5_000}")


def test_unreadable_version_of_a_server_is_an_error():
    with pytest.raises(RangeError, match="no text is not a version"):
        read_cluster_version("")
