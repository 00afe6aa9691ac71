"""The project at another git revision, and its lock: table, configs, tensors, and the changes since.

In: today's Settings and a revision. Out: a Baseline, a Comparison for each model, ``budget-loosened``,
``not-compared``, and the models that left.
Doors: ``run_base`` finds the base and the lock of a run, ``comparison`` and ``loosening`` compare a model with them,
``history`` follows the models through a range of commits; ``git``, ``lock``.
``project_at_commit`` reads a commit for both base and history.
"""


class NoRevision(Exception):
    """The error for a revision that cannot be read; its message ends with the fix."""
