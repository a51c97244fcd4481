"""A hand-in of the solved notebook with a request that Notepad (UTF-16) or an older editor (Windows-1251) saved."""

TEXT = "Пожалуйста, посмотрите descend ещё раз"
FILES = {"ann": ("regrade.txt", TEXT.encode("utf-16")), "bo": ("regrade.txt", TEXT.encode("cp1251"))}
