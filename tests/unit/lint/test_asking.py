"""One file, one question; several files together, one deployment."""

import json

import pytest

from shared.lint.asking import ask, ask_together
from shared.lint.recognition import Kind, UnreadableError

DEPLOY = "gcloud run deploy digits --region=us-west1 --image=tensorflow/serving:2.20.0 --cpu=2 --memory=4Gi --concurrency=6 --port=8501\n"
BATCHING = "max_batch_size { value: 4 }\nnum_batch_threads { value: 2 }\nmax_enqueued_batches { value: 4 }\n"


def codes(*files: tuple[str, str]) -> set[str]:
    answer = ask(*files[0]) if len(files) == 1 else ask_together(files)
    return {finding.code for finding in answer.findings}


def test_a_batching_file_that_is_never_passed_shows_only_together() -> None:
    assert "batching-not-enabled" not in codes(("b.txt", BATCHING)) | codes(("d.sh", DEPLOY))
    assert "batching-not-enabled" in codes(("d.sh", DEPLOY), ("b.txt", BATCHING))


def test_a_finding_of_files_together_names_its_file() -> None:
    answer = ask_together([("d.sh", DEPLOY + "--max-retries=3\n"), ("b.txt", BATCHING.replace("{ value: 4 }", ": 4"))])
    assert {finding.where.file for finding in answer.findings} >= {"b.txt"}


def test_two_descriptions_of_one_service_are_refused() -> None:
    spec = "service: acme-ml:europe-west1:ranker\nspec:\n  scale: {max_instance_count: 3}\n"
    for second in (DEPLOY, spec):
        with pytest.raises(UnreadableError, match="both describe the service"):
            ask_together([("a.sh", DEPLOY), ("b", second)])
        with pytest.raises(UnreadableError, match="both describe the service"):
            ask_together([("b", second), ("a.sh", DEPLOY)])


def test_evidence_is_no_configuration() -> None:
    with pytest.raises(UnreadableError, match="Ask trimtab diagnose x"):
        ask("x", "2026-11-30 ERROR the container exited\n")


def test_commands_that_deploy_no_service_are_said() -> None:
    with pytest.raises(UnreadableError, match="deploys or updates"):
        ask("x.sh", "gcloud run jobs deploy score --image=acme/score:1 --max-retries=0\n")


@pytest.mark.parametrize("deploy", ["docker pull tensorflow/serving:2.20.0-gpu", "FROM tensorflow/serving:2.20.0", "gcloud run jobs list"])
def test_a_part_that_describes_nothing_is_no_broken_document(deploy: str) -> None:
    assert codes(("q.yaml", f"deploy: '{deploy}'\nflags: ['--port=8500', '--model_base_path=/m']\n")) == set()


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("", r"no JSON \(line 2: Expecting"),
        ('"a": 1,\n}', r"no JSON \(line 3: "),
        (f"1, {'9' * 5_000}", r"no JSON \(line 2: "),
        (f'"a": {"9" * 5_000}}}}}', r"no JSON\. Write it with: terraform show -json"),
    ],
    ids=["cut off", "a comma before the end", "no name", "a number without end"],
)
def test_a_plan_that_is_no_json_is_said(rest: str, said: str) -> None:
    with pytest.raises(UnreadableError, match=said):
        ask(
            "plan.json",
            '{"format_version": "1.2", "terraform_version": "1.11.4", "planned_values": {"root_module": {}},\n"resource_changes": {' + rest,
        )


def test_every_service_of_a_plan_is_judged() -> None:
    def service(name: str, region: str) -> dict[str, object]:
        return {
            "address": f"google_cloud_run_v2_service.{name}",
            "type": "google_cloud_run_v2_service",
            "mode": "managed",
            "values": {
                "name": name,
                "location": region,
                "template": [
                    {
                        "gpu_zonal_redundancy_disabled": True,
                        "max_instance_request_concurrency": 8,
                        "node_selector": [{"accelerator": "nvidia-l4"}],
                        "scaling": [{"max_instance_count": 2}],
                        "containers": [
                            {
                                "image": "us-docker.pkg.dev/acme/serving/mask:1",
                                "resources": [{"limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}}],
                            }
                        ],
                    }
                ],
            },
        }

    plan = {"format_version": "1.2", "planned_values": {"root_module": {"resources": [service("a", "us-east4"), service("b", "us-west1")]}}}
    answer = ask("plan.json", json.dumps(plan))
    assert answer.kinds == (Kind.PLAN,)
    assert [(finding.code, "google_cloud_run_v2_service.b" in finding.where.field) for finding in answer.findings] == [
        ("gpu-region-unsupported", True)
    ]


def test_a_plan_without_services_is_said() -> None:
    with pytest.raises(UnreadableError, match="the plan has no google_cloud_run_v2_service"):
        ask("plan.json", '{"format_version": "1.2", "planned_values": {"root_module": {}}}')


def test_a_finding_of_a_spec_is_said_in_the_words_of_specs() -> None:
    spec = "service: acme-ml:europe-west1:ranker\nspec:\n  scale:\n    max_instance_count: 6\n  serving:\n"
    serving = "    image: tensorflow/serving:2.20.0-gpu\n    model: {name: m, uri: gs://acme/m, version: 3}\n    accelerator: nvidia-l4\n"
    (finding,) = ask("s.yaml", f"{spec}{serving}    gpu_zonal_redundancy: false\n    cpu: 4\n    memory: 16Gi\n").findings
    assert finding.code == "gpu-quota-default-exceeded"
    assert (finding.where.line, finding.where.field) == (4, "spec.scale.max_instance_count")
    assert finding.fix.startswith("spec.scale.max_instance_count: 3")
