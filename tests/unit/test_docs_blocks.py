"""Every YAML of start and how-to is read as what it is, and what is said before a block is true."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from docs_blocks import ROOT, Block, blocks

from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.settings.groups import Settings
from gesscale.settings.loading import load_settings
from testbed.arena.experiments.experiment import read_experiment

_LEAST = {
    "workflow": {"operators": {"op": {"driver_node": "edge1", "metrics_url": "http://127.0.0.1:9108"}}},
    "latency_map": {"file": "map.csv"},
}
MARKED = [block for kind in ("shell", "yaml") for block in blocks(kind) if block.not_run or block.run_by]
PLAIN_YAML = [block for block in blocks("yaml") if not (block.not_run or block.run_by)]


def name(block: Block) -> str:
    return block.name


@pytest.mark.parametrize("block", MARKED, ids=name)
def test_who_is_said_to_run_a_block_is_there_and_a_reason_is_one(block):
    if block.run_by:
        assert (ROOT / block.run_by).exists()
    else:
        assert len(block.not_run.split()) >= 3, "say why it cannot be run"


@pytest.mark.parametrize("block", [block for block in blocks("shell") if block.is_run], ids=name)
def test_what_is_run_changes_nothing_outside_its_folder(block):
    assert block.is_harmless, "say before it why it cannot be run, or who runs it"


@pytest.mark.parametrize("block", PLAIN_YAML, ids=name)
def test_yaml_is_read_as_what_it_is(block, tmp_path):
    document = yaml.safe_load(block.text)
    if document.get("kind") == "StreamAutoscaler":
        StreamAutoscalerSpec.model_validate(document["spec"])
    elif document.keys() <= Settings.model_fields.keys():
        settings(document, tmp_path)
    else:
        experiment = tmp_path / "experiment.yaml"
        experiment.write_text(block.text, "utf-8")
        assert read_experiment(experiment).name == document["name"]


def settings(document: dict[str, Any], folder: Path) -> None:
    """Read what may be a part of a settings file; the rest is the least that a file must have."""
    file = folder / "gesscale.yaml"
    (folder / "map.csv").write_text(",edge1,edge2\nedge1,0,1\nedge2,1,0\n", "utf-8")
    file.write_text(yaml.safe_dump({**_LEAST, **document}), "utf-8")
    load_settings(file)


def test_the_pages_have_blocks_of_both_kinds():
    assert len(blocks("shell")) > 50
    assert len(PLAIN_YAML) > 5
