"""What an architect would want to be told of a shape: odd heads, odd rows, a network far from usual; notes, no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.axes import HEAD_WIDTHS, MULTIPLE
from pytest_bertsize.closed_forms.what_if import Variants
from pytest_bertsize.wording import exact, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.closed_forms.derive import Derivation

NARROWEST = 128
"""What is narrower is no model that anybody trains: one for a test."""
USUAL_HEADS = (32, 64, 80, 96, 128, 256)
"""Of BERT and nearly all others; 96 is Phi-3's (arXiv 2404.14219), 256 Gemma's (arXiv 2403.08295)."""
FEWEST_TOKENS = 1_000
"""What has fewer is no vocabulary of words: 33 amino acids, 256 bytes."""
TOKENS = frozenset({"vocab_size", "decoder_vocab_size"})
USUAL_RATIO, GATED_RATIO = 4, 8 / 3
"""Of the feed-forward network to the width (Vaswani et al. 2017, arXiv 1706.03762; Shazeer 2020, arXiv 2002.05202)."""
FAR = 2
"""How many times the usual ratio, or which part of it, is worth a word."""
STACKED = "num_feedforward_networks"
"""MobileBERT's, of each layer: together they are as wide as others' one (arXiv 2004.02984)."""
GATED = 3
"""Matrices of a gated network; others have two."""
BEHIND_PADDING = frozenset(
    {
        *("roberta", "xlm-roberta", "camembert", "data2vec-text", "xlm-roberta-xl", "roberta-prelayernorm"),
        *("longformer", "ibert", "xmod", "luke", "mpnet", "markuplm", "layoutlmv3", "lilt", "esm"),
    }
)
"""Families whose positions begin behind the padding's: ``create_position_ids_from_input_ids`` of their modules."""
PADDING = 1
"""Their ``pad_token_id``, unless the config says another."""


def unusual(derivation: Derivation) -> tuple[str, ...]:
    """A sentence, without its full stop, for what is seldom meant; none of a model for tests."""
    variants = Variants(derivation)
    width = next((size.key for size in variants.sizes.values() if size.symbol == "D"), None)
    if width is None or variants.now(width) < NARROWEST:
        return ()
    return (*_heads(variants, width), *_vocabularies(variants), *_network(variants, width), *_positions(variants))


def _heads(variants: Variants, width: str) -> Iterator[str]:
    said = next((key for key in HEAD_WIDTHS if key in variants.sizes), None)
    heads = next((size.key for size in variants.sizes.values() if size.symbol == "A"), None)
    usual = f"attention is fastest with heads of {', '.join(map(str, USUAL_HEADS[:-1]))} or {USUAL_HEADS[-1]}"
    if said:
        if variants.now(said) not in USUAL_HEADS:
            yield f"{said} is {exact(variants.now(said))}: {usual}"
    elif heads:
        each, rest = divmod(variants.now(width), variants.now(heads))
        if rest:
            yield f"{heads} {exact(variants.now(heads))} does not divide {width} {exact(variants.now(width))}"
        elif each not in USUAL_HEADS:
            yield f"a head is {exact(variants.now(width))} / {exact(variants.now(heads))} = {exact(each)} wide: {usual}"


def _vocabularies(variants: Variants) -> Iterator[str]:
    """With what it costs to pad each."""
    for key in variants.sizes:
        now = variants.now(key)
        padded = -(-now // MULTIPLE) * MULTIPLE
        if key.rpartition(".")[2] in TOKENS and now >= FEWEST_TOKENS and padded != now:
            cost = variants.unchecked(**{key: padded}).total - variants.form.total
            yield (
                f"{key} {exact(now)} is no multiple of {MULTIPLE}: padded to {exact(padded)} it costs "
                f"{plural(cost, 'parameter')} more"
            )


def _network(variants: Variants, width: str) -> Iterator[str]:
    """Whether it is gated, the closed form says: by the parameters that one more unit of it has in a layer."""
    key = next((size.key for size in variants.sizes.values() if size.symbol == "I"), None)
    layers = next((size.key for size in variants.sizes.values() if size.symbol == "L"), None)
    if key is None or layers is None or not variants.now(layers):
        return
    now, wide = variants.now(key), variants.now(width)
    each = variants.now(STACKED) if STACKED in variants.sizes else 1
    unit = variants.unchecked(**{key: now + 1}).total - variants.form.total
    gated = unit // (wide * variants.now(layers)) % GATED == 0 and unit >= GATED * wide
    usual = GATED_RATIO if gated else USUAL_RATIO
    if not usual / FAR <= each * now / wide <= usual * FAR:
        most = f"{'8/3' if gated else '4'} times in most{' gated' if gated else ''} networks"
        yield f"{key} {exact(now)} is {now / wide:.3g} times {width} {exact(wide)}: {most}"


def _positions(variants: Variants) -> Iterator[str]:
    key = next((size.key for size in variants.sizes.values() if size.symbol == "P"), None)
    family, written = variants.derivation.family.name, variants.derivation.values.for_build
    padding = written.get("pad_token_id", PADDING)
    if key is None or family not in BEHIND_PADDING or not isinstance(padding, int):
        return
    rows, first = variants.now(key), padding + 1
    if rows % MULTIPLE == 0 and rows > first:
        yield (
            f"positions begin at {first}, behind pad_token_id {padding}: {exact(rows)} rows are of "
            f"{plural(rows - first, 'token')}; {key} {exact(rows + first)} is of {exact(rows)}"
        )
