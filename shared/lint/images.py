"""The name of a container image in its parts. Pure."""

import re
from dataclasses import dataclass

_SERVING = re.compile(r"(?:^|/)tensorflow/serving$")
_SPLIT = re.compile(r"(?P<name>[^@]*?)(?::(?P<tag>[^:/@]+))?(?:@(?P<digest>[A-Za-z0-9]+:[0-9a-fA-F]+))?")


@dataclass(frozen=True, slots=True)
class Image:
    """`name[:tag][@digest]`."""

    text: str
    name: str
    tag: str | None
    digest: str | None

    @property
    def is_tf_serving(self) -> bool:
        """Whether it is `tensorflow/serving`, in whatever registry."""
        return _SERVING.search(self.name) is not None

    @property
    def is_gpu_build(self) -> bool | None:
        """Whether the tag says it is a GPU build of TF Serving; None where it is another image or has no tag."""
        if not self.is_tf_serving or (self.tag is None and self.digest is not None):
            return None
        return self.tag is not None and (self.tag == "gpu" or self.tag.endswith("-gpu"))

    @property
    def is_pinned(self) -> bool:
        """Whether it means the same bytes tomorrow: a digest, or a tag that is no moving word."""
        if self.digest is not None:
            return True
        return self.tag is not None and not any(word in self.tag for word in ("latest", "nightly"))


def read_image(text: str) -> Image:
    """The image's parts."""
    found = _SPLIT.fullmatch(text.strip())
    if found is None:
        return Image(text, text, None, None)
    return Image(text, found["name"], found["tag"], found["digest"])
