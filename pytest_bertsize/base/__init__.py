"""Another git revision, and the lock: what table, configs and shapes were, what changed since, what was loosened.

In: today's Settings and a revision. Out: a Baseline, a Comparison for each model, ``budget-loosened``,
``not-compared``, and the models that left.
Doors: ``run_base`` for the base and the lock of a run, ``comparison`` and ``loosening`` for what a review says of them,
``history`` for what every commit of a range made of the models, ``git``; ``lock`` for the lock.
``project_at_commit`` reads a commit for both base and history.
"""


class NoRevision(Exception):
    """A revision that cannot be read; the message has the command that mends it."""
