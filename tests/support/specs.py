"""Specs: a typical one, and random ones that admission takes for the service `SERVICE`."""

import string
from typing import Any

from hypothesis import strategies as st

from shared.records.service import Autonomy, ServiceSpec
from shared.records.serving import EXPANSION, Ingress, ModelSource, Protocol, ServingSpec, VpcEgress
from shared.records.subject import ServiceId
from shared.records.windows import Weekday

SERVICE = ServiceId(project="acme-ml", region="europe-west4", name="ranker")
"""In a region that has both GPUs."""

TYPICAL: dict[str, Any] = {
    "image": "tensorflow/serving:2.20.0-gpu",
    "model": {"name": "ranker", "uri": "gs://acme-models/ranker", "version": 42},
    "accelerator": "nvidia-l4",
    "gpu_zonal_redundancy": False,
    "cpu": "4",
    "memory": "16Gi",
}
"""A gRPC service on an L4."""
OWN_ENTRY: dict[str, Any] = {
    "own_entry": {"command": ["/usr/bin/serve"], "args": ["--port=8500"], "port": 8500},
    "batching": None,
    "start_up_seconds": None,
    "max_instance_request_concurrency": 16,
}
"""What makes the typical service one with a command of its owner's."""


def a_spec(*, scale: dict[str, Any] | None = None, top: dict[str, Any] | None = None, **serving: Any) -> ServiceSpec:
    """A typical L4 service with fields of `spec.serving` changed; `top` changes fields of the spec itself."""
    return ServiceSpec.model_validate({"scale": scale or {"max_instance_count": 4}, "serving": {**TYPICAL, **serving}, **(top or {})})


def _digest(letter: str) -> str:
    return f"sha256:{letter * 64}"


GPU_IMAGES = (
    "tensorflow/serving:2.20.0-gpu",
    "docker.io/tensorflow/serving:2.20.0-gpu",
    f"europe-docker.pkg.dev/acme-ml/serving/ranker@{_digest('a')}",
    f"gcr.io/acme-ml/ranker:v7@{_digest('b')}",
)
CPU_IMAGES = ("tensorflow/serving:2.20.0", *GPU_IMAGES[2:])
L4_SHAPES = (("4", "16Gi"), ("6", "20Gi"), ("8", "16Gi"), ("8", "32Gi"))
RTX_SHAPES = (("20", "80Gi"), ("24", "96Gi"), ("30", "120Gi"))
CPU_SHAPES = (("1", "1Gi"), ("2", "512Mi"), ("4", "8Gi"), ("6", "24Gi"), ("8", "32Gi"))

