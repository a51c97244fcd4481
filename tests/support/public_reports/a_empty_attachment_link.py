"""A link to an attachment without a name, in the answer that a person reads."""

import json

LESSON = "03_gradient_accumulation"
NAME = "03_gradient_accumulation.ipynb"


def change(notebook: dict) -> bytes:
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id", "").startswith("written"):
            cell["source"] = "![](attachment:)"
    return json.dumps(notebook).encode()
