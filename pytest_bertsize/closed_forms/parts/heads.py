"""The heads that many families share, as trees: a head's component is ``head.`` and its task.

``{under}`` is the attribute under which a class keeps its body. Sources: Devlin et al. 2018 (appendix A) for BERT's,
fairseq for RoBERTa's, Yang et al. 2019 (arXiv 1906.08237) for spans by beam search; the ties are the classes'
``all_tied_weights_keys``.
"""

from __future__ import annotations

from pytest_bertsize.closed_forms.tree import fill
from pytest_bertsize.config.keys import ACTIVATIONS, Choice


def decoder(bias: str, *, width: str = "D") -> str:
    """Return the decoder to words: no parameters if it is tied, else V·width + V.

    Before transformers 5 its bias is always tied to the head's bias
    (https://github.com/huggingface/transformers/pull/42191).
    """
    ties = f"weight={{under}}.embeddings.word_embeddings.weight if {TIES}, bias={bias} if {TIES} or before(5)"
    return f"decoder  linear {width} V  @head.decoder  tied {ties}"


TIES = "tie_word_embeddings"
# If the word embeddings are narrower than the layers, the transform narrows to the width of the embeddings.
MASKED_LM = f"""
cls.predictions
  bias                       parameter V   @head.decoder
  transform                                @head.transform
    dense                    linear D get(E,D)
    transform_act_fn         activation hidden_act
    LayerNorm                layer_norm get(E,D)
  {decoder("cls.predictions.bias", width="get(E,D)")}
"""


def lm_head(
    name: str = "lm_head", *, width: str = "D", norm: str = "layer_norm", activation: str = "None", last: str = ""
) -> str:
    """Return a head like RoBERTa's, which always has a GELU; its ``last`` line is a decoder with a tied bias."""
    return f"""
    {name}
      bias         parameter V               @head.decoder
      dense        linear D {width}          @head.transform
      activation   activation {activation}   @head.transform
      {norm}       layer_norm {width}        @head.transform
      {last or decoder(f"{name}.bias", width=width)}
    """


def projection(name: str, words: str, *, width: str = "D", bias: str = "False") -> str:
    """Return a language model of one matrix, which may be tied; its bias is never tied."""
    return f"{name}  linear {width} V bias={bias}  @head.decoder  tied weight={words} if tie_word_embeddings"


# RoBERTa's classifier, with a dense layer of its own in place of a pooler.
DENSE_CLASSIFIER = """
classifier          @head.classifier
  dense             linear D D
  out_proj          linear D C
"""
# Question answering by beam search: scores of the start, of the end for each start, and of having an answer.
SEARCHED_SPAN = """
{place}                      @head.qa_outputs
  start_logits.dense         linear D 1
  end_logits
    dense_0                  linear 2*D D
    LayerNorm                layer_norm D
    dense_1                  linear D 1
  answer_class               @head.answer_class
    dense_0                  linear 2*D D
    dense_1                  linear D 1 bias=False
"""

_SUMMARY = """
{place}                      @head.summary
  summary                    linear D ({outputs} if summary_proj_to_labels else D)   when summary_use_proj
  activation                 activation summary_activation
"""


def summary(place: str = "sequence_summary", outputs: str = "C") -> str:
    """Return the projection of a sequence's vector, if any."""
    return fill(_SUMMARY, place=place, outputs=outputs)


def summary_choices(place: str, function: str | None = None) -> tuple[Choice, Choice]:
    """Return the keys of a sequence's vector, with their defaults: its position, and its activation."""
    places = frozenset({"last", "first", "mean", "cls_index", "attn"})
    return Choice("summary_type", place, places), Choice("summary_activation", function, ACTIVATIONS)


# The trees of a class by the end of its name, unless its family sets others; ``{language_model}`` is the family's tree
# ``lm_head``, else ``masked_lm``.
CLASSES = {
    "ForPreTraining": "{under}.body(pooler) + {language_model} + next_sentence",
    **dict.fromkeys(("ForMaskedLM", "ForCausalLM", "LMHeadModel"), "{under}.body + {language_model}"),
    "ForNextSentencePrediction": "{under}.body(pooler) + next_sentence",
    "ForSequenceClassification": "{under}.body(pooler) + classifier",
    "ForMultipleChoice": "{under}.body(pooler) + choice",
    "ForTokenClassification": "{under}.body + classifier",
    "ForQuestionAnswering": "{under}.body + span",
    "Model": "body(pooler=add_pooling_layer)   option add_pooling_layer=True",
}
# Rules by the name of a tree, for the classes of all families with this tree.
RULES = {
    "summary": """
    summary_type != "attn"
      summary_type is "attn", which the class refuses: it was never implemented
      write "cls_index", for example
    """
}

# The trees that families share, by their names in the lines of classes.
COMMON = {
    "next_sentence": "cls.seq_relationship  linear D 2  @head.seq_relationship",  # for and against
    "classifier": "classifier  linear D C  @head.classifier",
    "dense_classifier": DENSE_CLASSIFIER,
    "classification_head": DENSE_CLASSIFIER.replace("classifier  ", "classification_head  "),  # in encoder-decoders
    "pre_classifier": "pre_classifier  linear D D  @head.classifier",  # before a classifier, in place of a pooler
    "choice": "classifier  linear D 1  @head.classifier",  # a score for each choice
    "span": "qa_outputs  linear D C  @head.qa_outputs",  # with two labels the start and the end of the answer
    "two_label_span": "qa_outputs  linear D 2  @head.qa_outputs",  # of classes that ignore the config's labels
    "score": "score  linear D C bias=False  @head.classifier",  # of decoders, for each token
    "summary": summary(),
}
