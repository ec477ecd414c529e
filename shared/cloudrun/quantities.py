"""Amounts of CPU and memory as Cloud Run writes them: Kubernetes quantities. Pure."""

import re
from fractions import Fraction

GIB = 2**30
"""Bytes of one GiB."""

_SUFFIXES: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_QUANTITY = re.compile(
    r"(?P<number>[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE](?P<exponent>[+-]?[0-9]{1,2})|(?P<suffix>[A-Za-z]{0,2}))"
)

_MILLI = 1_000
_MIB = 2**20


def quantity(text: str) -> Fraction | None:
    """A Kubernetes quantity (`4`, `4000m`, `16Gi`, `1e3`) as an exact number; None if it is not one."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        return None
    number = Fraction(found["number"])
    if found["exponent"] is not None:
        return number * Fraction(f"1e{found['exponent']}")
    scale = _SUFFIXES.get(found["suffix"])
    return None if scale is None else number * scale


def canonical_cpu(text: str) -> str:
    """CPUs written the one way Trimtab writes them: `4`, and `500m` below or between whole ones.

    Raises:
        ValueError: it is no quantity, or finer than a thousandth of a CPU.
    """
    amount = quantity(text)
    if amount is None or amount <= 0 or (amount * _MILLI).denominator != 1:
        raise ValueError(f"cpu {text[:40]!r}: want CPUs as a Kubernetes quantity, for example 4 or 500m")
    return str(amount.numerator) if amount.denominator == 1 else f"{int(amount * _MILLI)}m"


def canonical_memory(text: str) -> str:
    """Memory written the one way Trimtab writes it: whole GiB as `16Gi`, whole MiB as `512Mi`, else bytes.

    Raises:
        ValueError: it is no quantity, or no whole number of bytes.
    """
    amount = quantity(text)
    if amount is None or amount <= 0 or amount.denominator != 1:
        raise ValueError(f"memory {text[:40]!r}: want bytes as a Kubernetes quantity, for example 16Gi or 512Mi")
    bytes_ = int(amount)
    for unit, suffix in ((GIB, "Gi"), (_MIB, "Mi")):
        if bytes_ % unit == 0:
            return f"{bytes_ // unit}{suffix}"
    return str(bytes_)
