"""The class report, an HTML page on misunderstandings in graded submissions."""
