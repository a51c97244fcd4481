"""Torch's autograd errors in plain words: one sentence in the learner's language under the traceback."""


def explain_torch_errors() -> None:
    pass
