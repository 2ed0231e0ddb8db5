"""What a specification will cost, before it is run."""

from collections.abc import Callable

from audit.engine.where import Where
from audit.games.probe.cost import Cost
from audit.specs.membership import Membership
from audit.specs.utility import Utility
from audit.specs.worst_case import WorstCase
from condensers.errors import BadConfig


def predict(spec: Membership | WorstCase | Utility, where: Where, say: Callable[[str], None]) -> Cost:
    """Probe the audit for some seconds with the executor that will run it; nothing is written."""
    match spec:
        case WorstCase():
            from audit.games.probe.worst_case import probe_worst_case
            from audit.games.transcript.resolve import resolve_experiment

            return probe_worst_case(resolve_experiment(spec, where.data_root), spec.command(), where.executor, say)
        case Membership() if spec.COMMAND in ("lira", "rmia", "loss"):
            from audit.games.membership.resolve import resolve_config
            from audit.games.probe.membership import probe_membership

            config, pool = resolve_config(spec, where.data_root)
            return probe_membership(config, pool, where.executor, where.data_root, say)
        case Utility():
            from audit.games.probe.utility import probe_utility
            from audit.games.utility.resolve import resolve_utility

            return probe_utility(resolve_utility(spec, where.data_root), where.executor, match=spec.match, say=say)
    raise BadConfig(f"{spec.COMMAND}: a cost can be predicted for lira, rmia, loss, utility and worst-case")
