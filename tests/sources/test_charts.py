"""Charts before helm: archives with limits, what Chart.yaml says, repositories and registries by the rules of links."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.charts import fetching, index, packages, rendering
from applyviz.sources.charts.model import ChartSource, ChartTarget
from applyviz.sources.pinned import FetchPolicy
from applyviz.sources.rendering.job import Rendered, RenderJob, RenderLimits
from tests.charts import SHOP, archive, folder

SHOP_ARCHIVE = archive()
DIGEST = hashlib.sha256(SHOP_ARCHIVE).hexdigest()


def pack(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(target.getvalue())


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, link
    return found


CHART = (member("shop/Chart.yaml"), b"name: shop\nversion: 1.2.3\n")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"no archive", "it is not compressed with gzip"),
        (gzip.compress(b"no tar" * 200), "it cannot be unpacked"),
        (gzip.compress(b"\0" * (packages.MOST_UNPACKED + 10)), "unpacks to more than 41,943,040 bytes"),
        (pack((member("a.txt"), b"x")), "it needs one folder with Chart.yaml"),
        (pack(CHART, (member("other/Chart.yaml"), b"x")), "it needs one folder with Chart.yaml"),
        (pack(CHART) + pack((member("shop/templates/unseen.yaml"), b"a: b")), "other data follows it"),
        (pack(CHART, (member("shop/../../etc/passwd"), b"x")), "leads out of its folder"),
        (pack(CHART, (member("/etc/passwd"), b"x")), "leads out of its folder"),
    ],
)
def test_bad_archives_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        packages.read_archive(data, "shop-1.2.3.tgz", {})


def test_links_in_an_archive_are_not_followed() -> None:
    found = packages.read_archive(pack(CHART, (member("shop/key", tarfile.SYMTYPE, "/etc/passwd"), b"")), "a", {})

    assert set(found.files) == {"Chart.yaml"}


def test_many_files_are_refused() -> None:
    many = [(member(f"shop/{n}"), b"") for n in range(packages.MOST_FILES + 1)]
    with pytest.raises(SourceError, match="more than 5,000 files"):
        packages.read_archive(pack(CHART, *many), "a", {})


def test_facts_of_a_chart() -> None:
    found = packages.read_archive(SHOP_ARCHIVE, "shop-1.2.3.tgz", {})

    facts = packages.read_facts(found)

    assert (facts.name, facts.version, facts.app_version, facts.kind) == ("shop", "1.2.3", "7", "application")
    assert facts.dependencies == (("db", "0.1.0"),)
    assert packages.find_missing(found, facts) == ()
    assert found.files == packages.read_folder(folder(), "shop").files


def test_folder_of_a_sub_chart_may_have_another_name() -> None:
    files = {path.replace("charts/db/", "charts/fork-of-db/"): text for path, text in SHOP.items()}
    found = packages.read_folder(folder(files), "shop")

    assert packages.find_missing(found, packages.read_facts(found)) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: [", r"Chart.yaml:2:1: YAML syntax"),
        ("- a", "Chart.yaml: it must be a mapping"),
        ("name: shop", "Chart.yaml: it must name the chart and its version"),
        ("name: shop\nversion: 2.0.0", "says version 2.0.0, and version 1.2.3 was asked for"),
        ("name: shop\nversion: 1.2.3\ntype: library", "shop is a library chart"),
        ("name: shop\nversion: 1.2.3\ndependencies: [{name: cache}]", "sub-charts that it does not hold: cache"),
    ],
)
def test_chart_that_cannot_be_rendered_says_why(text: str, said: str) -> None:
    package = packages.read_folder(folder({**SHOP, "Chart.yaml": text}), "shop")
    source = ChartSource("shop", version="1.2.3")
    with pytest.raises(SourceError, match=said):
        rendering.render(package, source, {}, target=ChartTarget("default"), run=lambda *_: Rendered(0, b"", ""))


def test_chart_gets_the_target_and_the_values_in_order() -> None:
    asked: list[RenderJob] = []

    def run(job: RenderJob, limits: RenderLimits) -> Rendered:
        asked.append(job)
        return Rendered(0, b"---\n# Source: shop/templates/a.yaml\na: b\n", "")

    source = ChartSource("shop", release="web", values_files=("two.yaml", "one.yaml"), values="x: 3")
    uploaded = {"one.yaml": b"x: 1", "two.yaml": b"x: 2"}
    target = ChartTarget("prod", "v1.36.3", ("apps/v1",))
    found = rendering.render(packages.read_folder(folder(), "shop"), source, uploaded, target=target, run=run)

    assert asked[0].arguments == (
        *("template", "web", "./chart", "--namespace", "prod", "--include-crds", "--kube-version", "v1.36.3"),
        *("--api-versions", "apps/v1", "--values", "values/1.yaml", "--values", "values/2.yaml"),
        *("--values", "values/3.yaml"),
    )
    files = dict(asked[0].files)
    assert [files[f"values/{n}.yaml"] for n in (1, 2, 3)] == [b"x: 2", b"x: 1", b"x: 3"]
    assert found.files[0].provenance["template"] == "shop/templates/a.yaml"


@pytest.mark.parametrize("name", ["-x", "Shop", "a b", "x" * 54, "a_b"])
def test_odd_release_names_are_refused(name: str) -> None:
    with pytest.raises(SourceError, match="is not usable"):
        rendering.check_release(name)


def test_values_file_that_is_missing_is_named() -> None:
    source = ChartSource("shop", values_files=("gone.yaml",))
    with pytest.raises(SourceError, match=r"the values file gone\.yaml is not in the upload"):
        rendering.render(
            packages.read_folder(folder(), "shop"),
            source,
            {},
            target=ChartTarget("a"),
            run=lambda *_: Rendered(0, b"", ""),
        )


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ("Error: a\n  b\n\nUse --debug flag\n", "a b"),
        ("level=INFO\nError: shop/templates/a.yaml:1:3: Error: b", "shop/templates/a.yaml:1:3: Error: b"),
        ("Error: " + "a" * 400 + "b" * 400, "a" * 300 + " … " + "b" * 300),
        ("nothing", ""),
        ("no Error: here", ""),
        ("Error: at (a.yaml:1:3): \n\nset one of\n\n- a\n\nUse --debug flag", "at (a.yaml:1:3): set one of - a"),
    ],
)
def test_error_of_helm_is_found(errors: str, said: str) -> None:
    assert rendering.find_error(errors) == said


class _Registry(BaseHTTPRequestHandler):
    """A chart repository and an OCI registry that asks for an anonymous token; it keeps what it was sent."""

    seen: list[tuple[str, str]] = []
    blob = SHOP_ARCHIVE
    is_cut = False

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers.get("Authorization", "")))
        origin = f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
        index = f"entries:\n  shop:\n  - {{version: 1.2.3, digest: {DIGEST}, urls: [charts/shop-1.2.3.tgz]}}\n"
        index += "  - {version: 1.0.0, digest: '00', urls: [charts/shop-1.2.3.tgz]}\n"
        index += "  - {version: 0.9.0, urls: ['https://[lost']}\n"
        media = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
        manifest = json.dumps({"layers": [{"mediaType": media, "digest": f"sha256:{DIGEST}"}]})
        answers = {
            "/repo/index.yaml": index.encode(),
            "/repo/charts/shop-1.2.3.tgz": self.blob,
            "/empty/index.yaml": b"[]",
            "/broken/index.yaml": b"entries: [",
            "/v2/team/shop/manifests/1.2.3": manifest.encode(),
            "/v2/team/image/manifests/1.2.3": b'{"layers": [{"mediaType": "x"}]}',
            "/cdn/blob": self.blob,
        }
        path = self.path.partition("?")[0]
        if path == "/token":
            self._answer(200, b'{"token": "anonymous"}')
        elif path.startswith("/v2/") and self.headers.get("Authorization") != "Bearer anonymous":
            self._answer(401, b"", {"WWW-Authenticate": f'Bearer realm="{origin}/token",service="r",scope="pull"'})
        elif path.startswith("/v2/team/shop/blobs/"):
            self._answer(307, b"", {"Location": "/cdn/blob"})
        elif path == "/v2/team/lost/manifests/1.2.3":
            self._answer(307, b"", {"Location": "//[lost"})
        elif path == "/cdn/blob" and self.is_cut:
            self._answer(200, self.blob, {"Content-Length": str(len(self.blob) + 10)})
        else:
            self._answer(200 if path in answers else 404, answers.get(path, b""))

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: object) -> None:
        return


@pytest.fixture
def origin() -> Iterator[str]:
    _Registry.seen, _Registry.blob, _Registry.is_cut = [], SHOP_ARCHIVE, False
    with ThreadingHTTPServer(("127.0.0.1", 0), _Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def fetch(origin: str, **values: str):
    policy = FetchPolicy(internal=(origin,), failure_seconds=0.0)
    return fetching.fetch(ChartSource(**values), fetching.FetchContext(policy, "now"))  # type: ignore[arg-type]


def test_chart_of_a_repository_is_fetched_and_its_digest_checked(origin: str) -> None:
    found = fetch(origin, chart="shop", repository=f"{origin}/repo", version="1.2.3")

    assert found.archive == SHOP_ARCHIVE
    assert found.origin == {
        "from": "repository",
        "chart_url": f"{origin}/repo/charts/shop-1.2.3.tgz",
        "chart_digest": f"sha256:{DIGEST}",
        "fetched_at": "now",
    }
    _Registry.blob = archive({**SHOP, "values.yaml": "evil: true"})
    with pytest.raises(SourceError, match="is not what the repository names"):
        fetch(origin, chart="shop", repository=f"{origin}/repo", version="1.2.3")


def test_chart_of_a_registry_is_fetched_with_an_anonymous_token(origin: str) -> None:
    host = origin.removeprefix("http://")
    found = fetch(origin, chart=f"oci://{host}/team/shop", version="1.2.3")

    assert (found.archive, found.origin["chart_digest"]) == (SHOP_ARCHIVE, f"sha256:{DIGEST}")
    assert found.origin["chart_url"] == f"oci://{host}/team/shop:1.2.3"
    assert [path.partition("?")[0] for path, _ in _Registry.seen][:3] == [
        "/v2/team/shop/manifests/1.2.3",
        "/token",
        "/v2/team/shop/manifests/1.2.3",
    ]
    _Registry.blob = b"other"
    with pytest.raises(SourceError, match="did not send the chart that its manifest names"):
        fetch(origin, chart=f"oci://{host}/team/shop", version="1.2.3")


def test_connection_that_ends_early_is_an_error_of_the_source(origin: str) -> None:
    _Registry.is_cut = True
    with pytest.raises(SourceError, match="ended the connection before the whole chart had arrived"):
        fetch(origin, chart=f"oci://{origin.removeprefix('http://')}/team/shop", version="1.2.3")


def test_archive_at_an_address_is_fetched(origin: str) -> None:
    found = fetch(origin, chart=f"{origin}/repo/charts/shop-1.2.3.tgz?sig=secret")

    assert found.origin["chart_url"] == f"{origin}/repo/charts/shop-1.2.3.tgz"


@pytest.mark.core(5)
@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"chart": "shop", "repository": "ORIGIN/repo", "version": "9.9.9"},
            "no version 9.9.9 of shop; its newest are 1.2.3",
        ),
        ({"chart": "nope", "repository": "ORIGIN/repo", "version": "1.2.3"}, "the repository has no chart nope"),
        ({"chart": "shop", "repository": "ORIGIN/empty", "version": "1.2.3"}, "is not a chart repository"),
        ({"chart": "shop", "repository": "ORIGIN/broken", "version": "1.2.3"}, "is not valid YAML"),
        ({"chart": "shop", "repository": "ORIGIN/gone", "version": "1.2.3"}, "answered 404"),
        ({"chart": "shop", "repository": "ORIGIN/repo"}, "enter the exact version of the chart"),
        ({"chart": "a/shop", "repository": "ORIGIN/repo", "version": "1"}, "enter the name of the chart"),
        ({"chart": "shop", "repository": "git://x", "version": "1"}, "enter the https address of the repository"),
        ({"chart": "ORIGIN/repo"}, r"the address of a chart ends in \.tgz"),
        ({"chart": "oci://HOST/team/image", "version": "1.2.3"}, "is not a Helm chart"),
        ({"chart": "oci://HOST/team/none", "version": "1.2.3"}, "answered 404"),
        ({"chart": "oci://HOST/", "version": "1.2.3"}, "enter a chart in a registry as oci://HOST/PATH/CHART"),
        ({"chart": "oci://HOST/team/shop", "version": "latest newest"}, "enter the exact version of the chart"),
        ({"chart": "oci://HOST/team/lost", "version": "1.2.3"}, "leads to an address that cannot be read"),
        ({"chart": "shop", "repository": "ORIGIN/repo", "version": "0.9.0"}, "leads to an address that cannot be read"),
        ({"chart": "https://[lost/shop.tgz"}, r"https://\[lost/shop\.tgz is not an address"),
        ({"chart": "oci://[lost/shop", "version": "1.2.3"}, r"oci://\[lost/shop is not an address"),
        ({"chart": "shop", "repository": "https://[lost", "version": "1"}, r"https://\[lost is not an address"),
    ],
)
def test_refusals_say_what_to_do(origin: str, values: dict[str, str], said: str) -> None:
    host = origin.removeprefix("http://")
    asked = {name: text.replace("ORIGIN", origin).replace("HOST/", f"{host}/") for name, text in values.items()}
    asked = {name: text.replace("HOST/PATH", "HOST/PATH") for name, text in asked.items()}
    with pytest.raises(SourceError, match=said):
        fetch(origin, **asked)


@pytest.mark.parametrize(
    "chart", ["https://127.0.0.1/shop-1.tgz", "oci://127.0.0.1/team/shop", "oci://localhost/team/shop"]
)
def test_internal_addresses_are_not_fetched(chart: str) -> None:
    policy = FetchPolicy(failure_seconds=0.0)
    with pytest.raises(SourceError, match="nothing could be fetched from"):
        fetching.fetch(ChartSource(chart, version="1.2.3"), fetching.FetchContext(policy, "now"))


def test_token_of_a_registry_goes_to_no_other_host(origin: str) -> None:
    host = origin.removeprefix("http://")
    fetch(origin, chart=f"oci://{host}/team/shop", version="1.2.3")

    # The realm that the registry names, and no sign-in, is all that is asked without its token.
    assert [path for path, sent in _Registry.seen if sent and not path.startswith(("/v2/", "/cdn/"))] == []


@pytest.mark.parametrize("answer", [b"", b"{", b"[]", b'{"address": "x"}', b'{"address": "x", "digest": 1}'])
def test_malformed_answer_about_an_index_is_a_refusal(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "ask_child", lambda *given, **named: (answer, ""))

    with pytest.raises(SourceError, match="the process that reads it gave no valid answer"):
        index.find_entry(b"", "shop", "1.0.0")
