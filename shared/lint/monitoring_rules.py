"""Whether the metrics page is served: its flag, its port, its file. Pure.

The page is on the REST port and nowhere else (http_server.cc); a file that cannot be read ends the process after its gRPC port opened.
"""

import re
from collections.abc import Callable, Iterator

from shared.lint.deployment import Deployment
from shared.lint.finding import Finding
from shared.lint.form_findings import form_findings
from shared.lint.server_flags import attempted, server_flags
from shared.tfserving.monitoring import PROMETHEUS_PATH, faults
from shared.tfserving.reading import FormFault

CODE = "monitoring-not-served"
_FLAG = "monitoring_config_file"
_ABSOLUTE = re.compile(r"/|[A-Za-z][0-9A-Za-z.]*://")
_PLACEHOLDER = re.compile(r"[$<{]")
_RIGHT = {
    "enable": "prometheus_config { enable: true }",
    "path": f'prometheus_config {{ enable: true path: "{PROMETHEUS_PATH}" }}',
}


def flag_rules(deployment: Deployment) -> Iterator[Finding]:
    """A file without a REST port, or with a path that depends on where the server is started."""
    flags = server_flags(deployment)
    path = flags.given.get(_FLAG) if flags is not None else None
    if not isinstance(path, str) or not path:
        return
    if deployment.rest_port is None and not attempted(deployment, "rest_api_port"):
        yield Finding(
            CODE,
            f"--{_FLAG}={path} without a REST port: the metrics are served on the REST port and nowhere else",
            deployment.where_flag(_FLAG),
            "--rest_api_port=8501" if deployment.grpc_port != 8501 else "--rest_api_port=8502",  # noqa: PLR2004 (TF Serving's usual port)
        )
    if not _ABSOLUTE.match(path) and not _PLACEHOLDER.match(path):
        yield Finding(
            CODE,
            f"--{_FLAG}={path} is a relative path: the server looks for it where it is started, and ends when it is not there, "
            "after its gRPC port has opened",
            deployment.where_flag(_FLAG),
            f"--{_FLAG}=/{path.removeprefix('./')}",
        )


def file_rules(deployment: Deployment) -> Iterator[Finding]:
    """A file that does not parse, or switches nothing on."""
    file = deployment.monitoring
    if file is None:
        return
    yield from form_findings(file, dict.fromkeys(FormFault, CODE))
    if file.meant is None or file.reading.problems:
        return
    for fault in faults(file.meant):
        given = f" ({fault.value})" if fault.value is not None else ""
        yield Finding(CODE, f"{fault.field}{given}: {fault.rule}", file.where(f"prometheus_config.{fault.field}"), _RIGHT[fault.field])


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (flag_rules, file_rules)
