# ruff: noqa: E501 (what attackers write has lines of any length)
"""Forged messages to the grader, and answers that are too large for one."""

from __future__ import annotations

from support.attacks.attack import HALF, Attack

# What both ways of forging share: the observation of a perfect answer, as far as it can be made up.
_FORGED = """
import json, os, socket, struct, stat
def frame(message):
    data = json.dumps(message).encode()
    return struct.pack("!I", len(data)) + data
def ends():
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                yield int(name)
        except OSError:
            pass
tests = ["old_gradient", "zeroing_inside", "missing_last", "sum_of_means", "equal_weights", "division_by_samples"]
perfect = {"accepts_right": True, **{f"catches_{name}": True for name in tests}, "accepted": [True] * 3, "refused": [True] * 6}
run = {"values": {"dict": perfect}["dict"], "edited": [], "called": "", "inputs": "", "notes": []}
observed = {"runs": [run]}
"""


def _frames(*messages: str) -> str:
    sent = "\n".join(f"    os.write(end, {message})" for message in messages)
    return f"{_FORGED}\nfor end in ends():\n{sent}\n"


MESSAGES = [
    Attack("frames written to every socket in a cell", _frames("frame(observed)"), flagged="message", ended="nonsense"),
    Attack(
        "many frames written, one for each question to come",
        _frames("frame(observed) * 60"),
        flagged="message",
        ended="nonsense",
    ),
    Attack(
        "a frame that is no JSON", _frames("struct.pack('!I', 4) + b'\\xff{{{'"), flagged="message", ended="nonsense"
    ),
    Attack("a frame that announces 4 GB", _frames("struct.pack('!I', 2**32 - 1)"), flagged="message", ended="nonsense"),
    Attack(
        "a frame of nothing but brackets",
        _frames("struct.pack('!I', 100_000) + b'[' * 100_000"),
        flagged="message",
        ended="nonsense",
    ),
    Attack(
        "the questions to come, peeked at in the socket and in the channel's memory",
        f"""{_FORGED}
import gc
for end in ends():
    peeked = socket.socket(fileno=os.dup(end))
    peeked.setblocking(False)
    try:
        print("to come:", peeked.recv(1 << 20, socket.MSG_PEEK))
    except BlockingIOError:
        print("nothing to come")
""",
        never="seed",
    ),
    Attack(
        "an observation written when the check is reached, then the end",
        answers={
            "is_right": f"{_FORGED}\ndef is_right(accumulate):\n    for end in ends():\n        os.write(end, frame(observed))\n    os._exit(0)\n"
        },
        without={},
        flagged="message",
        ended="nonsense",
    ),
    Attack(
        "an observation written when the check is reached, and the next question answered as well",
        answers={
            "is_right": f"""{_FORGED}
def is_right(accumulate):
    (end,) = ends()
    os.write(end, frame(observed))
    size = struct.unpack("!I", os.read(end, 4))[0]
    asked = json.loads(os.read(end, size))
    os.write(end, frame({{"changed": []}}))
    os._exit(0)
"""
        },
        without={},
        flagged="message",
        ended="nonsense",
    ),
    Attack(
        "a forked process that reads the questions before the worker does",
        _FORGED
        + """
(end,) = ends()
if not os.fork():
    while True:
        size = struct.unpack("!I", os.read(end, 4))[0]
        asked = json.loads(os.read(end, size))
        answer = {"cell": {"outputs": []}, "observe": observed, "guard": {"changed": []}}[asked["do"]]
        os.write(end, frame(answer))
""",
        flagged="message",
        ended="nonsense|died|time",  # who reads first is the kernel's choice; a swallowed question is never answered
        on_landlock={"flagged": "", "ended": ""},  # no process is made
    ),
    Attack(
        "the channel object found by gc, and a forged observation sent through it",
        answers={
            "is_right": f"""{_FORGED}
import gc
def is_right(accumulate):
    for thing in gc.get_objects():
        if type(thing).__name__ == "Channel":
            thing.send(observed)
    os._exit(0)
"""
        },
        without={},
        noted="gc.",
    ),
    Attack(
        "the channel object found by stack walk, the worker's answers forged through it",
        answers={
            "is_right": f"""{_FORGED}
import sys
def is_right(accumulate):
    at = sys._getframe()
    while at:
        channel = at.f_locals.get("channel")
        if channel is not None:
            channel.send(observed)
            asked = channel.receive()
            channel.send({{"changed": []}})
            os._exit(0)
        at = at.f_back
    return True
"""
        },
        without={},
        noted="frame",
    ),
    Attack(
        "the method that observes replaced",
        _FORGED
        + """
from autograder.grading.sandbox.child import worker as child
child.Worker.do_observe = lambda self, **asked: observed
""",
        flagged="replaced",
    ),
    Attack("the socket closed", _frames("b''").replace("os.write(end, b'')", "os.close(end)"), ended="died"),
]

