"""The command `check`, notes on its verdict, answers in files."""
