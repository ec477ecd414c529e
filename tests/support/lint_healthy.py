"""Questions with nothing to find in them: one of every kind that `trimtab lint` reads, with numbers that fit together.

They are also the seeds of the mutants: `form` says which judge can read the text.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import yaml

from shared.lint.recognition import Kind
from tests.support.lint_healthy_documents import DIGEST, PLAN, SPEC, V1, V2_JSON, V2_YAML


class Form(StrEnum):
    """What a text is to the judge that reads it."""

    DEPLOY = "gcloud run deploy"
    UPDATE = "gcloud run services update"
    V1 = "v1 document"
    V2_YAML = "v2 document, YAML"
    V2_JSON = "v2 document, JSON"
    BATCHING = "batching file"
    MODELS = "models.config"
    MONITORING = "monitoring config"


@dataclass(frozen=True, slots=True)
class Healthy:
    """A question without findings. Those without a form are read by nobody but lint."""

    name: str
    text: str
    kind: Kind
    form: Form | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """Several parts as one question; those with a form have a judge."""

    name: str
    parts: Mapping[str, Any]
    forms: Mapping[str, Form] = field(default_factory=dict)

    def text(self, **changed: str) -> str:
        """The bundle as YAML, with other texts in some of its parts."""
        return yaml.dump({**self.parts, **changed}, sort_keys=False, width=10_000, allow_unicode=True)


L4_GRPC = """\
gcloud run deploy shelf-order --project=acme-retail --region=europe-west4 \\
  --image=tensorflow/serving:2.19.1-gpu \\
  --gpu=1 --gpu-type=nvidia-l4 --no-gpu-zonal-redundancy --no-cpu-throttling \\
  --cpu=4 --memory=16Gi --concurrency=72 --min=1 --max-instances=3 --timeout=45 \\
  --port=8500 --use-http2 --no-allow-unauthenticated --ingress=internal --execution-environment=gen2 \\
  --startup-probe=tcpSocket.port=8500,periodSeconds=15,timeoutSeconds=2,failureThreshold=40 \\
  --service-account=shelf@acme-retail.iam.gserviceaccount.com --labels=team=shelves,stage=live \\
  --set-env-vars=MODEL_NAME=shelf,TF_CPP_MIN_LOG_LEVEL=1 \\
  --args=--enable_batching=true,--batching_parameters_file=/srv/batching.pbtxt,--grpc_max_threads=88,--file_system_poll_wait_seconds=0
"""

L4_REST = """\
# the screener, over REST
gcloud run deploy spam-screen --region=us-east4 --image=docker.io/tensorflow/serving:2.18.0-gpu \\
  --gpu=1 --gpu-type=nvidia-l4 --no-gpu-zonal-redundancy --cpu=8 --memory=24Gi \\
  --concurrency=48 --max-instances=2 --timeout=90s --port=8501 \\
  --startup-probe=httpGet.path=/v1/models/spam,httpGet.port=8501,periodSeconds=10,timeoutSeconds=3,failureThreshold=60 \\
  --set-env-vars=MODEL_NAME=spam --cpu-boost \\
  --args='^;^--enable_batching=true;--batching_parameters_file=/etc/b.txt;--rest_api_num_threads=64;--rest_api_timeout_in_ms=20000'
"""

CPU_ONLY = """\
gcloud run deploy fare-guess --region us-central1 --image us-docker.pkg.dev/acme-fares/serving/tensorflow-serving:2.20.0 \\
  --cpu 2 --memory 4Gi --concurrency 16 --max-instances 12 --port 8500 --use-http2 \\
  --cpu-throttling --allow-unauthenticated --set-env-vars MODEL_NAME=fare \\
  --args=--grpc_max_threads=32,--file_system_poll_wait_seconds=0
