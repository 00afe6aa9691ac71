"""Another git revision, and the lock: what table, configs and shapes were, what changed since, what was loosened.

In: today's Settings and a revision. Out: a Baseline, a Comparison for each model, ``budget-loosened``,
``not-compared``, and the models that left.
Doors: ``of_run``, ``baseline``, ``comparison``, ``loosening``, ``git``; ``locked_models`` and ``lock_text`` for the
lock, ``tensor_changes`` for what became of tensors; ``growth`` for what every commit of a range made of the models.
"""
