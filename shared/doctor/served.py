"""A Cloud Run service as the Admin API v2 writes it, as far as the doctor cares. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from shared.cloudrun.drift import TERRAFORM_LABEL
from shared.cloudrun.quantities import GIB, quantity
from shared.doctor.picture import Served
from shared.records.subject import ServiceId

COLLECTORS = ("cloud-run-gmp-sidecar", "opentelemetry", "otelcol")
"""Parts of the names of images that send a page of metrics to Cloud Monitoring: Google's collector for Cloud Run, and others' builds."""
GPU = "nvidia.com/gpu"
LABEL = f"label {TERRAFORM_LABEL}"
"""Says that Terraform made the service once."""


def served_of(
    service: ServiceId, document: Mapping[str, Any], *, terraform: str | None = None, v1: bool = False, changed: tuple[str, ...] = ()
) -> Served:
    """What is read of the document; what it does not say, or says in another form, is None."""
    template = _mapping(document.get("template"))
    limits = list(_limits(template))
    if terraform is None and str(_mapping(document.get("labels")).get(TERRAFORM_LABEL, "")).lower() == "true":
        terraform = LABEL
    accelerator = _mapping(template.get("nodeSelector")).get("accelerator")
    return Served(
        service=service,
        terraform=terraform,
        v1=v1,
        changed=changed,
        account=_text(template.get("serviceAccount")),
        accelerator=_text(accelerator),
        zonal_redundancy=template.get("gpuZonalRedundancyDisabled") is not True,
        gpus=sum(int(str(each[GPU])) for each in limits if str(each.get(GPU, "")).isdigit()),
        cpu=_sum(_amount(each["cpu"]) for each in limits if "cpu" in each),
        memory_gib=_sum(_amount(each["memory"], GIB) for each in limits if "memory" in each),
        max_instances=_count(template) or _count(document),
        collector=any(part in image for image in _images(template) for part in COLLECTORS),
        images=tuple(dict.fromkeys(_images(template))),
    )


def _images(template: Mapping[str, Any]) -> Iterator[str]:
    containers = template.get("containers")
    for each in containers if isinstance(containers, list) else []:
        image = _text(_mapping(each).get("image"))
        if image is not None:
            yield image


def _limits(template: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    containers = template.get("containers")
    for each in containers if isinstance(containers, list) else []:
        yield _mapping(_mapping(_mapping(each).get("resources")).get("limits"))


def _amount(value: Any, unit: int = 1) -> float | None:
    found = quantity(str(value)[:40])
    return None if found is None else float(found / unit)


def _sum(values: Iterator[float | None]) -> float | None:
    said = list(values)
    known = [each for each in said if each is not None]
    return sum(known) if known and len(known) == len(said) else None


def _count(holder: Mapping[str, Any]) -> int | None:
    count = _mapping(holder.get("scaling")).get("maxInstanceCount")
    return count if isinstance(count, int) and count > 0 else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
