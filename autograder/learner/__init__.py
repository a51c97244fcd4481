"""The learner's side: commands, the working copy, JupyterLab, progress, the rehearsal."""
