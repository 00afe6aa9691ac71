"""EuroBERT (Boizard et al. 2025, arXiv 2503.05500): an encoder of the layers that Llama has, keys shared by heads.

V·D + L·(2·D·W·(A + Q) + 3·D·I + 2·D) + D, where W is the width of a head; embeddings have no norm, but there is one
after the last layer: a scale without a shift (Zhang and Sennrich 2019, arXiv 1910.07467). The masked language model has
V·D, which is not tied by default; ``mlp_bias`` gives it V of bias, too. Ahead of the classifier of sequences: D² + D.
"""

from pytest_bertsize.closed_forms.declare import Index, family, keys
from pytest_bertsize.closed_forms.families import llama
from pytest_bertsize.closed_forms.parts import heads, rotary

EUROBERT = family(
    "eurobert",
    keys(
        "V 128256, D 768, L 12 layers from 0, A 12 divides D, Q none, S none, I 3072",
        switches="attention_bias false, mlp_bias false, tie_word_embeddings false",
        activations="hidden_act silu",
        indices=(Index("pad_token_id", 128001),),
        rules=rotary.PADS_WITHIN + rotary.EVEN_HEAD_DIM + rotary.EVEN_HEADS,
        ignored=llama.IGNORED,
    ),
    """
    EuroBertModel                       body
    EuroBertForMaskedLM                 model.body + lm_head
    EuroBertForSequenceClassification   model.body + transform + classifier
    EuroBertForTokenClassification      model.body + classifier
    """,
    llama.PARTS,
    stack="encoder",
    bias="attention_bias",
    last_bias="attention_bias",
    mlp_bias="mlp_bias",
    lm_head=heads.projection("lm_head", "model.embed_tokens.weight", bias="mlp_bias"),
    transform="dense  linear D D  @head.transform",
    since=(5, 3),
)
