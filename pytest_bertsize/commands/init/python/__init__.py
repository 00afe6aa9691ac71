"""What a project's Python says of its models: read by ``ast``, nothing of it is run."""
