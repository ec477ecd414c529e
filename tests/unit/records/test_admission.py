"""Admission: what Cloud Run or TF Serving would refuse of a spec is said before anything is written, with what to do."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from shared.records.admission import SPEC_LIMIT_BYTES, admit, only_noted
from shared.records.allow_lists import NO_LIMITS, AllowLists
from shared.records.golden_request import LIMIT_BYTES
from shared.records.images import Image
from shared.records.refusal import Authority, Refusal
from shared.records.server_flags import FREE, OLDEST_RELEASE, RENDERED, UNFIT
from shared.records.service import ServiceSpec
from shared.records.subject import ServiceId
from shared.rendering.entry import MANAGED_FLAGS
from shared.tfserving.flags import BY_NAME
from tests.support.specs import OWN_ENTRY, SERVICE, a_spec

BIG_SPEC = {f"V{number}": "x" * 30_000 for number in range(10)}
CPU_ONLY: dict[str, Any] = {"accelerator": None, "gpu_zonal_redundancy": None, "image": "tensorflow/serving:2.20.0", "memory": "8Gi"}


def refusals(spec: ServiceSpec, *, service: ServiceId = SERVICE, allowed: AllowLists = NO_LIMITS) -> list[Refusal]:
    return list(admit(service, spec, allowed))


def only(spec: ServiceSpec, *, service: ServiceId = SERVICE, allowed: AllowLists = NO_LIMITS) -> Refusal:
    found = refusals(spec, service=service, allowed=allowed)
    assert len(found) == 1, [str(refusal) for refusal in found]
    return found[0]


def in_region(region: str) -> ServiceId:
    return SERVICE.model_copy(update={"region": region})


def test_a_typical_spec_is_admitted() -> None:
    assert refusals(a_spec()) == []


def test_a_spec_that_leaves_the_template_to_its_owner_is_admitted() -> None:
    assert refusals(ServiceSpec.model_validate({"scale": {"max_instance_count": 4}})) == []


def test_a_refusal_says_field_value_reason_limit_and_what_to_do() -> None:
    refusal = only(a_spec(memory="8Gi"))
    assert (refusal.field, refusal.value, refusal.limit) == ("spec.serving.memory", "8Gi", "16 GiB with nvidia-l4 and 4 vCPU")
    assert (refusal.fix, refusal.authority) == ("use 16Gi", Authority.CLOUD_RUN)
    assert 'it says "CPU must be at least 4; memory must be at least 16Gi"' in refusal.why
    assert str(refusal).startswith("spec.serving.memory: 8Gi: ")
    assert str(refusal).endswith("; allowed: 16 GiB with nvidia-l4 and 4 vCPU; fix: use 16Gi [cloud-run]")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"cpu": "2"}, "spec.serving.cpu"),
        ({"memory": "32Gi"}, "spec.serving.memory"),
        ({"accelerator": "nvidia-t4"}, "spec.serving.accelerator"),
        ({"accelerator": "nvidia-rtx-pro-6000", "cpu": "21", "memory": "80Gi"}, "spec.serving.cpu"),
        ({"accelerator": "nvidia-rtx-pro-6000", "cpu": "20", "memory": "64Gi"}, "spec.serving.memory"),
        ({**CPU_ONLY, "cpu": "3"}, "spec.serving.cpu"),
        ({**CPU_ONLY, "cpu": "500m", "memory": "512Mi"}, "spec.serving.cpu"),
        ({**CPU_ONLY, "cpu": "8", "memory": "2Gi"}, "spec.serving.memory"),
    ],
)
def test_a_shape_that_cloud_run_does_not_make_is_refused(changes: dict[str, Any], field: str) -> None:
    refusal = only(a_spec(**changes))
    assert (refusal.field, refusal.authority) == (field, Authority.CLOUD_RUN)


def test_a_gpu_where_cloud_run_has_none_is_refused_with_the_regions_that_do() -> None:
    refusal = only(a_spec(), service=in_region("us-west1"))
    assert (refusal.field, refusal.value) == ("service", "us-west1")
    assert "europe-west1" in refusal.limit


def test_a_region_by_invitation_is_cloud_runs_to_refuse() -> None:
    assert refusals(a_spec(), service=in_region("us-central1")) == []


def test_a_service_without_a_gpu_may_be_anywhere() -> None:
    assert refusals(a_spec(**CPU_ONLY), service=in_region("us-west1")) == []


def test_zonal_redundancy_is_said_with_a_gpu_and_only_then() -> None:
    silent = only(a_spec(gpu_zonal_redundancy=None))
    assert (silent.field, silent.authority) == ("spec.serving.gpu_zonal_redundancy", Authority.TRIMTAB)
    assert "costs half as much again" in silent.why
    without = only(a_spec(**{**CPU_ONLY, "gpu_zonal_redundancy": False}))
    assert (without.field, without.authority) == ("spec.serving.gpu_zonal_redundancy", Authority.CLOUD_RUN)


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("tensorflow/serving", "moves"),
        ("tensorflow/serving:latest-gpu", "the tag latest-gpu moves"),
        ("tensorflow/serving:nightly-gpu", "the tag nightly-gpu moves"),
        ("europe-docker.pkg.dev/acme-ml/serving/ranker:latest", "the tag latest moves"),
        ("gcr.io/acme-ml/ranker", "without a tag"),
        ("tensorflow/serving:2.20.0", "no GPU support"),
        ("docker.io/tensorflow/serving:2.20.0-devel", "no GPU support"),
        ("ghcr.io/acme/ranker:7", "one of [region.]gcr.io"),
        ("quay.io:443/acme/ranker:7", "does not pull from quay.io:443"),
        ("docker.pkg.github.com/acme/ranker:7", "does not pull from"),
    ],
)
def test_an_image_that_moves_cannot_be_pulled_or_cannot_use_the_gpu_is_refused(image: str, said: str) -> None:
    refusal = only(a_spec(image=image))
    assert refusal.field == "spec.serving.image"
    assert said in refusal.why


@pytest.mark.parametrize(
    "image",
    [
        "tensorflow/serving:2.20.0-gpu",
        f"tensorflow/serving:latest@sha256:{'a' * 64}",
        f"tensorflow/serving@sha256:{'a' * 64}",
        "europe-west4-docker.pkg.dev/acme-ml/serving/ranker:2026-11-30",
        "mirror.gcr.io/tensorflow/serving:2.20.0-gpu",
        "acme/latest:1",
    ],
)
def test_an_image_that_stays_is_admitted_and_an_own_image_is_its_owners_business(image: str) -> None:
    assert refusals(a_spec(image=image)) == []


def test_an_image_for_gpus_runs_without_one_too() -> None:
    assert refusals(a_spec(**{**CPU_ONLY, "image": "tensorflow/serving:2.20.0-gpu"})) == []


def test_the_build_for_gpus_is_named_whatever_the_tag_says_beside_the_release() -> None:
    for image, fix in {
        "tensorflow/serving:2.20.0": "tensorflow/serving:2.20.0-gpu",
        "tensorflow/serving:2.20.0-GPU": "tensorflow/serving:2.20.0-gpu",
        "tensorflow/serving:2.20.0-devel": "tensorflow/serving:2.20.0-devel-gpu",
    }.items():
        assert only(a_spec(image=image)).fix == f"use {fix}, or leave serving.accelerator out"


def test_a_release_without_what_trimtab_renders_is_refused() -> None:
    refusal = only(a_spec(image="tensorflow/serving:2.4.1-gpu"))
    assert (refusal.field, refusal.limit) == ("spec.serving.image", "TF Serving 2.5 or newer")
    assert "unknown argument: --grpc_max_threads" in refusal.why
    assert len(refusals(a_spec(image="tensorflow/serving:1.15.0-gpu", protocol="rest"))) == 1
    assert refusals(a_spec(image="tensorflow/serving:2.5.0-gpu")) == []
    assert refusals(a_spec(**OWN_ENTRY, image="tensorflow/serving:2.4.1-gpu")) == []


def test_no_flag_that_trimtab_writes_is_younger_than_the_oldest_release() -> None:
    def numbers(release: str) -> list[int]:
        return [int(part) for part in release.split(".")]

    since = {name: BY_NAME[name].since for name in MANAGED_FLAGS}
    assert max(numbers(release) for release in since.values() if release is not None) == numbers(OLDEST_RELEASE)


def test_a_name_longer_than_any_registry_takes_is_refused() -> None:
    assert refusals(a_spec(image=f"docker.io/{'a' * 245}:1")) == []
    assert only(a_spec(image=f"docker.io/{'a' * 246}:1")).limit == "255 characters before the tag or digest"


def test_a_host_in_upper_case_is_a_host() -> None:
    assert "does not pull from Evil" in only(a_spec(image="Evil/acme/ranker:7")).why


def test_a_colon_before_the_last_slash_is_a_port() -> None:
    assert Image.parse("localhost:5000/a/b") == Image("localhost:5000/a/b", None, None)
    assert Image.parse("h.io:5000/a/b:1@sha256:x") == Image("h.io:5000/a/b", "1", "sha256:x")


def test_the_start_up_window_ends_where_cloud_runs_does() -> None:
    assert refusals(a_spec(start_up_seconds=1_800)) == []
    refusal = only(a_spec(**CPU_ONLY, start_up_seconds=601))
    assert (refusal.field, refusal.limit) == ("spec.serving.start_up_seconds", "600 s without a GPU")


@pytest.mark.parametrize(
    ("batching", "field", "said"),
    [
        ({"max_batch_size": 32, "allowed_batch_sizes": [1, 16]}, "allowed_batch_sizes", "last entry was 16; expected 32"),
        ({"num_batch_threads": 0}, "num_batch_threads", "num_batch_threads must be positive; was 0"),
        ({"batch_timeout_micros": -1}, "batch_timeout_micros", "must be non-negative; was -1"),
        ({"max_batch_size": 8, "allowed_batch_sizes": [4, 2, 8]}, "allowed_batch_sizes", "does something else than was meant"),
        ({"max_enqueued_batches": -5}, "max_enqueued_batches", "does something else than was meant"),
        ({"max_enqueued_batches": 0}, "max_enqueued_batches", "does something else than was meant"),
        ({"max_batch_size": 8, "max_execution_batch_size": 4}, "max_execution_batch_size", "does something else than was meant"),
        ({"max_batch_size": 8, "num_batch_threads": 1_001}, "num_batch_threads", "no more requests"),
    ],
)
def test_batching_that_tf_serving_refuses_or_does_not_do_is_refused(batching: dict[str, Any], field: str, said: str) -> None:
    refusal = only(a_spec(batching=batching))
    assert refusal.field == f"spec.serving.batching.{field}"
    assert said in refusal.why


def test_batching_is_judged_as_the_whole_that_is_rendered() -> None:
    # Alone each of these leaves TF Serving with its default of 1,000 rows, which they contradict.
    assert refusals(a_spec(batching={"allowed_batch_sizes": [1, 32]})) == []
    assert refusals(a_spec(batching={"enable_large_batch_splitting": True})) == []
    assert "last entry was 0; expected 32" in refusals(a_spec(batching={"allowed_batch_sizes": [0]}))[0].why
    small = only(a_spec(batching={"allowed_batch_sizes": [1, 8]}, rows_per_request=9))
    assert (small.field, small.limit) == ("spec.serving.rows_per_request", "8 rows, max_batch_size")


def test_what_is_wrong_at_model_load_says_that_it_takes_minutes() -> None:
    assert "tries for minutes" in only(a_spec(batching={"max_batch_size": 0})).why


def test_requests_with_more_rows_than_a_batch_are_refused() -> None:
    refusal = only(a_spec(rows_per_request=64, batching={"max_batch_size": 32}))
    assert refusal.field == "spec.serving.rows_per_request"
    assert '"Task size 64 is larger than maximum input batch size 32"' in refusal.why
    assert refusals(a_spec(rows_per_request=32, batching={"max_batch_size": 32})) == []


def test_splitting_takes_no_more_rows_than_max_batch_size_either() -> None:
    split = {"max_batch_size": 64, "max_execution_batch_size": 32, "enable_large_batch_splitting": True}
    assert refusals(a_spec(rows_per_request=64, batching=split)) == []
    assert "with splitting too" in only(a_spec(rows_per_request=65, batching=split)).limit


def test_a_request_larger_than_the_whole_queue_is_refused() -> None:
    split = {"max_batch_size": 64, "max_execution_batch_size": 8, "enable_large_batch_splitting": True, "max_enqueued_batches": 4}
    refusal = only(a_spec(rows_per_request=40, batching=split))
    assert '"task size is 40 but scheduling capacity is only 32"' in refusal.why
    assert refusal.fix == "raise spec.serving.batching.max_enqueued_batches to 5 or more"


@pytest.mark.parametrize(
    ("serving", "top", "field"),
    [
        ({"client_deadline_ms": 300_001}, {}, "spec.serving.client_deadline_ms"),
        ({"client_deadline_ms": 100}, {"objective": {"p99_ms": 101}}, "spec.objective.p99_ms"),
        ({"timeout_seconds": 1}, {"objective": {"p99_ms": 1_001}}, "spec.objective.p99_ms"),
        ({"batching": {"batch_timeout_micros": 5_000_000}, "client_deadline_ms": 5_000}, {}, "spec.serving.batching.batch_timeout_micros"),
        ({"batching": {"batch_timeout_micros": 90_000}}, {"objective": {"p99_ms": 90}}, "spec.serving.batching.batch_timeout_micros"),
        ({"batching": {"batch_timeout_micros": 2_000_000}, "timeout_seconds": 2}, {}, "spec.serving.batching.batch_timeout_micros"),
    ],
)
def test_times_that_contradict_one_another_are_refused(serving: dict[str, Any], top: dict[str, Any], field: str) -> None:
    assert only(a_spec(top=top, **serving)).field == field


def test_times_that_just_fit_are_admitted() -> None:
    batching = {"batch_timeout_micros": 99_999}
    fits = a_spec(batching=batching, client_deadline_ms=100, timeout_seconds=1, top={"objective": {"p99_ms": 100}})
    assert refusals(fits) == []


def test_every_flag_of_the_server_is_free_rendered_or_unfit_and_only_one_of_them() -> None:
    assert sorted([*FREE, *RENDERED, *UNFIT]) == sorted(BY_NAME)
    assert set(RENDERED) >= MANAGED_FLAGS


@pytest.mark.parametrize("name", FREE)
def test_a_free_flag_is_admitted_with_its_default(name: str) -> None:
    default = BY_NAME[name].default
    value = "a=b" if name == "grpc_channel_arguments" else 4 if default is None else default
    assert refusals(a_spec(extra_flags={name: value})) == []


@pytest.mark.parametrize(
    ("flags", "fix"),
    [
        ({"port": 9000}, "set serving.protocol; the port follows from it"),
        ({"grpc_max_threads": 64}, "set serving.max_instance_request_concurrency; the threads follow from it"),
        ({"model_config_file": "/m"}, "set serving.model: one model with one version for each revision"),
        ({"ssl_config_file": "/tls"}, "leave it out"),
        ({"max_batch_size": 32}, "set serving.batching.max_batch_size"),
        ({"model_version": 3}, "set serving.model.version"),
        ({"allow_growth": True}, "there is no such flag: set the environment variable TF_FORCE_GPU_ALLOW_GROWTH=true"),
        ({"saved_model_tag": "serve"}, "there is no such flag; --saved_model_tags is near"),
        ({"--enable_profiler": True}, "write enable_profiler"),
        ({"enable_profiler": "false"}, "write true or false, without quotes"),
        ({"num_load_threads": 1.5}, "write a value of kind int32"),
        ({"num_load_threads": 10**5_000}, "write a value of kind int32"),
        ({"grpc_channel_arguments": "max_age"}, "leave one of them out, or correct it"),
        ({"per_process_gpu_memory_fraction": 2}, "write a number from 0 (nearly all of it) to 1"),
        ({"per_process_gpu_memory_fraction": -1}, "write a number from 0 (nearly all of it) to 1"),
        ({"saved_model_tags": "serve\ngpu"}, "write it on one line"),
        ({"saved_model_tags": "serve\x1b"}, "write it on one line"),
    ],
)
def test_a_flag_that_is_not_free_is_refused_with_what_to_do_instead(flags: dict[str, Any], fix: str) -> None:
    refusal = only(a_spec(extra_flags=flags))
    assert refusal.field == f"spec.serving.extra_flags.{next(iter(flags))}"
    assert refusal.fix == fix
    assert len(str(refusal)) < 1_000


def test_what_a_flag_starts_with_names_the_others_where_there_are_some() -> None:
    wrong = {"grpc_channel_arguments": "max_age"}
    assert only(a_spec(extra_flags=wrong)).limit == "a value that the server starts with"
    assert (
        only(a_spec(extra_flags={**wrong, "num_load_threads": 2})).limit == "a value that the server starts with, beside num_load_threads"
    )


def test_flags_that_do_not_go_together_are_refused_in_the_servers_words() -> None:
    pools = {f"tensorflow_{name}_parallelism": 2 for name in ("session", "intra_op", "inter_op")}
    assert "You cannot configure all." in only(a_spec(extra_flags=pools)).why


def test_a_flag_that_the_release_does_not_have_yet_is_refused() -> None:
    flags = {"enable_serialization_as_tensor_content": True}
    refusal = only(a_spec(extra_flags=flags, image="tensorflow/serving:2.18.1-gpu"))
    assert refusal.limit == "TF Serving 2.19 or newer"
    assert refusals(a_spec(extra_flags=flags, image="tensorflow/serving:2.19.0-gpu")) == []
    assert refusals(a_spec(extra_flags=flags, image="gcr.io/acme-ml/ranker:2.18.1")) == []


@pytest.mark.parametrize("name", ["PORT", "K_SERVICE", "K_ANYTHING", "TRIMTAB_MODEL_CONFIG"])
def test_names_of_variables_that_belong_to_others_are_refused(name: str) -> None:
    assert only(a_spec(environment={name: "x"})).field == f"spec.serving.environment.{name}"


def test_variables_of_tf_serving_and_awkward_values_are_admitted() -> None:
    assert refusals(a_spec(environment={"MODEL_NAME": "ranker", "A": "\"'\n€$HOME,", "KEEP": "", "k_service": "x"})) == []


def test_a_variables_length_counts_in_bytes() -> None:
    refusal = only(a_spec(environment={"A": "é" * 20_000}))
    assert (refusal.field, refusal.value) == ("spec.serving.environment.A", "40000 bytes")


def test_a_spec_too_large_for_its_document_is_refused() -> None:
    refusal = only(a_spec(environment=BIG_SPEC))
    assert (refusal.field, refusal.limit) == ("spec", f"{SPEC_LIMIT_BYTES} bytes as JSON")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "Missing 'inputs' or 'instances' key"),
        ({"instances": [1], "inputs": [1]}, "expecting only one of"),
        ({"instances": {}}, "Excepting 'instances' to be an list/array"),
        ({"instances": []}, "No values in 'instances' array"),
        ({"instances": [1], "signature": "x"}, "reads no signature"),
        ({"instances": [1], "signature_name": 7}, "no text"),
        ({"instances": [float("nan")]}, "nan, which is no number of JSON"),
        ({"instances": [2**64]}, "more than 64 bits"),
        ({"instances": [b"x"]}, "JSON has no form for"),
        ({"instances": [{1: 2}]}, "a key of it is no text"),
        ({"inputs": "x" * LIMIT_BYTES}, "it has 65550"),
        ({"instances": [0] * 30_000}, "more than 20000 values"),
    ],
)
def test_a_golden_request_that_is_no_predict_call_is_refused(body: dict[str, Any], said: str) -> None:
    refusal = only(a_spec(protocol="rest", golden_request=body))
    assert refusal.field == "spec.serving.golden_request"
    assert said in refusal.why


@pytest.mark.parametrize("own", [False, True])
def test_a_golden_request_over_grpc_could_never_be_answered_and_is_refused(own: bool) -> None:
    body, kept = {"instances": [[1.0]]}, OWN_ENTRY if own else {}
    refusal = only(a_spec(**kept, protocol="grpc", golden_request=body))
    assert (refusal.field, refusal.limit) == ("spec.serving.golden_request", "protocol: rest with a golden request")
    assert "it could never be answered" in refusal.why
    assert refusal.fix.startswith("set serving.protocol to rest, or leave the golden request out")
    assert refusals(a_spec(**kept, protocol="rest", golden_request=body)) == []


def test_a_golden_request_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    spec = a_spec(protocol="rest")
    assert spec.serving is not None
    looped = spec.model_copy(update={"serving": spec.serving.model_copy(update={"golden_request": {"instances": endless}})})
    assert "nested deeper than 16 levels" in only(looped).why


def test_a_golden_request_with_more_rows_than_a_batch_is_refused() -> None:
    body = {"instances": [[1.0], [2.0]]}
    assert "Task size 2 is larger" in only(a_spec(protocol="rest", golden_request=body, batching={"max_batch_size": 1})).why
    assert refusals(a_spec(protocol="rest", golden_request=body, batching={"max_batch_size": 2})) == []
    many = {"instances": [[1.0]] * 33}
    for batching in ("auto", {"batch_timeout_micros": 0}):
        refusal = only(a_spec(protocol="rest", golden_request=many, batching=batching))
        assert "Task size 33 is larger than maximum input batch size 32" in refusal.why
    assert refusals(a_spec(protocol="rest", golden_request=many, batching="off")) == []


@pytest.mark.parametrize(
    ("model", "fix"),
    [
        ({"uri": "gs://acme-models/ranker/42"}, "give its parent, gs://acme-models/ranker, and the number as model.version"),
        ({"uri": "gs://acme-models/42"}, "put the version folders into a folder with a name, and give that"),
        ({"uri": "/models/ranker/0042", "source": "image"}, "give its parent, /models/ranker, and the number as model.version"),
        ({"uri": "gs://acme-models/ranker/1", "source": "copied"}, "give its parent, gs://acme-models/ranker"),
    ],
)
def test_a_versions_own_folder_is_no_place_of_versions(model: dict[str, Any], fix: str) -> None:
    refusal = only(a_spec(model={"name": "ranker", "version": 42, **model}))
    assert (refusal.field, refusal.value) == ("spec.serving.model.uri", model["uri"])
    assert refusal.fix.startswith(fix)


def test_a_number_inside_a_folders_name_or_above_it_is_no_version() -> None:
    for uri in ("gs://acme-models/2026/ranker", "gs://acme-models/ranker-2", "gs://42-models/ranker"):
        assert refusals(a_spec(model={"name": "ranker", "version": 42, "uri": uri})) == []


def test_bfloat16_by_flag_is_for_cpus() -> None:
    refusal = only(a_spec(extra_flags={"mixed_precision": "bfloat16"}))
    assert (refusal.field, refusal.limit) == ("spec.serving.extra_flags.mixed_precision", "left out with an accelerator")
    assert refusals(a_spec(**CPU_ONLY, extra_flags={"mixed_precision": "bfloat16"})) == []


def test_a_second_network_interface_and_one_without_a_network_are_refused() -> None:
    two = only(a_spec(vpc_access={"network_interfaces": [{"network": "a"}, {"network": "b"}]}))
    assert two.field == "spec.serving.vpc_access.network_interfaces"
    none = only(a_spec(vpc_access={"network_interfaces": [{"tags": ["a"]}]}))
    assert none.field == "spec.serving.vpc_access.network_interfaces.0"


def test_a_service_account_of_another_project_needs_the_allow_list() -> None:
    foreign = "ranker@other-ml.iam.gserviceaccount.com"
    assert "belongs to the project other-ml" in only(a_spec(service_account=foreign)).why
    allowed = AllowLists(service_accounts=(foreign,))
    assert refusals(a_spec(service_account=foreign), allowed=allowed) == []


@pytest.mark.parametrize("account", ["1234-compute@developer.gserviceaccount.com", "acme-ml@appspot.gserviceaccount.com"])
def test_googles_default_accounts_are_the_projects_own_as_far_as_they_say(account: str) -> None:
    assert refusals(a_spec(service_account=account)) == []


def test_app_engines_account_of_another_project_is_another_projects() -> None:
    foreign = "other-ml@appspot.gserviceaccount.com"
    assert "belongs to the project other-ml" in only(a_spec(service_account=foreign)).why
    assert refusals(a_spec(service_account=foreign), allowed=AllowLists(service_accounts=(foreign,))) == []


@pytest.mark.parametrize(
    "account",
    [
        "ann@example.com",
        "x@evil.gserviceaccount.com",
        "x@iam.gserviceaccount.com",
        "x@gserviceaccount.com",
        "x@developer.gserviceaccount.com",
        "x@evil-appspot.gserviceaccount.com",
    ],
)
def test_what_is_no_service_accounts_address_is_refused_whatever_is_allowed(account: str) -> None:
    assert "no service account's address" in only(a_spec(service_account=account), allowed=AllowLists(service_accounts=("*",))).why


def test_a_domain_scoped_project_has_its_domain_behind_its_name() -> None:
    service = ServiceId(project="example.com:acme-ml", region="europe-west4", name="ranker")
    assert refusals(a_spec(service_account="ranker@acme-ml.example.com.iam.gserviceaccount.com"), service=service) == []
    assert len(refusals(a_spec(service_account="ranker@acme-ml.iam.gserviceaccount.com"), service=service)) == 1


@pytest.mark.parametrize(
    ("allowed", "field"),
    [
        (AllowLists(projects=("acme-prod",)), "service"),
        (AllowLists(images=("europe-docker.pkg.dev/acme-ml/*",)), "spec.serving.image"),
        (AllowLists(buckets=("acme-model",)), "spec.serving.model.uri"),
        (AllowLists(service_accounts=("scorer@acme-ml.iam.gserviceaccount.com",)), "spec.serving.service_account"),
        (AllowLists(buckets=()), "spec.serving.model.uri"),
    ],
)
def test_what_is_not_on_an_allow_list_is_refused(allowed: AllowLists, field: str) -> None:
    spec = a_spec(service_account="ranker@acme-ml.iam.gserviceaccount.com")
    refusal = only(spec, allowed=allowed)
    assert (refusal.field, refusal.authority) == (field, Authority.TRIMTAB)
    assert "TRIMTAB_ALLOWED_" in refusal.fix


def test_an_allow_list_names_things_whole_or_by_their_beginning() -> None:
    allowed = AllowLists.of(
        images=["tensorflow/serving:*"], service_accounts=None, buckets=["acme-models"], projects=["acme-ml", "acme-prod*"]
    )
    assert refusals(a_spec(), allowed=allowed) == []


@pytest.mark.parametrize(
    ("pattern", "image", "allowed"),
    [
        ("gcr.io/acme-ml/serving/*", "gcr.io/acme-ml/serving/ranker:1", True),
        ("gcr.io/acme-ml/serving/*", "gcr.io/acme-ml/serving/a/b:1", True),
        ("gcr.io/acme-ml/serving/*", "gcr.io/acme-ml/serving:1", False),
        ("gcr.io/acme-ml/serving*", "gcr.io/acme-ml/serving:1", True),
        ("gcr.io/acme-ml/serving*", "gcr.io/acme-ml/serving/a:1", True),
        ("gcr.io/acme-ml/serving*", f"gcr.io/acme-ml/serving@sha256:{'a' * 64}", True),
        ("gcr.io/acme-ml/serving*", "gcr.io/acme-ml/serving-evil/a:1", False),
        ("gcr.io/acme*", "gcr.io/acme-evil/a:1", False),
        ("gcr.io/acme-ml/serving:2.*", "gcr.io/acme-ml/serving:2.20.0", True),
        ("gcr.io/acme-ml/serving:2.*", "gcr.io/acme-ml/serving:3.0.0", False),
        ("gcr.io/acme-ml/serving:1", "gcr.io/acme-ml/serving:1", True),
        ("*", "gcr.io/acme-ml/serving:1", True),
    ],
)
def test_images_are_allowed_by_whole_parts_of_their_path(pattern: str, image: str, allowed: bool) -> None:
    assert (refusals(a_spec(image=image), allowed=AllowLists(images=(pattern,))) == []) is allowed


def test_a_model_in_the_image_comes_from_no_bucket() -> None:
    model = {"name": "ranker", "uri": "/models/ranker", "version": 1, "source": "image"}
    assert refusals(a_spec(model=model), allowed=AllowLists(buckets=())) == []


@pytest.mark.parametrize("pattern", ["", "a*b", "*x", "a b"])
def test_a_pattern_with_a_star_elsewhere_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError):
        AllowLists.of(images=[pattern], service_accounts=None, buckets=None, projects=None)


def test_of_an_owners_own_command_only_what_trimtab_writes_is_judged() -> None:
    assert refusals(a_spec(**OWN_ENTRY)) == []
    assert refusals(a_spec(**OWN_ENTRY, cpu=None, memory=None, model=None)) == []
    assert only(a_spec(**OWN_ENTRY, memory="8Gi")).field == "spec.serving.memory"
    assert only(a_spec(**OWN_ENTRY, cpu=None, accelerator="nvidia-t4")).field == "spec.serving.accelerator"


ORDINARY: list[tuple[dict[str, Any], str]] = [
    ({"image": "gcr.io/acme-ml/ranker"}, "without a tag it is :latest"),
    ({"image": "tensorflow/serving:latest-gpu"}, "the tag latest-gpu moves"),
    ({"image": "tensorflow/serving:2.20.0"}, "no GPU support"),
    ({"service_account": "x@other-ml.iam.gserviceaccount.com"}, "belongs to the project other-ml"),
    ({"own_entry": {"args": ["--port=$(PORT)"]}}, "Cloud Run puts a variable's value there"),
]


@pytest.mark.parametrize(("serving", "said"), ORDINARY)
def test_what_an_observed_services_owner_chose_is_only_noted_until_trimtab_may_do_more(serving: dict[str, Any], said: str) -> None:
    def spec(autonomy: str) -> ServiceSpec:
        return a_spec(top={"autonomy": autonomy}, **{**OWN_ENTRY, **serving})

    assert refusals(spec("observe")) == []
    (noted,) = only_noted(SERVICE, spec("observe"), NO_LIMITS)
    assert said in noted.why
    for autonomy in ("recommend", "act"):
        assert refusals(spec(autonomy)) == [noted]
        assert only_noted(SERVICE, spec(autonomy), NO_LIMITS) == ()


def test_a_command_that_trimtab_renders_is_judged_whole_even_where_it_only_observes() -> None:
    assert [each.field for each in refusals(a_spec(image="tensorflow/serving:latest-gpu"))] == ["spec.serving.image"]


@pytest.mark.parametrize(
    ("serving", "allowed"),
    [
        ({"memory": "8Gi"}, NO_LIMITS),
        ({"image": "ghcr.io/acme/ranker:7"}, NO_LIMITS),
        ({"protocol": "grpc", "golden_request": {"instances": [[1.0]]}}, NO_LIMITS),
        ({}, AllowLists(projects=("acme-prod",))),
    ],
)
def test_cloud_runs_rules_and_what_is_no_part_of_the_service_hold_for_an_observed_one_too(
    serving: dict[str, Any], allowed: AllowLists
) -> None:
    assert len(refusals(a_spec(**{**OWN_ENTRY, **serving}), allowed=allowed)) == 1


def test_an_owners_own_container_may_run_in_the_first_generation() -> None:
    small = {**CPU_ONLY, **OWN_ENTRY, "cpu": "500m", "memory": "512Mi"}
    assert refusals(a_spec(**{**small, "max_instance_request_concurrency": 1})) == []
    assert only(a_spec(**small)).field == "spec.serving.max_instance_request_concurrency"


def test_all_that_is_wrong_is_said_at_once_in_the_order_of_the_fields() -> None:
    spec = a_spec(image="tensorflow/serving", memory="8Gi", environment={"PORT": "1"}, extra_flags={"port": 1})
    assert [refusal.field for refusal in refusals(spec)] == [
        "spec.serving.image",
        "spec.serving.memory",
        "spec.serving.extra_flags.port",
        "spec.serving.environment.PORT",
    ]


@pytest.mark.parametrize("module", ["shared.records.service", "shared.records.serving"])
def test_storing_a_spec_does_not_load_protobuf(module: str) -> None:
    root = Path(__file__).parents[3]
    code = f"import sys, {module}; sys.exit('google.protobuf' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
