"""Another git revision: what the table and the configs said there, what changed since, and what was loosened.

In: today's Settings and a revision. Out: a Baseline, a Comparison for each model, ``budget-loosened``,
``not-compared``, and the models that left.
Doors: ``baseline``, ``comparison``, ``loosening``, ``git``.
"""
