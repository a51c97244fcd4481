# %% [markdown] tags=["en"]
# # What to keep, on one page
#
# The last section of each lesson, the errors that each lesson explains, and the terms. In your own code, `%load_ext autograder` shows the explanation below the error.
# %% [markdown] tags=["ru"] of="35e495b4"
# # Что стоит запомнить — на одной странице
#
# Здесь собраны последние разделы уроков, ошибки, которые объясняет каждый урок, и термины. В вашем собственном коде команда `%load_ext autograder` покажет объяснение прямо под ошибкой.
