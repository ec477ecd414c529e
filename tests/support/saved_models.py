"""Small versions of models, byte by byte as TensorFlow writes them: saved_model.pb, variables.index, warm-up records, and listings.

Nothing here uses the product's own readers or descriptors: messages are put together on the wire from the numbers in TensorFlow's
.proto files, the checksum is computed bit by bit. The index of a published model, taken apart and put together again by `table`,
comes out the same to the last byte.
"""

import base64
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache

from shared.tfserving.model_files import Judgement, judge
from shared.tfserving.model_files_listing import Listing, Sighting, StoredFile, reads_needed

UPLOADED = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
LISTED = UPLOADED + timedelta(minutes=5)
"""Long enough after the upload for the listing to have settled, where it looked the same one look before."""

DT_FLOAT, DT_STRING = 1, 7

SAVED_MODEL = "saved_model.pb"
INDEX = "variables/variables.index"
SHARD = "variables/variables.data-00000-of-00001"
FINGERPRINT = "fingerprint.pb"
WARM_UP = "assets.extra/tf_serving_warmup_requests"
MANIFEST = "trimtab-manifest.json"


@cache
def crc32c(data: bytes) -> int:
    """CRC-32C, one bit after the other."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 * (value & 1))
    return value ^ 0xFFFFFFFF


def gcs_crc32c(data: bytes) -> str:
    """As Cloud Storage writes it."""
    return base64.b64encode(struct.pack(">I", crc32c(data))).decode()


def masked_crc32c(data: bytes) -> bytes:
    """As TensorFlow writes it behind what it covers."""
    value = crc32c(data)
    return struct.pack("<I", (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(value: int) -> bytes:
    """A number on the wire; a negative one takes ten bytes."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def number(field_number: int, value: int) -> bytes:
    """A field that holds a number."""
    return varint(field_number << 3) + varint(value)


def part(field_number: int, value: bytes | str) -> bytes:
    """A field that holds a text, bytes or a message."""
    data = value.encode() if isinstance(value, str) else value
    return varint(field_number << 3 | 2) + varint(len(data)) + data


def entry(field_number: int, key: str, value: bytes) -> bytes:
    """An entry of a map."""
    return part(field_number, part(1, key) + part(2, value))


def tensor(dtype: int, shape: Sequence[int] | None, *, sparse: bool = False) -> bytes:
    """A TensorInfo; a shape of None is an unknown rank."""
    dims = number(3, 1) if shape is None else b"".join(part(2, number(1, size)) for size in shape)
    encoding = part(4, part(1, "values:0")) if sparse else part(1, "x:0")
    return encoding + number(2, dtype) + part(3, dims)


def signature(inputs: Mapping[str, bytes], outputs: Mapping[str, bytes], method: str = "tensorflow/serving/predict") -> bytes:
    """A SignatureDef."""
    tensors = [entry(at, name, info) for at, infos in ((1, inputs), (2, outputs)) for name, info in infos.items()]
    return b"".join(tensors) + part(3, method)


ROWS = signature({"x": tensor(DT_FLOAT, (-1, 4))}, {"y": tensor(DT_FLOAT, (-1, 2))})
"""One row out for one row in."""


def node(op: str, name: str = "node") -> bytes:
    """A NodeDef, with an attribute as real ones have."""
    return part(1, name) + part(2, op) + part(3, "before") + entry(5, "dtype", number(6, DT_FLOAT))


def graph(ops: Iterable[str] = (), function_ops: Iterable[str] = ()) -> bytes:
    """A GraphDef with these operations in itself and in one function of its library."""
    body = part(1, part(1, "function")) + b"".join(part(3, node(op)) for op in function_ops)
    return b"".join(part(1, node(op)) for op in ops) + part(2, part(1, body))


def meta_graph(
    *,
    tags: Iterable[str] = ("serve",),
    signatures: Mapping[str, bytes] | None = None,
    ops: Iterable[str] = ("VarHandleOp",),
    function_ops: Iterable[str] = (),
    assets: Iterable[str] = (),
    collections: Mapping[str, bytes] | None = None,
) -> bytes:
    """A MetaGraphDef."""
    written = [part(1, b"".join(part(4, tag) for tag in tags) + part(5, "2.19.0")), part(2, graph(ops, function_ops))]
    written += [entry(4, name, collection) for name, collection in (collections or {}).items()]
    written += [entry(5, name, value) for name, value in ({"serving_default": ROWS} if signatures is None else signatures).items()]
    written += [part(6, part(1, tensor(DT_STRING, ())) + part(2, name)) for name in assets]
    return b"".join(written) + part(7, b"")


def saved_model(*meta_graphs: bytes) -> bytes:
    """A SavedModel."""
    return number(1, 1) + b"".join(part(2, one) for one in meta_graphs)


def block(entries: Iterable[tuple[bytes, bytes]], compression: int = 0) -> bytes:
    """A block of a table with its trailer: keys without what they share with the one before, all of it after every 16th."""
    body = bytearray()
    restarts = []
    before = b""
    for count, (key, value) in enumerate(entries):
        shared = 0
        if count % 16:
            while shared < min(len(before), len(key)) and before[shared] == key[shared]:
                shared += 1
        else:
            restarts.append(len(body))
        body += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    body += b"".join(struct.pack("<I", at) for at in restarts or [0]) + struct.pack("<I", len(restarts or [0])) + bytes([compression])
    return bytes(body) + masked_crc32c(bytes(body))


