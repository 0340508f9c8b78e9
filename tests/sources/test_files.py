"""Uploads and bundles: what is kept, in which order, and what never comes in."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources import upload
from applyviz.sources.bundle import BundledFile, SourceBundle, digest_bytes
from applyviz.sources.upload import UploadLimits


def test_upload_keeps_manifests_in_order_of_their_paths() -> None:
    bundle = upload.collect(
        [("app/z.yaml", b"1"), ("app/deep/a.yml", b"2"), ("app/notes.txt", b"3"), ("app/b.json", b"4")]
    )

    assert [file.name for file in bundle.files] == ["app/b.json", "app/deep/a.yml", "app/z.yaml"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../x.yaml", "the file name ../x.yaml leads out of its folder"),
        ("a/../../x.yaml", "the file name a/../../x.yaml leads out of its folder"),
        ("/etc/x.yaml", "the file name /etc/x.yaml leads out of its folder"),
        ("..\\x.yaml", "the file name ..\\x.yaml leads out of its folder"),
        ("C:\\x.yaml", "the file name C:\\x.yaml leads out of its folder"),
        ("", "the file name  leads out of its folder"),
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


def test_digest_depends_on_names_bytes_and_order_alone() -> None:
    def digest(*files: tuple[str, bytes], **provenance: str) -> str:
        return SourceBundle.of(BundledFile(name, data, provenance) for name, data in files).make_digest(b"k")

    assert digest(("a", b"1"), ("b", b"2")) == digest(("a", b"1"), ("b", b"2"), origin="elsewhere")
    assert len({digest(("a", b"1")), digest(("a", b"2")), digest(("b", b"1")), digest(("a", b""), ("1", b""))}) == 4
    assert digest(("a", b"1"), ("b", b"2")) != digest(("b", b"2"), ("a", b"1"))


def test_every_file_of_an_upload_is_kept_when_asked_for() -> None:
    given = upload.collect([("a.txt", b""), ("a.yaml", b"")], takes_all=True)

    assert [file.name for file in given.files] == ["a.txt", "a.yaml"]


def test_bundles_know_their_size_and_digests_are_keyed() -> None:
    bundle = SourceBundle.of([BundledFile("a", b"abc"), BundledFile("b", b"")])

    assert bundle.size == 3
    # The example of RFC 4231, section 4.3.
    assert digest_bytes(b"what do ya want for nothing?", b"Jefe").startswith("5bdcc146bf60754e6a042426089575c7")
