"""The sandbox settings of a course, as traits: settings in nbgrader_config.py."""

from __future__ import annotations

from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Enum, Float, Integer

from ..limits import Limits
from ..wall_kinds import Wall


class SandboxTraits(NbGraderPreprocessor):  # type: ignore[misc]
    """Isolation and limits, from the section `RunIsolated` of a course's config."""

    isolation = Enum(
        [*map(str, Wall)],
        str(Wall.FULL),
        help="the wall around students' code; 'auto' takes the strongest of 'full' and 'landlock' that the machine "
        "gives, 'none' runs it as your own user, where it can read what you can",
    ).tag(config=True)
    cell_seconds = Float(Limits.cell_seconds, help="seconds that one cell may run").tag(config=True)
    total_seconds = Float(Limits.total_seconds, help="seconds that a whole notebook may run").tag(config=True)
    memory_mb = Integer(Limits.memory >> 20, help="memory that a notebook may take, in MB").tag(config=True)

    def wall(self) -> Wall:
        return Wall(self.isolation)

    def limits(self) -> Limits:
        return Limits(self.cell_seconds, self.total_seconds, self.memory_mb << 20)
