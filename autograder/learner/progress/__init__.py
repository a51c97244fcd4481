"""Tables, pages and files of what a learner has done."""
