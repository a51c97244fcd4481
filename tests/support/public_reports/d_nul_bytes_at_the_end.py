"""A whole notebook padded with NUL bytes by a crashed or full disk."""

import json

LESSON = "00_first_gradient"
NAME = "00_first_gradient.ipynb"


def change(notebook: dict) -> bytes:
    return json.dumps(notebook).encode() + bytes(4096)
