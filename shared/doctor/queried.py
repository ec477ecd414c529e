"""The metrics that an alert policy names, in whatever form of query. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from shared.lint.queries import read_queries


def metrics_of(policy: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of metrics in the policy (the API's or Terraform's form), in its order, each once."""
    return tuple(dict.fromkeys(name for query in read_queries(json.dumps(policy)) for name in query.metrics))
