"""Where rules come from, in words that a reader can follow up. Pure."""

GCLOUD = "gcloud 528's parser"
"""Of the installed Cloud SDK: its own source, and its answers to command lines."""
ADMIN_API = "docstrings of google-cloud-run 0.16.2 (Cloud Run Admin API v2)"
REFUSALS = "Cloud Run's own refusals, as recorded by https://github.com/justinswe/rules_cloudrun"
BATCHING_GUIDE = (
    "TensorFlow Serving batching guide (https://github.com/tensorflow/serving/blob/master/tensorflow_serving/batching/README.md)"
)
TEXT_FORMAT = "protobuf's text format, measured with its own parser"
TIMING_MODEL = "a simulation of TensorFlow Serving's batch scheduler on one GPU"
LOADER = "measured with TensorFlow's own C++ loader"


def serving_source(*files: str) -> str:
    """Files of TensorFlow Serving, as of release 2.20.0, or of the scheduler in TensorFlow."""
    return f"TensorFlow Serving source ({', '.join(files)})"


def serving_issue(number: int) -> str:
    """An issue of TensorFlow Serving."""
    return f"tensorflow/serving issue {number} (https://github.com/tensorflow/serving/issues/{number})"


def pull_request(repository: str, number: int) -> str:
    """A pull request of a public repository, `owner/name`."""
    return f"{repository} pull request {number} (https://github.com/{repository}/pull/{number})"


def thread(repository: str, number: int) -> str:
    """An issue or pull request of another public repository, `owner/name`: GitHub leads from one to the other."""
    return f"{repository} #{number} (https://github.com/{repository}/issues/{number})"


def google_docs(title: str, path: str) -> str:
    """A page of Google Cloud's documentation of Cloud Run; `path` is below /run/docs."""
    return f"Google Cloud documentation, {title} (https://docs.cloud.google.com/run/docs/{path})"


def sources(*parts: str) -> str:
    """Several sources of one rule."""
    return "; ".join(parts)


GPU_PAGE = google_docs("Cloud Run GPU", "configuring/services/gpu")
CPU_PAGE = google_docs("Cloud Run CPU limits", "configuring/services/cpu")
MEMORY_PAGE = google_docs("Cloud Run memory limits", "configuring/services/memory-limits")
PROBES_PAGE = google_docs("Cloud Run health checks", "configuring/healthchecks")
CONCURRENCY_PAGE = google_docs("Cloud Run concurrency", "about-concurrency")
CONTRACT_PAGE = google_docs("Cloud Run container contract", "container-contract")
