"""The learner's side: notebook commands, working copies of notebooks, progress, JupyterLab."""
