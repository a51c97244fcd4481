"""The learner's side around `notebook`: the working copy, JupyterLab, progress, the rehearsal before handing in."""