AWKWARD = ('"', "'", "it's", "a,b=c", "$HOME", "$$", "${X}", "$", "\n", "a\nb\r\n", "\t", "é€😀", "\\", "\\n", "--flag=1", "<>&|;", " ", "")
"""Texts that shells, YAML, JSON and argument lists trip over."""
texts = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
).filter(lambda text: EXPANSION not in text)
environment_names = st.one_of(
    st.sampled_from(("MODEL_NAME", "TF_FORCE_GPU_ALLOW_GROWTH", "TF_CPP_MIN_LOG_LEVEL", "_", "a")),
    st.text(string.ascii_uppercase + "_", min_size=2, max_size=8),
).filter(lambda name: name != "PORT" and not name.startswith(("K_", "TRIMTAB_")))
environments = st.dictionaries(environment_names, texts, max_size=3)
extra_flags = st.fixed_dictionaries(
    {},
    optional={
        "enable_profiler": st.booleans(),
        "enable_serialization_as_tensor_content": st.booleans(),
        "per_process_gpu_memory_fraction": st.one_of(st.just(1), st.floats(0.125, 1, width=32)),
        "num_load_threads": st.integers(0, 8),
        "tensorflow_intra_op_parallelism": st.integers(0, 8),
        "tensorflow_inter_op_parallelism": st.integers(0, 8),
        "saved_model_tags": st.sampled_from(("serve", "serve,gpu")),
        "grpc_channel_arguments": st.just("grpc.max_connection_age_ms=2000,grpc.max_concurrent_streams=1000"),
    },
)
vpc_accesses = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"connector": st.just("projects/acme-ml/locations/europe-west4/connectors/main")},
        optional={"egress": st.sampled_from(VpcEgress)},
    ),
    st.fixed_dictionaries(
        {
            "network_interfaces": st.sampled_from(
                (
                    [{"network": "main"}],
                    [{"subnetwork": "serving"}],
                    [{"network": "main", "subnetwork": "serving", "tags": ["serving", "gpu"]}],
                )
            )
        },
        optional={"egress": st.sampled_from(VpcEgress)},
    ),
)
set_points = st.one_of(
    st.none(),
    st.sampled_from(
        (
            {"concurrency_utilization": 0.7},
            {"cpu_utilization": "disabled", "concurrency_utilization": 0.95},
            {"cpu_utilization": 0.1, "concurrency_utilization": "disabled"},
        )
    ),
)
windows = st.lists(
    st.builds(
        lambda days, start, end: {"days": days, "start": start, "end": end},
        st.lists(st.sampled_from(Weekday), min_size=1, max_size=7, unique=True),
        st.times().map(lambda time: f"{time:%H:%M}"),
        st.times().map(lambda time: f"{time:%H:%M}"),
    ),
    max_size=3,
)
golden_requests = st.one_of(
    st.none(),
    st.fixed_dictionaries({"instances": st.just([{"x": [1.5, None, True]}])}, optional={"signature_name": texts}),
    st.fixed_dictionaries({"inputs": st.dictionaries(texts, st.lists(st.integers(-5, 5), max_size=3), max_size=2)}),
)


@st.composite
def batching_parameters(draw: st.DrawFn) -> tuple[dict[str, Any], int]:
    """Parameters that TF Serving takes as they are meant, and the most rows that a request may have with them."""
    power = draw(st.integers(0, 8))
    size = 1 << power
    given: dict[str, Any] = {"max_batch_size": size}
    enqueued = draw(st.one_of(st.none(), st.integers(1, 40)))
    optional = {
        "batch_timeout_micros": draw(st.one_of(st.none(), st.integers(0, 5_000))),
        "max_enqueued_batches": enqueued,
        "num_batch_threads": draw(st.one_of(st.none(), st.integers(1, 8))),
        "thread_pool_name": draw(st.one_of(st.none(), st.just("batchers"))),
    }
    given |= {name: value for name, value in optional.items() if value is not None}
    allowed = draw(st.one_of(st.just(()), st.just(tuple(1 << each for each in range(power + 1)))))
    rows = size
    if draw(st.booleans()):
        execution = 1 << draw(st.integers(0, power))
        given |= {"enable_large_batch_splitting": True, "max_execution_batch_size": execution}
        rows = min(size, execution * (enqueued or 10))
    if allowed:
        given["allowed_batch_sizes"] = allowed
    if draw(st.booleans()):
        given["pad_variable_length_inputs"] = True
    return given, rows


@st.composite
def _shapes(draw: st.DrawFn) -> dict[str, Any]:
    accelerator, shapes, images = draw(
        st.sampled_from(
            (
                (None, CPU_SHAPES, CPU_IMAGES),
                ("nvidia-l4", L4_SHAPES, GPU_IMAGES),
                ("nvidia-rtx-pro-6000", RTX_SHAPES, GPU_IMAGES),
            )
        )
    )
    cpu, memory = draw(st.sampled_from(shapes))
    redundancy = None if accelerator is None else draw(st.booleans())
    return {
        "accelerator": accelerator,
        "gpu_zonal_redundancy": redundancy,
        "cpu": cpu,
        "memory": memory,
        "image": draw(st.sampled_from(images)),
    }


