"""Remedies that turn a knob of TensorFlow Serving or of the model. Pure.

The batching file, the models file and the flags travel in the image, in a secret or in the container's arguments, and the server
reads batching parameters once, at the start: each change of them is a new revision.
"""

from shared.diagnose.known import KnownRemedy

BATCHING: tuple[KnownRemedy, ...] = (
    KnownRemedy(
        name="enable-batching",
        title="Switch batching on",
        knob="`--enable_batching`, `--batching_parameters_file`",
        new_revision=True,
        risk="Inputs and outputs of the model need the batch as first dimension.",
        how="--enable_batching=true\n--batching_parameters_file=/etc/tfs/batching.txt",
    ),
    KnownRemedy(
        name="disable-batching",
        title="Switch batching off",
        knob="`--enable_batching`",
        new_revision=True,
        risk="Throughput: each request runs alone on the GPU.",
        how="--enable_batching=false",
    ),
    KnownRemedy(
        name="lower-max-batch-size",
        title="Make batches smaller",
        knob="`max_batch_size`, and `allowed_batch_sizes` with it",
        new_revision=True,
        risk="Throughput; requests with more rows are refused.",
        how="max_batch_size { value: 16 }\nallowed_batch_sizes: 1\nallowed_batch_sizes: 8\nallowed_batch_sizes: 16",
    ),
    KnownRemedy(
        name="raise-max-batch-size",
        title="Allow larger batches",
        knob="`max_batch_size`, and `allowed_batch_sizes` with it",
        new_revision=True,
        risk="GPU memory and latency; of use only where a row gets cheaper in a larger batch.",
        how="max_batch_size { value: 64 }\nallowed_batch_sizes: 1\nallowed_batch_sizes: 16\nallowed_batch_sizes: 64",
    ),
    KnownRemedy(
        name="enable-batch-splitting",
        title="Split large requests over batches",
        knob="`enable_large_batch_splitting`, `max_execution_batch_size`",
        new_revision=True,
        risk="A large request takes several batches, one after the other.",
        how="max_batch_size { value: 128 }\nenable_large_batch_splitting { value: true }\nmax_execution_batch_size { value: 32 }",
    ),
    KnownRemedy(
        name="add-small-allowed-size",
        title="Allow small batches too",
        knob="`allowed_batch_sizes`",
        new_revision=True,
        risk="More shapes to warm up.",
        how="allowed_batch_sizes: 1\nallowed_batch_sizes: 8\nallowed_batch_sizes: 32",
    ),
    KnownRemedy(
        name="lower-batch-timeout",
        title="Wait less for a batch to fill",
        knob="`batch_timeout_micros`",
        new_revision=True,
        risk="Smaller batches while the GPU is idle; none while it is busy.",
        how="batch_timeout_micros { value: 1000 }",
    ),
    KnownRemedy(
        name="raise-batch-timeout",
        title="Wait longer for a batch to fill",
        knob="`batch_timeout_micros`",
        new_revision=True,
        risk="Latency at low load. Only where batches are small and the GPU has time left.",
        how="batch_timeout_micros { value: 5000 }",
    ),
    KnownRemedy(
        name="lower-batch-threads",
        title="Use fewer batch threads",
        knob="`num_batch_threads`",
        new_revision=True,
        risk="With too few the GPU waits while the CPU prepares; 2 is enough for one GPU.",
        how="num_batch_threads { value: 2 }",
    ),
    KnownRemedy(
        name="lower-max-enqueued-batches",
        title="Let fewer batches wait",
        knob="`max_enqueued_batches`",
        new_revision=True,
        risk="Requests are refused earlier (UNAVAILABLE), which is the point: the caller can go elsewhere.",
        how="max_enqueued_batches { value: 4 }",
    ),
    KnownRemedy(
        name="raise-max-enqueued-batches",
        title="Let more batches wait",
        knob="`max_enqueued_batches`",
        new_revision=True,
        risk="It hides overload and adds latency: waiting batches times batch time must fit the latency target.",
        how="max_enqueued_batches { value: 8 }",
    ),
)

SERVER: tuple[KnownRemedy, ...] = (
    KnownRemedy(
        name="raise-server-threads",
        title="Give the server more threads",
        knob="`--grpc_max_threads` or `--rest_api_num_threads`",
        new_revision=True,
        risk="Memory, a little. At least concurrency + 8 over gRPC, + 2 over REST.",
        how="--grpc_max_threads=128",
    ),
    KnownRemedy(
        name="limit-op-parallelism",
        title="Let operations use fewer threads",
        knob="`--tensorflow_intra_op_parallelism`, `--tensorflow_inter_op_parallelism`",
        new_revision=True,
        risk="Latency of a single request.",
        how="--tensorflow_intra_op_parallelism=2\n--tensorflow_inter_op_parallelism=2",
    ),
    KnownRemedy(
        name="fix-server-config",
        title="Correct the server's configuration",
        knob="the models file, the batching file, or the server's flags",
        new_revision=True,
        risk="None. `trimtab lint` names what is wrong.",
        how="trimtab lint --together deploy.sh batching.txt models.config",
    ),
)

MODEL: tuple[KnownRemedy, ...] = (
    KnownRemedy(
        name="fix-signature",
        title="Export the model with a batch dimension",
        knob="the model's signature; padding in the client",
        new_revision=None,
        risk="Work. It is a new version of the model, and a new revision where the revision names the version.",
        how='tf.TensorSpec([None, 128], tf.float32, name="features")',
    ),
    KnownRemedy(
        name="fix-model-path",
        title="Correct the model's path or its directories",
        knob="`--model_base_path` or `base_path`, or the names of the directories",
        new_revision=None,
        risk="None. Another path is a new revision; files moved in the bucket are none.",
        how="gcloud storage mv gs://acme-models/ranker/v1 gs://acme-models/ranker/1",
    ),
    KnownRemedy(
        name="republish-version",
        title="Upload the complete version under a new number",
        knob="the version's directory in the bucket",
        new_revision=None,
        risk="None. A new revision where the revision names the version. Never into the old directory: it is not read again.",
        how="gcloud storage cp -r export/43/variables gs://acme-models/ranker/43/\n"
        "gcloud storage cp export/43/saved_model.pb gs://acme-models/ranker/43/",
    ),
    KnownRemedy(
        name="add-warmup",
        title="Warm the model up when it is loaded",
        knob="`assets.extra/tf_serving_warmup_requests` in the version's directory",
        new_revision=None,
        risk="A longer start; a record that is wrong fails the load. It is a new version of the model.",
        how="gcloud storage cp tf_serving_warmup_requests \\\n  gs://acme-models/ranker/43/assets.extra/",
    ),
    KnownRemedy(
        name="move-model-local",
        title="Have the model in the image",
        knob="the image, or a copy to local disk at the start",
        new_revision=True,
        risk="The image's size; good below about 10 GB. A copy in memory counts against the instance's memory.",
        how="FROM tensorflow/serving:2.20.0-gpu\nCOPY ranker /models/ranker",
    ),
)
