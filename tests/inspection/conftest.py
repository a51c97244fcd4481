"""Scripts written by somebody who had not seen the tool. They are run, and never collected."""

collect_ignore_glob = ["scripts/*"]
