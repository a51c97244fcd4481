"""Files that students really handed in, after public reports of instructors.

`change(notebook)` gets a solved notebook of LESSON as a dict. It returns the contents of the file NAME.
"""
