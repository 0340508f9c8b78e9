"""Uploads, folders and bundles: what is kept, in which order, and what never comes in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources import directory, upload
from applyviz.sources.bundle import SourceBundle, SourceFile, digest_bytes
from applyviz.sources.upload import UploadLimits


def test_upload_keeps_manifests_in_order_of_their_paths() -> None:
    bundle = upload.collect(
        [("app/z.yaml", b"1"), ("app/deep/a.yml", b"2"), ("app/notes.txt", b"3"), ("app/b.json", b"4")]
    )

    assert [file.name for file in bundle.files] == ["app/b.json", "app/deep/a.yml", "app/z.yaml"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../x.yaml", "the file name ../x.yaml leads out of the upload"),
        ("a/../../x.yaml", "the file name a/../../x.yaml leads out of the upload"),
        ("/etc/x.yaml", "the file name /etc/x.yaml leads out of the upload"),
        ("..\\x.yaml", "the file name ..\\x.yaml leads out of the upload"),
        ("C:\\x.yaml", "the file name C:\\x.yaml leads out of the upload"),
        ("", "the file name  leads out of the upload"),
        ("a\0.yaml", "the file name a?.yaml is not usable"),
        ("x" * 500 + ".yaml", f"the file name {'x' * 200} is not usable"),
    ],
)
def test_upload_refuses_names_that_lead_out(name: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        upload.collect([(name, b"x")])

    assert str(caught.value) == said


def test_upload_stops_reading_at_the_first_limit() -> None:
    read: list[int] = []

    def parts() -> object:
        for n in range(100):
            read.append(n)
            yield f"{n}.yaml", b"x" * 10

    with pytest.raises(SourceError) as caught:
        upload.collect(parts(), limits=UploadLimits(total_bytes=55))  # type: ignore[arg-type]

    assert str(caught.value) == "the manifests are larger than 55 bytes together"
    assert read == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (UploadLimits(file_bytes=3), "a.yaml is larger than 3 bytes"),
        (UploadLimits(given_bytes=7), "the upload is larger than 7 bytes"),
        (UploadLimits(files=1), "more than 1 files in one upload"),
    ],
)
def test_upload_refuses_too_much(limits: UploadLimits, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        upload.collect([("a.yaml", b"xxxx"), ("b.yaml", b"xxxx")], limits=limits)

    assert str(caught.value) == said


def test_upload_without_manifests_or_with_one_name_twice_is_refused() -> None:
    with pytest.raises(SourceError, match="no manifests: files end in"):
        upload.collect([("a.txt", b"")])
    with pytest.raises(SourceError, match=r"two files are named a\.yaml"):
        upload.collect([("a.yaml", b"1"), ("./a.yaml", b"2")])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "app"
    for name in ("two.json", "one.yaml", "notes.txt", "upper.YAML", "deep/three.yml", "deep/more/four.yaml"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def test_folder_gives_its_own_manifests(tree: Path) -> None:
    assert [file.name for file in directory.collect(tree).files] == ["one.yaml", "two.json"]


def test_folder_with_recursion_gives_all_in_walking_order(tree: Path) -> None:
    bundle = directory.collect(tree, is_recursive=True)

    assert [file.name for file in bundle.files] == ["deep/more/four.yaml", "deep/three.yml", "one.yaml", "two.json"]
    assert bundle.files[0].data == b"deep/more/four.yaml"


def test_file_named_outright_is_read_whatever_its_name(tree: Path) -> None:
    assert [file.name for file in directory.collect(tree / "notes.txt").files] == ["notes.txt"]


def test_links_pipes_and_missing_folders_are_refused(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("canary")
    (tree / "link.yaml").symlink_to(tmp_path / "secret")
    with pytest.raises(SourceError, match=r"link\.yaml is a link or cannot be opened"):
        directory.collect(tree)
    (tree / "link.yaml").unlink()
    os.mkfifo(tree / "pipe.yaml")
    with pytest.raises(SourceError, match=r"pipe\.yaml is no regular file"):
        directory.collect(tree)
    (tree / "pipe.yaml").unlink()
    (tmp_path / "linked").symlink_to(tree)
    with pytest.raises(SourceError, match="is a link or cannot be opened"):
        directory.collect(tmp_path / "linked")
    with pytest.raises(SourceError, match="cannot be opened"):
        directory.collect(tmp_path / "absent")


def test_linked_folder_below_is_not_followed(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.yaml").write_text("canary")
    (tree / "linked").symlink_to(outside)

    names = [file.name for file in directory.collect(tree, is_recursive=True).files]

    assert "linked/x.yaml" not in names


def test_digest_depends_on_names_bytes_and_order_alone() -> None:
    def digest(*files: tuple[str, bytes], **provenance: str) -> str:
        return SourceBundle.of(SourceFile(name, data, provenance) for name, data in files).make_digest(b"k")

    assert digest(("a", b"1"), ("b", b"2")) == digest(("a", b"1"), ("b", b"2"), origin="elsewhere")
    assert len({digest(("a", b"1")), digest(("a", b"2")), digest(("b", b"1")), digest(("a", b""), ("1", b""))}) == 4
    assert digest(("a", b"1"), ("b", b"2")) != digest(("b", b"2"), ("a", b"1"))


def test_folder_is_held_to_its_limits(tree: Path) -> None:
    with pytest.raises(SourceError, match=r"one\.yaml is larger than 3 bytes"):
        directory.collect(tree, limits=UploadLimits(file_bytes=3))
    with pytest.raises(SourceError, match="the folder holds more than one source may bring"):
        directory.collect(tree, limits=UploadLimits(files=1))


def test_whole_tree_is_kept_when_asked_for(tree: Path) -> None:
    names = [file.name for file in directory.collect(tree, is_recursive=True, takes_all=True).files]
    given = upload.collect([("a.txt", b""), ("a.yaml", b"")], takes_all=True)

    assert names == [
        "deep/more/four.yaml",
        "deep/three.yml",
        "notes.txt",
        "one.yaml",
        "two.json",
        "upper.YAML",
    ]
    assert [file.name for file in given.files] == ["a.txt", "a.yaml"]


def test_bundles_know_their_size_and_digests_are_keyed() -> None:
    bundle = SourceBundle.of([SourceFile("a", b"abc"), SourceFile("b", b"")])

    assert bundle.size == 3
    # The example of RFC 4231, section 4.3.
    assert digest_bytes(b"what do ya want for nothing?", b"Jefe").startswith("5bdcc146bf60754e6a042426089575c7")
