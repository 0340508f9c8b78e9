"""The secret files of a team installation: a pair of keys that fits, and nothing that exists is changed."""

import os
import shutil
import subprocess
from pathlib import Path

from applyviz import sealing_keys

ROOT = Path(__file__).parents[2]


def make(folder: Path) -> dict[str, str]:
    (folder / "scripts").mkdir(exist_ok=True)
    shutil.copy(ROOT / "scripts/secrets", folder / "scripts")
    done = subprocess.run([folder / "scripts/secrets"], env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_text().strip() for path in (folder / "secrets").iterdir()}


def test_the_pair_of_keys_fits(tmp_path):
    made = make(tmp_path)

    assert sealing_keys.sealing_key_of(made["opening_keys"]) == made["sealing_key"]


def test_what_exists_stays(tmp_path):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/digest_key").write_text("of before\n")

    first, second = make(tmp_path), make(tmp_path)

    assert first == second
    assert first["digest_key"] == "of before"


def test_there_is_no_earlier_key_at_first_and_one_that_was_written_stays(tmp_path):
    made = make(tmp_path)
    earlier = tmp_path / "secrets/approval_key_fallbacks"
    sizes = [(tmp_path / "secrets" / name).stat().st_size for name in ("secret_key_fallbacks", earlier.name)]
    earlier.write_text(made["approval_key"])
    (tmp_path / "secrets/approval_key").unlink()

    again = make(tmp_path)

    assert sizes == [0, 0]
    assert again["approval_key_fallbacks"] == made["approval_key"] != again["approval_key"]
