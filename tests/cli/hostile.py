"""What test_cli_fuzz.py gives to commands: words that nobody should write, and one good file of every kind to spoil."""

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file
from unit.test_report_simulation import simulate_report

from audit.cli import main
from reports.records.schema import dump

WORDS = """
-1 0 1 2 3 40 1e20 1e308 1e-320 nan inf -inf -0.0 0.5 1e-5 2147483648 9223372036854775808 - -- = a=b =1 x=nan ipc=5
width=1e14 width=99999999 iterations=-1 depth=0 batch=0 learning_rate=inf noise_multiplier=0 noise_multiplier=1e308
victim.epochs=0 attack.variance=x ../.. / /dev/null /proc/self/mem no/such/file %s {0} $(id) * os:path a:b :
nothere.py:x digits dm ndpdc dpsgd cgan real ldpdc psg adult lira:set lira:set:0 lira:model:99999999999999999999
loss:set , ,, 1,1 1,2 blank:3 blank:-1 1x8x8 0x0x0 gaussian:sigma=1 gaussian:sigma=0 gdp:1e-300 gdp:1e300
laplace:1,steps=0.5 cuda cuda:99 cuda:0,1 mps meta all set model transcript paper random official poisson mnist
fixed:nan fixed:1e308 median grid dong/table-1 privacy-for-free npz,zip scores.csv set.npz coins.csv run privacy.toml
"""
ODD = ["", " ", "\x1b[31m", "\x00", "\n", "\u202e", "ε", "💥", "\udcff", "A" * 100_000, "B" * 5000]
HOSTILE = [*WORDS.split(), *ODD, "1" + "0" * 23, "-" + "9" * 30]
LEDGER = """{"event": "repeated", "count": 3, "of": {"event": "poisson-sampled", "sampling_rate": 0.5,
"of": {"event": "gaussian", "noise_multiplier": 1.0}}}"""
# What no message may say.
INTERNALS = ("__init__", "np.int", "np.float", "object at 0x", "<class ", "Error:")
NAMES = "ldpdc dm ndpdc lira worst-case set transcript auc x a:b gdp:1"
KEYS = """name method level epsilon delta claim trials designs command metrics set shadows records public_draws
test_runs dataset seed ipc rate unknown confidence synthetic init preset"""


def write_good_files(path: Path) -> None:
    generator = np.random.default_rng(0)
    images, labels = generator.integers(0, 256, (40, 8, 8), dtype=np.uint8), np.repeat(np.arange(10), 4)
    np.savez(path / "pool.npz", x=images, y=labels)
    np.savez(path / "set.npz", images=images[:10, None] / np.float32(255), labels=np.arange(10))
    tensors = {"images": torch.zeros(10, 1, 8, 8), "labels": torch.arange(10)}
    save_file(tensors, path / "set.safetensors")
    torch.save({"data": [[tensors["images"], tensors["labels"]]]}, path / "set.pt")
    table = pd.DataFrame({"score": generator.normal(size=100), "member": generator.random(100) < 0.5})
    table.to_csv(path / "scores.csv", index=False)
    table.to_parquet(path / "scores.parquet")
    (path / "ledger.json").write_text(LEDGER)
    (path / "privacy.toml").write_text('[[guarantee]]\nmethod = "ldpdc"\nepsilon = 1.0\ntrials = 200\n')
    (path / "audited.txt").write_text("0\n1\n2\n")
    report, scores = simulate_report(runs=8, records=40)
    (path / "run").mkdir()
    (path / "run" / "report.json").write_text(dump(report))
    scores.to_parquet(path / "run" / "scores.parquet")
    sys.argv = ["audit", "coins", "--records", "40", "--seed", "1", "--out", str(path / "coins.csv")]
    with pytest.raises(SystemExit), redirect_stdout(io.StringIO()):
        main()
