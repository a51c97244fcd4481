"""The name by which every course's nbgrader_config.py imports `configure`."""

from .plugin.config import configure as configure
