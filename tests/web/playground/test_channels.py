"""The playground for kOps channels: the choice for each addon and why, links that end, secrets that do not travel."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
import yaml
from django.urls import reverse
from django.utils.html import escape

from applyviz.engine.channels.choosing import hash_manifest
from applyviz.engine.schema.builtin import RELEASE
from applyviz.guide import limited
from applyviz.guide.given import PlaygroundQueryError, PlaygroundQueryProblem
from applyviz.records.models import PlaygroundInput
from tests.channels import addon, channel, config, pruning
from tests.web.frame.test_escaping import PAYLOADS

ASK = "/playground/channels/"
DNS = config("dns")
WEB = config("web-2", addon="web")
INSTALLED = {"dns": hash_manifest(DNS.encode()), "web": "beef", "gone": "f00d"}


def write(*entries: dict[str, object]) -> str:
    """Return the text of a channel."""
    return channel({}, list(entries))["bootstrap-channel.yaml"]


def record(name: str = "", hashed: str = "beef", **more: str) -> str:
    """Return the namespace kube-system with the record of an addon, if one is named."""
    facts = json.dumps({"manifestHash": hashed, "systemGeneration": 1, **more})
    notes = {f"addons.k8s.io/{name}": facts} if name else {}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "annotations": notes}}
    return yaml.safe_dump(space)


def read_rows(page: str) -> dict[str, list[str]]:
    """Return the cells of each addon on a page as text, by its name."""
    found = {}
    page = page.replace("<wbr>", "")
    for row in page.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr>")[1:]:
        cells = [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.split(r"</t[hd]>", row)]
        found[unescape(cells[0]).split()[0]] = [unescape(cell) for cell in cells[1:6]]
    return found


@pytest.fixture
def ask(client, db):
    def put(**given):
        answer = client.post(ASK, {"kubernetes": RELEASE, **given})
        assert answer.status_code == 302, re.findall(r'class="(?:problem|error)".*', answer.content.decode())
        return answer.headers["Location"].partition("#")[0]

    return put


def test_channel_gets_an_answer_with_an_address_and_the_command(client, ask):
    entries = addon("dns", DNS), addon("web", WEB), addon("old", DNS, kubernetesVersion="<1.30.0")
    others = {name: json.dumps({"manifestHash": hashed, "systemGeneration": 1}) for name, hashed in INSTALLED.items()}
    notes = {f"addons.k8s.io/{name}": text for name, text in others.items()}
    space = yaml.safe_load(record()) | {"metadata": {"name": "kube-system", "annotations": notes}}
    address = ask(channel=write(*entries), cluster=yaml.safe_dump(space))
    text = client.get(address).content.decode()
    rows = read_rows(text)

    assert {name: cells[0] for name, cells in rows.items()} == {
        "dns": "= Skip",
        "web": "~ Update",
        "old": "= Skip",
        "gone": "= Skip",
    }
    assert rows["dns"][1] == "Installed: same id and manifest."
    assert rows["web"][1].startswith("Different manifest: installed beef, channel ")
    assert rows["web"][1].endswith("web/v1.yaml is not given: its hash is not checked, and its objects are not listed.")
    assert rows["old"][1] == f"For Kubernetes <1.30.0; the server runs {RELEASE}."
    assert rows["gone"][1].startswith("Installed, but not in this channel")
    assert "channels apply channel &quot;file://$PWD/channel.yaml&quot; --yes</pre>" in text
    assert "kOps does not check the hash" not in text
    assert f"1 to update, 3 skipped · Kubernetes {RELEASE}" in text
    assert f'value="http://testserver{address}"' in text
    assert "Kept until" in text


def test_manifests_of_addons_show_what_is_written_pruned_and_recorded(client, ask):
    cluster = f"{record('web')}---\n{config('web-1', addon='web')}---\n{config('other')}"
    manifests = f"# File: web/v1.yaml\n{WEB}"
    address = ask(channel=write(addon("web", WEB, prune=pruning())), cluster=cluster, manifests=manifests)
    _result, why, _installed, _offered, objects = read_rows(client.get(address).content.decode())["web"]

    assert "is not given" not in why
    assert re.findall(r"(Create|Prune|Update) (\w+/[\w-]+)", objects) == [
        ("Create", "ConfigMap/web-2"),
        ("Prune", "ConfigMap/web-1"),
        ("Update", "Namespace/kube-system"),
    ]
    assert objects.endswith("records the addon")


def test_manifest_with_another_hash_is_not_planned(client, ask):
    text = client.get(
        ask(channel=write(addon("web", WEB)), manifests=f"# File: web/v1.yaml\n{config('other')}")
    ).content.decode()
    result, why, _installed, _offered, objects = read_rows(text)["web"]

    assert result == "× Not planned"  # noqa: RUF001 the cross is drawn
    assert why.startswith("web/v1.yaml is not the manifest of the channel")
    assert objects == ""
    assert "kOps does not check the hash of a manifest" in text


def test_addon_without_its_manifest_prunes_nothing_on_the_page(client, ask):
    entries = addon("web", WEB, prune=pruning()), addon("dns", DNS)
    cluster = f"{record('web')}---\n{config('web-1', addon='web')}"
    address = ask(channel=write(*entries), cluster=cluster, manifests=f"# File: dns/v1.yaml\n{DNS}")
    rows = read_rows(client.get(address).content.decode())

    assert rows["web"][4] == "Prunes ConfigMap"
    assert "ConfigMap/dns" in rows["dns"][4]


def test_fields_of_other_managers_are_forced_as_kops_does(client, ask):
    live = yaml.safe_load(DNS) | {"data": {"value": "by hand"}}
    owner = {"manager": "someone", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    live["metadata"]["managedFields"] = [{**owner, "fieldsV1": {"f:data": {".": {}, "f:value": {}}}}]
    cluster, manifests = yaml.safe_dump(live), f"# File: dns/v1.yaml\n{DNS}"
    text = client.get(ask(channel=write(addon("dns", DNS)), cluster=cluster, manifests=manifests)).content.decode()

    assert "Update ConfigMap/dns" in read_rows(text)["dns"][4]
    assert "kOps forces every conflict" in text


@pytest.mark.parametrize(
    ("version", "installed", "said"),
    [("1.5.0", "1.4.0", True), ("1.4.0", "1.5.0", True), ("", "", False)],
)
def test_page_says_where_kops_compares_no_versions(client, ask, version, installed, said):
    entry = addon("dns", DNS, **({"version": version} if version else {}))
    text = client.get(ask(channel=write(entry), cluster=record("dns", version=installed))).content.decode()

    assert ("kOps compares no versions" in text) is said


def test_channel_without_addons_says_so(client, ask):
    assert "The channel lists no addons." in client.get(ask(channel=write())).content.decode()


ENTRY = write(addon("dns", DNS))


@pytest.mark.parametrize(
    ("given", "field", "told"),
    [
        ({"channel": ""}, "channel", "This field is required."),
        ({"channel": "a: ["}, "channel", "YAML syntax"),
        ({"channel": "# nothing"}, "channel", "expected a document of kind Addons without apiVersion"),
        ({"channel": DNS}, "channel", "expected a document of kind Addons without apiVersion"),
        ({"channel": f"{ENTRY}---\n{DNS}"}, "channel", "line 10: this is no part of a channel: enter it"),
        ({"channel": f"{ENTRY}---\n{ENTRY}"}, "channel", "line 10: this is another channel: ask about one at a time"),
        (
            {"channel": "kind: Addons\nspec:\n  addons: 5\n"},
            "channel",
            "line 3, column 3: spec.addons must be",
        ),
        (
            {"channel": "kind: Addons\nspec:\n  addons:\n  - {name: a, manifest: [x]}\n"},
            "channel",
            "line 4, column 15: spec.addons[0].manifest must be text",
        ),
        ({"channel": ENTRY.replace("name: dns", 'name: "a\\0b"')}, "channel", "NUL"),
        ({"kubernetes": "newest"}, "kubernetes", "newest is not a version"),
        ({"kubernetes": ""}, "kubernetes", "This field is required."),
        ({"cluster": "kind: ConfigMap"}, "cluster", "apiVersion not set"),
        ({"cluster": f"{DNS}---\n{DNS}"}, "cluster", "line 9: ConfigMap kube-system/dns is named twice"),
        ({"cluster": "apiVersion: a.example/v1\nkind: Odd\nmetadata: {name: x}"}, "cluster", "no matches for kind"),
        ({"manifests": DNS}, "manifests", "write the name of the file above each manifest"),
        ({"manifests": f"# File: x.yaml\n{DNS}"}, "manifests", "no entry of the channel names x.yaml"),
        (
            {"manifests": f"# File: dns/v1.yaml\n{DNS}# File: dns/v1.yaml\n{DNS}"},
            "manifests",
            "dns/v1.yaml is named twice",
        ),
        ({"manifests": "# File: dns/v1.yaml\na: ["}, "manifests", "dns/v1.yaml, line 2, column 1: YAML syntax"),
    ],
)
def test_errors_are_told_at_their_fields_and_keep_what_was_typed(client, db, given, field, told):
    asked = {"kubernetes": RELEASE, "channel": ENTRY} | given
    answer = client.post(ASK, asked)
    text = answer.content.decode()
    errors = re.findall(rf'class="(?:error|problem)" id="id_{field}_error">(.*?)</(?:p|span)>', text, re.DOTALL)

    assert answer.status_code == 422
    assert told in unescape(re.sub(r"<[^>]+>", "", " ".join(errors)))
    assert [value for value in asked.values() if escape(value.strip()) not in text.replace("\r\n", "\n")] == []
    assert PlaygroundInput.objects.count() == 0


def test_empty_form_offers_the_examples_and_is_led_to(client, db):
    text = client.get(ASK).content.decode()
    keys = [f"channels-{n}" for n in range(1, 8)]

    assert [key for key in keys if f'href="{reverse("playground:show-channel", args=[key])}"' not in text] == []
    assert 'aria-current="page">kOps channels</a>' in text
    assert f'value="{RELEASE}"' in text
    assert f'href="{ASK}"' in client.get("/playground/").content.decode()
    assert f'href="{ASK}channels-1/"' in client.get("/guide/channels/").content.decode()


@pytest.mark.parametrize("number", range(1, 8))
def test_example_of_the_guide_has_the_same_answer(client, db, number):
    page = client.get(reverse("playground:show-channel", args=[f"channels-{number}"])).content.decode()
    guide = client.get("/guide/channels/").content.decode()
    example = unescape(guide.partition(f'id="channels-{number}"')[2].partition("</section>")[0])

    rows = read_rows(page)
    assert rows
    for cells in rows.values():
        assert cells[1].partition(" Needs ")[0].partition(" v")[0].split(" channels")[0][:40] in example


def test_busy_playground_says_so(client, db, monkeypatch):
    def refuse(*_given):
        raise PlaygroundQueryError((PlaygroundQueryProblem("manifest", limited.BUSY),))

    monkeypatch.setattr(limited, "ask", refuse)
    answer = client.post(ASK, {"kubernetes": RELEASE, "channel": ENTRY})

    assert answer.status_code == 422
    assert limited.BUSY in answer.content.decode()


def test_many_inputs_have_to_wait(client, db, settings):
    settings.APPLYVIZ_PLAYGROUND_QUESTIONS = 1
    answers = [client.post(ASK, {"kubernetes": RELEASE, "channel": ENTRY}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [302, 429]
    assert int(answers[1].headers["Retry-After"]) >= 1


def test_link_of_a_channel_is_none_of_another_form(client, ask):
    key = ask(channel=ENTRY).rstrip("/").rpartition("/")[2]
    one = client.post("/playground/", {"mode": "server", "manifest": DNS}).headers["Location"]
    other = one.partition("#")[0].rstrip("/").rpartition("/")[2]

    assert [client.get(f"/playground/{form}{key}/").status_code for form in ("", "sets/")] == [404, 404]
    assert [client.get(f"{ASK}{name}/").status_code for name in (other, "prune-1", "nothing")] == [404] * 3


@pytest.mark.parametrize("payload", [payload for payload in PAYLOADS if "\0" not in payload])
def test_text_stays_text(client, ask, payload):
    entry = addon("dns", DNS, id=payload, kubernetesVersion=payload)

    text = client.get(ask(channel=write(entry), cluster=record("dns"))).content.decode()
    assert "<" not in payload or payload not in text
