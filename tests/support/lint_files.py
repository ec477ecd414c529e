"""Questions for tests of rules about TF Serving's files and listings, with the texts as users write them."""

from collections.abc import Mapping, Sequence

from shared.cloudrun.described import Described, Form
from shared.cloudrun.fields import Json
from shared.lint.checking import resolved
from shared.lint.deployment import Deployment
from shared.lint.given import Arguments, Given, Listing, StoredObject, Text, Workload


def asked(
    *,
    batching: str | None = None,
    models: str | None = None,
    monitoring: str | None = None,
    flags: Sequence[str] | None = None,
    objects: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    service: Json | None = None,
    rows: int | None = None,
) -> Deployment:
    """The question, resolved. An object is a line of a listing: its path, and its size if the line gives one."""
    given = Given(
        name="question",
        deploy=Text("(a command)", "deploy.sh") if service is not None else None,
        batching=_text(batching, "batching.txt"),
        models=_text(models, "models.config"),
        monitoring=_text(monitoring, "monitoring.config"),
        flags=Arguments(tuple(flags), "flags.txt", tuple(range(1, len(flags) + 1))) if flags is not None else None,
        objects=Listing(tuple(map(_stored, objects)), "objects.txt", 1) if objects is not None else None,
        env=env or {},
        workload=Workload(rows_per_request=rows),
    )
    return resolved(given, Described(Form.GCLOUD, service, complete=True) if service is not None else None)


def version(folder: str, *, shards: int = 1) -> list[str]:
    """The objects of a whole version."""
    data = [f"{folder}/variables/variables.data-{number:05d}-of-{shards:05d} 4096" for number in range(shards)]
    return [f"{folder}/saved_model.pb 900", f"{folder}/variables/variables.index 100", *data]


def _text(text: str | None, file: str) -> Text | None:
    return Text(text, file) if text is not None else None


def _stored(line: str) -> StoredObject:
    path, _, size = line.partition(" ")
    return StoredObject(path, int(size) if size else None)
