"""Files that students handed in, and cells that learners ran, after public reports.

`change(notebook)` gets a solved notebook of LESSON as a dict. It returns the contents of the file NAME.
"""
