"""What to do about what does not start, and about models and versions. Pure."""

import re
from collections.abc import Iterator, Mapping

from shared.diagnose.advice import Adviser, do
from shared.diagnose.advice_shapes import longer_window, steady_window
from shared.diagnose.answer import Avoid, Remedy
from shared.diagnose.picture import Picture
from shared.diagnose.rules_versions import failing_version, old_version_serves, version_policies
from shared.tfserving.model_config import Specific

_MAX_GPU_WINDOW_S = 1800.0
_LARGE_GIB = 3.0


def ports(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Cloud Run's port is one that the server opens."""
    settings = picture.settings
    before = None if settings.container_port is None else f"port {settings.container_port}"
    yield do(
        "fix-port-or-protocol",
        "the port Cloud Run sends to must be one that the server opens",
        before,
        "gRPC: --port=8500 --use-http2; REST: --port=8501",
    )


def window(picture: Picture) -> Iterator[Remedy | Avoid]:
    """A probe that waits as long as a start takes; a start that takes less, where the probe waits as long as it may."""
    workload, longer = picture.given.workload, longer_window(picture)
    base = f"{picture.deployment.env.get('MODEL_BASE_PATH', '')}{picture.deployment.flag('model_base_path') or ''}"
    remote = "gs://" in f"{base}{picture.log_text}"
    move = do(
        "move-model-local",
        "reading from Cloud Storage is slow, and every new instance does it again",
        "gs://" if remote else None,
        "in the image, or copied at start",
    )
    too_long = workload.start_s is not None and workload.start_s >= _MAX_GPU_WINDOW_S
    if longer.at_most:
        yield move
        yield Avoid("fix-probe", f"{longer.before} is the longest window there is: the start itself must become shorter")
        return
    if too_long and remote:
        yield move
    yield do(
        "fix-probe",
        "an explicit TCP probe waits until the model is loaded; the request timeout has nothing to do with it",
        longer.before,
        longer.after,
        knob="startupProbe",
    )
    if remote and not too_long and (workload.model_gib is None or workload.model_gib >= _LARGE_GIB):
        yield move


def probe(picture: Picture) -> Iterator[Remedy | Avoid]:
    """A probe that asks for what there is, often enough."""
    if picture.saw("liveness-probe") is not None and picture.saw("startup-probe") is None:
        yield from _liveness(picture)
        return
    yield do(
        "fix-probe",
        "TCP on the serving port tells exactly when the model is loaded; with many short attempts the first refused connection decides "
        "nothing",
        None,
        steady_window(picture),
        knob="startupProbe",
    )


def _liveness(picture: Picture) -> Iterator[Remedy | Avoid]:
    """A probe that asks for a service the server does not have, or that takes a busy instance for a dead one."""
    asked = picture.saw("probe-path")
    text = asked.line.text.lower() if asked is not None else ""
    if "unimplemented" in text or "unknown service" in text:
        yield do(
            "fix-probe",
            "the server answers UNIMPLEMENTED because it has no gRPC health service; a TCP probe on the same port needs none",
            "grpc",
            "tcpSocket, or no liveness probe",
            knob="livenessProbe",
        )
        yield do(
            "fix-server-config",
            "or let the server have the gRPC health service (from 2.15 on)",
            None,
            "--enable_grpc_healthcheck_service=true",
            knob="--enable_grpc_healthcheck_service",
        )
    elif asked is not None:
        yield do(
            "fix-probe",
            "the server answers that it has no such path; the path of a model's status is /v1/models/NAME",
            None,
            "httpGet path /v1/models/NAME on the REST port, or tcpSocket",
            knob="livenessProbe",
        )
    else:
        yield do(
            "fix-probe",
            "a busy instance answers late and is no dead one: longer timeout, more attempts, or no liveness probe",
            knob="livenessProbe",
        )


def load_failed(picture: Picture) -> Iterator[Remedy | Avoid]:
    """The version is what is wrong: another number, or the last good one."""
    number = failing_version(picture)
    before = None if number is None else f"version {number}"
    if picture.mentions(("meta graph def matching supplied tags",)):
        yield do(
            "republish-version",
            "the version has no graph with the tag that the server asks for, and the same files fail again: export it with the tag `serve` "
            "(tf.saved_model.save does) and publish that under a new number",
            before,
            None if number is None else f"version {number + 1}, exported with the tag `serve`",
        )
        yield do(
            "fix-server-config",
            "or let the server ask for the tag that the export has: saved_model_cli show --dir DIRECTORY names it",
            "serve" if not picture.deployment.flag("saved_model_tags") else picture.deployment.flag("saved_model_tags"),
            "the export's own tag",
            knob="--saved_model_tags",
        )
        yield do("pin-or-roll-back", "until then the last version that loads", before)
        return
    if picture.mentions(("op type not registered",)):
        yield do("replace-image", "the graph uses an op that this server was not built with")
        yield do("pin-or-roll-back", "until then the last version that loads", before)
        return
    if _storage_failed(picture):
        yield do(
            "deploy-new-revision", "the store failed while it was read, and a version that failed is not tried again by the same process"
        )
        return
    what = (
        "publish it again under a new number, with a valid warm-up file or none"
        if picture.saw("warm-up-broken") is not None
        else "publish it again, whole, under a new number; a number is never written twice"
    )
    yield do("republish-version", what, before, None if number is None else f"version {number + 1}")
    yield do("pin-or-roll-back", "every new instance fails on the newest version: name the last good one until then", before)


def _storage_failed(picture: Picture) -> bool:
    failed = picture.saw("load-failed", "gave-up", "ended-in-error")
    return failed is not None and any(
        word in failed.line.text.lower()
        for word in ("http response code 5", "unavailable: error executing", "couldn't resolve host", "connection timed out")
    )


def path_empty(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """Directories by whole numbers below the base path."""
    yield do(
        "fix-model-path", "the server wants BASE_PATH/NUMBER/saved_model.pb with a whole number, and waits for ever until there is one"
    )


def config(picture: Picture) -> Iterator[Remedy | Avoid]:
    """The file or flag that the server names."""
    told = picture.saw("config-text", "batching-values", "flags-refused", "models-refused", "start-refused", "unknown-argument")
    yield do(
        "fix-server-config",
        f"the server says what it refuses: {told.line.text[:160]}" if told is not None else "correct what the server refuses",
    )


def architecture(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """linux/amd64."""
    yield do("replace-image", "Cloud Run runs linux/amd64: docker build --platform linux/amd64, or build on Cloud Build")


def access(picture: Picture) -> Iterator[Remedy | Avoid]:
    """The role that is missing; a name where it is the name."""
    if picture.saw("image-missing") is not None and picture.saw("image-denied", "condition-denied", "secret-denied", "permission") is None:
        yield do("replace-image", "there is no image of that name: correct it, or push it", knob="image")
        return
    if picture.saw("secret-denied") is not None:
        role = "roles/secretmanager.secretAccessor on the secret, for the revision's service account"
    elif picture.saw("path-denied") is not None or "storage" in picture.log_text.lower():
        role = "roles/storage.objectViewer on the bucket, for the revision's service account"
    elif picture.saw("act-as-denied") is not None:
        role = "roles/iam.serviceAccountUser on the service account, for whoever deploys"
    else:
        role = "roles/artifactregistry.reader on the repository, for this project's Cloud Run service agent"
    yield do("grant-access", "nothing was started, so nothing else was tested", None, role)


def transient(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """Once more."""
    yield do("retry-rollout-later", "a step of the platform failed and the container was not tried: the same once more, after some minutes")


def driver(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """A runtime that the driver knows."""
    yield do(
        "replace-image",
        "the driver belongs to Cloud Run (the L4's is 535, for CUDA 12.2); take an image whose CUDA runtime it supports",
        None,
        "tensorflow/serving:X.Y.Z-gpu of a release built on CUDA 12.x",
    )


def kernels(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """A build with this card's kernels."""
    yield do(
        "replace-image",
        "each new instance compiles the kernels again before it can answer: a build that contains this card's compute capability, or a "
        "card that the build knows",
    )


def gpu_unused(picture: Picture) -> Iterator[Remedy | Avoid]:
    """A GPU build."""
    image = picture.deployment.image
    before = None if image is None else image.text
    after = f"{image.name}:{image.tag}-gpu" if image is not None and image.is_gpu_build is False and image.tag else None
    yield do("replace-image", "TensorFlow did not open the GPU: the build has no CUDA, or lacks a library", before, after)


def rollout(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """Nothing, until the deadline."""
    yield do("wait", "the change is under way and the old revision serves: look again when the start-up probe's time is up")


def partial(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Whole files under a new number; waiting helps only while it is still tried."""
    number = failing_version(picture)
    before = None if number is None else f"version {number}"
    serves = old_version_serves(picture)
    again = do(
        "republish-version",
        "upload it whole under a new number, saved_model.pb last; the number that failed is spoilt",
        before,
        None if number is None else f"version {number + 1}",
    )
    trying = (
        picture.saw("load-failed") is not None and picture.saw("gave-up", "not-available", "variables-missing", "ended-in-error") is None
    )
    if serves is not None and trying:
        yield do(
            "wait", f"the copy may still be running, and the load is tried up to six times; meanwhile an older version serves ({serves})"
        )
        yield again
        yield Avoid("pin-or-roll-back", "the older version serves already")
        return
    yield again
    if serves is None:
        yield do("pin-or-roll-back", "until then the last whole version", before)
    else:
        yield Avoid("pin-or-roll-back", "the older version serves already")
    yield Avoid("wait", "a version that was loaded without its files, or given up, is not read again")


def gave_up(picture: Picture) -> Iterator[Remedy | Avoid]:
    """A process that has not given up, or a number it has not seen."""
    number = failing_version(picture)
    yield do("deploy-new-revision", "a new process tries it afresh; the files are whole now")
    yield do(
        "republish-version",
        "or publish the same files under a new number",
        None if number is None else f"version {number}",
        None if number is None else f"version {number + 1}",
    )


def unloaded(picture: Picture) -> Iterator[Remedy | Avoid]:
    """The label, a policy that names what is there, or the directory back."""
    label = picture.saw("label-unknown")
    if label is not None and picture.saw("servable-not-found", "unloading", "ended-in-order") is None:
        name = re.search(r"label:? ?[\"']?([\w.-]{1,60})", label.line.text, re.IGNORECASE)
        known = name[1] if name is not None else "LABEL"
        yield do(
            "fix-server-config",
            f"no version has the label {known}: the models' configuration must assign it, to a version that is loaded",
            None,
            f'version_labels {{ key: "{known}" value: VERSION }}',
            knob="version_labels of the model",
        )
        yield Avoid("republish-version", "the version may be loaded; its label is what is missing")
        return
    specific = any(isinstance(policy, Specific) for policy in version_policies(picture))
    newest = picture.files.newest()
    if specific and newest is not None:
        yield do(
            "fix-server-config",
            "the policy names a version whose directory is gone",
            None,
            f"specific {{ versions: {newest.number} }}",
            knob="model_version_policy",
        )
    elif specific:
        yield do("fix-server-config", "the policy names a version whose directory is gone", knob="model_version_policy")
    if newest is None or not specific:
        yield do(
            "republish-version",
            "the version's directory is gone, and the server unloads what it does not find: publish it again under a new number",
        )
    yield do("deploy-new-revision", "instances that start now load what is there")


def reload(picture: Picture) -> Iterator[Remedy | Avoid]:
    """A new revision reaches every instance; a version written in place needs a number of its own."""
    if picture.saw("overwritten") is not None and picture.saw("reload-call") is None:
        yield do("republish-version", "a loaded version is not read again: the same files under a new number")
        yield do("deploy-new-revision", "or new processes, which read what is there now")
        return
    called = picture.saw("reload-call", "config-written") is not None
    why = (
        "on Cloud Run a change of configuration is a new revision: a reload call reaches one instance of many"
        if called
        else "new processes load the newest version that is there"
    )
    yield do("deploy-new-revision", why)
    if picture.deployment.flag("file_system_poll_wait_seconds") == 0:
        off = "a reload waits for the poll, which is switched off" if called else "the poll finds new versions, and it is switched off"
        yield do("fix-server-config", off, 0, 60, knob="--file_system_poll_wait_seconds")


def not_batchable(picture: Picture) -> Iterator[Remedy | Avoid]:
    """A batch dimension, or no batching."""
    if picture.saw("shapes-differ") is not None:
        yield do(
            "fix-signature",
            "pad the inputs to one length on the client, with a mask; the server would pad with the tensor's own first element",
        )
    else:
        yield do("fix-signature", "export the model with a first dimension of unknown size in every input and output")
    yield do("disable-batching", "until then without batching for this model", "--enable_batching=true", "flag left out")


def rows(picture: Picture) -> Iterator[Remedy | Avoid]:
    """Accept it and cut it, or ask for less."""
    settings = picture.settings
    size = settings.max_batch
    yield do(
        "enable-batch-splitting",
        f"batches stay at {size} rows and larger requests are cut into them" if size else "larger requests are cut into batches",
        None,
        f"enable_large_batch_splitting {{ value: true }}, max_execution_batch_size {{ value: {size} }}, max_batch_size "
        f"{{ value: {max(settings.rows, size)} }}"
        if size
        else None,
    )
    yield do("shrink-client-request", "or send fewer rows a call", settings.rows if settings.rows > 1 else None, size)


def interference(_picture: Picture) -> Iterator[Remedy | Avoid]:
    """Loads elsewhere."""
    yield do(
        "deploy-new-revision",
        "a load shares the session's threads with requests: bring versions in a revision of their own and move the traffic when it is warm",
    )
    yield do("add-warmup", "the first requests to a new version are then not the slow ones; a record for each allowed batch size")


ADVISERS: Mapping[str, Adviser] = {
    "port-mismatch": ports,
    "startup-window-too-short": window,
    "probe-misconfigured": probe,
    "model-load-failed": load_failed,
    "model-path-empty": path_empty,
    "server-config-invalid": config,
    "image-architecture": architecture,
    "access-denied": access,
    "platform-transient": transient,
    "cuda-driver-mismatch": driver,
    "gpu-kernels-jit": kernels,
    "gpu-unused": gpu_unused,
    "rollout-in-progress": rollout,
    "partial-upload": partial,
    "version-load-gave-up": gave_up,
    "version-unloaded": unloaded,
    "reload-not-effective": reload,
    "model-not-batchable": not_batchable,
    "request-rows-over-limit": rows,
    "load-interference": interference,
}
