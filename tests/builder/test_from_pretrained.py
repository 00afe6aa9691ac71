"""``from_pretrained`` while code of the project builds: a config, and shapes that are those of the library's own class."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.builder.child import from_pretrained
from pytest_bertsize.builder.child.making import instantiate
from pytest_bertsize.builder.confined import REFUSED, Refused
from pytest_bertsize.builder.messages import Answered, Built, NotBuilt, Request
from tests.builder.conftest import ask_helper
from tests.conftest import TINY

HEAD = """
from torch import nn
from transformers import AddedToken, AutoConfig, AutoModel, AutoTokenizer, BertConfig, BertForMaskedLM, BertModel
from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification, BertTokenizer
from transformers import BertForSequenceClassification, BertForTokenClassification
from transformers import EncoderDecoderConfig, EncoderDecoderModel
TINY = %r
""" % {key: value for key, value in TINY.items() if key not in {"model_type", "architectures"}}
ROW = 48
"""Numbers in one row of the tiny model's word embeddings, its hidden size."""


def request(root: Path, body: str) -> Request:
    """A factory with that body, in a project whose table maps ``acme/tiny`` to a config."""
    (root / "configs").mkdir(exist_ok=True)
    (root / "configs" / "tiny.json").write_text(json.dumps(TINY), "utf-8")
    (root / "made.py").write_text(HEAD + "def build():\n" + textwrap.indent(body, "    "), "utf-8")
    hub: dict[str, dict[str, object]] = {
        "acme/tiny": {"config": TINY, "file": "configs/tiny.json", "folder": str(root / "configs")},
        "./gone": {"config": TINY, "file": "configs/tiny.json", "folder": str(root / "configs")},
        "acme/broken": {"error": "configs/broken.json: there is no such file"},
    }
    return Request("m", "", "", {}, {}, root=str(root), factory="made:build", config_given=False, hub=hub)


Build = Callable[..., Any]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Build by a factory with a body, in this process."""

    def made(body: str, **hub: Any) -> Any:
        monkeypatch.setattr(sys, "path", [*sys.path])
        monkeypatch.delitem(sys.modules, "made", raising=False)
        try:
            asked = request(tmp_path, body)
            return instantiate(asked._replace(hub={**asked.hub, **hub}))
        finally:
            sys.modules.pop("made", None)

    return made


def shapes(module: Any) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor, of a tied one once."""
    return {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}


SAME = {
    "a model": ('BertForMaskedLM.from_pretrained("acme/tiny")', "BertForMaskedLM(BertConfig(**TINY))"),
    "a folder that no checkout has": ('AutoModel.from_pretrained("./gone")', "BertModel(BertConfig(**TINY))"),
    "by Auto": ('AutoModel.from_pretrained("acme/tiny")', "BertModel(BertConfig(**TINY))"),
    "an argument of the class": (
        'BertModel.from_pretrained("acme/tiny", add_pooling_layer=False)',
        "BertModel(BertConfig(**TINY), add_pooling_layer=False)",
    ),
    "a config that is handed over": (
        'BertModel.from_pretrained("acme/tiny", config=BertConfig(**{**TINY, "num_hidden_layers": 1}))',
        'BertModel(BertConfig(**{**TINY, "num_hidden_layers": 1}))',
    ),
    "a key of the config": (
        'AutoModel.from_pretrained("acme/tiny", num_hidden_layers=2, output_hidden_states=True)',
        'BertModel(BertConfig(**{**TINY, "num_hidden_layers": 2}))',
    ),
    "all that is about weights": (
        """return AutoModel.from_pretrained(
    "acme/tiny", torch_dtype="auto", device_map="auto", low_cpu_mem_usage=True, ignore_mismatched_sizes=True,
    cache_dir="/nowhere", revision="main", from_tf=False, use_safetensors=True, local_files_only=True,
    trust_remote_code=True, attn_implementation="flash_attention_2", force_download=True,
)""",
        "BertModel(BertConfig(**TINY))",
    ),
    "a config": ('BertModel(AutoConfig.from_pretrained("acme/tiny"))', "BertModel(BertConfig(**TINY))"),
    "a pair": (
        'EncoderDecoderModel.from_encoder_decoder_pretrained("acme/tiny", "acme/tiny")',
        "EncoderDecoderModel(EncoderDecoderConfig.from_encoder_decoder_configs(BertConfig(**TINY), BertConfig(**TINY)))",
    ),
    "a folder of the project without weights": (
        'BertConfig(**TINY).save_pretrained("local"); return AutoModel.from_pretrained("local")',
        "BertModel(BertConfig(**TINY))",
    ),
    "more rows": (
        'made = AutoModel.from_pretrained("acme/tiny"); made.resize_token_embeddings(105); return made',
        'BertModel(BertConfig(**{**TINY, "vocab_size": 105}))',
    ),
}


