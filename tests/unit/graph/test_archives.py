"""The benchmark archives, where they are at hand, are what the catalog says of them."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from bique.graph import SPLITS
from bique.graph.catalog import count_differences, known, locate, state
from bique.graph.known_datasets import Dataset

pytestmark = pytest.mark.archives

CHOSEN = os.environ.get("BIQUE_DATASETS")
REPOSITORY = Path(__file__).resolve().parents[3]
ARCHIVED = [dataset for dataset in known() if dataset.files and dataset.verified]


@pytest.fixture(scope="module")
def folder() -> Path:
    """$BIQUE_DATASETS, else the folder beside the repository."""
    path = Path(CHOSEN) if CHOSEN else REPOSITORY.parent / "shared" / "datasets"
    if not path.is_dir():
        pytest.skip("no benchmark archives: neither BIQUE_DATASETS nor ../shared/datasets")
    return path


@pytest.fixture(params=ARCHIVED, ids=lambda dataset: dataset.name)
def dataset(request: pytest.FixtureRequest, folder: Path) -> Dataset:
    if not (folder / request.param.archive).is_file():
        pytest.skip(f"no {request.param.archive} in the folder of archives")
    return request.param


def source_note(folder: Path, dataset: Dataset) -> str:
    with tarfile.open(folder / dataset.archive) as archive:
        content = archive.extractfile(f"{dataset.name}/SOURCE.md")
        assert content is not None
        return content.read().decode()


def test_the_pins_are_those_of_the_source_note(folder: Path, dataset: Dataset):
    note = source_note(folder, dataset)
    for split in SPLITS:
        pin = dataset.files[split]
        assert f"`{split}.txt` {pin.digest} ({pin.size:,} bytes)" in note
    if dataset.labels:
        assert f"`entity_names.tsv` {dataset.labels.digest} ({dataset.labels.size:,} bytes)" in note


def test_the_archive_imports_with_the_published_counts(
    folder: Path, dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BIQUE_CACHE", str(tmp_path))
    monkeypatch.setenv("BIQUE_DATASETS", str(folder))
    assert state(dataset.name) == "archive"
    graph = locate(dataset.name)
    assert graph.counts() == dataset.published
    assert count_differences(graph) == []
    assert state(dataset.name) == "cached"
    assert (graph.labels.count if graph.labels else 0) == (graph.num_entities if dataset.labels else 0)


def test_the_addresses_and_pins_are_those_of_the_readme(folder: Path):
    readme = folder / "README.md"
    if not readme.is_file():
        pytest.skip("the folder of archives has no README.md")
    text = readme.read_text(encoding="utf-8")
    for download in (download for dataset in known() for download in dataset.downloads):
        owner, repository, commit = download.address.split("/")[3:6]
        assert f"{owner}/{repository} @ {commit}" in text
        # CN-100K's are cut short there; the source note has them whole
        assert download.pin.digest[:8] in text
