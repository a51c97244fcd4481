"""Commands of `autograder`: their options, and what each does."""
