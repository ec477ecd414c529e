"""The simulated Cloud Run as the port that Trimtab's handlers use, in process: no network, no protocol in between."""

from collections.abc import Callable, Sequence
from datetime import datetime

from shared.cloudrun.refusals import bounded, classify
from shared.errors import ServiceMissing
from shared.records.observed import Bounds, Observed
from shared.records.service import OwnedField
from shared.records.snapshot import OperationStatus
from shared.records.subject import ServiceId
from shared.rendering.observed import observed_from_service
from shared.rendering.scaling import scaling_update
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError

TRIMTAB = "trimtab@simulated.iam.gserviceaccount.com"
"""The principal under which Trimtab's own writes appear in the simulation."""


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
        try:
            found = self._cloud_run.get_service(service.resource_name)
        except SimulatedError as error:
            raise classify(error.status, error.text) from error
        return observed_from_service(found, read_at=self._now())

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
