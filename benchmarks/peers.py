"""What a user would do instead of running the gate, each as a script in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measuring import Bound, Line, Samples, is_installed, megabytes, run, seconds, times
from projects import ARCHITECTURE, RIGHT

CLASS = f"from transformers import BertConfig, {ARCHITECTURE}\nconfig = BertConfig.from_json_file('config.json')\n"
MODEL = f"{CLASS}model = {ARCHITECTURE}(config)\n"
GATE = "gate 1"


@dataclass(frozen=True, slots=True)
class Peer:
    """A way to count, and whether it is measured at reduced size too."""

    name: str
    script: str
    package: str = "transformers"
    is_quick: bool = False


PEERS = (
    Peer("`sum(p.numel() for p in model.parameters())`", f"{MODEL}print(sum(p.numel() for p in model.parameters()))"),
    Peer(
        "the same under `torch.device('meta')`",
        f"import torch\n{CLASS}with torch.device('meta'):\n    model = {ARCHITECTURE}(config)\n"
        "print(sum(p.numel() for p in model.parameters()))",
        is_quick=True,
    ),
    Peer("transformers' `model.num_parameters()`", f"{MODEL}print(model.num_parameters())"),
    Peer(
        "`torchinfo.summary(model)`",
        f"import torchinfo\n{MODEL}print(torchinfo.summary(model, verbose=0).total_params)",
        "torchinfo",
    ),
    Peer(
        "fvcore's `parameter_count(model)`",
        f"from fvcore.nn import parameter_count\n{MODEL}print(parameter_count(model)[''])",
        "fvcore",
    ),
    Peer(
        "accelerate's `init_empty_weights()`, and the sum",
        f"from accelerate import init_empty_weights\n{CLASS}with init_empty_weights():\n"
        f"    model = {ARCHITECTURE}(config)\nprint(sum(p.numel() for p in model.parameters()))",
        "accelerate",
    ),
    Peer(
        "the steps of `accelerate estimate-memory` †",
        "from accelerate import init_empty_weights\nfrom accelerate.utils import calculate_maximum_sizes\n"
        "from transformers import AutoConfig, AutoModel\nconfig = AutoConfig.from_pretrained('.')\n"
        "with init_empty_weights():\n    model = AutoModel.from_config(config)\n"
        "print(calculate_maximum_sizes(model)[0] // 4)",
        "accelerate",
    ),
)
NOTE = (
    "† The command itself takes no folder: it asks the hub for the repository, and ends without one. Its steps, on a "
    "local config: `AutoModel`, whatever class the config names, under `init_empty_weights()`; bytes with those of "
    "buffers, divided by 4."
)


def measure_peers(samples: Samples, folder: Path, *, quick: bool) -> None:
    for peer in PEERS:
        if is_installed(peer.package) and (peer.is_quick or not quick):
            process = run("-c", peer.script, folder=folder, statuses=())
            samples.note_run(peer.name, process)
            if process.status:
                samples.said[peer.name] = (process.errors.strip().splitlines() or ["without a word"])[-1]


def lines_of_peers(samples: Samples) -> Iterator[Line]:
    for peer in PEERS:
        if not is_installed(peer.package):
            yield _without_figures(peer, f"{peer.package} is not installed")
        elif not samples.has(f"{peer.name} seconds"):
            yield _without_figures(peer, "left out at reduced size")
        elif samples.statuses[peer.name]:
            yield _without_figures(peer, f"failed: {samples.said[peer.name]}".replace("|", "/"))
        else:
            yield _line(peer, samples)


def _without_figures(peer: Peer, why: str) -> Line:
    return Line(peer.name, ("", "", "", "", why))


def _line(peer: Peer, samples: Samples) -> Line:
    number = int(samples.said[peer.name].split()[-1])
    gate = samples.ratio(f"{GATE} seconds", f"{peer.name} seconds")
    return Line(
        peer.name,
        (*costs(samples, peer.name), judged(number)),
        Bound(gate, 1.0, says="gate ÷ it") if number == RIGHT else None,
    )


def judged(number: int) -> str:
    return f"{number:,} {'✓' if number == RIGHT else '✗'}"


def costs(samples: Samples, what: str) -> tuple[str, str, str, str]:
    """Wall time and peak memory, each also as a ratio to the import's."""
    time, peak = samples.median(f"{what} seconds"), samples.median(f"{what} peak")
    shown = f"{seconds(time)} ({seconds(samples.least(f'{what} seconds'))})"
    return shown, times(samples.to_import(what)), megabytes(peak), times(samples.to_import(what, "peak"))
