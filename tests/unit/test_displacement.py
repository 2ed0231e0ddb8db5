"""How far images are from the records that they started from, against plain loops."""

from pathlib import Path

import numpy as np
import pytest
from small_specs import small_spec

from audit.api import run
from audit.engine.store import RunDirectory
from audit.games.membership.displacement import distances_moved, distances_within_classes
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import num_shards, read_shard
from reports.records.schema import Displacement
from reports.words.membership import explain_displacement


def test_displacement_of_an_audit_against_naive(tmp_path: Path) -> None:
    changes = ("iterations=3", "width=4", "depth=2", "learning_rate=5")
    spec = small_spec(level="set", init="real", ipc=2, changes=changes)
    report = run(spec, out=tmp_path)
    config, pool = resolve_config(spec, None)
    directory = RunDirectory(tmp_path / config.directory_name)
    found = []
    for index in range(num_shards(config)):
        shard = read_shard(directory, config, index)
        for images, records in zip(shard["images"], shard["initial_records"], strict=True):
            found += [
                float((image - pool.images[record]).square().sum().sqrt())
                for image, record in zip(images, records, strict=True)
                if record >= 0
            ]
    assert report.displacement.num_images == len(found) == 16 * 20
    assert report.displacement.median == pytest.approx(np.median(found), rel=1e-5)
    assert report.displacement.median > 0.01
    assert report.displacement.quartiles == pytest.approx(tuple(np.quantile(found, (0.25, 0.75))), rel=1e-5)
    pairs = [
        float((pool.images[first] - pool.images[first + 1]).square().sum().sqrt())
        for first in range(pool.num_records - 1)
        if pool.labels[first] == pool.labels[first + 1]
    ]
    assert report.displacement.between_records == pytest.approx(np.median(pairs), rel=1e-5)


def test_images_that_are_records_have_not_moved_and_noise_has_no_record(tmp_path: Path) -> None:
    assert run(small_spec(level="set", method="real"), out=tmp_path).displacement.median == 0
    noise = small_spec(level="set", changes=("iterations=1", "width=4", "depth=2"))
    assert run(noise, out=tmp_path).displacement is None


def test_images_without_a_record_do_not_count(small_pool) -> None:
    records = small_pool.labels.new_tensor([[3, -1], [-1, -1]])
    images = small_pool.images[[3, 4, 5, 6]].view(2, 2, *small_pool.images.shape[1:]) + 0.5
    moved = distances_moved(images, records, small_pool)
    assert moved.tolist() == pytest.approx([0.5 * small_pool.images[0].numel() ** 0.5])
    assert len(distances_within_classes(small_pool)) == small_pool.num_records - small_pool.num_classes


def test_words_of_a_class_without_pairs() -> None:
    found = Displacement(median=3.14, quartiles=(3.0, 3.3), num_images=1, between_records=None)
    assert "apart" not in explain_displacement(found)
    assert "of the synthetic image from the record" in explain_displacement(found)
