"""saved_model.pb: which graph TF Serving takes out of it, what that graph can be asked, and which files it needs.

The file is one protobuf message, SavedModel (saved_model.proto, meta_graph.proto, graph.proto, function.proto, node_def.proto). It can
hold weights and thousands of functions, so it is walked over and only its small parts are unpacked. A file that ends early is found:
every level above the nodes says how long it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from shared.errors import TrimtabError
from shared.tfserving.descriptors import model_message_class, model_pool
from shared.tfserving.faults import shown
from shared.tfserving.model_files_wire import Budget, BudgetSpentError, WireError, fields

SERVE_TAGS = frozenset({"serve"})
"""TF Serving's default for --saved_model_tags. The graph's tags must be exactly these: `serve, gpu` is another set."""

MAX_FIELDS = 2_000_000
"""Steps over one file, some two seconds: two thirds of a million nodes. A graph with more is not looked into."""
MAX_GRAPHS = 64
MAX_PARTS = 10_000
"""Signatures, collections and assets of one graph together."""
MAX_SIGNATURES = 256
MAX_TENSORS = 256
"""Of one signature, inputs and outputs apart."""
MAX_ASSETS = 1_000
MAX_PART_BYTES = 2**20
"""A signature, a name or a collection of assets larger than this is not looked into."""

_VARIABLE_OPS = frozenset(
    name.encode() for name in ("VarHandleOp", "_VarHandlesOp", "VariableV2", "Variable", "AutoReloadVariable", "TemporaryVariable")
)
_NOT_FOR_REQUESTS = ("__saved_model_init_op", "__saved_model_train_op")
_ASSETS_COLLECTION = "saved_model_assets"
_ASSET_TYPE = "tensorflow.AssetFileDef"
_META_GRAPHS = 2
_INFO, _GRAPH, _COLLECTIONS, _SIGNATURES, _ASSETS, _OBJECTS = 1, 2, 4, 5, 6, 7
_NODES, _LIBRARY, _FUNCTIONS, _FUNCTION_NODES, _OP = 1, 2, 1, 3, 2
_TAGS, _TENSORFLOW_VERSION = 4, 5
_KEY, _VALUE = 1, 2
_SHOWN_TAGS = 200


class SavedModelError(TrimtabError):
    """TF Serving would not read the file, or would find nothing to serve in it. `text` says why."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class NoServingGraphError(SavedModelError):
    """The file is whole, and none of its graphs has the tags."""


