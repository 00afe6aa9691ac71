"""Bytes, bytes of training and FLOPs of a model that was built: how they are counted, and when they are refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from pytest_bertsize.builder.messages import Buffer, Built
from pytest_bertsize.review.check import conclude
from pytest_bertsize.table.settings import limits_from, parse
from tests.support.bert_reviews import SIZES, chinese, derived, only

if TYPE_CHECKING:
    from pytest_bertsize.review.review import Measured, Review
    from pytest_bertsize.table.limits import Limit

PARAMETERS = 102_290_312  # SOURCES D
STORED = PARAMETERS + 21_128 * 768 + 21_128  # with the decoder's matrix and its bias, which are tied
TOKENS = 16
FLOPS = f'budget.flops = {{ max = "9G", seq_len = {TOKENS} }}'


def reviewed(limits: str, built: Built | None = None, extra: tuple[Limit, ...] = (), **config: object) -> Review:
    """Return the review of a model that is built as derived, or as ``built``, under limits of its table."""
    table = f'[tool.bertsize.models.zh]\nconfig = "config.json"\n{limits}\n'
    model = parse(table, Path("pyproject.toml")).models["zh"]
    return conclude(replace(derived.__wrapped__(vocab_size=21128, **config), model=model), built or as_built(), extra)


def as_built(*buffers: Buffer, **more: Any) -> Built:
    tensors = chinese().tensors
    ties = {each.name: each.tied_to for each in tensors if each.tied_to}
    return Built(tensors, ties, buffers, **more)


def measured(found: Review) -> Measured:
    (one,) = found.measured
    return one


def flops_of_modules(extra: int = 0) -> tuple[tuple[str, int], ...]:
    """Return 2·S·(4·D² + 2·I·D) + 4·S²·D for each layer (Kaplan et al. 2020, arXiv 2001.08361, table 1), and the head."""
    size, inner, words = SIZES["D"], SIZES["I"], SIZES["V"]
    around, scores = (2 * TOKENS * size * each for each in (size, 2 * TOKENS))
    rows: list[tuple[str, int]] = []
    for index in range(SIZES["L"]):
        layer = f"bert.encoder.layer.{index}"
        rows += [(f"{layer}.attention.self", scores), (f"{layer}.attention.self.query", 4 * around)]
        rows += [(f"{layer}.intermediate.dense", 4 * TOKENS * inner * size)]
    head = [("transform.dense", around + extra), ("decoder", 2 * TOKENS * size * words)]
    return (*rows, *((f"cls.predictions.{name}", count) for name, count in head))


# bytes


@pytest.mark.parametrize(
    ("count", "dtype", "numbers", "beside"),
    [
        ("unique, ties once", "float32", 4 * PARAMETERS, 7 * 4 + 5 * 8),
        ("unique, ties once", "float16", 2 * PARAMETERS, 7 * 2 + 5 * 8),  # a float buffer is saved as the weights are
        ("stored, ties written out", "int8", STORED, 7 * 4 + 5 * 8),
        ("unrolled, shared layers unrolled", "int8", STORED, 7 * 4 + 5 * 8),  # BERT shares none
    ],
)
def test_bytes_are_those_of_the_weights_and_of_the_buffers_that_a_checkpoint_has(
    count: str, dtype: str, numbers: int, beside: int
) -> None:
    saved = (Buffer("mean", 7, "float32", 28, saved=True), Buffer("ids", 5, "int64", 40, saved=True))
    built = as_built(*saved, Buffer("mask", 9, "float32", 36, saved=False))
    key, what = count.split(", ")
    one = measured(reviewed(f'budget.bytes = {{ max = "500MB", dtype = "{dtype}", count = "{key}" }}', built))
    assert (one.expected, one.actual, one.buffers) == (numbers + beside, numbers + beside, beside)
    assert (one.what, one.base) == (f"{dtype}, {what}, buffers {beside}", None)


def test_a_quantised_model_is_counted_in_a_float_only() -> None:
    quantised = {"load_in_4bit": True}
    for limit, example in (
        ('bytes = "440MB"', 'bytes = { max = "440MB", dtype = "float16" }'),
        ('bytes = { max = "440MB", dtype = "int8" }', 'bytes = { max = "440MB", dtype = "float16" }'),
        ('training_bytes = "2GB"', 'training_bytes = { max = "2GB", frozen = "float16" }'),
    ):
        error = only(reviewed(f"budget.{limit}", quantization_config=quantised))
        assert error.message.startswith(
            "the config has a quantization_config, which quantises only some of the weights"
        )
        assert error.fix.endswith(f"as in budget.{example}")
        assert (error.kind, error.component, error.line) == ("config-invalid", None, 3)
    halves = 'budget.bytes = { max = "440MB", dtype = "float16" }'
    assert measured(reviewed(halves, quantization_config=quantised)).actual == 2 * PARAMETERS
    limit = 'budget.training_bytes = { max = "2GB", frozen = "float16" }'
    assert measured(reviewed(limit, quantization_config=quantised)).actual > 16 * PARAMETERS


# training


def test_training_takes_a_gradient_two_moments_and_a_step_for_each_tensor() -> None:
    one = measured(reviewed('budget.training_bytes = "2GB"'))
    tensors = sum(each.tied_to is None for each in chinese().tensors)
    assert (one.actual, one.buffers) == (16 * PARAMETERS + 4 * tensors, 0)
    assert one.actual == one.expected
    each = f"parameters {4 * PARAMETERS:,}, gradients {4 * PARAMETERS:,}, moments {8 * PARAMETERS:,}"
    assert one.what == f"AdamW, float32: {each}, steps of {tensors} tensors {4 * tensors}; no activations"


# FLOPs


def test_flops_of_modules_are_compared_with_the_closed_form_by_component() -> None:
    found = reviewed(FLOPS, as_built(flops=flops_of_modules()))
    one = measured(found)
    assert one.actual == one.expected == sum(count for _, count in flops_of_modules())
    assert (one.components, one.what) == (one.by_form, "16 tokens, eager attention, 2 FLOPs a multiply-add")
    assert found.verdict == "passed"
    error = only(reviewed(FLOPS, as_built(flops=flops_of_modules(3))))
    assert (error.kind, error.component) == ("off-closed-form", "flops")
    assert (error.expected, error.actual) == (one.actual, one.actual + 3)
    head = one.components["head"]
    off = f"head {head + 3:,}, closed form {head:,}"
    assert error.message == f"flops is +3 off the closed form {one.actual:,}: {off}"
    assert error.fix.startswith("the class multiplies other matrices than its config declares")
    more = ("bert.embeddings.word_embeddings", 7)
    error = only(reviewed(FLOPS, as_built(flops=(*flops_of_modules(), more))))
    assert error.message == f"flops is +7 off the closed form {one.actual:,}: embeddings 7, closed form 0"


def test_flops_that_the_build_did_not_count_are_an_error_with_the_reason() -> None:
    for problems, why in (({"flops": "it needs pixels"}, "it needs pixels"), ({}, "the helper process reported none")):
        error = only(reviewed(FLOPS, as_built(problems=problems)))
        assert (error.kind, error.message) == ("config-invalid", f"its FLOPs cannot be counted: {why}")


def test_two_limits_of_one_measure_count_it_alike() -> None:
    marker = limits_from({"bytes": "1GB"}, file="test_a.py", line=7)
    error = only(reviewed('budget.bytes = { max = "1GB", dtype = "int8" }', extra=marker))
    assert error.message == "two limits of bytes differ: int8, unique, and the dtype of the config, unique"
    assert (error.kind, error.fix, error.file) == ("config-invalid", "write one of them", "test_a.py")
