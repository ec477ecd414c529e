"""Findings for what keeps TF Serving from reading a file. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from shared.lint.deployment import ConfigFile
from shared.lint.finding import Finding
from shared.tfserving.reading import FormFault

_NOT_CERTAIN = "write it as protobuf text; what was meant here is not certain"


def form_findings(file: ConfigFile[Any], codes: Mapping[FormFault, str]) -> Iterator[Finding]:
    """One finding for each mistake of form, under the code of its kind."""
    for problem in file.reading.problems:
        yield Finding(codes[problem.fault], problem.message, file.where(problem.field, problem.line), problem.fix or _NOT_CERTAIN)


def not_read(file: ConfigFile[Any], path: str) -> bool:
    """Whether the value at the path is missing only because what stands there could not be read."""
    return any(problem.field == path and problem.fault is not FormFault.WRAPPER for problem in file.reading.problems)
