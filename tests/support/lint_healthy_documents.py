"""Service documents, a plan and a spec with nothing to find in them."""

import json
from typing import Any

DIGEST = "sha256:" + "4e" * 32

V1 = f"""\
apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: parcel-eta
  namespace: '403218765432'
  labels:
    cloud.googleapis.com/location: europe-west1
    team: parcels
  annotations:
    run.googleapis.com/ingress: internal
    run.googleapis.com/minScale: '1'
    run.googleapis.com/maxScale: '3'
spec:
  template:
    metadata:
      labels:
        team: parcels
      annotations:
        run.googleapis.com/cpu-throttling: 'false'
        run.googleapis.com/startup-cpu-boost: 'true'
        run.googleapis.com/gpu-zonal-redundancy-disabled: 'true'
        run.googleapis.com/execution-environment: gen2
    spec:
      containerConcurrency: 36
      timeoutSeconds: 75
      serviceAccountName: eta@acme-parcels.iam.gserviceaccount.com
      nodeSelector:
        run.googleapis.com/accelerator: nvidia-l4
      containers:
      - image: europe-west1-docker.pkg.dev/acme-parcels/serving/eta@{DIGEST}
        args:
        - --enable_batching=true
        - --batching_parameters_file=/etc/eta/batching.txt
        - --grpc_max_threads=48
        - --enable_grpc_healthcheck_service=true
        env:
        - name: MODEL_NAME
          value: eta
        - name: TF_CPP_MIN_LOG_LEVEL
          value: '1'
        ports:
        - name: h2c
          containerPort: 8500
        resources:
          limits:
            cpu: '6'
            memory: 24Gi
            nvidia.com/gpu: '1'
        startupProbe:
          tcpSocket:
            port: 8500
          initialDelaySeconds: 10
          periodSeconds: 10
          timeoutSeconds: 4
          failureThreshold: 80
        livenessProbe:
          grpc:
            port: 8500
          periodSeconds: 45
          timeoutSeconds: 9
          failureThreshold: 3
        volumeMounts:
        - name: settings
          mountPath: /etc/eta
      volumes:
      - name: settings
        secret:
          secretName: eta-batching
          items:
          - key: latest
            path: batching.txt
  traffic:
  - latestRevision: true
    percent: 90
  - revisionName: parcel-eta-00041-kiq
    percent: 10
    tag: before
"""

