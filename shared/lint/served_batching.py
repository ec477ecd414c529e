"""per-model-batching-incomplete: with --enable_per_model_batching_parameters each version brings its own batching file. Pure.

TF Serving 2.11 and later (bundle_factory_util.cc): the file is batching_params.pbtxt in the root of the version's folder; a version
without it is not batched; of the common file only num_batch_threads and thread_pool_name are read.
"""

from collections.abc import Iterator

from shared.lint.deployment import Deployment
from shared.lint.finding import Finding, Where
from shared.lint.server_flags import attempted, server_flags, where_flag
from shared.tfserving.batching import PARAMETERS_IN_MODEL_FILE
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.model_config import All, Latest, ModelConfig, Specific
from shared.tfserving.model_files_names import version_number

PER_MODEL = "enable_per_model_batching_parameters"
_COMMON_FIELDS = frozenset({"num_batch_threads", "thread_pool_name"})


def per_model_rules(deployment: Deployment) -> Iterator[Finding]:
    """A flag without the switch it needs, versions without their file, numbers that nobody reads."""
    flags = server_flags(deployment)
    if flags is None or not flags.given.get(PER_MODEL) or flags.given.get("platform_config_file"):
        return
    if not deployment.batching_on:
        if not attempted(deployment, "enable_batching"):
            yield Finding(
                "per-model-batching-incomplete",
                f"--{PER_MODEL} means nothing without --enable_batching: no model is batched",
                where_flag(deployment, PER_MODEL),
                f"--enable_batching=true --{PER_MODEL}=true",
            )
        return
    yield from _versions_without_a_file(deployment)
    yield from _unread_numbers(deployment)


def _versions_without_a_file(deployment: Deployment) -> Iterator[Finding]:
    listing = deployment.given.objects
    if listing is None:
        return
    paths = [each.path for each in listing.objects]
    lacking = [folder for folder in _served_folders(deployment, paths) if f"{folder}/{PARAMETERS_IN_MODEL_FILE}" not in paths]
    if not lacking:
        return
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    at = next((number for number, path in enumerate(paths) if path.startswith(f"{lacking[0]}/")), 0)
    yield Finding(
        "per-model-batching-incomplete",
        f"{lacking[0]}{more} has no {PARAMETERS_IN_MODEL_FILE} in the version's own folder, where the server looks (not in assets.extra/): "
        "batching is off for it",
        Where("objects", listing.file, listing.first_line + at, lacking[0]),
        f"upload the batching parameters as {lacking[0]}/{PARAMETERS_IN_MODEL_FILE}, before saved_model.pb",
    )


def _unread_numbers(deployment: Deployment) -> Iterator[Finding]:
    given = deployment.batching.meant if deployment.batching is not None else None
    if deployment.batching is None or given is None or not deployment.flag("batching_parameters_file"):
        return
    unread = [
        name for name in BatchingParameters.model_fields if name not in _COMMON_FIELDS and getattr(given, name) not in (None, (), False)
    ]
    if not unread:
        return
    yield Finding(
        "per-model-batching-incomplete",
        f"With --{PER_MODEL} only num_batch_threads and thread_pool_name of the common batching file are read: {', '.join(unread)} "
        f"{'is' if len(unread) == 1 else 'are'} ignored",
        deployment.batching.where(unread[0]),
        f"move {', '.join(unread)} to {PARAMETERS_IN_MODEL_FILE} in each version's folder, or leave --{PER_MODEL} out",
    )


def _served_folders(deployment: Deployment, paths: list[str]) -> list[str]:
    """The folders of the versions that are served, of those in the listing; all versions, where the base path is not known."""
    models: list[tuple[str | None, ModelConfig]] = [(model.base_path.rstrip("/"), model) for model in _models(deployment)]
    if not models:
        base = deployment.flag("model_base_path")
        models = [(base.rstrip("/") if isinstance(base, str) and base else None, ModelConfig())]
    return [folder for base, model in models for folder in _of_model(base, model, paths)]


def _models(deployment: Deployment) -> tuple[ModelConfig, ...]:
    config = deployment.models.meant if deployment.models is not None else None
    return config.models if config is not None else ()


def _of_model(base: str | None, model: ModelConfig, paths: list[str]) -> list[str]:
    folders: dict[str, int] = {}
    for path in paths:
        parts = path.split("/")
        for at, part in enumerate(parts[:-1]):
            number = version_number(part)
            if number is not None and (base is None or "/".join(parts[:at]) == base):
                folders["/".join(parts[: at + 1])] = number
                break
    policy = model.model_version_policy
    if isinstance(policy, Specific):
        return [folder for folder, number in folders.items() if number in policy.versions]
    if isinstance(policy, All):
        return list(folders)
    kept = (policy.num_versions if isinstance(policy, Latest) else 0) or 1
    newest = sorted(folders.values(), reverse=True)[:kept]
    return [folder for folder, number in folders.items() if number in newest]
