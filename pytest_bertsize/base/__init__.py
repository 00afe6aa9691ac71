"""Compare the project with another git revision and with its lock: tables, configs and tensors.

In: today's Settings and a revision. Out: a Baseline, a Comparison for each model, and findings ``budget-loosened``
and ``not-compared``.
Entry points: ``run_base`` finds the base and the lock of a run, ``comparison`` and ``loosening`` compare a model with
the base, ``history`` counts the models in a range of commits, ``lock`` reads and writes locks, and ``git`` runs git.
``project_at_commit`` reads a commit for ``baseline`` and for ``history``.
"""


class NoRevision(Exception):
    """The error for a revision that cannot be read; its message ends with the fix."""
