"""The page of `steps` in a real browser, with its script and without."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from playwright.sync_api import expect

from autograder import steps
from support.browser import browser_page
from support.steps import shown


def test_the_arrow_keys_and_the_buttons_step(tmp_path: Path) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    html, _ = shown(steps(loss))
    (tmp_path / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{html}{html}", encoding="utf-8")
    with browser_page() as page:
        page.goto((tmp_path / "page.html").as_uri())
        stepper, other = page.locator("[data-steps]").all()
        visible = stepper.locator("summary:visible")
        expect(visible).to_have_text("1. SumBackward0 (loss)")
        stepper.focus()
        page.keyboard.press("ArrowRight")
        expect(visible).to_have_text("2. MulBackward0")
        assert stepper.locator("img:visible").evaluate("picture => picture.naturalWidth") > 100
        page.keyboard.press("End")
        expect(visible).to_have_text("3. AccumulateGrad (x)")
        page.keyboard.press("ArrowRight")
        expect(visible).to_have_text("3. AccumulateGrad (x)")
        expect(stepper.get_by_role("button", name="Next step")).to_be_disabled()
        stepper.get_by_role("button", name="Previous step").click()
        page.keyboard.press("ArrowLeft")
        expect(visible).to_have_text("1. SumBackward0 (loss)")
        expect(stepper.get_by_text("step 1 of 3")).to_be_visible()
        expect(other.locator("summary:visible")).to_have_text("1. SumBackward0 (loss)")


def test_without_its_script_every_step_can_be_opened(tmp_path: Path) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    html = re.sub(r"<script>.*</script>", "", shown(steps((x * x).sum()))[0], flags=re.DOTALL)
    (tmp_path / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
    with browser_page() as page:
        page.goto((tmp_path / "page.html").as_uri())
        expect(page.locator("summary:visible")).to_have_count(3)
        expect(page.locator("img:visible")).to_have_count(1)
        page.locator("summary").nth(2).click()
        expect(page.locator("img:visible")).to_have_count(2)
