"""A file is told by its content."""

import json

import pytest

from shared.lint.given import StoredObject
from shared.lint.recognition import MAX_BYTES, Kind, UnreadableError, decoded, kind_of, recognised

V2 = "name: projects/acme-ml/locations/us-east4/services/rank\ntemplate:\n  containers:\n  - image: tensorflow/serving:2.20.0\n"
V1 = "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata:\n  name: rank\nspec:\n  template:\n    spec:\n      containers: []\n"
SPEC = "service: acme-ml:us-east4:rank\nspec:\n  autonomy: act\n"
POLICY = 'displayName: GPU\nconditions:\n- conditionThreshold:\n    filter: metric.type = "run.googleapis.com/request_count"\n'
ENTRIES = '[{"logName": "projects/p/logs/run", "timestamp": "2026-11-30T10:00:00Z", "textPayload": "Container called exit(1)."}]'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("gcloud run deploy rank --image=tensorflow/serving:2.20.0\n", Kind.COMMANDS),
        ("#!/bin/bash\nset -e\nexport REGION=us-east4\ngcloud beta run deploy rank \\\n  --cpu=4\n", Kind.COMMANDS),
        ("$ sudo docker run -p 8501:8501 tensorflow/serving:2.20.0\n", Kind.COMMANDS),
        ("cd app && gcloud run services update rank --concurrency=8\n", Kind.COMMANDS),
        (V1, Kind.SERVICE),
        (V2, Kind.SERVICE),
        ("# exported today\n" + V2, Kind.SERVICE),
        ('{"template": {"containers": []}}', Kind.SERVICE),
        ("max_batch_size { value: 32 }\n", Kind.BATCHING),
        ("# tuned\nmax_batch_size: 32\nbatch_timeout_micros: 1000\n", Kind.BATCHING),
        ('{"max_batch_size": {"value": 32}}', Kind.BATCHING),
        ("batching_parameters {\n  max_batch_size { value: 32 }\n}\n", Kind.BATCHING),
        ('model_config_list { config { name: "m" base_path: "/m" model_platform: "tensorflow" } }\n', Kind.MODELS),
        ("model_config_list {\n  config {\n    batching_parameters { max_batch_size: 32 }\n  }\n}\n", Kind.MODELS),
        ('prometheus_config { enable: true path: "/metrics" }\n', Kind.MONITORING),
        ('{"format_version": "1.2", "planned_values": {"root_module": {}}}', Kind.PLAN),
        (SPEC, Kind.SPEC),
        (POLICY, Kind.ALERT_POLICY),
        ('metric.type="run.googleapis.com/container/gpu/utilization" resource.type="cloud_run_revision"\n', Kind.ALERT_POLICY),
        ('{"incident": {"incident_id": "0.abc", "state": "open"}, "version": "1.2"}', Kind.NOTIFICATION),
        ("--port=8500\n--enable_batching=true\n", Kind.FLAGS),
        ("tensorflow_model_server --port=8500 --enable_batching=true\n", Kind.FLAGS),
        ("gs://acme/m/1/saved_model.pb\ngs://acme/m/1/variables/variables.index 20\n", Kind.LISTING),
        ("      20  2026-11-30T10:00:00Z  gs://acme/m/1/saved_model.pb\nTOTAL: 1 objects, 20 bytes (20 B)\n", Kind.LISTING),
        (ENTRIES, Kind.LOGS),
        ('{"textPayload": "a"}\n{"textPayload": "b"}\n', Kind.LOGS),
        ("2026-11-30 10:00:00 E tensorflow_serving: Failed to load servable\n", Kind.LOGS),
        ('# TYPE :tensorflow:serving:request_count counter\n:tensorflow:serving:request_count{status="OK"} 3\n', Kind.METRICS),
        ("deploy: |\n  gcloud run deploy rank\nbatching: |\n  max_batch_size { value: 32 }\n", Kind.BUNDLE),
        ('flags: ["--port=8500"]\n', Kind.BUNDLE),
        ('{"logs": ["a line"], "metrics": {}}', Kind.BUNDLE),
    ],
)
def test_a_text_is_what_its_content_says(text: str, kind: Kind) -> None:
    assert kind_of(text) is kind


@pytest.mark.parametrize("text", ["Dear colleague,\nsee you tomorrow.\n", "a,b,c\n1,2,3\n", "[]", "{}", "42", '"text"', "<html></html>"])
def test_anything_else_is_refused_with_what_is_read_here(text: str) -> None:
    with pytest.raises(UnreadableError, match="nothing that is known here"):
        recognised("x", text)


def test_a_page_that_quotes_a_batching_file_is_none() -> None:
    prose = "Set the size of a batch like this, then deploy it again and look at the queue.\n\n"
    assert kind_of(f"# Tuning\n\n{prose * 3}max_batch_size {{ value: 32 }}\n\n{prose}") is not Kind.BATCHING


def test_a_byte_order_mark_hides_nothing() -> None:
    assert kind_of("\ufeffgcloud run deploy rank\n") is Kind.COMMANDS
    assert kind_of("\ufeff" + V1) is Kind.SERVICE


def test_tf_serving_gets_its_files_with_their_byte_order_mark() -> None:
    _, given = recognised("b.txt", "\ufeffmax_batch_size { value: 32 }\n")
    assert given.batching is not None
    assert given.batching.text.startswith("\ufeff")


def test_utf_16_with_its_mark_is_read() -> None:
    assert decoded("--port=8500\n".encode("utf-16")) == "--port=8500\n"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"\xef\xbb\xbf \n\t", "it is empty"),
        (b"\x89PNG\r\n\x1a\n", "byte 0 is not UTF-8"),
        (b"max_batch_size\0", "null bytes"),
        (b"\x1f\x8b\x08\0", "unpack it first"),
        (b"a" * (MAX_BYTES + 1), "1,000,001 bytes; at most 1,000,000 are read"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        decoded(data)


def test_flags_keep_their_lines() -> None:
    _, given = recognised("flags", "# mine\ntensorflow_model_server \\\n  --port=8500 \\\n  --enable_batching true\n")
    assert given.flags is not None
    assert given.flags.values == ("--port=8500", "--enable_batching", "true")
    assert given.flags.lines == (3, 4, 4)


def test_a_listing_has_sizes_before_or_behind_its_paths() -> None:
    _, given = recognised("ls", "  20  2026-11-30T10:00:00Z  gs://a/m/1/saved_model.pb\ngs://a/m/1/variables/variables.index 7\n")
    assert given.objects is not None
    assert given.objects.objects == (StoredObject("gs://a/m/1/saved_model.pb", 20), StoredObject("gs://a/m/1/variables/variables.index", 7))


def test_json_that_is_nested_without_end_is_refused() -> None:
    with pytest.raises(UnreadableError):
        recognised("x", "[" * 100_000)


def test_a_notification_and_logs_have_no_parts_of_a_configuration() -> None:
    for text in (json.dumps({"incident": {}}), ENTRIES):
        _, given = recognised("x", text)
        assert given.deploy is None
        assert given.batching is None


def test_nvidia_docker_is_a_command() -> None:
    assert kind_of("nvidia-docker run tensorflow/serving:2.20.0-gpu\n") is Kind.COMMANDS