def table(entries: Sequence[tuple[bytes, bytes]], *, entries_in_block: int = 1_000, compression: int = 0) -> bytes:
    """A table of sorted entries."""
    written = b""
    handles = []
    for start in range(0, len(entries), entries_in_block):
        chosen = entries[start : start + entries_in_block]
        data = block(chosen, compression)
        handles.append((_successor(chosen[-1][0]), varint(len(written)) + varint(len(data) - 5)))
        written += data
    footer = b""
    for data in (block([]), block(handles)):
        footer += varint(len(written)) + varint(len(data) - 5)
        written += data
    return written + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def _successor(key: bytes) -> bytes:
    """A short key that is not before this one."""
    at = next((index for index, byte in enumerate(key) if byte != 0xFF), None)
    return key if at is None else key[:at] + bytes([key[at] + 1])


def bundle_header(num_shards: int) -> bytes:
    """A BundleHeaderProto."""
    return number(1, num_shards) + part(3, number(1, 1))


def bundle_entry(shard: int, offset: int, size: int) -> bytes:
    """A BundleEntryProto of a row of floats."""
    return (
        number(1, DT_FLOAT)
        + part(2, part(2, number(1, size // 4)))
        + (number(3, shard) if shard else b"")
        + (number(4, offset) if offset else b"")
        + number(5, size)
        + b"\x35\x01\x02\x03\x04"
    )


def variables_index(
    values: Sequence[tuple[int, int, int]] = ((0, 0, 64), (0, 64, 32)), *, num_shards: int = 1, entries_in_block: int = 1_000
) -> bytes:
    """The index of values that lie in (shard, at byte, so many bytes)."""
    entries = [(b"", bundle_header(num_shards))]
    entries += [(f"variables/{at}/.ATTRIBUTES/VARIABLE_VALUE".encode(), bundle_entry(*value)) for at, value in enumerate(values)]
    return table(sorted(entries), entries_in_block=entries_in_block)


def record(data: bytes) -> bytes:
    """A record of a TFRecord file."""
    length = struct.pack("<Q", len(data))
    return length + masked_crc32c(length) + data + masked_crc32c(data)


def predict_log(signature_name: str = "") -> bytes:
    """A PredictionLog of a request to Predict; the name is left out where it is empty."""
    spec = part(1, "ranker") + (part(3, signature_name) if signature_name else b"")
    values = number(1, DT_FLOAT) + part(2, part(2, number(1, 1)) + part(2, number(1, 4))) + part(4, bytes(16))
    return part(6, part(1, part(1, spec) + entry(2, "x", values)))


@dataclass(frozen=True, slots=True)
class Version:
    """A version in a bucket: its files and their generations; what is read of a file where that is not what is stored."""

    files: Mapping[str, bytes]
    name: str = "42"
    generations: Mapping[str, int] = field(default_factory=dict)
    listed_sizes: Mapping[str, int] = field(default_factory=dict)

    def without(self, *paths: str) -> "Version":
        """Without these files."""
        return replace(self, files={path: data for path, data in self.files.items() if path not in paths})

    def having(self, files: Mapping[str, bytes]) -> "Version":
        """With these files, too, or with this content."""
        return replace(self, files={**self.files, **files})

    def listing(self, listed_at: datetime = LISTED, updated_at: datetime = UPLOADED) -> Listing:
        """As the bucket lists it."""
        stored = (
            StoredFile(path, self.listed_sizes.get(path, len(data)), self.generations.get(path, 1), gcs_crc32c(data), updated_at)
            for path, data in self.files.items()
        )
        return Listing.of(self.name, stored, listed_at)

    def judged(
        self,
        *,
        at: datetime = LISTED,
        previous: Sighting | None = None,
        completed: Sighting | None = None,
        siblings: tuple[str, ...] = (),
        updated_at: datetime = UPLOADED,
        read: Mapping[str, bytes | None] | None = None,
        has_checksums: bool = True,
    ) -> Judgement:
        """As `judge` sees it at that time; `read` is what some reads bring instead of what is stored."""
        listing = self.listing(at, updated_at)
        if not has_checksums:
            listing = replace(listing, files=tuple(replace(file, crc32c=None) for file in listing.files))
        brought: dict[str, bytes | None] = {one.path: self.files[one.path][: one.max_bytes] for one in reads_needed(listing)}
        brought.update(read or {})
        return judge(
            listing,
            index=brought.get(INDEX),
            saved_model=brought.get(SAVED_MODEL),
            manifest=brought.get(MANIFEST),
            warm_up_head=brought.get(WARM_UP),
            now=at,
            previous=previous,
            completed=completed,
            siblings=siblings,
        )

    def judged_settled(self) -> Judgement:
        """As `judge` sees it when it looked the same at the time of the upload."""
        return self.judged(previous=self.judged(at=UPLOADED).sighting)


COMPLETE = Version(
    {
        SAVED_MODEL: saved_model(meta_graph()),
        INDEX: variables_index(),
        SHARD: bytes(96),
        FINGERPRINT: b"\x08\x01",
    }
)
"""With two variables in one data file."""
WITHOUT_VARIABLES = Version({SAVED_MODEL: saved_model(meta_graph(ops=("Placeholder", "Const"), function_ops=("MatMul",)))})
