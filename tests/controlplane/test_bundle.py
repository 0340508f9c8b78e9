"""The data of the bundled minor is what a real API server and the Go types of its release say."""

from importlib import resources

import pytest

from applyviz.engine.schema.builtin import load_bundled
from tests.controlplane.bundle import make_files, read_discovery, read_documents

pytestmark = pytest.mark.controlplane
FOLDER = resources.files("applyviz.kubernetes.v1_36").joinpath("data")


def test_bundled_data_is_that_of_the_release(control_plane):
    files = make_files(read_documents(control_plane), read_discovery(control_plane))

    assert sorted(files) == sorted(path.name.removesuffix(".json.gz") for path in FOLDER.iterdir())
    assert [name for name, value in files.items() if value != load_bundled(name)] == []
