"""The helper process: builds models on the meta device, under limits, and lists their tensors.

In: Requests. Out: Built or NotBuilt. torch and transformers are imported in ``builder/child/`` alone.
Doors: ``helper`` and ``messages``; ``own_process`` and ``confined`` for other code that runs in a cage.
"""
