"""The simulation's operations and refusals as Google's own messages, for both doors of the Admin API."""

from typing import Any

import grpc
from google.cloud import run_v2
from google.longrunning import operations_pb2
from google.rpc import error_details_pb2, status_pb2

from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_records import Operation


def operation_message(operation: Operation) -> Any:
    """A `google.longrunning.Operation`; its metadata and its result are the service, or the revision that it deletes."""
    subject = run_v2.Service.pb(operation.service) if operation.revision is None else run_v2.Revision.pb(operation.revision)
    message = operations_pb2.Operation(name=operation.name, done=operation.done)
    message.metadata.Pack(subject)
    if operation.error is not None:
        message.error.CopyFrom(status_pb2.Status(code=code_of(operation.error.status), message=operation.error.text))
    elif operation.done:
        message.response.Pack(subject)
    return message


def status_message(error: SimulatedError) -> Any:
    """The error as a `google.rpc.Status`, its field violation as details, the way Google's APIs send one."""
    status = status_pb2.Status(code=code_of(error.status), message=error.text)
    if error.field is not None:
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=error.text)
        status.details.add().Pack(error_details_pb2.BadRequest(field_violations=[violation]))
    return status


def code_of(status: str) -> int:
    """The number of a gRPC status by name."""
    code: int = grpc.StatusCode[status].value[0]
    return code