MADE = ("a config", "a pair")
"""Whose class is called by the project or the library, and not by ``from_pretrained``, which sets what it loads to ``eval``."""


@pytest.mark.parametrize("how", SAME)
def test_what_is_built_is_the_class_called_with_the_config(how: str, build: Build) -> None:
    asked, meant = (each if "return " in each else f"return {each}" for each in SAME[how])
    found, same = build(asked), build(meant)
    assert shapes(found) == shapes(same)
    assert {parameter.device.type for parameter in found.parameters()} == {"meta"}
    assert found.training is (how in MADE)


@pytest.mark.parametrize("name", ["bert-base-uncased", "google-bert/bert-base-uncased"])
def test_a_published_name_needs_no_file_of_the_project(name: str, build: Build) -> None:
    """109,482,240 in all: Devlin et al. 2018, table 1, and what transformers counts."""
    found = build(f'return AutoModel.from_pretrained("{name}")')
    assert sum(parameter.numel() for parameter in found.parameters()) == 109_482_240


ASKED = r"""
AutoModel.from_pretrained("acme/none")
→ neither hub in [tool.bertsize], nor the catalogue, nor the hub cache has the config of from_pretrained('acme/none');
  run hf download acme/none config.json --local-dir configs/none, commit the file, and write hub = { "acme/none" =
  "configs/none/config.json" } in [tool.bertsize], with each other name that the code asks for
AutoModel.from_pretrained("acme/broken")
→ from_pretrained('acme/broken'): configs/broken.json: there is no such file
AutoConfig.from_pretrained("configs/none")
→ from_pretrained('configs/none') names no file or folder that exists; commit a copy of its config, and write hub = {
  "configs/none" = "configs/config.json" } in [tool.bertsize]
AutoConfig.from_pretrained("acme/tiny", subfolder="text_encoder")
→ from_pretrained('acme/tiny', subfolder=…) asks for a folder on the hub; copy its config into the project, and name
  its folder in place of 'acme/tiny'
AutoModel.from_pretrained("acme/tiny", load_in_4bit=True)
→ from_pretrained('acme/tiny', load_in_4bit=…) packs weights, and no weights are loaded here; leave load_in_4bit out
open("adapter_config.json", "w").write("{}"); return BertModel.from_pretrained(".", config=BertConfig(**TINY))
→ '.' holds an adapter, which from_pretrained would add; let the factory make the base model, and write adapter =
  "adapter_config.json" in the model's table
open("adapter_config.json", "w").write('{"base_model_name_or_path": "acme/tiny"}'); return AutoModel.from_pretrained(".")
→ '.' holds an adapter, which from_pretrained would add; let the factory make the base model, and write adapter =
  "adapter_config.json" in the model's table
open("configs/adapter_config.json", "w").write("{}"); return AutoModel.from_pretrained("acme/tiny")
→ 'acme/tiny' holds an adapter, which from_pretrained would add; let the factory make the base model, and write
  adapter = "configs/adapter_config.json" in the model's table
BertModel.from_pretrained("bert-base-uncased", revision="v2")
→ neither hub in [tool.bertsize], nor the catalogue, nor the hub cache has the config of
  from_pretrained('bert-base-uncased', revision='v2'); run hf download bert-base-uncased config.json --revision v2 --local-dir
  configs/bert-base-uncased@v2, commit the file, and write hub = { "bert-base-uncased@v2" =
  "configs/bert-base-uncased@v2/config.json" } in [tool.bertsize], with each other name that the code asks for
import huggingface_hub; return huggingface_hub.hf_hub_download("acme/none", "weights.bin")
→ it asked the hub for weights.bin of 'acme/none'; put the file into the folder of the config that hub names for
  'acme/none'
import huggingface_hub; return huggingface_hub.snapshot_download("sentence-transformers/all-MiniLM-L6-v2")
→ it asked the hub for everything of 'sentence-transformers/all-MiniLM-L6-v2'; put the file into the folder of the
  config that hub names for 'sentence-transformers/all-MiniLM-L6-v2'
len(AutoTokenizer.from_pretrained("microsoft/deberta-v3-base"))
→ the tokenizer of 'microsoft/deberta-v3-base' is not in the project, and is asked for its number of tokens, which a
  config of the family 'deberta-v2' does not have; put the files of its tokenizer beside its config.json in the
  project (of a name of the hub: hub = { "microsoft/deberta-v3-base" = "models/deberta-v3-base" } in [tool.bertsize])
AutoTokenizer.from_pretrained("acme/tiny").get_vocab()
→ the tokenizer of 'acme/tiny' is not in the project, and is asked for get_vocab; put the files of its tokenizer
  beside its config.json in the project (of a name of the hub: hub = { "acme/tiny" = "models/tiny" } in
  [tool.bertsize])
"""
"""What code asks for, and then the sentence and the fix that it is refused with."""
REFUSALS = {code: said.replace("\n  ", " ") for code, said in re.findall(r"(.*)\n→ (.*(?:\n  .*)*)\n", ASKED)}


