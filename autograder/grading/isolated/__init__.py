"""The sandbox: a warm template, isolated forks, plain data in between."""
