"""The helper process, which builds models on the meta device, under limits, and lists their tensors.

In: Requests. Out: Built or NotBuilt. torch and transformers are imported in ``builder/child/`` alone.
Entry points: ``helper`` and ``messages``; ``own_process`` and ``confined`` for other code that runs in a sandbox.
"""