@pytest.mark.parametrize("body", REFUSALS)
def test_what_cannot_be_answered_is_refused_by_name(body: str, build: Build) -> None:
    with pytest.raises(Refused) as refused:
        build(body if "return " in body else f"return {body}")
    assert "; ".join(filter(None, (str(refused.value), refused.value.fix))) == REFUSALS[body]


@pytest.mark.parametrize("revision", ["v3", "abc" + "0" * 37])
def test_another_revision_is_that_of_the_table_or_of_the_cache(
    revision: str, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {**TINY, "num_hidden_layers": 1}
    snapshot = tmp_path / "hub" / "models--bert-base-uncased" / "snapshots" / ("abc" + "0" * 37)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(json.dumps(small), "utf-8")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    hub = {"bert-base-uncased@v3": {"config": small, "file": "old.json", "folder": str(tmp_path)}}
    found = build(f'return AutoModel.from_pretrained("bert-base-uncased", revision="{revision}")', **hub)
    assert len(found.encoder.layer) == 1
    origins = {"v3": "old.json, by hub in pyproject.toml"}
    origin = origins.get(revision, f"the hub cache, revision {revision[:12]}")
    assert from_pretrained.list_answers() == (
        Answered(f"bert-base-uncased@{revision}", origin, by_hub=revision == "v3"),
    )


def test_rows_are_added_for_tokens(build: Build) -> None:
    body = """
model = AutoModel.from_pretrained("acme/tiny")
tokenizer = AutoTokenizer.from_pretrained("acme/tiny", use_fast=True)
tokenizer.add_special_tokens({"pad_token": "[PAD]", "additional_special_tokens": ["[E1]", AddedToken("[/E1]")]})
model.resize_token_embeddings(len(tokenizer))
model.tokenizer = tokenizer
return model
"""
    found = build(body)
    assert found.embeddings.word_embeddings.weight.shape == (101 + 2, ROW)
    assert from_pretrained.list_answers() == (
        Answered("acme/tiny", "configs/tiny.json, by hub in pyproject.toml", 101, by_hub=True),
    )


def test_the_tokenizer_that_is_in_the_project_is_itself(tmp_path: Path, build: Build) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n", "utf-8")
    body = """
tokenizer = BertTokenizer.from_pretrained("acme/tiny")
tokenizer.add_tokens(["c"])
return nn.Embedding(len(tokenizer), 3)
"""
    assert build(body).weight.shape == (8, 3)


def test_a_folder_comes_before_the_table_and_the_table_before_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request(tmp_path, 'return AutoModel.from_pretrained("bert-base-uncased")')
    asked = asked._replace(hub={**asked.hub, "google-bert/bert-base-uncased": asked.hub["acme/tiny"]})
    monkeypatch.syspath_prepend(str(tmp_path))
    layers = []
    for number in (None, 1):
        if number is not None:
            (tmp_path / "bert-base-uncased").mkdir()
            (tmp_path / "bert-base-uncased" / "config.json").write_text(
                json.dumps({**TINY, "num_hidden_layers": number})
            )
        layers.append(len(instantiate(asked).encoder.layer))
    assert layers == [3, 1]


# through the helper


DOWNLOADS = """
import huggingface_hub
names = "google/electra-small-discriminator", "FacebookAI/roberta-base"
paths = huggingface_hub.hf_hub_download(names[0], "config.json"), huggingface_hub.snapshot_download(names[1])
return nn.ModuleList([AutoModel.from_config(AutoConfig.from_pretrained(path)) for path in ("acme/tiny", *paths)])
"""


def test_the_answer_says_where_each_config_is_from_by_name_or_by_download(tmp_path: Path) -> None:
    found = ask_helper([request(tmp_path, DOWNLOADS)])["m"]
    assert isinstance(found, Built), found
    electra, roberta, tiny = found.answered[:3]
    assert tiny == Answered("acme/tiny", "configs/tiny.json, by hub in pyproject.toml", by_hub=True)
    assert electra == Answered(
        "google/electra-small-discriminator",
        "the catalogue (google/electra-small-discriminator by Google, as in google-research/electra@8a46635f3208)",
    )
    assert roberta.name == "FacebookAI/roberta-base"
    assert roberta.origin.startswith("the catalogue ")


def test_a_loader_that_goes_on_without_a_file_of_the_hub_fails_its_model(tmp_path: Path) -> None:
    """As sentence-transformers does without modules.json, and leaves out the dense layer behind the transformer."""
    body = """
import huggingface_hub
try: huggingface_hub.hf_hub_download("acme/tiny", "modules.json")
except Exception: pass
return AutoModel.from_pretrained("acme/tiny")
"""
    assert ask_helper([request(tmp_path, body)])["m"] == NotBuilt(
        "it asked the hub for modules.json of 'acme/tiny', and the code caught that and went on",
        "put the file into the folder of the config that hub names for 'acme/tiny'",
    )


def test_a_loader_may_go_on_without_a_file_that_the_hub_cache_knows_to_be_absent(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As CrossEncoder of sentence-transformers does; huggingface_hub notes such a file under ``.no_exist``."""
    cached, commit = tmp_path / "hub" / "models--acme--cross", "abc" + "0" * 37
    for path, text in {
        "refs/main": commit,
        f"snapshots/{commit}/config.json": json.dumps(TINY),
        f".no_exist/{commit}/modules.json": "",
    }.items():
        (cached / path).parent.mkdir(parents=True)
        (cached / path).write_text(text, "utf-8")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    body = """
import huggingface_hub
try: huggingface_hub.hf_hub_download("acme/cross", "modules.json")
except Exception: pass
return AutoModel.from_pretrained("acme/cross")
"""
    before = [*REFUSED]
    build(body)
    assert before == REFUSED


def test_a_name_that_nothing_here_has_fails_the_model_though_the_code_goes_on_with_another(tmp_path: Path) -> None:
    """A machine with a network would load the first."""
    body = """
try: return AutoModel.from_pretrained("acme/none")
except Exception: return AutoModel.from_pretrained("acme/tiny")
"""
    found = ask_helper([request(tmp_path, body)])["m"]
    assert isinstance(found, NotBuilt)
    assert found.reason.startswith(
        "neither hub in [tool.bertsize], nor the catalogue, nor the hub cache has the config of "
    )
    assert found.reason.endswith("and the code caught that and went on")
    assert "acme/none" in found.fix
