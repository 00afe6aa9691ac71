"""Config keys that concern all families: keys that change no count, keys that are refused or withheld, and synonyms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_bertsize.dtypes import OF_PARAMETERS
from pytest_bertsize.wording import shown

NAMED_BY_LABELS = ("id2label", "label2id")
"""Keys whose objects have one entry per label, and so may have more entries than other objects."""

ACTIVATIONS = frozenset(
    "gelu gelu_10 gelu_fast gelu_new gelu_python gelu_pytorch_tanh gelu_python_tanh gelu_accurate hardswish laplace "
    "leaky_relu linear mish quick_gelu relu relu2 relu6 sigmoid silu sqrtsoftplus swish tanh prelu xielu".split()
)
"""The names that transformers knows (``ACT2FN``); ``prelu`` and ``xielu`` have parameters."""

PASSED = frozenset(
    "hidden_dropout_prob attention_probs_dropout_prob classifier_dropout initializer_range layer_norm_eps pad_token_id "
    "bos_token_id eos_token_id use_cache problem_type chunk_size_feed_forward".split()
)
"""Keys that change no count, but that the class gets, since it may refuse their values; overrides may set them."""

WITHHELD = frozenset(
    # the origin of the file
    "model_type architectures transformers_version name_or_path _name_or_path _commit_hash tokenizer_class "
    "_num_labels sbert_ce_default_activation_function sentence_transformers transformers.js_config "
    # hydra's: the class that a training script makes of it
    "_target_ _partial_ _recursive_ _convert_ "
    # the number format and the code, which transformers looks up, loads or fetches
    "dtype torch_dtype quantization_config "
    "attn_implementation _attn_implementation _attn_implementation_autoset".split()
)
"""Keys of published configs that change no count, and that the config class never gets."""

INERT = WITHHELD | frozenset(
    "finetuning_task task_specific_params label2id tf_legacy_loss torchscript use_bfloat16 use_return_dict xla_device "
    "language name "
    # how the model runs
    "gradient_checkpointing return_dict output_attentions output_hidden_states output_past is_encoder_decoder "
    "tie_encoder_decoder cross_attention_hidden_size "
    # Google's Chinese BERT
    "directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type "
    # the tokenizer's
    "cls_token_id eos_token_ids mask_token_id sep_token_id unk_token_id "
    # generation
    "bad_words_ids begin_suppress_tokens decoder_start_token_id diversity_penalty do_sample early_stopping "
    "encoder_no_repeat_ngram_size exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id "
    "length_penalty max_length min_length no_repeat_ngram_size num_beam_groups num_beams num_return_sequences "
    "output_scores prefix remove_invalid_values repetition_penalty return_dict_in_generate "
    "suppress_tokens temperature top_k top_p typical_p".split()
)
"""Keys of published configs that change no count."""

REFUSED = {
    "attribute_map": "it renames the other keys of its file",
    "auto_map": "it names code to run in place of the library's class",
    "configuration_files": "it names another file to read in place of this one",
    "per_layer_config": "it gives single layers other sizes, which the class ignores",
    "trust_remote_code": "a config does not decide whether code runs",
}
"""Keys that steer transformers itself: with them the library may build another model than the file describes."""

IMPLEMENTATIONS = ("attn_implementation", "experts_implementation")
"""Parts of the names of keys that choose a layer's code; an unknown value names a repository whose code would run."""
KNOWN_IMPLEMENTATIONS = frozenset(
    "eager sdpa flash_attention_2 flash_attention_3 flash_attention_4 flex_attention paged|eager paged|sdpa "
    "paged|flash_attention_2 paged|flash_attention_3 batched_mm grouped_mm".split()
)
DTYPE = frozenset({"dtype", "torch_dtype"})
"""Keys whose value transformers looks up among all names of torch: ``"_dynamo"`` imports hundreds of modules."""
QUANTIZATION = "quantization_config"
"""A key that must be an object: the library cannot even print a config that has another value there."""
KNOWN_DTYPES = frozenset(("auto", "double", "float", "half", *OF_PARAMETERS))

SYNONYMS = {
    "V": ("vocab_size", "n_vocab", "vocabulary_size", "n_words", "n_token"),
    "D": ("hidden_size", "d_model", "n_embd", "dim", "hidden_dim", "embed_dim", "emb_dim"),
    "L": ("num_hidden_layers", "num_layers", "n_layers", "n_layer", "encoder_layers"),
    "A": ("num_attention_heads", "num_heads", "n_heads", "n_head", "encoder_attention_heads"),
    "I": tuple("intermediate_size d_ff d_inner ffn_dim intermediate_dim feed_forward_size encoder_ffn_dim".split()),
    "P": ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_length", "max_seq_len"),
    "T": ("type_vocab_size", "num_segments", "token_type_vocab_size", "num_token_types"),
    "C": ("num_labels", "n_labels", "num_classes", "n_classes"),
}
"""The names that libraries give to each size, by the size's symbol; a family reads one name and ignores the others."""


def explain_refusal(key: str, value: object) -> str:
    """Return why a config may not have a key, ``""`` if it may."""
    if key.startswith("__"):
        return "Python itself has that name"
    if _says_which_code(key) and not _is_each(value, lambda one: isinstance(one, bool) or one in KNOWN_IMPLEMENTATIONS):
        return f"{shown(value)} is code to fetch and to run in place of the library's own"
    if key in DTYPE and not _is_each(value, lambda one: str(one).removeprefix("torch.") in KNOWN_DTYPES):
        return f"{shown(value)} is not a number format of torch"
    if key == QUANTIZATION and not isinstance(value, dict | None):
        return f"{shown(value)} is not an object"
    return REFUSED.get(key, "")


def is_withheld(key: str) -> bool:
    """Return whether the library never gets a key: it is about the file's origin, the number format or the code."""
    return key in WITHHELD or _says_which_code(key)


def _says_which_code(key: str) -> bool:
    return any(part in key for part in IMPLEMENTATIONS)


def _is_each(value: object, is_known: Callable[[str | bool], bool]) -> bool:
    """Return whether ``is_known`` holds for a value, or for each value of an object; ``null`` counts as known."""
    if isinstance(value, dict):
        return all(_is_each(each, is_known) for each in value.values())
    return value is None or (isinstance(value, str | bool) and is_known(value))


def withhold_steering_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the keys that steer the library, in nested objects too."""
    kept = {key: value for key, value in config.items() if not is_withheld(key) and not explain_refusal(key, value)}
    return {key: value if key in NAMED_BY_LABELS else _withhold_inside(value) for key, value in kept.items()}


def _withhold_inside(value: Any) -> Any:
    if isinstance(value, list):
        return [_withhold_inside(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {**{key: value[key] for key in ("model_type",) if key in value}, **withhold_steering_keys(value)}


def to_snake_case(key: str) -> str:
    """Return ``num_hidden_layers`` for ``numHiddenLayers`` and for ``num-hidden-layers``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower().replace("-", "_")


def find_synonym(key: str, own_by_symbol: Mapping[str, str]) -> str:
    """Return the family's own key for a size that other libraries call ``key``; ``""`` if there is none."""
    name = to_snake_case(key)
    known = (own for symbol, own in own_by_symbol.items() if name in SYNONYMS.get(symbol, ()) and name != own)
    return next(known, "")
