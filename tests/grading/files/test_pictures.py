"""Pictures that a page may show: their size stands in the first bytes."""

from __future__ import annotations

import base64
import io
import random
import struct

import pytest
from matplotlib.image import imsave
from numpy import zeros

from autograder.grading.files.pictures import is_picture, kept_attachments


def picture(kind: str, width: int = 40, height: int = 30) -> bytes:
    file = io.BytesIO()
    imsave(file, zeros((height, width, 3)), format=kind)
    return file.getvalue()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_a_picture_of_matplotlib_is_kept_unless_it_has_too_many_pixels(kind: str) -> None:
    data = picture(kind)
    assert is_picture(f"image/{kind}", text(data))
    assert is_picture(f"image/{kind}", base64.encodebytes(data).decode()), "with line ends, as Jupyter writes it"
    size = {"png": struct.pack(">II", 40, 30), "jpeg": struct.pack(">HH", 30, 40)}[kind]
    assert data.count(size) == 1
    large = data.replace(
        size, {"png": struct.pack(">II", 30_000, 30_000), "jpeg": struct.pack(">HH", 65_000, 65_000)}[kind]
    )
    assert not is_picture(f"image/{kind}", text(large))
    assert not is_picture("image/svg+xml", text(data))
    other = {"png": "jpeg", "jpeg": "png"}[kind]
    assert not is_picture(f"image/{other}", text(data)), "the browser would believe the bytes"


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_broken_pictures_are_refused_without_an_error(kind: str) -> None:
    rng, data = random.Random(0), picture(kind)
    for _ in range(2_000):
        broken = bytearray(data[: rng.choice([0, 1, 3, 17, 30, 200, len(data)])])
        for _ in range(rng.randrange(4) if broken else 0):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        assert is_picture(f"image/{kind}", text(bytes(broken))) in (True, False)
    for odd in (None, 7, "", "not base64!", "\ud800", "/9j/", text(b"\xff\xd8" + b"\xff" * 100)):
        assert not is_picture(f"image/{kind}", odd)


def test_pasted_pictures_are_kept_up_to_a_limit() -> None:
    good = text(picture("png"))
    odd = {
        "a": {"image/png": good, "text/html": "<script>"},
        "b": "x",
        "c": {"image/svg+xml": good},
        "d": {},
        "\ud800": {"image/png": good},
    }
    assert list(kept_attachments(iter([{"attachments": odd}, {"attachments": 3}, {}]))) == [
        {"a": {"image/png": good}, "?": {"image/png": good}},  # a lone surrogate cannot be written
        {},
        {},
    ]
    padded = text(picture("png") + b"\0" * (5 << 20))
    many = kept_attachments(iter([{"attachments": {"x": {"image/png": padded}}}] * 4))
    assert [bool(kept) for kept in many] == [True, True, False, False]
