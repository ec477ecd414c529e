"""What an alert policy is about: the metrics that it names, in whatever form of query, and the services. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shared.doctor.picture import AlertPolicy
from shared.lint.queries import read_queries

SERVICE, REGION, SIGNAL = "trimtab_service", "trimtab_region", "trimtab_signal"
"""Labels that Trimtab routes by."""
_NAMESPACE = re.compile(r"\bnamespace\s*=~?\s*\\*[\"']([a-z][a-z0-9-]{0,62})\\*[\"']")
"""Of a metric that the collector writes: the service."""


def policy_of(name: str, policy: Mapping[str, Any]) -> AlertPolicy:
    """What is read of a policy, in the API's or Terraform's form."""
    found = policy.get("userLabels") or policy.get("user_labels")
    labels: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    signal = labels.get(SIGNAL)
    text = json.dumps(policy)
    return AlertPolicy(
        name=name,
        metrics=tuple(dict.fromkeys(metric for query in read_queries(text) for metric in query.metrics)),
        signal=signal if isinstance(signal, str) else None,
        enabled=policy.get("enabled") is not False,
        watches=tuple(dict.fromkeys(_watches(labels, text))),
    )


def _watches(labels: Mapping[str, Any], text: str) -> Iterator[tuple[str, str | None]]:
    service, region = labels.get(SERVICE), labels.get(REGION)
    if isinstance(service, str):
        yield service, region if isinstance(region, str) else None
    else:
        yield from ((name, None) for name in _NAMESPACE.findall(text))
