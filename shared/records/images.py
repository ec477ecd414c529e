"""What a container image's reference says: where it lies, whether it can change, and which build of TF Serving it is. Pure."""

import re
from dataclasses import dataclass
from typing import Self

from shared.records.refusal import Authority, Refusal, shown

_HOST = re.compile(r"(?:[a-z0-9-]+\.)?gcr\.io|[a-z0-9-]+-docker\.pkg\.dev|docker\.pkg\.dev|(?:index\.)?docker\.io")
_HOST_TEXT = "where host is one of [region.]gcr.io, [region-]docker.pkg.dev or docker.io"
_OFFICIAL = re.compile(r"(?:(?:index\.)?docker\.io/|mirror\.gcr\.io/)?tensorflow/serving")
NAME_LIMIT = 255
"""Characters of host and path together, by Docker's rules."""
_MOVING = re.compile(r"(?:latest|nightly)(?:[-_.].*)?")
_RELEASE = re.compile(r"(?P<numbers>[0-9]+\.[0-9]+\.[0-9]+)(?P<rest>.*)")


@dataclass(frozen=True, slots=True)
class Image:
    """A reference taken apart: `repository[:tag][@digest]`."""

    repository: str
    tag: str | None
    digest: str | None

    @classmethod
    def parse(cls, reference: str) -> Self:
        """Take a reference apart. A colon before the last slash belongs to the host."""
        name, _, digest = reference.partition("@")
        folder, slash, last = name.rpartition("/")
        base, _, tag = last.partition(":")
        return cls(f"{folder}{slash}{base}", tag or None, digest or None)

    @property
    def host(self) -> str:
        """The registry; Docker Hub where the reference names none."""
        first, slash, _ = self.repository.partition("/")
        names_one = "." in first or ":" in first or first == "localhost" or first != first.lower()
        return first if slash and names_one else "docker.io"


@dataclass(frozen=True, slots=True)
class TfServingImage:
    """An image of TF Serving's own repository, `tensorflow/serving`, that is named by its release."""

    tag: str

    @classmethod
    def of(cls, image: Image) -> Self | None:
        """None for other repositories, for a digest (it cannot be known what it holds) and for a tag that is no release."""
        if image.digest is not None or image.tag is None or _OFFICIAL.fullmatch(image.repository) is None:
            return None
        return cls(image.tag) if _RELEASE.fullmatch(image.tag) else None

    @property
    def has_gpu(self) -> bool:
        """Whether the build can use a GPU: `X.Y.Z-gpu`, `X.Y.Z-devel-gpu`."""
        return self.tag.endswith("-gpu")

    @property
    def gpu_tag(self) -> str:
        """The tag of the same release that can use a GPU."""
        found = _RELEASE.fullmatch(self.tag)
        numbers, rest = (found["numbers"], found["rest"]) if found else (self.tag, "")
        return f"{numbers}-devel-gpu" if rest == "-devel" else f"{numbers}-gpu"

    def is_older_than(self, release: str) -> bool:
        """Whether the image's release is before this one (`2.15`)."""
        found = _RELEASE.fullmatch(self.tag)
        numbers = found["numbers"] if found else self.tag
        wanted = [int(part) for part in release.split(".")]
        return [int(part) for part in numbers.split(".")][: len(wanted)] < wanted


def is_within(value: str, prefix: str) -> bool:
    """Whether a reference begins so, by whole parts of its path: `acme/serving` holds `acme/serving:1`, not `acme/serving2`.

    A prefix that has begun a tag or a digest (`acme/serving:2.`) holds whatever begins so.
    """
    if not value.startswith(prefix):
        return False
    last = prefix.rpartition("/")[2]
    rest = value[len(prefix) :]
    return not last or ":" in last or "@" in last or not rest or rest[0] in "/:@"


def image_refusals(reference: str, *, has_accelerator: bool) -> list[Refusal]:
    """What is wrong with `serving.image`: a registry Cloud Run does not pull from, a tag that moves, a build that cannot use the GPU."""
    image = Image.parse(reference)
    field, value = "spec.serving.image", shown(reference)
    found = []
    if len(image.repository) > NAME_LIMIT:
        found.append(
            Refusal(
                field=field,
                value=value,
                limit=f"{NAME_LIMIT} characters before the tag or digest",
                why=f"host and path have {len(image.repository)}, and no registry takes such a name",
                fix="name an image with a shorter path",
                authority=Authority.CLOUD_RUN,
            )
        )
    if _HOST.fullmatch(image.host) is None:
        found.append(
            Refusal(
                field=field,
                value=value,
                limit="an image in Artifact Registry, Container Registry or Docker Hub",
                why=f'Cloud Run does not pull from {shown(image.host)}; it says "{_HOST_TEXT}"',
                fix="set up a remote repository in Artifact Registry for that registry, and name the image by it",
                authority=Authority.CLOUD_RUN,
            )
        )
    if image.digest is None and (image.tag is None or _MOVING.fullmatch(image.tag)):
        found.append(
            Refusal(
                field=field,
                value=value,
                limit="a digest, or a tag that stays, such as 2.20.0-gpu",
                why="without a tag it is :latest, which moves" if image.tag is None else f"the tag {shown(image.tag)} moves",
                fix="name the release or, better, the digest: a revision must be the same server whenever it is made again",
                authority=Authority.TRIMTAB,
            )
        )
    official = TfServingImage.of(image)
    if official is not None and has_accelerator and not official.has_gpu:
        found.append(
            Refusal(
                field=field,
                value=value,
                limit=f"{official.gpu_tag} with an accelerator",
                why="this build of TF Serving has no GPU support: the model would run on the CPU beside an idle, billed GPU",
                fix=f"use {image.repository}:{official.gpu_tag}, or leave serving.accelerator out",
                authority=Authority.TF_SERVING,
            )
        )
    return found
