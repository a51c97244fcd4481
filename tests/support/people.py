"""People on a JupyterHub, each in a browser of their own."""

from __future__ import annotations

from collections.abc import Iterable

from playwright.sync_api import Browser, Locator, Page, expect

from support.browser import PATIENCE, Notebook, picture
from support.hub import wait_until
from support.machine import Machine

ADDRESS = "http://127.0.0.1:8000"


class Person:
    """Somebody with an account on the hub, and their page in the browser."""

    def __init__(self, machine: Machine, browser: Browser, name: str) -> None:
        self.name = name
        self.home = machine.path(f"/home/{name}")
        self.page: Page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        self.page.set_default_timeout(PATIENCE)

    def sign_up(self) -> None:
        """Choose a password, which is not the name."""
        self.page.goto(f"{ADDRESS}/hub/signup")
        self.page.fill("[name=username]", self.name)
        for field in ("signup_password", "signup_password_confirmation"):
            self.page.fill(f"[name={field}]", f"secret of {self.name}")
        self.page.click("#signup_submit")
        expect(self.page.locator(".alert")).to_be_visible()
        self.picture("signed-up")

    def log_in(self) -> None:
        """Give the password. Who is let in comes to the page with the languages."""
        self.page.goto(f"{ADDRESS}/hub/login")
        self.page.fill("[name=username]", self.name)
        self.page.fill("[name=password]", f"secret of {self.name}")
        self.page.click("#login_submit")

    def start(self, language: str) -> None:
        """Choose a language on the page that the hub shows after the login. The server starts."""
        self.page.select_option("[name=language]", language)
        self.picture("language")
        self.page.click("#spawn_form [type=submit]")

    def wait_for_lab(self) -> None:
        self.page.locator(".jp-LauncherCard").first.wait_for()
        self.picture("lab")

    def let_in(self, names: Iterable[str]) -> None:
        """Authorize people who have signed up."""
        self.page.goto(f"{ADDRESS}/hub/authorize")
        self.picture("authorize")
        for name in names:
            self.page.locator(f"#{name}").get_by_role("button", name="Authorize", exact=True).click()
            expect(self.page.locator(f"#{name}.success")).to_be_visible()

    def menu(self, menu: str, item: str) -> None:
        """Click an item of a menu of JupyterLab."""
        self.page.locator(".lm-MenuBar-item", has_text=menu).click()
        self.picture(f"menu-{menu}")
        self.page.locator(".lm-Menu-item", has_text=item).first.click()

    def terminal(self) -> None:
        """Open a terminal from JupyterLab's launcher."""
        self.page.locator('.jp-LauncherCard[data-category="Other"]').first.click()
        self.page.locator(".jp-Terminal .xterm-helper-textarea").wait_for(state="attached")

    def begin(self, line: str) -> None:
        """Type a command line into the terminal, as soon as a shell listens."""
        wait_until(self._shell_listens)
        self._type(f"({line}) > ~/said 2>&1; echo $? > ~/status.new; mv ~/status.new ~/status")

    def finish(self) -> None:
        """Wait for the end of the command line, which must succeed."""
        status, said = self.home / "status", self.home / "said"
        wait_until(status.exists, said)
        assert status.read_text() == "0\n", said.read_text()
        status.unlink()

    def _shell_listens(self) -> bool:
        self._type("touch ~/said")
        self.page.wait_for_timeout(500)
        return (self.home / "said").exists()

    def _type(self, command: str) -> None:
        self.page.locator(".jp-Terminal:visible .xterm-helper-textarea").focus()
        self.page.keyboard.insert_text(command)
        self.page.keyboard.press("Enter")

    def formgrader(self) -> Page:
        """Open nbgrader's pages for grading by hand, in a tab of the browser."""
        page = self.page.context.new_page()
        page.goto(f"{ADDRESS}/user/{self.name}/formgrader")
        return page

    def assignments(self, state: str) -> Locator:
        """The rows of nbgrader's assignment list in a state: released, fetched or submitted."""
        return self.page.locator(f"#{state}_assignments_list > .list_item")

    def picture(self, name: str) -> None:
        picture(self.page, f"{self.name}-{name}")

    # ------------------------------------------------------------------------------------- nbgrader's assignment list

    def fetch(self, assignment: str) -> Notebook:
        """Fetch an assignment and open its notebook from the list."""
        self.menu("Nbgrader", "Assignment List")
        self.assignments("released").filter(has_text=assignment).get_by_role("button").click()
        fetched = self.assignments("fetched").filter(has_text=assignment)
        expect(fetched).to_have_count(1)
        self.picture("fetched")
        fetched.locator(".assignment-notebooks-link").click()
        fetched.locator(".nested_list_item a").click()
        return Notebook(self.page)

    def submit(self, assignment: str) -> None:
        self.menu("Nbgrader", "Assignment List")
        self.assignments("fetched").filter(has_text=assignment).get_by_role("button", name="Submit").click()
        expect(self.assignments("submitted").filter(has_text=assignment)).to_have_count(1)
        self.picture("submitted")

    def read_feedback(self, assignment: str) -> Locator:
        """Fetch the feedback, follow the link in the list, open the page. Returns its body."""
        self.page.locator("#refresh_assignments_list").click()
        submitted = self.assignments("submitted").filter(has_text="feedback available to fetch")
        submitted.get_by_role("button", name="Fetch Feedback").click()
        self.page.get_by_text("(view feedback)").click()
        self.page.locator(".jp-DirListing-item", has_text=f"{assignment}.html").dblclick()
        body = self.page.frame_locator(".jp-HTMLViewer iframe").locator("body")
        body.wait_for()
        self.picture("feedback")
        return body
