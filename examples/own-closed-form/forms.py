"""The closed form of colbert.ColBert, which the table names."""

from dataclasses import replace

from pytest_bertsize.closed_forms import Architecture, Block, Dims, Family, Size, linear
from pytest_bertsize.closed_forms.families import bert


def projection(dims: Dims) -> Block:
    """W·D, without a bias."""
    return linear("linear", dims.D, dims.W, bias=False, component="head.projection")


FAMILY = Family(
    name="bert",  # the config's model_type
    keys=replace(bert.KEYS, sizes=(*bert.KEYS.sizes, Size("token_width", "W", default=128))),
    architectures=(Architecture("ColBert", bert.BODY.under(projection, pooler=True), defined_in="colbert"),),
)


def pytest_bertsize_closed_forms() -> list[Family]:
    return [FAMILY]