"""

PRIVATE_IMAGE = f"""\
gcloud run deploy lens-tags --region=asia-southeast1 \\
  --image=asia-southeast1-docker.pkg.dev/acme-lens/models/lens@{DIGEST} \\
  --gpu=1 --gpu-type=nvidia-l4 --no-gpu-zonal-redundancy --cpu=8 --memory=32Gi --concurrency=30 --max-instances=3 \\
  --port=9000 --use-http2 --command=/usr/bin/tensorflow_model_server --timeout=120 \\
  --add-volume=name=weights,type=cloud-storage,bucket=acme-lens-weights,readonly=true \\
  --add-volume-mount=volume=weights,mount-path=/weights \\
  --args=--port=9000,--model_name=lens,--model_base_path=/weights/lens,--enable_batching=true,--grpc_max_threads=40 \\
  --set-env-vars='^:^TF_GPU_THREAD_MODE=gpu_private:NOTE=a,b'
"""

RTX = """\
gcloud beta run deploy dub-voices --region=europe-west4 --image=tensorflow/serving:2.20.0-gpu \\
  --gpu=1 --gpu-type=nvidia-rtx-pro-6000 --no-gpu-zonal-redundancy --no-cpu-throttling \\
  --cpu=20 --memory=80Gi --concurrency=96 --max-instances=2 --port=8500 --use-http2 --timeout=300 \\
  --set-env-vars=MODEL_NAME=dub \\
  --args=--enable_batching=true,--batching_parameters_file=/etc/dub.txt,--grpc_max_threads=128
"""

UPDATE = """\
gcloud run services update shelf-order --region=europe-west4 --concurrency=64 --timeout=50 \\
  --update-env-vars=TF_CPP_MIN_LOG_LEVEL=2,TF_CPP_VMODULE=batching_session=1 --update-labels=stage=live
"""

UPDATE_LIMITS = """\
gcloud run services update spam-screen --region us-east4 --min=1 --cpu=8 --memory=24Gi --no-cpu-throttling \\
  --startup-probe=tcpSocket.port=8501,periodSeconds=20,failureThreshold=30
"""

BATCHING_FULL = """\
# for one L4
max_batch_size { value: 24 }
batch_timeout_micros { value: 1200 }
max_enqueued_batches { value: 6 }
num_batch_threads { value: 2 }
thread_pool_name { value: "ranker_pool" }
allowed_batch_sizes: 1
allowed_batch_sizes: 6
allowed_batch_sizes: 12
allowed_batch_sizes: 24
"""

BATCHING_SHORT = "max_batch_size: <value: 0x10>, num_batch_threads { value: 1 };\nallowed_batch_sizes: [1, 4, 16]\n"

BATCHING_SPLIT = """\
max_batch_size { value: 96 }
enable_large_batch_splitting { value: true }
max_execution_batch_size { value: 48 }
batch_timeout_micros { value: 0 }
max_enqueued_batches { value: 12 }
num_batch_threads { value: 2 }
pad_variable_length_inputs: false
"""

MODELS = """\
model_config_list {
  config {
    name: "eta"
    base_path: "gs://acme-parcels/eta"
    model_platform: "tensorflow"
    model_version_policy { latest { num_versions: 1 } }
  }
  config {
    name: 'late'
    base_path: "/models/late"
    model_platform: "tensorflow"
    model_version_policy {
      specific {
        versions: 7
        versions: 9
      }
    }
    version_labels { key: "stable" value: 7 }
    version_labels { key: "trial" value: 9 }
  }
}
"""

MODELS_LOGGED = """\
model_config_list: {
  config: {
    name: "clips",
    base_path: "s3://acme-clips/scorer",
    model_platform: "tensorflow",
    logging_config {
      log_collector_config { type: "tensorflow" filename_prefix: "/var/log/clips" }
      sampling_config { sampling_rate: 0.01 }
    }
  }
}
"""

MONITORING = 'prometheus_config {\n  enable: true\n  path: "/monitoring/prometheus/metrics"\n}\n'

FLAGS = """\
--port=8500
--rest_api_port=8501
--model_config_file=/etc/tfs/models.config
--model_config_file_poll_wait_seconds=90
--file_system_poll_wait_seconds=90
--enable_batching=true
--batching_parameters_file=/etc/tfs/batching.txt
"""

LISTING = """\
gs://acme-parcels/eta/11/fingerprint.pb 64
gs://acme-parcels/eta/11/saved_model.pb 230411
gs://acme-parcels/eta/11/variables/variables.data-00000-of-00001 41943040
gs://acme-parcels/eta/11/variables/variables.index 1877
"""

DOCKER = """\
docker run --rm -p 8500:8500 -p 8501:8501 -v "$PWD/models:/models" -e MODEL_NAME=eta tensorflow/serving:2.20.0 \\
  --file_system_poll_wait_seconds=5