@st.composite
def _models(draw: st.DrawFn) -> dict[str, Any]:
    source = draw(st.sampled_from(ModelSource))
    uri = "/models/ranker" if source is ModelSource.IMAGE else draw(st.sampled_from(("gs://acme-models/ranker", "gs://acme/a/b+c=d@e")))
    version = draw(st.one_of(st.just("latest"), st.integers(0, 2**63 - 1)))
    return {"name": draw(st.sampled_from(("ranker", "_m.v-2", "M" * 63))), "uri": uri, "version": version, "source": source}


@st.composite
def serving_specs(draw: st.DrawFn, *, own_entry: bool | None = None) -> ServingSpec:
    """Random specs of instances that admission takes; `own_entry` None: with or without a command of the owner's."""
    own = draw(st.integers(0, 4)) == 0 if own_entry is None else own_entry
    given = draw(_shapes())
    timeout = draw(st.integers(1, 3_600))
    limit = 600 if given["accelerator"] is None else 1_800
    given |= {
        "protocol": draw(st.sampled_from(Protocol)),
        "service_account": draw(st.sampled_from((None, "ranker@acme-ml.iam.gserviceaccount.com"))),
        "ingress": draw(st.one_of(st.none(), st.sampled_from(Ingress))),
        "vpc_access": draw(vpc_accesses),
        "set_points": draw(set_points),
        "timeout_seconds": timeout,
        "client_deadline_ms": draw(st.one_of(st.none(), st.integers(100, timeout * 1_000))),
        "metrics_sidecar": draw(st.booleans()),
    }
    # The prober speaks REST, so over gRPC's port nobody would answer it.
    given["golden_request"] = draw(golden_requests) if given["protocol"] is Protocol.REST else None
    concurrency = st.integers(1, 1_000)
    if own:
        arguments = st.lists(texts, max_size=3)
        entry = {"command": draw(arguments), "args": draw(arguments), "port": draw(st.one_of(st.none(), st.integers(1, 65_535)))}
        given |= {
            "own_entry": entry,
            "batching": None,
            "start_up_seconds": None,
            "max_instance_request_concurrency": draw(st.one_of(st.none(), concurrency)),
            "timeout_seconds": draw(st.sampled_from((None, timeout))),
        }
        return ServingSpec.model_validate(given)
    parameters, most_rows = draw(batching_parameters())
    batching, most_rows = draw(st.sampled_from((("auto", 5_000), ("off", 5_000), (parameters, most_rows))))
    given |= {
        "model": draw(_models()),
        "batching": batching,
        "rows_per_request": draw(st.one_of(st.none(), st.integers(1, most_rows))),
        "max_instance_request_concurrency": draw(st.one_of(st.just("auto"), concurrency)),
        "start_up_seconds": draw(st.one_of(st.just("auto"), st.integers(1, limit))),
        "extra_flags": draw(extra_flags),
        "environment": draw(environments),
    }
    return ServingSpec.model_validate(given)


@st.composite
def service_specs(draw: st.DrawFn, *, own_entry: bool | None = None) -> ServiceSpec:
    """Random specs that admission takes for `SERVICE`; about one in five leaves the template to its owner."""
    serving = draw(serving_specs(own_entry=own_entry)) if own_entry is not None or draw(st.integers(0, 4)) else None
    most_ms = 3_600_000.0
    if serving is not None:
        limits = [serving.client_deadline_ms, serving.timeout_seconds and serving.timeout_seconds * 1_000]
        most_ms = float(min((limit for limit in limits if limit is not None), default=3_600_000))
    high = draw(st.integers(1, 1_000))
    return ServiceSpec.model_validate(
        {
            "scale": {"min_instance_count": draw(st.integers(0, high)), "max_instance_count": high},
            "objective": {
                "p99_ms": draw(st.one_of(st.none(), st.floats(50, most_ms))),
                "error_ratio": draw(st.one_of(st.none(), st.just(0.001))),
                "usd_per_hour": draw(st.one_of(st.none(), st.floats(0.1, 1_000))),
            },
            "autonomy": draw(st.sampled_from(Autonomy)),
            "serving": serving,
            "windows": draw(windows),
        }
    )
