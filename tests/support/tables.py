"""Tables over the tiny model of conftest.py: 59,549 parameters, 2,549 of them in its head."""

TABLE = """
    [tool.bertsize.models.fits]
    config = "config.json"
    budget.total = "60K"
    [tool.bertsize.models.bursts]
    config = "config.json"
    budget.head = 2_548
    """
FITS = TABLE.partition("[tool.bertsize.models.bursts]")[0]
BOUNDED = TABLE.replace('"60K"', '{ min = 59_000, max = "60K" }')
