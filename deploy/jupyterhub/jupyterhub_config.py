"""JupyterHub on one machine or in one container: accounts of the system, made when somebody comes.

nbgrader's exchange tells students apart by the owners of their files, so each student has an account. Passwords are the
authenticator's: no account has one.
"""

import pwd
import subprocess
from pathlib import Path

HOMES = Path("/home")

c = get_config()  # noqa: F821
load_subconfig(str(Path(__file__).with_name("course_config.py")))  # noqa: F821


def _make_account(name):
    """Make an account of the system if there is none.

    A home that is there from an earlier container keeps its owner's id.
    """
    try:
        pwd.getpwnam(name)
    except KeyError:
        home = HOMES / name
        owner = ["--uid", str(home.stat().st_uid)] if home.exists() else []
        private = ["--create-home", "--key", "HOME_MODE=0700", "--shell", "/bin/bash"]
        subprocess.run(["useradd", *private, *owner, name], check=True)


# All accounts come back before a new one could take the id of an old home.
for home in HOMES.iterdir():
    if home.stat().st_uid:  # root's is lost+found
        _make_account(home.name)

c.Spawner.pre_spawn_hook = lambda spawner: _make_account(spawner.user.name)
c.JupyterHub.bind_url = "http://:8000"

# People sign up with a password of their own; the instructor lets them in at /hub/authorize.
c.JupyterHub.authenticator_class = "native"
c.Authenticator.blocked_users = {each.pw_name for each in pwd.getpwall() if HOMES not in Path(each.pw_dir).parents}
c.Authenticator.username_pattern = r"[a-z][a-z0-9_-]{0,30}"
c.Authenticator.admin_users = {"instructor"}
c.Authenticator.allow_all = True
