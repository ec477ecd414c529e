"""The simulated Cloud Run as the port that Trimtab's handlers use, in process: no network, no protocol in between."""

from collections.abc import Callable, Sequence
from datetime import datetime

from google.cloud import run_v2

from shared.cloudrun.refusals import bounded, classify
from shared.errors import ServiceMissing, StaleEtag
from shared.records.observed import Bounds, Observed, RevisionReading, ServiceReading
from shared.records.service import OwnedField
from shared.records.serving import DesiredServing, TrafficTarget
from shared.records.snapshot import OperationStatus
from shared.records.subject import ServiceId
from shared.rendering.document import rendered_document
from shared.rendering.observed import observed_from_service, revision_reading
from shared.rendering.scaling import scaling_update
from shared.rendering.writes import document_with_traffic, rest_update, service_update, with_template_of
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_json import from_json, mask_from_text, to_json

TRIMTAB = "trimtab@simulated.iam.gserviceaccount.com"
"""The principal under which Trimtab's own writes appear in the simulation."""
CLIENT_VERSION = "in-process"
"""What the simulation is told of the version that writes."""


class SimulatedPlatform:
    """The `Platform` port on a simulated Cloud Run. `principal` is whom Cloud Run sees writing; `now` stamps readings."""

    def __init__(self, cloud_run: SimulatedCloudRun, *, now: Callable[[], datetime], principal: str = TRIMTAB) -> None:
        self._cloud_run = cloud_run
        self._now = now
        self._principal = principal

    def get_service(self, service: ServiceId) -> Observed:
        """Read the service now.

        Raises:
            ServiceMissing, Retry, Refused: see `cloudrun.refusals.classify`.
        """
        return observed_from_service(self._read(service), read_at=self._now())

    def read_service(self, service: ServiceId) -> ServiceReading:
        """Read the whole service now.

        Raises:
            ServiceMissing, Retry, Refused: see `cloudrun.refusals.classify`.
        """
        found = self._read(service)
        return ServiceReading(observed=observed_from_service(found, read_at=self._now()), document=to_json(found))

    def update_scaling(self, service: ServiceId, *, etag: str, bounds: Bounds, fields: Sequence[OwnedField]) -> str:
        """Write the named scaling bounds if the etag still holds. Returns the operation's name.

        Raises:
            StaleEtag, QuotaRefused, Refused, ServiceMissing, Retry: see `cloudrun.refusals.classify`.
        """
        request = scaling_update(service.resource_name, etag=etag, bounds=bounds, fields=fields)
        try:
            operation = self._cloud_run.update_service(request.service, update_mask=request.update_mask, principal=self._principal)
        except SimulatedError as error:
            raise classify(error.status, error.text) from error
        return operation.name

    def update_service(
        self,
        service: ServiceId,
        *,
        etag: str,
        serving: DesiredServing | None = None,
        revision: str | None = None,
        traffic: Sequence[TrafficTarget] | None = None,
        again: bool = False,
        validate_only: bool = False,
    ) -> str | None:
        """Write template and traffic in one request; None where the service means the same already.

        Raises:
            StaleEtag, RevisionNameTaken, QuotaRefused, Refused, ServiceMissing, Retry: see `cloudrun.refusals.classify`.
            ValueError: the template changes and no revision is named, or the traffic does not add up.
        """
        before = to_json(self._read(service))
        if etag != before["etag"]:
            raise StaleEtag(f"{service}: read at etag {etag!r}, now it is at {before['etag']!r}: look again and decide again")
        after = before if serving is None else rendered_document(before, serving)
        if traffic is not None:
            after = document_with_traffic(after, traffic)
        update = rest_update(before, after, etag=etag, revision=revision, version=CLIENT_VERSION, again=again)
        if update is None:
            return None
        try:
            operation = self._cloud_run.update_service(
                from_json(update.body, run_v2.Service, at="service"),
                update_mask=mask_from_text(",".join(update.mask), run_v2.Service),
                principal=self._principal,
                validate_only=validate_only,
            )
        except SimulatedError as error:
            raise classify(error.status, error.text) from error
        return operation.name

    def restore_template(self, service: ServiceId, *, etag: str, revision: str) -> str | None:
        """Put the template of an existing revision back, under its name; None where the service means the same already.

        Raises:
            StaleEtag, RevisionNameTaken, QuotaRefused, Refused, ServiceMissing, Retry: see `cloudrun.refusals.classify`.
        """
        before = self._read(service)
        if etag != before.etag:
            raise StaleEtag(f"{service}: read at etag {etag!r}, now it is at {before.etag!r}: look again and decide again")
        try:
            found = self._cloud_run.get_revision(f"{service.resource_name}/revisions/{revision}")
            after = with_template_of(before, found)
            elsewhere = before.template.revision != revision
            request = service_update(before, after, etag=etag, revision=revision, version=CLIENT_VERSION, again=elsewhere)
            if request is None:
                return None
            operation = self._cloud_run.update_service(request.service, update_mask=request.update_mask, principal=self._principal)
        except SimulatedError as error:
            raise classify(error.status, error.text) from error
        return operation.name

    def get_revision(self, service: ServiceId, revision: str) -> RevisionReading | None:
        """A revision of the service by its short name; None if there is none.

        Raises:
            Retry, Refused: see `cloudrun.refusals.classify`.
        """
        try:
            found = self._cloud_run.get_revision(f"{service.resource_name}/revisions/{revision}")
        except SimulatedError as error:
            answer = classify(error.status, error.text)
            if isinstance(answer, ServiceMissing):
                return None
            raise answer from error
        return revision_reading(found)

    def get_operation(self, name: str) -> OperationStatus | None:
        """The operation of that name; None if it is not known.

        Raises:
            Retry, Refused: see `cloudrun.refusals.classify`.
        """
        try:
            operation = self._cloud_run.get_operation(name)
        except SimulatedError as error:
            answer = classify(error.status, error.text)
            if isinstance(answer, ServiceMissing):
                return None
            raise answer from error
        return OperationStatus(done=operation.done, error=None if operation.error is None else bounded(operation.error.text))

    def _read(self, service: ServiceId) -> run_v2.Service:
        try:
            return self._cloud_run.get_service(service.resource_name)
        except SimulatedError as error:
            raise classify(error.status, error.text) from error
