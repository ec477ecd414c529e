"""What a listing says of a model's versions: which are there, and which are not whole. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.lint.given import Listing

_VERSION = re.compile(r"(?P<base>.*?)/(?P<version>\d{1,19})/(?P<rest>.{1,1000})")
_SHARD = re.compile(r"variables/variables\.data-(?P<index>\d{1,6})-of-(?P<count>\d{1,6})")
_SHORT = 0.98
"""A file smaller than this part of the same file of the version before it is taken to be cut short."""
SAVED_MODELS = frozenset({"saved_model.pb", "saved_model.pbtxt"})
WARM_UP = "assets.extra/tf_serving_warmup_requests"


@dataclass(frozen=True, slots=True)
class VersionFiles:
    """The files of one version, by their path inside it; a size is None where the listing does not give it."""

    base: str
    number: int
    sizes: Mapping[str, int | None]

    def faults(self) -> list[str]:
        """What is missing or empty, as parts of a sentence."""
        found = [] if SAVED_MODELS & self.sizes.keys() else ["no saved_model.pb"]
        if "variables/variables.index" not in self.sizes:
            found.append("no variables/variables.index")
        found.extend(f"{path} has 0 bytes" for path, size in self.sizes.items() if size == 0)
        shards = [shard for path in self.sizes if (shard := _SHARD.fullmatch(path)) is not None]
        if not shards:
            found.append("no variables/variables.data-* file")
        elif len(shards) < int(shards[0]["count"]):
            found.append(f"{len(shards)} of {int(shards[0]['count'])} variables.data files")
        return found

    def shorter_than(self, other: "VersionFiles") -> str | None:
        """A file of variables that is clearly shorter than the other version's; None where none is, or where the two differ in kind."""
        if self.sizes.get("variables/variables.index") != other.sizes.get("variables/variables.index"):
            return None
        for path, size in self.sizes.items():
            before = other.sizes.get(path)
            if _SHARD.fullmatch(path) is not None and size is not None and before is not None and size < before * _SHORT:
                return f"{path} has {size} bytes, in version {other.number} it has {before}"
        return None

    @property
    def total_bytes(self) -> int:
        """Of all its files whose size is known."""
        return sum(size or 0 for size in self.sizes.values())


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """All versions of the listing, by base path and number; `loose` are paths below no version."""

    versions: Mapping[tuple[str, int], VersionFiles] = field(default_factory=dict)
    loose: tuple[str, ...] = ()
    given: bool = False

    def numbered(self, number: int) -> VersionFiles | None:
        """A version by its number, of whichever model."""
        return next((found for (_, own), found in self.versions.items() if own == number), None)

    def newest(self) -> VersionFiles | None:
        """The highest number of the first model that has any."""
        bases = [base for base, _ in self.versions]
        of_first = [number for base, number in self.versions if base == bases[0]] if bases else []
        return self.versions[bases[0], max(of_first)] if of_first else None

    def before(self, version: VersionFiles) -> VersionFiles | None:
        """The version of the same model that came before."""
        earlier = [number for base, number in self.versions if base == version.base and number < version.number]
        return self.versions[version.base, max(earlier)] if earlier else None

    def fault_of(self, version: VersionFiles) -> str | None:
        """What is wrong with a version's files, as a sentence; None where they look whole."""
        faults = version.faults()
        if faults:
            return f"the listing of {version.base}/{version.number} has {', '.join(faults)}"
        before = self.before(version)
        short = version.shorter_than(before) if before is not None else None
        return f"the listing of {version.base}/{version.number}: {short}" if short else None


def read_files(listing: Listing | None) -> ModelFiles:
    """Sort a listing into versions."""
    if listing is None:
        return ModelFiles()
    sizes: dict[tuple[str, int], dict[str, int | None]] = {}
    loose: list[str] = []
    for each in listing.objects:
        found = _VERSION.fullmatch(each.path)
        if found is None:
            loose.append(each.path)
        else:
            sizes.setdefault((found["base"], int(found["version"])), {})[found["rest"]] = each.size_bytes
    return ModelFiles({key: VersionFiles(*key, files) for key, files in sizes.items()}, tuple(loose), given=True)
