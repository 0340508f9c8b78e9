"""Output of helm and kustomize may repeat a password of their input files: no reader sees it.

The notes of a chart, and why a followed branch could not be rendered, are for every reader of a review.
"""

from __future__ import annotations

import base64
import json
import tracemalloc
from collections.abc import Callable

import pytest
import yaml

from applyviz.engine.diff.given_credentials import MASK, hide_credentials, list_credentials, list_defaults
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.errors import SourceError
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.charts import packages, rendering
from applyviz.sources.charts.model import ChartPackage, ChartSource, ChartTarget
from applyviz.sources.kustomize import render
from applyviz.sources.rendering.job import Rendered, RenderJob, RenderLimits
from applyviz.workflow.plans.chart_notes import mask_notes
from tests import charts
from tests.pace import measure

pytestmark = pytest.mark.attacks
CANARY = "q7Rz0xWv-canary"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  opening: %s\n"
FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 without padding": lambda value: base64.b64encode(value.encode()).decode().rstrip("="),
    "hex": lambda value: value.encode().hex(),
    "base32": lambda value: base64.b32encode(value.encode()).decode(),
    "backwards": lambda value: value[::-1],
}
# What holds the value: a rendered object, or a values file.
RENDERED = {
    "stringData": SECRET % CANARY,
    "data": f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\ndata: {{a: {FORMS['base64'](CANARY)}}}\n",
    "a wrong field": f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\nstringdata: {{a: {CANARY}}}\n",
    "a file in a Secret": SECRET % json.dumps(f"user: app\npassword: {CANARY}\n"),
    "a variable": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    env:\n"
    f"    - {{name: DB_PASSWORD, value: {CANARY}}}\n",
    "a list": json.dumps({"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(SECRET % CANARY)]}),
}
VALUES = {
    "a password": f"db:\n  password: {CANARY}\n",
    "a list of tokens": f"tokens:\n- {CANARY}\n",
    "an alias": f"x: &a {CANARY}\ndb: {{password: {CANARY}, again: *a}}\n",
    "JSON": json.dumps({"auth": {"clientSecret": CANARY}}),
    "what is no YAML": f"password: {CANARY}\n  - :\n",
    "a URL": f"url: postgres://app:{CANARY}@db/shop\n",
}


@pytest.mark.core(11)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", RENDERED)
def test_notes_repeat_no_value_of_an_object(name: str, form: str) -> None:
    written = FORMS[form](CANARY)

    shown = mask_notes(f"Log in with {written} now", [parse_manifests(RENDERED[name].encode(), "a.yaml")], [])

    assert written not in shown
    assert (shown[:11], shown[-4:]) == ("Log in with", " now")


@pytest.mark.core(11)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", VALUES)
def test_notes_repeat_no_given_value(name: str, form: str) -> None:
    written = FORMS[form](CANARY)

    assert written not in mask_notes(f"Log in with {written} now", [], [VALUES[name].encode()])


def test_values_that_refer_to_themselves_cost_no_more_than_their_text() -> None:
    """Nine aliases of nine aliases, nine times: 400 bytes took minutes to walk."""
    rows = [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    bomb = "\n".join(["a0: &a0 [x,x,x,x,x,x,x,x,x]", *rows, "password: *a11", ""])

    assert measure(lambda: mask_notes("hello", [], [bomb.encode()]))[1] < 1
    assert measure(lambda: list_credentials("a: b\n" + "- " * 400_000 + "\npassword: " + "x" * 400_000))[1] < 20


def test_values_that_a_text_does_not_have_take_no_memory() -> None:
    tracemalloc.start()
    try:
        found = hide_credentials(f"see {CANARY}", (f"{CANARY}-{n}" for n in range(10_000)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (found, peak < 1_000_000) == (f"see {CANARY}", True)


def test_many_values_are_not_searched_one_by_one() -> None:
    """20,000 values, a dozen forms each, were sought in the whole text: 240,000 times its length."""

    def hide() -> str:
        return hide_credentials("words of a line\n" * 30_000, (f"value-{n}-of-many" for n in range(20_000)))

    assert measure(hide)[1] < 10


@pytest.mark.parametrize("count", [100, 3_000])
def test_every_value_that_a_text_repeats_is_hidden(count: int) -> None:
    values = [f"secret-{n:05}" for n in range(count)]

    found = hide_credentials("\n".join(f"the word is {value}" for value in values), values)

    assert "secret-" not in found
    assert (found == MASK) is (count == 3_000)


def say(errors: str) -> Callable[[RenderJob, RenderLimits], Rendered]:
    return lambda _job, _limits: Rendered(1, b"", errors)


@pytest.mark.parametrize("name", VALUES)
def test_an_error_of_helm_repeats_no_given_value(name: str) -> None:
    package = ChartPackage({"Chart.yaml": b"apiVersion: v2\nname: shop\nversion: 1.0.0\n", "templates/a.yaml": b"a: b"})
    source = ChartSource("shop", values=VALUES[name])
    errors = (
        f"Error: values don't meet the schema:\n- at '/db/password': '{CANARY}' does not match pattern '^[a-z]+$'\n"
    )

    with pytest.raises(SourceError, match="does not match pattern") as raised:
        rendering.render(package, source, {}, target=ChartTarget("default"), run=say(errors))

    assert CANARY not in str(raised.value)


OWN = {"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "templates/NOTES.txt": "a", "values.yaml": ""}
PACKAGES: dict[str, Callable[[str], ChartPackage]] = {
    "folder": lambda text: packages.read_folder(charts.folder({**OWN, "values.yaml": text}), "shop"),
    "archive": lambda text: packages.read_archive(charts.archive({**OWN, "values.yaml": text}), "shop.tgz", {}),
    "sub-chart": lambda text: packages.read_archive(charts.archive({**OWN, "charts/db/values.yaml": text}), "a", {}),
    "packed sub-chart": lambda text: ChartPackage(
        {
            **{name: content.encode() for name, content in OWN.items()},
            "charts/db-1.0.0.tgz": charts.archive({**OWN, "values.yaml": text}, "db"),
        }
    ),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("shape", PACKAGES)
def test_nothing_repeats_the_own_values_of_a_chart(shape: str, name: str) -> None:
    """In an error, the release notes and the warnings."""
    package, target, source = PACKAGES[shape](VALUES[name]), ChartTarget("default"), ChartSource("shop")
    written = Rendered(0, f'notes: "see {CANARY}"'.encode(), "")

    with pytest.raises(SourceError, match="execution error") as raised:
        rendering.render(package, source, {}, target=target, run=say(f"Error: execution error: {CANARY}"))
    found = rendering.render(package, source, {}, target=target, run=lambda *_: written)

    assert CANARY not in str(raised.value)
    assert found.notes == f"see {CANARY}"
    assert mask_notes(found.notes, [], [], found.credentials) == f"see {MASK}"


def test_the_name_of_a_key_is_no_credential_of_a_chart() -> None:
    """Notes say which key of a Secret to read."""
    text = f"secretKeys: {{userPasswordKey: password, adminPasswordKey: admin-password}}\npassword: {CANARY}\n"

    assert list_defaults(text) == {CANARY}


@pytest.mark.parametrize(
    ("folder", "errors"),
    [
        (f"secretGenerator:\n- name: a\n  literals:\n  - {CANARY}\n", f"literal source {CANARY}, expected key=value"),
        (f"secretGenerator:\n- name: a\n  literals: ['{CANARY}']\n", f"invalid literal source '{CANARY}'"),
        (f"secretGenerator:\n- name: a\n  literals:\n  - opening={CANARY}\n", f"cannot add opening, {CANARY} is there"),
        (
            "resources: [a.yaml]\n",
            f"wrong Node Kind for stringData expected: MappingNode: value: {{opening: {CANARY}}}",
        ),
    ],
)
def test_an_error_of_kustomize_repeats_no_value(folder: str, errors: str) -> None:
    files = (("kustomization.yaml", folder.encode()), ("a.yaml", (SECRET % CANARY).encode()))
    bundle = SourceBundle(tuple(BundledFile(name, data) for name, data in files))

    with pytest.raises(SourceError, match="cannot be rendered") as raised:
        render(bundle, run=say(f"Error: {errors}"))

    assert CANARY not in str(raised.value)
