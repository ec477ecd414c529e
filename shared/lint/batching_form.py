"""Rules. Pure."""

from collections.abc import Callable, Iterator

from shared.lint.deployment import Deployment
from shared.lint.finding import Finding

RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = ()
