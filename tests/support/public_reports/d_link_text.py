"""The address of a notebook in the cloud, saved as the notebook."""

import json

LESSON = "00_first_gradient"
NAME = "00_first_gradient.ipynb"


def change(notebook: dict) -> bytes:
    return b"https://colab.research.google.com/drive/1AbCdEf?usp=sharing"
