"""Options that say who computes; they change no byte of a result."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from condensers.errors import BadConfig

if TYPE_CHECKING:
    from audit.engine.executor import Executor

RAY_OPTIONS = ("ray_address", "gpus_per_task", "memory_per_task", "max_retries")
OPTIONS = (
    click.option("--jobs", type=int, help="Worker processes. Default: one per core, or one per GPU."),
    click.option("--executor", type=click.Choice(["local", "ray"]), default="local", show_default=True,
                 help="Worker processes of this machine, or a Ray cluster (docs/cluster.md)."),
    click.option("--ray-address", metavar="ADDRESS",
                 help="With --executor ray: address of the cluster. Default: RAY_ADDRESS, else this machine only."),
    click.option("--gpus-per-task", type=float, help="With --executor ray: GPUs per unit of work, may be a fraction."),
    click.option("--memory-per-task", type=int, metavar="BYTES", help="With --executor ray: memory per unit of work."),
    click.option("--max-retries", type=int, help="With --executor ray: retries after a worker is lost. [default: 3]"),
)  # fmt: skip


def with_workers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def executor_of(flags: dict[str, Any]) -> "Executor":
    """The executor that the options ask for."""
    given = {name: flags[name] for name in RAY_OPTIONS if flags[name] is not None}
    if flags["executor"] == "local":
        from audit.engine.executor import Local, gpus_of

        for name in given:
            raise BadConfig(f"--{name.replace('_', '-')}: has no meaning without --executor ray")
        return Local(flags["jobs"], gpus_of(flags.get("device") or ""))
    if flags["jobs"] is not None:
        raise BadConfig("--jobs: a Ray cluster decides the number of workers; leave out --jobs or --executor ray")
    from audit.engine.ray import Ray

    return Ray(address=given.pop("ray_address", None), **given)
