"""The free answer typed into a new cell under the untouched placeholder."""

import json

LESSON = "03_gradient_accumulation"
NAME = "03_gradient_accumulation.ipynb"


def change(notebook: dict) -> bytes:
    at = next(
        number
        for number, cell in enumerate(notebook["cells"])
        if cell["metadata"].get("nbgrader", {}).get("grade_id", "").startswith("written")
    )
    notebook["cells"].insert(
        at + 1, {"cell_type": "markdown", "metadata": {}, "source": "The mean of equal means is the mean."}
    )
    return json.dumps(notebook).encode()
