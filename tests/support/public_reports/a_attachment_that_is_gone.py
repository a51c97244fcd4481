"""A Markdown cell that names an attachment which the editor has dropped."""

import json

LESSON = "00_first_gradient"
NAME = "00_first_gradient.ipynb"


def change(notebook: dict) -> bytes:
    notebook["cells"].insert(3, {"cell_type": "markdown", "metadata": {}, "source": "![y](attachment:gone.png)"})
    return json.dumps(notebook).encode()
