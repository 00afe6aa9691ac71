"""Configs from config.json, YAML, the table or a function of the project, read strictly and without transformers.

In: a Model of the table. Out: a ModelConfig; from it, by a family's keys, Values and Dims (sizes and switches).
Entry points: ``source``, ``model_config``, ``keys``, ``values``, ``adapter``. Only this package imports yaml.
"""
