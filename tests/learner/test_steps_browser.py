"""Films in a real browser, with their script and without: `steps` and `play`."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from playwright.sync_api import expect

from autograder import play, steps
from support.browser import browser_page
from support.steps import shown


def test_the_arrow_keys_and_the_buttons_step(tmp_path: Path) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    html, _ = shown(steps(loss))
    (tmp_path / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{html}{html}", encoding="utf-8")
    with browser_page() as page:
        page.goto((tmp_path / "page.html").as_uri())
        stepper, other = page.locator("[data-film]").all()
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
        expect(stepper.get_by_role("button", name="Next")).to_be_disabled()
        stepper.get_by_role("button", name="Previous").click()
        page.keyboard.press("ArrowLeft")
        expect(visible).to_have_text("1. SumBackward0 (loss)")
        expect(stepper.get_by_role("status")).to_have_text("1 / 3: 1. SumBackward0 (loss)")
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


def test_a_film_turns_by_slider_and_plays_to_its_end(tmp_path: Path) -> None:
    html = play(lambda K: K * K, K=[1, 2, 3, 4])._repr_mimebundle_()["text/html"]
    (tmp_path / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
    with browser_page() as page:
        page.goto((tmp_path / "page.html").as_uri())
        slider, visible = page.get_by_role("slider"), page.locator("summary:visible")
        slider.fill("2")
        expect(visible).to_have_text("K = 3")
        expect(slider).to_have_attribute("aria-valuetext", "K = 3")
        expect(page.locator("pre:visible")).to_have_text("9")
        page.get_by_role("button", name="Play").click()
        expect(visible).to_have_text("K = 4")
        expect(page.get_by_role("button", name="Play")).to_be_visible()  # it has stopped by itself
        page.get_by_role("button", name="Play").click()
        expect(visible).to_have_text("K = 1")
        page.get_by_role("button", name="Pause").click()
        page.emulate_media(media="print")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        expect(page.locator("pre:visible")).to_have_text(["1", "4", "9", "16"])


def test_nothing_plays_for_who_asks_for_no_motion(tmp_path: Path) -> None:
    html = play(lambda K: K * K, K=[1, 2, 3, 4])._repr_mimebundle_()["text/html"]
    (tmp_path / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
    with browser_page() as page:
        page.emulate_media(reduced_motion="reduce")
        page.goto((tmp_path / "page.html").as_uri())
        expect(page.get_by_role("slider")).to_be_visible()
        expect(page.get_by_role("button")).to_have_count(2)
