"""Task heads that BERT and its kin share. A head's component is ``head`` and what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, layer_norm, linear, of_each_token, parameter, tied
from pytest_bertsize.config.older_releases import V4

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.closed_forms.parts.body import Head
    from pytest_bertsize.config.dims import Dims


def masked_lm(word_embeddings: str, *, width: str = "D") -> Head:
    """``cls.predictions``: D² + 3·D of transform and V of output bias; untied, the decoder adds V·D + V more.

    The untied decoder has a bias of its own, and ``cls.predictions.bias`` stays behind without a use
    (transformers ≥ 5). Source: Devlin et al. 2018, appendix A; the tie is ``all_tied_weights_keys`` of the classes.

    :param word_embeddings: full name of the embedding matrix that the decoder shares.
    :param width: symbol of what the transform goes to: ``"E"`` where word embeddings may be narrower than the layers.
    """

    def head(dims: Dims) -> Block:
        D = dims.D
        E = dims.either(width, D)
        return block(
            "cls.predictions",
            parameter("bias", dims.V, component="head.decoder"),
            block(
                "transform",
                linear("dense", D, E),
                activation("transform_act_fn", dims.hidden_act),
                layer_norm("LayerNorm", E),
                component="head.transform",
            ),
            decoder(dims, E, word_embeddings, bias="cls.predictions.bias"),
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
    """``decoder``: nothing where it is tied to the word embeddings, else V·width + V.

    Up to transformers 4 its bias is the head's, whatever the config ties:
    https://github.com/huggingface/transformers/pull/42191.
    """
    module = linear("decoder", width, dims.V, component="head.decoder")
    if dims.tie_word_embeddings:
        return tied(module, weight=word_embeddings, bias=bias)
    return tied(module, bias=bias) if dims.release < V4 else module


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


def classification_head(dims: Dims) -> Block:
    """The same by the name that encoder-decoders give it."""
    return dense_classifier(dims)._replace(name="classification_head")


def choice(dims: Dims) -> Block:
    """``classifier`` of multiple choice: D + 1, a score for each choice, whatever the number of labels."""
    return linear("classifier", dims.D, 1, component="head.classifier")


def span(dims: Dims) -> Block:
    """``qa_outputs``: C·D + C, start and end of the answer for C = 2."""
    return linear("qa_outputs", dims.D, dims.C, component="head.qa_outputs")


def two_label_span(dims: Dims) -> Block:
    """``qa_outputs`` of classes that set their two labels themselves: 2·D + 2, whatever the config says."""
    return linear("qa_outputs", dims.D, 2, component="head.qa_outputs")


def projection(name: str, word_embeddings: str, *, bias: bool) -> Head:
    """Language modelling by one matrix: none of its own where it is tied, else V·D; V more with a bias, never tied.

    :param word_embeddings: full name of the embedding matrix that it shares.
    """

    def head(dims: Dims) -> Block:
        module = linear(name, dims.D, dims.V, bias=bias, component="head.decoder")
        return tied(module, weight=word_embeddings) if dims.tie_word_embeddings else module

    return head


def score(dims: Dims) -> Block:
    """``score``: C·D, a classifier without a bias, as decoders have it: they score each token, and use the last."""
    return of_each_token(linear("score", dims.D, dims.C, bias=False, component="head.classifier"))


def searched_span(name: str) -> Head:
    """Question answering by beam search: 4·D² + 7·D + 2, the end scored beside its start, and whether there is one.

    Source: Yang et al. 2019 (XLNet, arXiv 1906.08237), whose code for SQuAD 2 it is.

    :param name: of the module that holds the three; ``""`` where the model itself does.
    """

    def head(dims: Dims) -> Block:
        D = dims.D
        return block(
            name,
            linear("start_logits.dense", D, 1),
            block("end_logits", linear("dense_0", 2 * D, D), layer_norm("LayerNorm", D), linear("dense_1", D, 1)),
            block(
                "answer_class",
                linear("dense_0", 2 * D, D),
                linear("dense_1", D, 1, bias=False),
                component="head.answer_class",
            ),
            component="head.qa_outputs",
        )

    return head
