"""Task heads that BERT and its kin share. A head's component is ``head`` and what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, layer_norm, linear, parameter, tied

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.closed_forms.body import Head
    from pytest_bertsize.closed_forms.dims import Dims


def masked_lm(word_embeddings: str) -> Head:
    """``cls.predictions``: D² + 3·D of transform and V of output bias; untied, the decoder adds V·D + V more.

    The untied decoder has a bias of its own, and ``cls.predictions.bias`` stays behind without a use
    (transformers ≥ 5). Source: Devlin et al. 2018, appendix A; the tie is ``all_tied_weights_keys`` of the classes.

    :param word_embeddings: full name of the embedding matrix that the decoder shares.
    """

    def head(dims: Dims) -> Block:
        D = dims.D
        return block(
            "cls.predictions",
            parameter("bias", dims.V, component="head.decoder"),
            block(
                "transform",
                linear("dense", D, D),
                activation("transform_act_fn", dims.hidden_act),
                layer_norm("LayerNorm", D),
                component="head.transform",
            ),
            decoder(dims, D, word_embeddings, bias="cls.predictions.bias"),
        )

    return head


def lm_head(word_embeddings: str) -> Head:
    """``lm_head`` of RoBERTa: the parameters of :func:`masked_lm` by other names, and always a GELU (fairseq)."""

    def head(dims: Dims) -> Block:
        D = dims.D
        return block(
            "lm_head",
            parameter("bias", dims.V, component="head.decoder"),
            linear("dense", D, D, component="head.transform"),
            layer_norm("layer_norm", D, component="head.transform"),
            decoder(dims, D, word_embeddings, bias="lm_head.bias"),
        )

    return head


def decoder(dims: Dims, width: Count, word_embeddings: str, *, bias: str) -> Block:
    """``decoder``: nothing where it is tied to the word embeddings, else V·width + V."""
    module = linear("decoder", width, dims.V, component="head.decoder")
    return tied(module, weight=word_embeddings, bias=bias) if dims.tie_word_embeddings else module


def next_sentence(dims: Dims) -> Block:
    """``cls.seq_relationship``: 2·D + 2, is next or is not (Devlin et al. 2018, section 3.1)."""
    return linear("cls.seq_relationship", dims.D, 2, component="head.seq_relationship")


def classifier(dims: Dims) -> Block:
    """``classifier``: C·D + C for C labels."""
    return linear("classifier", dims.D, dims.C, component="head.classifier")


def dense_classifier(dims: Dims) -> Block:
    """``classifier`` of RoBERTa, which brings a dense layer of its own in place of a pooler: D² + D + C·D + C."""
    D = dims.D
    return block("classifier", linear("dense", D, D), linear("out_proj", D, dims.C), component="head.classifier")


def choice(dims: Dims) -> Block:
    """``classifier`` of multiple choice: D + 1, a score for each choice, whatever the number of labels."""
    return linear("classifier", dims.D, 1, component="head.classifier")


def span(dims: Dims) -> Block:
    """``qa_outputs``: C·D + C, start and end of the answer for C = 2."""
    return linear("qa_outputs", dims.D, dims.C, component="head.qa_outputs")
