"""The command `check`: its verdict, the notes on it, answers in plain files."""
