"""The files that `audit init` writes."""

GATE = """\
# What this project promises about privacy. `audit check` tests it; exit 4 means refuted or worse.
# Every key that is not explained here is an option of the command: `audit lira --help`, `audit worst-case --help`.

# The whole file raises a false alarm in fewer than 1 of 1000 builds. More entries make each test stricter.
false_alarm = 0.001
seed = 0

# A guarantee: (epsilon, delta)-DP of a private condenser. At level "transcript" the adversary chooses the records and
# sees every noisy sum: the level that the theorem covers, and the strongest test. Your own condenser is
# "my_module:my_condenser" (docs/adding-a-method.md).
[[guarantee]]
name = "ndpdc keeps epsilon 1"
method = "ndpdc"
level = "transcript"
epsilon = 1.0
delta = 1e-5
trials = 10_000

# A figure that must not get worse than the recorded one: `audit check --update` records, then commit the
# .baseline.json beside this file. Metrics: "auc", "tpr at fpr 0.01", "tpr at fpr 0.001", "epsilon", "accuracy";
# "tightness" for command = "worst-case". The runs are divided among public_draws draws of networks and starting noise
# (8 unless given, at least 4), and shadows and test_runs must be multiples of it.
[[regression]]
name = "dm on digits"
command = "rmia"
method = "dm"
dataset = "digits"
level = "model"
records = 400
shadows = 64
test_runs = 16
public_draws = 8
metrics = ["tpr at fpr 0.01", "accuracy"]
set = { iterations = 100, "victim.epochs" = 100 }
"""

WORKFLOW = """\
# Written by `audit init`. Fails when a guarantee of privacy.toml is refuted or a recorded figure got worse.
name: privacy
on: [push, pull_request]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
          cache: pip
      # This package is not in a registry yet: put the address of its repository or of your copy here.
      - run: pip install "condensation-audit @ ${{ vars.CONDENSATION_AUDIT }}"
      - run: audit check privacy.toml
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: privacy-check
          path: |
            privacy-check/junit.xml
            privacy-check/summary.md
            privacy-check/check.json
"""
