"""``explain --draft``: a first closed form of a class, inferred from what it builds at several sizes."""
