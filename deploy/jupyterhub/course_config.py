"""JupyterHub's settings for a course: servers in the user's language, the instructor in the course folder.

They go with any authenticator and any spawner, also with those of The Littlest JupyterHub.
"""

COURSE = "/srv/autograd"  # the folder that `autograder course` has made
INSTRUCTOR = "instructor"  # the account to which the folder belongs
LANGUAGES = {"en": "English", "ru": "Русский"}

c = get_config()  # noqa: F821


def _language(user_options):
    """Return the language that a user has chosen. Options also come through the hub's API and may be anything."""
    language = user_options.get("language", "en")
    return language if language in tuple(LANGUAGES) else "en"


def _form(spawner):
    """Return the form on which a user chooses a language before the server starts: the last choice, or English."""
    chosen = _language(spawner.user_options)
    options = [
        f'<option value="{name}"{" selected" if name == chosen else ""}>{label}</option>'
        for name, label in LANGUAGES.items()
    ]
    return f'<label>Language / Язык <select class="form-control" name="language">{"".join(options)}</select></label>'


def _apply(spawner, user_options):
    """Set what `autograder singleuser` reads. The instructor's server works in the course folder."""
    spawner.environment["AUTOGRADER_LANGUAGE"] = _language(user_options)
    if spawner.user.name == INSTRUCTOR:
        spawner.environment["AUTOGRADER_COURSE"] = COURSE


c.Spawner.options_form = _form
c.Spawner.options_from_form = "simple"
c.Spawner.apply_user_options = _apply
c.Spawner.cmd = ["autograder", "singleuser"]
