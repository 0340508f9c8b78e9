"""`manage.py sandbox kubeconfig`: what kubectl needs, and nothing else on standard output."""

import pytest
import yaml
from django.core.management import CommandError, call_command

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
