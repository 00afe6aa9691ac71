"""What a config's count is made of, for a reader: component, formula, numbers, count. Nothing here builds a model."""
