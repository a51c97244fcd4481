"""Films: frames with captions, turned without a kernel.

Without the script, as in an untrusted notebook, the frames stand one below the other, and the later ones are folded.
matplotlib's `to_jshtml` takes figures alone, shows nothing without its script, and hears no keys.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...messages.drawing import word

# The script finds its film as the element around it: JupyterLab and exported notebooks both keep it there. The
# attribute lmSuppressShortcuts keeps the arrow keys from JupyterLab's own shortcuts. Printing shows every frame.
_SCRIPT = """
(() => {
  const film = document.currentScript && document.currentScript.closest("[data-film]");
  if (!film || film.dataset.film === "ready") return;
  film.dataset.film = "ready";
  const words = film.dataset, frames = [...film.querySelectorAll(":scope > details")], last = frames.length - 1;
  const [bar, count, said] = ["div", "span", "span"].map(tag => document.createElement(tag));
  bar.style.cssText = "display:flex;flex-wrap:wrap;align-items:center;gap:.5em;margin:.6em 0";
  let at = 0, clock;
  const show = next => {
    at = Math.max(0, Math.min(last, next));
    frames.forEach((frame, i) => { frame.hidden = i !== at; frame.open = true; });
    const heading = frames[at].querySelector("summary").textContent;
    [back.disabled, forward.disabled, slider.value] = [at === 0, at === last, at];
    slider.setAttribute("aria-valuetext", heading);
    count.textContent = `${at + 1} / ${last + 1}`;
    said.textContent = `${count.textContent}: ${heading}`;
    if (at === last) stop();
  };
  const stop = () => {
    clock = clearInterval(clock);
    [play.textContent, play.ariaLabel, play.title] = ["▶", words.play, words.play];
  };
  const start = () => {
    if (at === last) show(0);
    clock = setInterval(() => film.isConnected ? show(at + 1) : stop(), 1200);
    [play.textContent, play.ariaLabel, play.title] = ["❚❚", words.pause, words.pause];
  };
  const button = (sign, says, action) => {
    const made = document.createElement("button");
    [made.type, made.textContent, made.title, made.ariaLabel, made.onclick] = ["button", sign, says, says, action];
    made.style.cssText = "font:inherit;min-width:2.6em;padding:.3em .7em;cursor:pointer";
    bar.append(made);
    return made;
  };
  const back = button("←", words.back, () => { stop(); show(at - 1); });
  const forward = button("→", words.forward, () => { stop(); show(at + 1); });
  const play = button("▶", words.play, () => clock ? stop() : start());
  play.hidden = last < 2 || matchMedia("(prefers-reduced-motion: reduce)").matches;
  const slider = document.createElement("input");
  [slider.type, slider.max, slider.title, slider.ariaLabel] = ["range", last, words.keys, words.slider];
  slider.style.cssText = "flex:1 1 6em;max-width:20em;cursor:pointer";
  slider.oninput = () => { stop(); show(+slider.value); };
  said.role = "status";  // is read, and not seen: what it says stands below
  said.style.cssText = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)";
  bar.append(slider, count, said);
  frames[0].before(bar);
  film.tabIndex = 0;
  words.lmSuppressShortcuts = "true";
  film.addEventListener("keydown", event => {
    const next = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last}[event.key];
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    stop();
    show(next);
  });
  window.addEventListener("beforeprint", () => frames.forEach(frame => { frame.hidden = false; }));
  window.addEventListener("afterprint", () => show(at));
  show(0);
})();
"""
_LOOK = "padding:.2em .6em;line-height:1.5"
_WORDS = ("back", "forward", "play", "pause", "slider", "keys")


@dataclass(frozen=True)
class Frame:
    """One frame of a film: a caption, and its content as HTML."""

    caption: str
    inside: str


def film(frames: Sequence[Frame], title: str, language: str, below: Iterable[str] = ()) -> str:
    """Return frames as an HTML element, below them paragraphs of text."""
    parts = [f'<p style="margin:.3em 0"><strong>{html.escape(title)}</strong></p>'] if title else []
    for number, frame in enumerate(frames):
        caption = f"<strong>{html.escape(frame.caption)}</strong>"
        summary = f'<summary style="cursor:pointer;padding:.2em 0">{caption}</summary>'
        parts.append(f"<details{'' if number else ' open'}>{summary}{frame.inside}</details>")
    # Below the pictures, so that buttons and picture are on one screen of 720 pixels.
    parts += [f'<p style="margin:.3em 0;max-width:58em">{html.escape(line)}</p>' for line in below]
    said = "".join(f' data-{name}="{html.escape(word(f"film.{name}", language))}"' for name in _WORDS)
    script = f"<script>{_SCRIPT}</script>" if len(frames) > 1 else ""
    return f'<div data-film lang="{language}" style="{_LOOK}"{said}>{"".join(parts)}{script}</div>'
