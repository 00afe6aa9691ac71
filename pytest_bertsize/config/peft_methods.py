"""What PEFT 0.21.2 takes where an adapter does not say, and its methods beside LoRA, which have no closed form here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_bertsize.wording import shown

TARGETS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "electra", "layoutlm"), ("query", "value")),
    **dict.fromkeys(("t5", "mt5"), ("q", "v")),
    **dict.fromkeys(("bart", "opt", "llama", "mistral", "qwen2", "qwen3"), ("q_proj", "v_proj")),
    **dict.fromkeys(("gemma", "gemma2", "gemma3_text"), ("q_proj", "v_proj")),
    "gpt2": ("c_attn",),
    "gpt_neox": ("query_key_value",),
    "deberta": ("in_proj",),
    "deberta-v2": ("query_proj", "value_proj"),
}
"""What PEFT takes for a family where ``target_modules`` is left out: its
``TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING``."""

METHODS = (
    *("ADALORA", "BOFT", "FOURIERFT", "HRA", "IA3", "LN_TUNING", "LOHA", "LOKR", "OFT", "PREFIX_TUNING"),
    *("PROMPT_TUNING", "P_TUNING", "TRAINABLE_TOKENS", "VERA"),
)
"""Those that PEFT builds from numbers and names alone: no other model, no file, no code."""
OF_NO_COUNT = frozenset(
    {
        *("auto_mapping", "base_model_name_or_path", "peft_version", "revision", "runtime_config", "megatron_core"),
        *("prompt_tuning_init", "prompt_tuning_init_text", "tokenizer_name_or_path", "tokenizer_kwargs"),
        *("inference_mode", "peft_type", "loftq_config", "corda_config", "eva_config", "lora_ga_config"),
    }
)
"""Never given to PEFT: initial values, and the files and models that they come from."""
LARGEST = 10_000_000
"""Of any number in it."""


def given(data: Mapping[str, object]) -> dict[str, object]:
    """What PEFT's config class is given; what it does not know, it refuses by name."""
    return {key: value for key, value in data.items() if key not in OF_NO_COUNT and value is not None}


def wrong(data: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """The keys that may not stand there: each with what is wrong, and what to do."""
    for key, value in data.items():
        if key == "megatron_config" and value is not None:
            message = f"{key} makes PEFT import the module that megatron_core names"
            yield key, message, "remove it: it says how to train, not what"
        elif isinstance(value, int) and value > LARGEST:
            yield key, f"{key} is {shown(value)}, more than {LARGEST:,}", "write the number that the adapter has"
