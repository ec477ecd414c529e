"""Fixes in the form of what the user has."""

from typing import Any

import pytest

from shared.cloudrun.described import Described, Form
from shared.lint.given import Given, Text
from shared.lint.pasting import paste
from shared.lint.resolving import resolve

PROBE: dict[str, Any] = {"startupProbe": {"tcpSocket": {"port": 8500}, "failureThreshold": 62}}


def pasted(form: Form, text: str = "...", **more: Any) -> str:
    given = Given("q", deploy=Text(text, "service"))
    deployment = resolve(given, Described(form, {}, complete=True), batching=None, models=None, monitoring=None)
    return paste(deployment, **{"flags": "--startup-probe=...", "v2": PROBE, **more})


@pytest.mark.parametrize(
    ("form", "text", "fix"),
    [
        (Form.GCLOUD, "gcloud ...", "--startup-probe=..."),
        (Form.V1, "kind: Service", "startupProbe:\n  tcpSocket:\n    port: 8500\n  failureThreshold: 62"),
        (Form.V2, "template: {}", "startupProbe:\n  tcpSocket:\n    port: 8500\n  failureThreshold: 62"),
        (Form.V2, '{"template": {}}', '"startupProbe": {"tcpSocket": {"port": 8500}, "failureThreshold": 62}'),
        (Form.TERRAFORM, "{}", "startup_probe {\n  tcp_socket {\n    port = 8500\n  }\n  failure_threshold = 62\n}"),
    ],
)
def test_a_setting_in_each_form(form: Form, text: str, fix: str) -> None:
    assert pasted(form, text) == fix


def test_lists_and_texts_of_yaml() -> None:
    v2 = {"ports": [{"name": "h2c", "containerPort": 8500}], "resources": {"limits": {"cpu": "4", "nvidia.com/gpu": "1"}}, "on": "true"}
    assert pasted(Form.V2, v2=v2) == (
        'ports:\n- name: h2c\n  containerPort: 8500\nresources:\n  limits:\n    cpu: "4"\n    nvidia.com/gpu: "1"\non: "true"'
    )


def test_maps_of_terraform_have_an_equals_sign() -> None:
    v2 = {"resources": {"limits": {"cpu": "4", "nvidia.com/gpu": "1"}}, "ports": [{"containerPort": 8500}]}
    assert pasted(Form.TERRAFORM, v2=v2) == (
        'resources {\n  limits = {\n    cpu = "4"\n    "nvidia.com/gpu" = "1"\n  }\n}\nports {\n  container_port = 8500\n}'
    )


def test_a_knative_document_has_its_own_names() -> None:
    assert pasted(Form.V1, v2={"maxInstanceRequestConcurrency": 8}, v1={"containerConcurrency": 8}) == "containerConcurrency: 8"
