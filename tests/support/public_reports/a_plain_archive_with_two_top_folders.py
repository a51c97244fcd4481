"""The same two folders deep, as Teams, Google Drive and Sakai give it."""

import zipfile


def archive(path: str, notebook: bytes) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name in ("Ann Lee", "Bo Neil"):
            file.writestr(f"Student Work/Lab 0/{name}/00_first_gradient.ipynb", notebook)
