"""``bertsize diff``: configs side by side. In: what the command line names. Out: counts, shapes, what moved them."""
