"""The fork server's process, which is forked for each submission."""
