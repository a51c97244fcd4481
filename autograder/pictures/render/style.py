"""Shapes and colours for light and dark backgrounds and black-and-white print."""

from __future__ import annotations

# The layout uses a wide font: the browser's own may be as wide, and text wider than its box is cut off.
FONT = "DejaVu Sans,Verdana,Arial,sans-serif"
INK, FAINT = "#1f2937", "#4b5563"  # text on the light boxes
OUTSIDE = "#7a808c"  # for text outside boxes: the background may be white or nearly black
GREEN = "#166534"  # accumulated and summed gradients
RED = "#b91c1c"  # what is wrong

TENSORS = {
    "leaf": {"shape": "cylinder", "fillcolor": "#d9f2e0", "color": "#15803d", "penwidth": "2.4"},
    "constant": {"shape": "box", "style": "filled,dashed", "fillcolor": "#f1f2f4", "color": "#6b7280"},
    "number": {"shape": "box", "style": "filled,dashed", "fillcolor": "#f1f2f4", "color": "#6b7280"},
    "intermediate": {"shape": "box", "style": "filled,rounded", "fillcolor": "#e1ecfd", "color": "#3b6fc4"},
    "output": {"shape": "box", "peripheries": "2", "fillcolor": "#fdf0c8", "color": "#d97706", "penwidth": "2"},
}
STEP = {"shape": "box", "fillcolor": "#f6f7f9", "color": "#6b7280"}
FOLDED = {"shape": "box3d", "fillcolor": "#eceaf6", "color": "#6d5bb0"}
STATES = {"held": "#7c3a00", "freed": FAINT, "modified": RED, "packed": "#6d28d9", "unreadable": RED}
WRONG = {  # a node that backward will refuse; a constant behind which a way may have gone on; what no gradient reaches
    "refused": {"fillcolor": "#fde3e3", "color": RED, "penwidth": "2.4"},
    "end": {"color": RED, "penwidth": "2"},
    "lost": {"color": RED, "fontcolor": RED, "style": "dashed", "arrowhead": "none"},
    "unreached": {"shape": "box", "style": "filled,dashed", "fillcolor": "#fdf1f1", "color": RED, "penwidth": "2"},
}
SIGN = {"shape": "plaintext", "style": "", "fontcolor": OUTSIDE}  # a word without a box

PAGE = {
    "bgcolor": "transparent",
    "rankdir": "TB",
    "fontname": FONT,
    "nodesep": "0.25",
    "ranksep": "0.22",
    "labelloc": "t",
    "labeljust": "l",
}
BOX = {
    "fontname": FONT,
    "fontsize": "11",
    "fontcolor": INK,
    "style": "filled",
    "margin": "0.08,0.03",
    "height": "0.3",
    "width": "0.5",
}
ARROW = {
    "fontname": FONT,
    "fontsize": "10",
    "fontcolor": OUTSIDE,
    "color": "#4a85e8",
    "penwidth": "1.4",
    "arrowsize": "0.8",
}
LANE = {"labelloc": "t", "style": "dashed,rounded", "color": OUTSIDE, "fontcolor": OUTSIDE, "fontsize": "11"}
STOP = {"color": OUTSIDE, "arrowhead": "tee", "style": "dashed"}
VIEW = {"color": OUTSIDE, "style": "dotted", "constraint": "false"}
