"""The function `configure`, under the path that every course's nbgrader_config.py imports."""

from .plugin.config import configure as configure
