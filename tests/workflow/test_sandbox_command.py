"""`manage.py sandbox kubeconfig`: what kubectl needs, and nothing else on standard output."""

import pytest
import yaml
from django.core.management import CommandError, call_command

from applyviz.web.management import data_folder
from applyviz.web.management.commands import serve
from applyviz.workflow.clusters import registration

pytestmark = pytest.mark.django_db


def test_kubeconfig_is_printed_alone_and_the_lines_beside_it(capsys):
    registration.create_sandbox(slug="demo", name="Demo")

    call_command("sandbox", "kubeconfig", address="http://127.0.0.1:9000/")

    out, err = capsys.readouterr()
    (cluster,) = yaml.safe_load(out)["clusters"]
    assert cluster["cluster"]["server"].endswith("@127.0.0.1:9000/sandboxes/demo")
    assert "kubectl --kubeconfig demo.kubeconfig get deployments -A" in err


@pytest.mark.parametrize(
    ("slug", "address", "said"),
    [("none", "http://x", "there is no sandbox none"), ("demo", "x:80", "x:80 is not a URL")],
)
def test_what_cannot_be_printed_is_said(slug, address, said):
    registration.create_sandbox(slug="demo", name="Demo")

    with pytest.raises(CommandError, match=said):
        call_command("sandbox", "kubeconfig", slug, address=address)


def test_address_is_where_the_product_is_served(db, settings, tmp_path, capsys):
    settings.APPLYVIZ_HOME, settings.APPLYVIZ_IS_PERSONAL, settings.APPLYVIZ_URL = tmp_path, True, ""
    registration.create_sandbox(slug="demo", name="Demo")

    with data_folder.lock(tmp_path) as folder:
        with pytest.raises(CommandError, match="it is not running, or still starting"):
            call_command("sandbox", "kubeconfig")
        folder.announce("http://localhost:54321")
        call_command("sandbox", "kubeconfig")

    assert "@localhost:54321/sandboxes/demo" in capsys.readouterr().out
    (tmp_path / "lock").write_text("http://localhost:54321")  # the process was killed
    with pytest.raises(CommandError, match="it is not running, or still starting"):
        call_command("sandbox", "kubeconfig")


def test_address_of_a_team_is_the_one_that_people_open(db, settings, capsys):
    settings.APPLYVIZ_IS_PERSONAL, settings.APPLYVIZ_URL = False, "https://applyviz.example"
    registration.create_sandbox(slug="demo", name="Demo")

    call_command("sandbox", "kubeconfig")
    assert "https://applyviz.example/sandboxes/demo" in capsys.readouterr().out
    settings.APPLYVIZ_URL = ""
    with pytest.raises(CommandError, match="set APPLYVIZ_URL"):
        call_command("sandbox", "kubeconfig")


def test_folder_that_nobody_serves_is_not_locked(tmp_path, monkeypatch):
    with data_folder.lock(tmp_path) as folder:
        folder.announce("http://localhost:54321")
    monkeypatch.delattr("fcntl.flock")

    assert data_folder.find_address(tmp_path) == ""


def test_address_of_a_data_folder_that_does_not_exist_is_unknown(tmp_path):
    assert data_folder.find_address(tmp_path / "none") == ""


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "http://localhost:80"), ("::", "http://localhost:80"), ("fd00::1", "http://[fd00::1]:80")],
)
def test_served_address_can_be_opened(host, address):
    assert serve.render_address(host, 80) == address
