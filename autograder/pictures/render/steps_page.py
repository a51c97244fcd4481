"""HTML view of a backward pass that also works without its script.

The script only adds buttons and keys that show one step at a time.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from ...look.image import image
from .describe_steps import StepTelling

# The script finds its HTML element as the one around it: JupyterLab and exported notebooks both keep it there. The
# attribute lmSuppressShortcuts keeps the arrow keys from JupyterLab's own shortcuts. Printing shows every step.
_SCRIPT = """
(() => {
  const page = document.currentScript && document.currentScript.closest("[data-steps]");
  if (!page || page.dataset.steps === "ready") return;
  page.dataset.steps = "ready";
  const frames = [...page.querySelectorAll(":scope > details")];
  const bar = document.createElement("div");
  const [back, forward] = ["◀", "▶"].map((sign, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    button.title = page.dataset[i ? "forward" : "back"];
    button.setAttribute("aria-label", button.title);
    button.style.cssText = "font:inherit;padding:.25em .9em;margin-right:.5em;cursor:pointer";
    button.onclick = () => show(at + (i ? 1 : -1));
    bar.append(button);
    return button;
  });
  const count = document.createElement("span");
  count.setAttribute("aria-live", "polite");
  bar.append(count);
  bar.style.cssText = "margin:.6em 0";
  frames[0].before(bar);
  let at = 0;
  function show(next) {
    at = Math.max(0, Math.min(frames.length - 1, next));
    frames.forEach((frame, i) => { frame.hidden = i !== at; frame.open = true; });
    back.disabled = at === 0;
    forward.disabled = at === frames.length - 1;
    count.textContent = frames[at].dataset.count + " · " + page.dataset.keys;
  }
  page.tabIndex = 0;
  page.dataset.lmSuppressShortcuts = "true";
  page.addEventListener("keydown", event => {
    const next = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: frames.length - 1}[event.key];
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    show(next);
  });
  window.addEventListener("beforeprint", () => frames.forEach(frame => { frame.hidden = false; }));
  window.addEventListener("afterprint", () => show(at));
  show(0);
})();
"""

_SIDE_BY_SIDE = "display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start"
_LOOK = "max-width:100%;height:auto;max-height:72vh"
_LIST = "margin:.3em 0;flex:0 1 auto;max-width:24em"


def page(tell: StepTelling, pictures: Sequence[str]) -> str:
    """Return the steps as an HTML element. `pictures` holds the text of an SVG file for each step, or is empty."""
    say, notes = tell.tell.say, tell.notes()
    if pictures:
        notes.append(say("steps.marks"))
    parts = [f'<p style="margin:.3em 0"><strong>{html.escape(tell.title())}</strong></p>']
    total = len(tell.frames)
    for number, frame in enumerate(tell.frames):
        heading = tell.heading(number)
        items = "".join(f"<li>{html.escape(line)}</li>" for line in tell.lines(frame))
        drawn = image(pictures[number], heading, _LOOK) if number < len(pictures) else ""
        count = html.escape(say("steps.count", number=number + 1, count=total))
        summary = f'<summary style="cursor:pointer;padding:.2em 0"><strong>{html.escape(heading)}</strong></summary>'
        inside = f'<div style="{_SIDE_BY_SIDE}"><ul style="{_LIST}">{items}</ul>{drawn}</div>'
        opened = " open" if number == 0 else ""
        parts.append(f'<details{opened} data-count="{count}">{summary}{inside}</details>')
    parts += [f"<p>{html.escape(line)}</p>" for line in tell.rest()]
    # Below the pictures, so that buttons and picture are on one screen of 720 pixels.
    parts += [f'<p style="margin:.3em 0;max-width:58em">{html.escape(note)}</p>' for note in notes]
    said = {"back": say("steps.back"), "forward": say("steps.forward"), "keys": say("steps.keys")}
    attributes = "".join(f' data-{key}="{html.escape(value)}"' for key, value in said.items())
    script = f"<script>{_SCRIPT}</script>" if total > 1 else ""
    look = "padding:.2em .6em;line-height:1.5"
    return f'<div data-steps lang="{tell.language}" style="{look}"{attributes}>{"".join(parts)}{script}</div>'