class _NotLookedIntoError(TrimtabError):
    """The file may be right, and is more than is looked into here."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output. `shape` has -1 for a dimension of any size; it is None where nothing is said, even of the rank.

    `dtype` is TensorFlow's name (`DT_FLOAT`). A sparse or composite tensor is several tensors to the graph: `is_dense` is false.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    is_dense: bool = True


@dataclass(frozen=True, slots=True)
class Signature:
    """What can be asked of the model under one name; inputs and outputs ordered by name."""

    name: str
    method_name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Structure:
    """The graph that TF Serving takes.

    `signatures` are ordered by name, at most `MAX_SIGNATURES`; `signatures_left_out` counts the others. `assets` are the files below
    assets/ that the graph opens when it loads. `has_object_graph` is true for what TensorFlow 2 writes.
    """

    tensorflow_version: str
    signatures: tuple[Signature, ...]
    signatures_left_out: int
    has_variables: bool
    assets: tuple[str, ...]
    has_object_graph: bool

    def signature(self, name: str) -> Signature | None:
        """The signature of that name."""
        return next((signature for signature in self.signatures if signature.name == name), None)


def read_saved_model(data: bytes, *, tags: frozenset[str] = SERVE_TAGS) -> Structure | None:
    """Read the whole file; None where the graph has too many parts to be looked into.

    Raises:
        SavedModelError: the file is no SavedModel, or not a whole one.
        NoServingGraphError: no graph in it has exactly the tags.
    """
    try:
        return _read(memoryview(data), tags)
    except (_NotLookedIntoError, BudgetSpentError):
        return None
    except WireError as broken:
        raise SavedModelError(f"no whole protobuf message ({broken})") from None
    except DecodeError:
        raise SavedModelError("no protobuf message of TensorFlow's (a signature or an asset cannot be read)") from None


def _read(data: memoryview, tags: frozenset[str]) -> Structure:
    budget = Budget(MAX_FIELDS)
    seen: list[tuple[str, ...]] = []
    taken: Structure | None = None
    for graph in _parts(data, _META_GRAPHS, budget):
        if len(seen) == MAX_GRAPHS:
            raise _NotLookedIntoError
        parts = _envelope(graph, budget)
        names, tensorflow_version = _info(parts, budget)
        seen.append(tuple(sorted(names)))
        if taken is None and names == tags:
            taken = _structure(tensorflow_version, parts, budget)
    if taken is None:
        there = " and ".join("{ " + " ".join(names) + " }" for names in seen) or "none"
        raise NoServingGraphError(
            f"Could not find meta graph def matching supplied tags: {{ {' '.join(sorted(tags))} }}. There: "
            f"{shown(there, limit=_SHOWN_TAGS)}"
        )
    return taken


def _envelope(graph: memoryview, budget: Budget) -> list[tuple[int, memoryview]]:
    parts = []
    for number, value in fields(graph, budget):
        parts.append((number, _as_bytes(value)))
        if len(parts) > MAX_PARTS:
            raise _NotLookedIntoError
    return parts


def _info(parts: list[tuple[int, memoryview]], budget: Budget) -> tuple[frozenset[str], str]:
    """The tags, and the version of TensorFlow that wrote the graph."""
    tags: set[str] = set()
    tensorflow_version = ""
    for number, part in parts:
        if number != _INFO:
            continue
        for inner, value in fields(part, budget):
            if inner == _TAGS:
                tags.add(_text(_as_bytes(value)))
            elif inner == _TENSORFLOW_VERSION:
                tensorflow_version = _text(_as_bytes(value))
            if len(tags) > MAX_PARTS:
                raise _NotLookedIntoError
    return frozenset(tags), tensorflow_version


def _structure(tensorflow_version: str, parts: list[tuple[int, memoryview]], budget: Budget) -> Structure:
    signatures = {}
    assets = []
    from_collection: list[str] = []
    for number, part in parts:
        if number == _SIGNATURES:
            name, value = _map_entry(part, budget)
            if name not in _NOT_FOR_REQUESTS:
                signatures[name] = value
        elif number == _ASSETS:
            assets.append(_message(_ASSET_TYPE, part).filename)
        elif number == _COLLECTIONS:
            name, value = _map_entry(part, budget)
            if name == _ASSETS_COLLECTION:
                from_collection.extend(_asset_names(value))
        if max(len(assets), len(from_collection)) > MAX_ASSETS:
            raise _NotLookedIntoError
    has_variables = any(op in _VARIABLE_OPS for number, part in parts if number == _GRAPH for op in _ops(part, budget))
    kept = sorted(signatures)[:MAX_SIGNATURES]
    return Structure(
        tensorflow_version=tensorflow_version,
        signatures=tuple(_signature(name, signatures[name]) for name in kept),
        signatures_left_out=len(signatures) - len(kept),
        has_variables=has_variables,
        assets=tuple(sorted(set(assets or from_collection))),
        has_object_graph=any(number == _OBJECTS for number, _ in parts),
    )


def _ops(graph: memoryview, budget: Budget) -> Iterator[bytes]:
    """The operation of every node, those in the functions of the library included."""
    for number, value in fields(graph, budget):
        if number == _NODES:
            yield _op(value, budget)
        elif number == _LIBRARY:
            for function in _parts(_as_bytes(value), _FUNCTIONS, budget):
                for node in _parts(function, _FUNCTION_NODES, budget):
                    yield _op(node, budget)


def _parts(message: memoryview, wanted: int, budget: Budget) -> Iterator[memoryview]:
    return (_as_bytes(value) for number, value in fields(message, budget) if number == wanted)


def _op(node: int | memoryview, budget: Budget) -> bytes:
    return next((bytes(op) for op in _parts(_as_bytes(node), _OP, budget)), b"")


def _map_entry(entry: memoryview, budget: Budget) -> tuple[str, memoryview]:
    key, value = "", memoryview(b"")
    for number, part in fields(entry, budget):
        if number == _KEY:
            key = _text(_as_bytes(part))
        elif number == _VALUE:
            value = _as_bytes(part)
    return key, value


def _text(value: memoryview) -> str:
    try:
        return bytes(_small(value)).decode()
    except UnicodeDecodeError:
        raise WireError("a name is not UTF-8") from None


def _asset_names(collection: memoryview) -> Iterable[str]:
    """TensorFlow 1 keeps the names of assets in a collection."""
    for packed in _message("tensorflow.CollectionDef", collection).any_list.value:
        if packed.type_url.endswith(f"/{_ASSET_TYPE}"):
            yield _message(_ASSET_TYPE, memoryview(packed.value)).filename


def _signature(name: str, value: memoryview) -> Signature:
    message = _message("tensorflow.SignatureDef", value)
    return Signature(name, message.method_name, _tensors(message.inputs), _tensors(message.outputs))


def _tensors(infos: Any) -> tuple[Tensor, ...]:
    if len(infos) > MAX_TENSORS:
        raise _NotLookedIntoError
    return tuple(_tensor(name, infos[name]) for name in sorted(infos))


def _tensor(name: str, info: Any) -> Tensor:
    types = model_pool().FindEnumTypeByName("tensorflow.DataType").values_by_number
    dtype = types[info.dtype].name if info.dtype in types else f"DT_{info.dtype}"
    shape = None
    if info.HasField("tensor_shape") and not info.tensor_shape.unknown_rank:
        shape = tuple(dim.size for dim in info.tensor_shape.dim)
    return Tensor(name, dtype, shape, is_dense=info.WhichOneof("encoding") not in ("coo_sparse", "composite_tensor"))


def _message(name: str, part: memoryview) -> Any:
    message = model_message_class(name)()
    message.ParseFromString(bytes(_small(part)))
    return message


def _small(part: memoryview) -> memoryview:
    if len(part) > MAX_PART_BYTES:
        raise _NotLookedIntoError
    return part


def _as_bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise WireError("a number stands where a message is expected")
    return value
