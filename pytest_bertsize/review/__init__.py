"""The review of one model, from its config to its findings, and the budgets that would accept it.

In: closed form, build, budget, checkpoint, lock and base. Out: a Review with its findings.
Entry points: ``gate`` for a run, ``check`` for one model; ``review`` has the facts, from which ``reports`` are made.
"""
