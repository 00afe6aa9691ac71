"""Configs from config.json, YAML, the table or a function of the project, read strictly and without transformers.

In: a Model of the table. Out: a ModelConfig, and the Values and Dims (sizes, switches) of a family's keys in it.
Entry points: ``source``, ``model_config``, ``keys``, ``values``, ``adapter``. Only this package imports yaml.
"""