"""

ALERT_POLICY = json.dumps(
    {
        "displayName": "clip-scorer: requests wait for an instance",
        "combiner": "OR",
        "conditions": [
            {
                "displayName": "p99 of pending latency",
                "conditionThreshold": {
                    "filter": 'resource.type = "cloud_run_revision" AND metric.type = "run.googleapis.com/request_latencies"',
                    "comparison": "COMPARISON_GT",
                    "thresholdValue": 400,
                    "duration": "180s",
                    "aggregations": [{"alignmentPeriod": "60s", "perSeriesAligner": "ALIGN_PERCENTILE_99"}],
                },
            }
        ],
    },
    indent=1,
)

SPLITTING_BUNDLE = Bundle(
    "splitting-bundle",
    {
        "deploy": (
            "gcloud run deploy rows-scorer --region=asia-southeast1 --image=tensorflow/serving:2.20.0-gpu --gpu=1 --gpu-type=nvidia-l4 "
            "--no-gpu-zonal-redundancy --cpu=8 --memory=32Gi --concurrency=8 --max-instances=3 --port=8500 --use-http2 "
            "--set-env-vars=MODEL_NAME=rows --args=--enable_batching=true,--batching_parameters_file=/etc/rows.txt,--grpc_max_threads=24\n"
        ),
        "batching": (
            "max_batch_size { value: 160 }\nenable_large_batch_splitting { value: true }\nmax_execution_batch_size { value: 40 }\n"
            "batch_timeout_micros { value: 800 }\nmax_enqueued_batches { value: 14 }\nnum_batch_threads { value: 2 }\n"
            "allowed_batch_sizes: 10\nallowed_batch_sizes: 20\nallowed_batch_sizes: 40\nallowed_batch_sizes: 160\n"
        ),
        "workload": {"rows_per_request": 60, "batch_ms": {10: 5, 20: 8, 40: 14, 160: 55}},
        "slo": {"p99_ms": 400},
    },
    {"deploy": Form.DEPLOY, "batching": Form.BATCHING},
)

BULK_BUNDLE = Bundle(
    "bulk-bundle",
    {
        "deploy": (
            "gcloud run deploy monthly-rescore --region=us-east4 --image=tensorflow/serving:2.19.0-gpu --gpu=1 --gpu-type=nvidia-l4 "
            "--no-gpu-zonal-redundancy --no-cpu-throttling --cpu=8 --memory=24Gi --concurrency=300 --max-instances=1 --timeout=3600 "
            "--port=8500 --use-http2 --set-env-vars=MODEL_NAME=rescore "
            "--args=--enable_batching=true,--batching_parameters_file=/etc/bulk.txt,--grpc_max_threads=320\n"
        ),
        "batching": (
            "max_batch_size { value: 80 }\nbatch_timeout_micros { value: 3000000 }\nmax_enqueued_batches { value: 600 }\n"
            "num_batch_threads { value: 2 }\nallowed_batch_sizes: 1\nallowed_batch_sizes: 20\nallowed_batch_sizes: 80\n"
        ),
        "workload": {"bulk": True},
    },
    {"deploy": Form.DEPLOY, "batching": Form.BATCHING},
)

MODELS_BUNDLE = Bundle(
    "two-models-bundle",
    {
        "models": MODELS,
        "flags": [
            "--port=8500",
            "--rest_api_port=8501",
            "--model_config_file=/etc/tfs/models.config",
            "--file_system_poll_wait_seconds=120",
            "--model_config_file_poll_wait_seconds=120",
            "--allow_version_labels_for_unavailable_models=true",
            "--monitoring_config_file=/etc/tfs/monitoring.config",
        ],
        "monitoring": MONITORING,
        "objects": [*LISTING.splitlines()],
    },
    {"models": Form.MODELS, "monitoring": Form.MONITORING},
)

DOCUMENT_BUNDLE = Bundle(
    "document-bundle",
    {
        "deploy": V1,
        "batching": (
            "max_batch_size { value: 12 }\nbatch_timeout_micros { value: 1500 }\nmax_enqueued_batches { value: 4 }\n"
            "num_batch_threads { value: 2 }\nallowed_batch_sizes: 1\nallowed_batch_sizes: 4\nallowed_batch_sizes: 12\n"
        ),
        "slo": {"p99_ms": 90},
        "workload": {"start_s": 200, "gpu_quota": 6},
    },
    {"deploy": Form.V1, "batching": Form.BATCHING},
)

BUNDLES = (SPLITTING_BUNDLE, BULK_BUNDLE, MODELS_BUNDLE, DOCUMENT_BUNDLE)

HEALTHY: tuple[Healthy, ...] = (
    Healthy("l4-grpc.sh", L4_GRPC, Kind.COMMANDS, Form.DEPLOY),
    Healthy("l4-rest.sh", L4_REST, Kind.COMMANDS, Form.DEPLOY),
    Healthy("cpu-only.sh", CPU_ONLY, Kind.COMMANDS, Form.DEPLOY),
    Healthy("private-image.sh", PRIVATE_IMAGE, Kind.COMMANDS, Form.DEPLOY),
    Healthy("rtx.sh", RTX, Kind.COMMANDS, Form.DEPLOY),
    Healthy("update.sh", UPDATE, Kind.COMMANDS, Form.UPDATE),
    Healthy("update-limits.sh", UPDATE_LIMITS, Kind.COMMANDS, Form.UPDATE),
    Healthy("docker.sh", DOCKER, Kind.COMMANDS),
    Healthy("service-v1.yaml", V1, Kind.SERVICE, Form.V1),
    Healthy("service-v2.yaml", V2_YAML, Kind.SERVICE, Form.V2_YAML),
    Healthy("service-v2.json", V2_JSON, Kind.SERVICE, Form.V2_JSON),
    Healthy("batching-full.txt", BATCHING_FULL, Kind.BATCHING, Form.BATCHING),
    Healthy("batching-short.txt", BATCHING_SHORT, Kind.BATCHING, Form.BATCHING),
    Healthy("batching-split.txt", BATCHING_SPLIT, Kind.BATCHING, Form.BATCHING),
    Healthy("models.config", MODELS, Kind.MODELS, Form.MODELS),
    Healthy("models-logged.config", MODELS_LOGGED, Kind.MODELS, Form.MODELS),
    Healthy("monitoring.config", MONITORING, Kind.MONITORING, Form.MONITORING),
    Healthy("flags.txt", FLAGS, Kind.FLAGS),
    Healthy("listing.txt", LISTING, Kind.LISTING),
    Healthy("alert-policy.json", ALERT_POLICY, Kind.ALERT_POLICY),
    Healthy("plan.json", PLAN, Kind.PLAN),
    Healthy("parcel-eta.yaml", SPEC, Kind.SPEC),
    *(Healthy(f"{bundle.name}.yaml", bundle.text(), Kind.BUNDLE) for bundle in BUNDLES),
)
