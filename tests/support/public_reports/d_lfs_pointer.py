"""A pointer file of Git LFS in place of the notebook."""

import json

LESSON = "00_first_gradient"
NAME = "00_first_gradient.ipynb"


def change(notebook: dict) -> bytes:
    return b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
