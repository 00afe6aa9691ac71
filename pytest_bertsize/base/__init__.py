"""Read the project at another git revision, and its lock: tables, configs and tensors.

In: today's Settings and a revision. Out: a Baseline, a History, or a Lock.
Entry points: ``run_base`` finds the base of a run, ``history`` counts the models in a range of commits, ``lock`` reads
and writes locks, and ``git`` runs git. ``project_at_commit`` reads a commit for ``baseline`` and for ``history``.
"""


class NoRevision(Exception):
    """The error for a revision that cannot be read; its message ends with the fix."""
