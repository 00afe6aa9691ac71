"""The verdict: one model from its config to its Review, and what would accept it.

In: the closed form, what was built, the budget, the checkpoint, the base. Out: a Review with its findings.
Doors: ``gate`` for a run, ``check`` for one model, ``review``, ``accept``, ``measures``.
"""
