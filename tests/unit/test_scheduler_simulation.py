"""The simulation of the scheduler, where the outcome is known."""

import pytest
from simulate_scheduler import Cluster, simulate


def test_makespan_against_theory() -> None:
    assert simulate([2.0] * 12, Cluster(nodes=3)).makespan == 8.0
    assert simulate([2.0] * 12, Cluster(nodes=3, places=2)).makespan == 4.0
    assert simulate([2.0] * 4, Cluster(nodes=2, start=1.0)).makespan == 5.0


def test_lost_node_costs_what_it_was_computing() -> None:
    """Node 0 is lost at 3 and back at 13: its second unit is done again by the other, and it does one more."""
    found = simulate([2.0] * 4, Cluster(nodes=2, away=10.0), losses=[(3.0, 0)])
    assert (found.makespan, found.wasted) == (6.0, 1.0)
    assert found.computed == 4 * 2.0 + 1.0


def test_stragglers_cost_less_where_they_are_run_twice() -> None:
    units = [10.0] * 40
    slow = {"nodes": 10, "straggling": 0.1, "slowdown": 20.0}
    once, twice = (
        sum(simulate(units, Cluster(copies=copies, **slow), seed).makespan for seed in range(20)) / 20
        for copies in (1, 2)
    )
    assert twice < 0.7 * once
    assert simulate(units, Cluster(nodes=10)).makespan == pytest.approx(40.0)
