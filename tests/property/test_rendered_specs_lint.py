"""What Trimtab renders of any spec that it admits has no error in it, and no warning but what the spec's own values earn."""

from hypothesis import given, settings

from shared.lint.finding import Finding, Severity
from shared.lint.specs import check_spec
from shared.records.service import ServiceSpec
from shared.records.serving import AUTO, ServingSpec
from tests.support.specs import SERVICE, service_specs

ALWAYS_THE_OWNERS = frozenset({"max-instances-one", "image-not-pinned", "gpu-quota-default-exceeded"})
OF_BATCHING = frozenset(
    {
        "batch-threads-too-many",
        "batch-timeout-over-budget",
        "batch-unreachable",
        "batching-off-on-gpu",
        "max-batch-size-unbounded",
        "pad-first-element",
        "allowed-min-too-large",
        "queue-below-concurrency",
        "queue-too-deep",
    }
)
"""Earned where the owner wrote batching or concurrency; `auto` earns none of them."""
OF_FLAGS = {"gpu-memory-fraction-low": "per_process_gpu_memory_fraction"}


def warned(spec: ServiceSpec) -> list[Finding]:
    findings = check_spec(SERVICE, spec).findings
    assert [each for each in findings if each.severity is Severity.ERROR] == []
    return [each for each in findings if each.severity is Severity.WARNING and each.code not in ALWAYS_THE_OWNERS]


def earned(code: str, serving: ServingSpec) -> bool:
    if code in OF_FLAGS:
        return OF_FLAGS[code] in serving.extra_flags
    return code in OF_BATCHING and (serving.batching != AUTO or serving.max_instance_request_concurrency != AUTO)


@settings(max_examples=300, deadline=None)
@given(service_specs(own_entry=False))
def test_no_error_and_no_warning_that_the_spec_does_not_earn(spec: ServiceSpec) -> None:
    assert spec.serving is not None
    assert [str(each) for each in warned(spec) if not earned(each.code, spec.serving)] == []
