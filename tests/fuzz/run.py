"""Coverage-guided fuzzing of one reader: `python -m fuzz.run READER FOLDER OPTIONS`, in the folder `tests`.

The input that is being read lies in `FOLDER/input`, so that it is there after any end of the process. OPTIONS are those
of libFuzzer, such as `-runs=1000 -seed=1`.
"""

from __future__ import annotations

import importlib
import resource
import sys
import time
from pathlib import Path
from random import Random

import atheris

from support.limited import limit_memory

SECONDS = 8  # of a processor for one input: its modules are watched, and slower for it
USUAL, LARGEST = 1 << 16, 1 << 20  # bytes of most inputs, and of any
CORPUS = Path(__file__).parent / "corpus"


def run(name: str, folder: Path, options: list[str]) -> None:
    """Fuzz the reader `name`. Does not return: libFuzzer ends the process, with an error if an input made one."""
    sys.setswitchinterval(10)
    with atheris.instrument_imports(include=["autograder"]):
        reader = importlib.import_module(f"fuzz.{name}")
    seeds, made = folder / "seeds", folder / "made"
    for place in (seeds, made):
        place.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(reader.seeds()):
        (seeds / str(number)).write_bytes(seed)
    current = folder / "input"

    def read(data: bytes) -> None:
        current.write_bytes(data)
        allow_seconds(SECONDS)
        reader.read(data)

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        allow_seconds(SECONDS)  # a change takes time, too, which is not the reader's
        chance = Random(seed)
        try:
            made = atheris.Mutate(data, largest) if chance.random() < 0.1 else reader.mutate(data, chance)
        except MemoryError:  # the change alone is too large
            return data
        return bytes(made) if len(made) <= (largest if chance.random() < 0.1 else USUAL) else data

    limit_memory()
    limits = [f"-max_len={LARGEST}", "-len_control=0", "-timeout=100000", "-rss_limit_mb=0", "-malloc_limit_mb=0"]
    places = [str(made), str(seeds), *([str(CORPUS / name)] if (CORPUS / name).is_dir() else [])]
    atheris.Setup(["fuzz", *limits, f"-artifact_prefix={folder}/", *options, *places], read, custom_mutator=mutate)
    atheris.Fuzz()


def allow_seconds(seconds: int) -> None:
    """Let the kernel end this process after so much more time of a processor."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    limit = int(time.process_time()) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
