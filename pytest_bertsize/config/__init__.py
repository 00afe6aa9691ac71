"""config.json, YAML, the table or a function of the project: read strictly, without transformers.

In: a Model of the table. Out: a ModelConfig; from it, by a family's keys, Values and Dims (sizes and switches).
Doors: ``source``, ``model_config``, ``keys``, ``values``, ``dims``, ``adapter``. yaml is imported here alone.
"""
