"""Settings as text to paste, in the language of what the user gave. Pure."""

from shared.cloudrun.described import Form
from shared.lint.deployment import Deployment
from shared.tfserving.flags import server_threads

_CONCURRENCY = {
    Form.GCLOUD: "--concurrency={}",
    Form.DOCKER: "--concurrency={}",
    Form.V1: "containerConcurrency: {}",
    Form.V2: "maxInstanceRequestConcurrency: {}",
    Form.TERRAFORM: "max_instance_request_concurrency = {}",
    Form.SPEC: "max_instance_request_concurrency: {}",
}
THREAD_FLAGS = {"grpc": "grpc_max_threads", "rest": "rest_api_num_threads"}


def concurrency_text(deployment: Deployment, concurrency: int) -> str:
    """The setting of Cloud Run's concurrency."""
    form = deployment.described.form if deployment.described is not None else Form.GCLOUD
    return _CONCURRENCY[form].format(concurrency)


def concurrency_with_threads(deployment: Deployment, concurrency: int) -> str:
    """The same, with the flag of the server's threads where those in force would be too few for it."""
    text = concurrency_text(deployment, concurrency)
    protocol = deployment.protocol
    if protocol is None:
        return text
    threads = deployment.grpc_threads if protocol == "grpc" else deployment.rest_threads
    needed = server_threads(concurrency, protocol)
    return text if threads is not None and threads >= needed else f"{text} with --{THREAD_FLAGS[protocol]}={needed}"


def wrapped(field: str, value: int) -> str:
    """A number of the batching file as its text format has it."""
    return f"{field} {{ value: {value} }}"


def count(number: float, noun: str) -> str:
    """`1 row`, `32 rows`, `2 batches`."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,g} {noun if number == 1 else plural}"
