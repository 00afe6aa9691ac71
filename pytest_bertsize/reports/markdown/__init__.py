"""The report as Markdown, for a comment or the summary of a step."""
