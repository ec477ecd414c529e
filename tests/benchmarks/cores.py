"""Simulated runs side by side, one process for each core."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from shared.simulation.world.settings import ModelTimes, Revision
from shared.simulation.world.workload import Steady, Workload
from shared.simulation.world.world import simulate

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


def compile_world() -> None:
    """So that no run after it counts the compiling, nor the loading of what was compiled."""
    simulate(Workload(Steady(1)), Revision(ModelTimes.affine(1, 1)), good_ms=1, seed=0, duration_s=60, warm_up_s=0)


def on_all_cores(function: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
    """What the function makes of each item, in their order. It is a function of a module, and its items and results can be pickled."""
    compile_world()  # once, and not in each of the new processes
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(items)), mp_context=get_context("spawn"), initializer=compile_world) as pool:
        return list(pool.map(function, items))
