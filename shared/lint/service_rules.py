"""All rules about a Cloud Run service: its shape, its limits, its image and bounds, the way of a request into it. Pure."""

from collections.abc import Callable, Iterator

from shared.lint import gpu_rules, image_rules, limit_rules, port_rules
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding

RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (
    *gpu_rules.RULES,
    *limit_rules.RULES,
    *image_rules.RULES,
    *port_rules.RULES,
)
