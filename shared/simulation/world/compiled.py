"""How the event loop becomes machine code: Numba, without its liberties in arithmetic, so that a seed means the same on every machine.

A function compiled here may use numbers, tuples of arrays and other functions compiled here, and makes no arrays.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])

_LOOP: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
"""`_nrt`: nothing here makes an array, so none needs to be counted; counting took five sixths of the time. Division by zero gives
infinity, as in numpy, instead of a check before each."""
_INSIDE: dict[str, Any] = {**_LOOP, "forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Everything becomes one function, as the arrays of the state are many to hand over; nothing of it is called from outside."""


def compiled(function: _Function) -> _Function:
    """Compiled when it is first called by a compiled function; not kept on disk by itself."""
    made: _Function = numba.njit(**_INSIDE)(function)
    return made


def kept_on_disk(function: _Function) -> _Function:
    """Compiled when first called, with all that it calls, and kept beside its module for the next process.

    Numba looks only at the module of this function to see whether what it kept is still right. Make `function` in another function and
    let it use `sources_digest()` from there: what a function encloses is part of the name under which it is kept.
    """
    made: _Function = numba.njit(**_LOOP, cache=True)(function)
    return made


def sources_digest() -> str:
    """Of all modules of this package: another one for another text."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
