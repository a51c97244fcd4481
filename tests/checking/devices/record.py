"""Record what a GPU does with mixtures of devices: `python tests/checking/devices/record.py` on a machine that has one.

It writes recorded.json beside this file, with which the pretended device is compared. That takes some minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent


def printed(*arguments: str) -> str:
    env = {**os.environ, "PYTHONPATH": f"{HERE.parents[2]}:{HERE.parents[1]}"}
    return subprocess.run([sys.executable, *arguments], check=True, env=env, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("There is no GPU that torch can use here; nothing was recorded.")
    recorded = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "programs": json.loads(printed("-m", "support.gpu_programs")),
        "operations": dict(map(json.loads, printed(str(HERE / "operations.py"), "1").splitlines())),
    }
    (HERE / "recorded.json").write_text(json.dumps(recorded, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
