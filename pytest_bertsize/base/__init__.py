"""The project at another git revision, and its lock: table, configs, tensors, and the changes since.

In: today's Settings and a revision. Out: a Baseline with the models that left, a Comparison for each model, and
findings ``budget-loosened`` and ``not-compared``.
Entry points: ``run_base`` finds the base and the lock of a run, ``comparison`` and ``loosening`` compare a model with
them, ``history`` counts the models in a range of commits; also ``git`` and ``lock``.
``project_at_commit`` reads a commit for both base and history.
"""


class NoRevision(Exception):
    """The error for a revision that cannot be read; its message ends with the fix."""
