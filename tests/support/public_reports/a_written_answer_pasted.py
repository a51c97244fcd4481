"""Only the cell of the free answer has lost its metadata (pasted in VS Code)."""

import json

LESSON = "03_gradient_accumulation"
NAME = "03_gradient_accumulation.ipynb"


def change(notebook: dict) -> bytes:
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id", "").startswith("written"):
            cell["source"] = "The mean of equal means is the mean."
            cell["metadata"] = {}
    return json.dumps(notebook).encode()
