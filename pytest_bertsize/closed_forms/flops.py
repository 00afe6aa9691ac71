"""FLOPs of a forward pass by component: from the closed form for proven families, else from torch's counter.

Only matrix products count, 2 FLOPs for a multiply-add, as in torch's own counter (Kaplan et al. 2020, arXiv
2001.08361, table 1). For BERT: L·(2·S·(4·D² + 2·I·D) + 4·S²·D), its pooler and its head.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.parts import shared_keys
from pytest_bertsize.inventory import common, find_nearest, group_by_module, is_within, roll_up
from pytest_bertsize.wording import BadValue, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import Architecture, ClosedForm
    from pytest_bertsize.config.dims import Dims
    from pytest_bertsize.inventory import Inventory

# families whose FLOPs were compared with torch's counter, class by class
PROVEN = (
    *("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "albert", "electra", "ernie", "megatron-bert"),
    *("rembert", "roberta-prelayernorm", "xlm-roberta-xl", "data2vec-text", "ibert", "layoutlm", "bert-generation"),
    *("roc_bert", "clip_text_model", "siglip_text_model", "opt", "m2m_100"),
    *("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "gpt_neox"),
    *("modernbert-decoder", "jina_embeddings_v3"),
)
TURNED = PROVEN[PROVEN.index("llama") :]  # rotary positions, whose angles were a product of their own before ANGLES
ANGLES = (5, 16)

FOR_EACH_TEXT = ("pooler", "head.seq_relationship", "head.sentence_order", "head.projection")  # not for each token
# ends of classes' names: such a head runs once for a text, except in decoders, which score each token
POOLED = ("ForSequenceClassification", "ForMultipleChoice", "ForNextSentencePrediction")
UNUSED = "encoder.cross_attention"  # a text alone does not use it: it needs another model's states
LINEAR = ("linear", "quantised_linear")
# the linear layers after an attention; as wide as their inputs are its two matrix products over all pairs of tokens:
# queries with keys, and weights with values
OUTPUTS = ("attention.output.dense", "attention.dense", "attention.out_lin", "attn.o_proj", "attn.out_proj", "attn.Wo")

UNEXPECTED = "unexpected"  # the component of products that belong to no other component


def flops(architecture: Architecture, dims: Dims, *, seq_len: int) -> dict[str, int] | None:
    """Count the FLOPs of a forward pass of one text for every component; ``None`` for an unproven family.

    :param architecture: the object itself, since a contributed class may have the name of a built-in one.
    :param seq_len: tokens in the text; for multiple choice, in one choice.
    """
    proven = _find_proven(architecture)
    if proven is None or (proven in TURNED and dims.release < ANGLES):
        return None
    relative = shared_keys.products(dims)
    if relative > 1 and dims.switches.get("is_decoder"):
        return None  # its cache, which came with one of the releases, leaves one distance for each key
    terms = [term for term in architecture.terms(dims) if term.component != UNUSED]
    if not any(shared_keys.TABLE in term.name for term in terms):
        relative = 0
    decodes = any(is_within(term.component, "decoder") for term in terms)
    own: Counter[str] = Counter()
    for term in terms:
        if term.kind in LINEAR and term.name.endswith(".weight"):
            is_of_head = is_within(term.component, "head") and architecture.name.endswith(POOLED) and not decodes
            sees_text = term.component in FOR_EACH_TEXT or is_of_head
            own[term.component] += 2 * term.passes * term.size * (1 if sees_text else seq_len)
            if term.name.removesuffix(".weight").endswith(OUTPUTS):
                _, inputs = term.shape
                own[term.component] += 2 * term.passes * (2 + relative) * inputs * seq_len**2
    return roll_up({component: count for component, count in own.items() if count})


def _find_proven(architecture: Architecture) -> str | None:
    return next((name for name in PROVEN if any(each is architecture for each in FAMILIES[name].architectures)), None)


def count_unused_positions(architecture: Architecture, config: Mapping[str, object]) -> int:
    """Count the rows at the start of the position table that no text uses: up to and including the row of padding."""
    proven = _find_proven(architecture)
    padding = FAMILIES[proven].keys.padding if proven else None
    if padding is None:
        return 0
    row = config.get(padding.key, padding.default)
    if type(row) is not int or row < 0:
        message = f"its FLOPs cannot be counted: {padding.key} is {shown(row)}, but positions are numbered from it"
        raise BadValue(message, f"write the row of padding, as in {padding.default}")
    return row + 1


def count_flops(form: ClosedForm, seq_len: int) -> int | None:
    """Count all FLOPs of one text; ``None`` for an unproven family."""
    components = flops(form.architecture, form.dims, seq_len=seq_len)
    return None if components is None else total(components)


def total(components: Mapping[str, int]) -> int:
    """Sum the components of the top level, which include those of every level below."""
    return sum(count for component, count in components.items() if "." not in component)


def by_component(rows: Iterable[tuple[str, int]], inventory: Inventory) -> dict[str, int]:
    """Return the FLOPs of every component at every level, from the FLOPs of modules by path; the total is the same.

    A module counts for the component of the matrices in it. If they have several components, it counts for their common
    parent; if there are no matrices in it, for the component of the nearest module around it.
    """
    tables = f"{shared_keys.TABLE}.weight"  # the attention around such a table multiplies it
    # biases and norms multiply nothing
    matrices = [each for each in inventory.tensors if len(each.shape) > 1 and not each.name.endswith(tables)]
    modules = {
        path: {each for each in found if not is_within(each, "adapters")} or found  # which count if nothing else does
        for path, found in group_by_module((each.name, each.component) for each in matrices).items()
    }
    whole = common(modules[()], UNEXPECTED) if modules else UNEXPECTED
    own: Counter[str] = Counter()
    for path, count in rows:
        own[find_nearest(f"{path}.weight", modules, whole)] += count
    return roll_up(dict(own))