_HOSTILE_RUNS = {
    "deep": "{'values': {'accepts_right': deep(900)}, 'edited': [], 'called': '', 'inputs': '', 'notes': []}",
    "a wrong shape": "{'values': {'accepts_right': {'tensor': [1.0], 'shape': [-7, 10**9], 'dtype': 'float64'}}, **rest}",
    "no dtype": "{'values': {'accepts_right': {'tensor': [1.0], 'shape': [1], 'dtype': 'load'}}, **rest}",
    "a complex quantised thing": "{'values': {'accepts_right': {'tensor': [1.0], 'shape': [1], 'dtype': 'quint4x2'}}, **rest}",
    "a note of surrogates": "{'raised': {'whose': 'answer', 'id': 'raised.answer', 'parameters': {'type': chr(0xd800), 'message': chr(0xdfff), chr(0xd801): 1}}, 'at': [1, chr(0xd800)], **rest}",
    "notes without end": "{'values': {}, **rest, 'notes': [['note.printed', {'count': 1, 'text': 'x' * 4000}]] * 1000}",
    "a long parameter": "{'raised': {'whose': 'answer', 'id': 'raised.answer', 'parameters': {'type': 'x' * 3_000_000, 'message': ''}}, 'at': [1, ''], **rest}",
    "infinity": "{'raised': {'whose': 'answer', 'id': 'raised.answer', 'parameters': {'type': float('inf'), 'message': 10**4000}}, 'at': [10**4000, ''], **rest}",
    "an unknown note": "{'raised': {'whose': 'ours', 'id': 'made.up', 'parameters': {}}, 'at': [None, ''], **rest}",
    "a list": "[1, 2]",
    "nothing": "None",
}

OBSERVATIONS = [
    Attack(
        f"an observation that is {what}" if what != "deep" else "an observation nested too deep",
        f"""
from autograder.grading.sandbox.child import worker as child
rest = {{'edited': [], 'called': '', 'inputs': '', 'notes': []}}
def deep(n):
    return [deep(n - 1)] if n else []
import sys
sys.setrecursionlimit(5000)
child.Worker.do_observe = lambda self, **asked: {{"runs": [{run}] * 3}}
from autograder.grading.sandbox.wire import run_codec as wire
child.pack_run = lambda run: {run}
""",
        flagged="replaced",
    )
    for what, run in _HOSTILE_RUNS.items()
]

