"""Hostile charts and trees: archives that never end, endless parts, and registries that ask for tokens of others."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable

import pytest
import urllib3

from applyviz.engine.objects.errors import SourceError
from applyviz.sources import kustomization
from applyviz.sources.charts import fetching, packages, rendering, tar
from applyviz.sources.charts.model import ChartFacts, ChartPackage, ChartSource
from applyviz.sources.charts.packages import MOST_UNPACKED, read_archive
from applyviz.sources.pinned import FetchPolicy, FetchTarget, PinnedClient
from tests.attacks.test_size import SECONDS
from tests.pace import measure

pytestmark = pytest.mark.attacks
LARGE = 8_000_000
CHART = (b"shop/Chart.yaml", b"name: shop\nversion: 1.2.3\n")


def write_header(name: bytes, size: int | bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return a header with this size, or with these bytes in its field, and the checksum that belongs to it."""
    field = size if isinstance(size, bytes) else b"%011o\0" % size
    header = name.ljust(100, b"\0") + b"0000644\0" * 3 + field + b"0" * 11 + b"\0" + b" " * 8 + kind
    header = header.ljust(512, b"\0")
    return header[:148] + b"%06o\0 " % sum(header) + header[156:]


def write(name: bytes, data: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    return write_header(name, len(data), kind) + data + b"\0" * (-len(data) % 512)


def refuse(data: bytes) -> str:
    with pytest.raises(SourceError) as caught:
        read_archive(gzip.compress(data, 1), "shop.tgz", {})
    return str(caught.value)


@pytest.mark.core(5)
@pytest.mark.parametrize(
    "data",
    [
        write(b"x", b"1" * LARGE, tarfile.XHDTYPE),
        write(b"x", b"1" * LARGE + b" hdrcharset=", tarfile.XHDTYPE),
        write(b"x", b"6 a=b\n" * 170_000, tarfile.XHDTYPE) * 8,
        write_header(b"x", b"\xff" * 10 + b"\xf0\x00"),
        write_header(b"x", b"\x80" + b"\xff" * 11),
        write(b"x", b"14 size=-1024\n", tarfile.XHDTYPE) + write(b"y", b""),
        write(b"x", b"20 GNU.sparse.map=1\n", tarfile.XHDTYPE) + write(b"y", b""),
        write(b"x", b"", tarfile.GNUTYPE_SPARSE),
        write(b"y", b"")[:-1] + b"!",
    ],
    ids=["digits", "charset", "records", "negative", "endless", "negative-record", "sparse", "old-sparse", "checksum"],
)
def test_broken_archives_are_refused_in_linear_time(data: bytes):
    said, seconds = measure(refuse, data)

    assert (said, seconds < SECONDS) == ("shop.tgz is no archive: it cannot be unpacked", True)


def test_headers_that_announce_headers_do_not_nest():
    chain = write(b"x", b"shop/name\0", tarfile.GNUTYPE_LONGNAME) * 5_000

    found = read_archive(gzip.compress(chain + write(b"a", b"b") + write(*CHART)), "shop.tgz", {})

    assert found.files == {"name": b"b", "Chart.yaml": CHART[1]}


def test_members_that_are_no_files_cost_little():
    data = write_header(b"shop/link", 0, tarfile.SYMTYPE) * ((MOST_UNPACKED - 2_048) // 512) + write(*CHART)

    found, seconds = measure(read_archive, gzip.compress(data, 1), "shop.tgz", {})

    assert (set(found.files), seconds < 2 * SECONDS) == ({"Chart.yaml"}, True)


MANY = {f"deep/folder/f{n}.yaml": b"" for n in range(2_000)}
WORK: dict[str, Callable[[], object]] = {
    "documents of one template": lambda: rendering.split_templates(b"---\n# Source: a/b.yaml\na: bcde\n" * 60_000, "a"),
    "sub-charts that are not there": lambda: packages.find_missing(
        ChartPackage({f"charts/x{n}/a": b"" for n in range(5_000)}),
        ChartFacts("a", "1", dependencies=tuple((f"d{n}", "1") for n in range(6_000))),
    ),
    "references to one folder": lambda: kustomization.check_kustomization(
        {**MANY, "kustomization.yaml": b"resources: [" + b"z," * 60_000 + b"z]", "z/kustomization.yaml": b"{}"}, ""
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_many_small_parts_are_put_together_in_linear_time(name: str):
    assert measure(WORK[name])[1] < SECONDS


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_archives_of_other_tools_are_read_as_they_read_them(form: int):
    names = ["shop/Chart.yaml", "shop/" + "a" * 90 + "/" + "b" * 90, "shop/ä.yaml"]
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=form, pax_headers={"comment": "c" * 40}) as archive:
        for number, name in enumerate(names):
            member = tarfile.TarInfo(name)
            member.size = 700 * number
            archive.addfile(member, io.BytesIO(b"x" * member.size))
        folder = tarfile.TarInfo("shop/templates")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)

    assert [(name, len(data)) for name, data in tar.list_files(target.getvalue())] == [
        (name, 700 * number) for number, name in enumerate(names)
    ]


def test_public_registry_gets_no_token_of_an_internal_host(monkeypatch: pytest.MonkeyPatch):
    """It names an internal host as the realm; the token in that host's answer would be sent to the registry."""
    asked: list[str] = []

    def ask(_client: PinnedClient, target: FetchTarget, **_given: object) -> urllib3.BaseHTTPResponse:
        asked.append(target.host)
        challenge = {"WWW-Authenticate": 'Bearer realm="https://vault.internal/v1/token"'}
        return urllib3.HTTPResponse(b"", headers=challenge, status=401, preload_content=False)

    monkeypatch.setattr(PinnedClient, "ask", ask)
    policy = FetchPolicy(internal=("https://vault.internal",), failure_seconds=0.0)
    context = fetching.FetchContext(policy, "now")
    with pytest.raises(SourceError, match=r"asks for a token of vault\.internal, which is internal"):
        fetching.fetch(ChartSource("oci://charts.example.com/shop", version="1.2.3"), context)

    assert asked == ["charts.example.com"]
