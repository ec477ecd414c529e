"""Trimtab's own specs as lint's questions: what a spec would be rendered to, before anything is rendered or written. Pure.

It loads no Google client: the service is plain v2 JSON, the same that the client library renders.
"""

from shared.cloudrun.described import Described, Form
from shared.cloudrun.limits import MadeWith
from shared.lint.checking import Checked, check
from shared.lint.given import Given, Text, Workload
from shared.records.desired import desired_serving
from shared.records.service import ServiceSpec
from shared.records.subject import ServiceId
from shared.rendering.plain import plain_service

ANY_VERSION = 1
"""Stands for the latest version of a model where none is named: no rule depends on which it is."""


def described_of_spec(service: ServiceId, spec: ServiceSpec, *, version: int | None = None, file: str = "spec") -> tuple[Given, Described]:
    """The question that an admitted spec is, and the service that would be made of it; `file` is what places are called by.

    Where the owner's command is kept, or the template is left to its owner, only the spec's own numbers are described: what is around
    them is not known here, and nothing can be said about what is absent.
    """
    serving, scale = spec.serving, spec.scale
    given = Given(
        name=str(service),
        spec=Text("", file),
        p99_ms=spec.objective.p99_ms,
        workload=Workload()
        if serving is None
        else Workload(rows_per_request=serving.rows_per_request, client_deadline_ms=serving.client_deadline_ms),
    )
    rendered = serving is not None and serving.own_entry is None
    if rendered:
        desired = desired_serving(spec, version=version or ANY_VERSION)
        document = plain_service(
            service.resource_name, desired, min_instance_count=scale.min_instance_count, max_instance_count=scale.max_instance_count
        )
    else:
        document = {
            "name": service.resource_name,
            "scaling": {"minInstanceCount": scale.min_instance_count, "maxInstanceCount": scale.max_instance_count},
        }
    described = Described(
        form=Form.SPEC, service=document, complete=rendered, region=service.region, project=service.project, made_with=MadeWith.API
    )
    return given, described


def check_spec(service: ServiceId, spec: ServiceSpec, *, version: int | None = None, file: str = "spec") -> Checked:
    """What lint finds in the service that would be made of an admitted spec."""
    return check(*described_of_spec(service, spec, version=version, file=file))