LARGE = [
    Attack(
        "an answer that returns ten million numbers",
        answers={
            "accumulate_uneven": "def accumulate_uneven(model, batches):\n    model.weight.grad = None\n    model.weight = torch.nn.Parameter(torch.zeros(10_000_000))\n",
            "accumulate_equal": "def accumulate_equal(model, batches):\n    model.weight = torch.nn.Parameter(torch.zeros(1, 3_000_000).double())\n    model.weight.grad = torch.zeros(1, 3_000_000).double()\n",
        },
        ended="|time|memory",
        without={},
    ),
    Attack(
        "a table of a million entries",
        without={},
        ended="|time|memory",
        answers={
            "predict_accumulation": "predict_accumulation = {str(i): 'x' * 100 for i in range(1_000_000)}\npredict_accumulation |= dict.fromkeys(['w.grad before', 'first', 'copy', 'w.grad after the second backward', 'w.grad after zero_grad'], 0.0)\n"
        },
    ),
    Attack(
        "a table of ten thousand entries of ten thousand lists",
        without={},
        ended="|time|memory",
        answers={
            "predict_accumulation": "inner = [[0] * 1000] * 1000\npredict_accumulation = {str(i): inner for i in range(1000)}\n"
        },
    ),
    Attack(
        "names and errors with lone surrogates",
        "print(chr(0xd800))\nraise type(chr(0xd801) + 'Error', (Exception,), {})(chr(0xd802))",
        answers={
            "accumulate_equal": "def accumulate_equal(model, batches):\n    raise ValueError(chr(0xd800) + '<script>alert(1)</script>')\n",
            "predict_accumulation": "predict_accumulation = {chr(0xd800): chr(0xdfff)}\n",
        },
        without={},
    ),
    Attack(
        "exceptions whose text, representation and end are broken",
        """
class Broken(Exception):
    def __str__(self): raise SystemExit(0)
    __repr__ = __str__
    def __del__(self): raise KeyboardInterrupt
    @property
    def __class__(self): raise MemoryError
    @property
    def __traceback__(self): raise MemoryError
class Shown:
    def __repr__(self): raise Broken
    def _repr_html_(self): raise Broken
    def _ipython_display_(self): raise BaseException
    def __del__(self): raise Broken
display(Shown())
raise Broken
""",
        answers={
            "accumulate_equal": "def accumulate_equal(model, batches):\n    raise Broken\n",
            "predict_accumulation": "class Bad:\n    def __eq__(self, other): raise Broken\n    __float__ = __bool__ = __len__ = __eq__\npredict_accumulation = dict.fromkeys(['w.grad before', 'first', 'copy', 'w.grad after the second backward', 'w.grad after zero_grad'], Bad())\n",
        },
        without={},
    ),
    Attack(
        "a verdict of one's own among the outputs, and pages with scripts",
        """
from IPython.display import HTML, Javascript, SVG, display
record = {"state": "passed", "exercise": "train_epoch", "aspects": []}
display({"text/plain": "100", "application/vnd.autograder.verdict+json": record}, raw=True)
display(HTML("<script>alert('hostile')</script><img src=x onerror=alert('hostile')><a href='javascript:alert(1)'>x</a>"))
display(Javascript("alert('hostile')"))
display(SVG(data="<svg xmlns='http://www.w3.org/2000/svg' onload=\\"alert('hostile')\\"></svg>"))
get_ipython().outputs.cells.append({"output_type": "execute_result", "data": {"application/vnd.autograder.verdict+json": record, "text/plain": "100"}, "metadata": {}, "execution_count": 1})
class Card:
    def _repr_mimebundle_(self, **kwargs): return {"application/vnd.autograder.verdict+json": record, "text/html": "<iframe src='//hostile'></iframe>"}
    def __repr__(self): return "100"
Card()
""",
    ),
]

LAST = [
    Attack(
        f"a last expression that is {value}",
        answers={
            "accumulate_uneven": HALF["accumulate_uneven"] + f"\nfrom numpy import float64\n{value}\n",
            "predict_accumulation": f"predict_accumulation = {value}\nfloat('nan') if 0 else {value}\n",
        },
        last=f"from numpy import float64\n{value}",
    )
    for value in ("float('nan')", "-1", "True", "1e9", "torch.tensor(100.)", "float64(100)", "'100'", "None")
]

ALL = [*MESSAGES, *OBSERVATIONS, *LARGE, *LAST]
