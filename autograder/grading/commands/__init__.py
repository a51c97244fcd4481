"""Commands of `autograder` for instructors: output and exit status."""