_V2: dict[str, Any] = {
    "name": "projects/acme-clips/locations/asia-southeast1/services/clip-scorer",
    "labels": {"team": "clips"},
    "ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY",
    "launchStage": "GA",
    "template": {
        "labels": {"team": "clips"},
        "annotations": {"acme.example/owner": "clips-on-call"},
        "timeout": "60s",
        "serviceAccount": "clips@acme-clips.iam.gserviceaccount.com",
        "executionEnvironment": "EXECUTION_ENVIRONMENT_GEN2",
        "maxInstanceRequestConcurrency": 56,
        "nodeSelector": {"accelerator": "nvidia-l4"},
        "gpuZonalRedundancyDisabled": True,
        "containers": [
            {
                "image": "tensorflow/serving:2.19.0-gpu",
                "args": [
                    "--enable_batching=true",
                    "--batching_parameters_file=/etc/clips.txt",
                    "--rest_api_num_threads=64",
                    "--rest_api_timeout_in_ms=15000",
                ],
                "env": [{"name": "MODEL_NAME", "value": "clips"}, {"name": "TF_NUM_INTEROP_THREADS", "value": "4"}],
                "resources": {"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}, "startupCpuBoost": True},
                "ports": [{"name": "http1", "containerPort": 8501}],
                "startupProbe": {
                    "httpGet": {"path": "/v1/models/clips", "port": 8501},
                    "periodSeconds": 12,
                    "timeoutSeconds": 5,
                    "failureThreshold": 50,
                },
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            }
        ],
        "volumes": [{"name": "scratch", "emptyDir": {"medium": "MEMORY", "sizeLimit": "256Mi"}}],
    },
    "scaling": {"minInstanceCount": 1, "maxInstanceCount": 3},
    "traffic": [{"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100}],
}
V2_JSON = json.dumps(_V2, indent=2) + "\n"

V2_YAML = """\
# a CPU service: text length is short
name: projects/acme-mail/locations/europe-north1/services/reply-rank
labels: {team: mail}
ingress: INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER
template:
  timeout: 30s
  maxInstanceRequestConcurrency: 20
  containers:
  - name: server
    image: tensorflow/serving:2.18.1
    args: ["--grpc_max_threads=40", "--file_system_poll_wait_seconds=0"]
    env:
    - {name: MODEL_NAME, value: reply}
    resources:
      limits: {cpu: "4", memory: 8Gi}
      cpuIdle: true
    ports:
    - {name: h2c, containerPort: 8500}
    startupProbe:
      tcpSocket: {port: 8500}
      periodSeconds: 5
      failureThreshold: 60
scaling:
  maxInstanceCount: 9
traffic:
- type: TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST
  percent: 75
- type: TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION
  revision: reply-rank-00012-lab
  percent: 25
  tag: prior
"""

SPEC = """\
service: acme-parcels:europe-west1:parcel-eta
spec:
  scale:
    min_instance_count: 1
    max_instance_count: 3
  serving:
    image: tensorflow/serving:2.20.0-gpu
    model:
      name: eta
      uri: gs://acme-parcels/eta
      version: 11
      source: copied
    protocol: grpc
    accelerator: nvidia-l4
    gpu_zonal_redundancy: false
    cpu: 4
    memory: 16Gi
    max_instance_request_concurrency: 48
    batching:
      max_batch_size: 16
      batch_timeout_micros: 1000
      max_enqueued_batches: 4
      num_batch_threads: 2
      allowed_batch_sizes: [1, 8, 16]
"""

_PLANNED: dict[str, Any] = {
    "name": "shelf-order",
    "location": "us-east4",
    "project": "acme-retail",
    "ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY",
    "deletion_protection": False,
    "labels": {"team": "shelves"},
    "scaling": [{"min_instance_count": 1, "max_instance_count": 3}],
    "template": [
        {
            "timeout": "60s",
            "max_instance_request_concurrency": 40,
            "gpu_zonal_redundancy_disabled": True,
            "node_selector": [{"accelerator": "nvidia-l4"}],
            "service_account": "shelf@acme-retail.iam.gserviceaccount.com",
            "scaling": [],
            "volumes": [],
            "vpc_access": [],
            "containers": [
                {
                    "image": "tensorflow/serving:2.19.1-gpu",
                    "command": None,
                    "args": ["--enable_batching=true", "--batching_parameters_file=/etc/b.txt", "--grpc_max_threads=64"],
                    "env": [{"name": "MODEL_NAME", "value": "shelf", "value_source": []}],
                    "ports": [{"name": "h2c", "container_port": 8500}],
                    "resources": [
                        {
                            "limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"},
                            "cpu_idle": False,
                            "startup_cpu_boost": True,
                        }
                    ],
                    "startup_probe": [
                        {
                            "initial_delay_seconds": 0,
                            "timeout_seconds": 3,
                            "period_seconds": 10,
                            "failure_threshold": 60,
                            "tcp_socket": [{"port": 8500}],
                            "http_get": [],
                            "grpc": [],
                        }
                    ],
                    "liveness_probe": [],
                    "volume_mounts": [],
                }
            ],
        }
    ],
    "traffic": [],
}
PLAN = json.dumps(
    {
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "planned_values": {
            "root_module": {
                "resources": [
                    {
                        "address": "google_cloud_run_v2_service.shelf",
                        "mode": "managed",
                        "type": "google_cloud_run_v2_service",
                        "name": "shelf",
                        "provider_name": "registry.terraform.io/hashicorp/google",
                        "schema_version": 1,
                        "values": _PLANNED,
                    }
                ]
            }
        },
        "resource_changes": [
            {
                "address": "google_cloud_run_v2_service.shelf",
                "mode": "managed",
                "type": "google_cloud_run_v2_service",
                "name": "shelf",
                "provider_name": "registry.terraform.io/hashicorp/google",
                "change": {"actions": ["create"], "before": None, "after": _PLANNED, "after_unknown": {"uri": True}},
            }
        ],
    },
    indent=1,
)
