"""saved_model.pb: the graph that is taken, its signatures, its variables and assets; and what is no SavedModel."""

import pytest

from shared.tfserving.model_files_saved_model import (
    MAX_ASSETS,
    MAX_GRAPHS,
    MAX_PARTS,
    MAX_SIGNATURES,
    MAX_TENSORS,
    NoServingGraphError,
    SavedModelError,
    Signature,
    Structure,
    Tensor,
    read_saved_model,
)
from tests.support.saved_models import DT_FLOAT, DT_STRING, ROWS, entry, meta_graph, number, part, saved_model, signature, tensor


def read(*graphs: bytes) -> Structure:
    structure = read_saved_model(saved_model(*graphs))
    assert structure is not None
    return structure


def test_what_the_graph_can_be_asked() -> None:
    classify = signature(
        {"examples": tensor(DT_STRING, (-1,))},
        {"scores": tensor(DT_FLOAT, None), "ids": tensor(9, (-1, 3), sparse=True), "new": tensor(99, ())},
        "tensorflow/serving/classify",
    )
    assert read(meta_graph(signatures={"serving_default": ROWS, "classify": classify})) == Structure(
        tensorflow_version="2.19.0",
        signatures=(
            Signature(
                "classify",
                "tensorflow/serving/classify",
                (Tensor("examples", "DT_STRING", (-1,)),),
                (
                    Tensor("ids", "DT_INT64", (-1, 3), is_dense=False),
                    Tensor("new", "DT_99", ()),
                    Tensor("scores", "DT_FLOAT", None),
                ),
            ),
            Signature(
                "serving_default",
                "tensorflow/serving/predict",
                (Tensor("x", "DT_FLOAT", (-1, 4)),),
                (Tensor("y", "DT_FLOAT", (-1, 2)),),
            ),
        ),
        signatures_left_out=0,
        has_variables=True,
        assets=(),
        has_object_graph=True,
    )


def test_a_tensor_of_which_no_shape_is_written() -> None:
    bare = signature({"x": part(1, "x:0") + number(2, DT_FLOAT)}, {})
    assert read(meta_graph(signatures={"s": bare})).signatures[0].inputs == (Tensor("x", "DT_FLOAT", None),)


def test_a_composite_tensor_is_not_dense() -> None:
    ragged = signature({"x": part(5, b"") + number(2, DT_FLOAT)}, {})
    assert read(meta_graph(signatures={"s": ragged})).signatures[0].inputs == (Tensor("x", "DT_FLOAT", None, is_dense=False),)


def test_what_only_loading_and_training_use_is_no_signature() -> None:
    structure = read(meta_graph(signatures={"__saved_model_init_op": b"", "__saved_model_train_op": b"", "serving_default": ROWS}))
    assert [one.name for one in structure.signatures] == ["serving_default"]
    assert structure.signature("serving_default") == structure.signatures[0]
    assert structure.signature("__saved_model_init_op") is None


@pytest.mark.parametrize("op", ["VarHandleOp", "VariableV2", "Variable", "AutoReloadVariable"])
def test_variables_in_the_graph(op: str) -> None:
    assert read(meta_graph(ops=("Const", op))).has_variables


def test_variables_in_a_function_only() -> None:
    assert read(meta_graph(ops=("StatefulPartitionedCall",), function_ops=("Const", "VarHandleOp"))).has_variables


def test_no_variables() -> None:
    assert not read(meta_graph(ops=("Placeholder", "MatMul"), function_ops=("ReadVariableOp",))).has_variables


def test_assets_of_tensorflow_2() -> None:
    assert read(meta_graph(assets=("words.txt", "labels.txt"))).assets == ("labels.txt", "words.txt")


def test_assets_of_tensorflow_1_stand_in_a_collection() -> None:
    asset = part(1, tensor(DT_STRING, ())) + part(2, "words.txt")
    packed = part(1, "type.googleapis.com/tensorflow.AssetFileDef") + part(2, asset)
    other = part(1, "type.googleapis.com/tensorflow.QueueRunnerDef") + part(2, b"\xff")
    collections = {"saved_model_assets": part(5, part(1, packed) + part(1, other)), "trainable_variables": part(2, part(1, b"\xff"))}
    assert read(meta_graph(collections=collections)).assets == ("words.txt",)
    assert read(meta_graph(collections=collections, assets=("own.txt",))).assets == ("own.txt",), "as the loader: one or the other"


def test_the_graph_with_exactly_the_tags_is_taken() -> None:
    for_gpu = meta_graph(tags=("serve", "gpu"), signatures={"gpu": ROWS})
    training = meta_graph(tags=("train",), signatures={"train": ROWS})
    structure = read(training, for_gpu, meta_graph(signatures={"first": ROWS}), meta_graph(signatures={"second": ROWS}))
    assert [one.name for one in structure.signatures] == ["first"]
    chosen = read_saved_model(saved_model(for_gpu), tags=frozenset({"gpu", "serve"}))
    assert chosen is not None
    assert chosen.signatures[0].name == "gpu"


def test_no_graph_with_exactly_the_tags() -> None:
    data = saved_model(meta_graph(tags=("serve", "gpu")), meta_graph(tags=("train",)), meta_graph(tags=()))
    with pytest.raises(NoServingGraphError) as error:
        read_saved_model(data)
    assert error.value.text == (
        "Could not find meta graph def matching supplied tags: { serve }. There: { gpu serve } and { train } and {  }"
    )


@pytest.mark.parametrize("data", [b"", b"\x08\x01"])
def test_a_file_without_a_graph(data: bytes) -> None:
    with pytest.raises(NoServingGraphError, match="There: none"):
        read_saved_model(data)


WHOLE = saved_model(meta_graph(assets=("words.txt",)))


@pytest.mark.parametrize(
    "data",
    [
        WHOLE[:-1],
        WHOLE[: len(WHOLE) // 2],
        b"<html>404</html>",
        b"\x00\x00",
        b"\x0b\x0c",
        b"\xff" * 11,
        b"\x11\x00",
        number(2, 7),
        saved_model(number(1, 1)),
        saved_model(part(1, part(4, b"\xff"))),
        saved_model(meta_graph(signatures={"s": b"\xff"})),
        saved_model(meta_graph(signatures={"s": entry(1, "x", b"\x0a\xff")})),
        saved_model(meta_graph() + part(6, b"\xff")),
        saved_model(meta_graph() + part(5, part(1, b"\xff"))),
        saved_model(meta_graph(ops=()) + part(2, b"\x0a\xff")),
        saved_model(meta_graph(collections={"saved_model_assets": b"\xff"})),
    ],
    ids=lambda data: f"{len(data)} bytes",
)
def test_no_saved_model(data: bytes) -> None:
    with pytest.raises(SavedModelError) as error:
        read_saved_model(data)
    assert error.value.text.startswith("no ")


def test_many_signatures_are_counted() -> None:
    structure = read(meta_graph(signatures={f"s{at:04}": ROWS for at in range(MAX_SIGNATURES + 5)}))
    assert (len(structure.signatures), structure.signatures_left_out) == (MAX_SIGNATURES, 5)


@pytest.mark.parametrize(
    "data",
    [
        saved_model(*[b""] * (MAX_GRAPHS + 1)),
        saved_model(meta_graph() + part(6, b"") * (MAX_PARTS + 1)),
        saved_model(meta_graph(assets=[f"{at}" for at in range(MAX_ASSETS + 1)])),
        saved_model(meta_graph(tags=[f"{at}" for at in range(MAX_PARTS + 1)])),
        saved_model(meta_graph(signatures={"s": signature({f"{at}": b"" for at in range(MAX_TENSORS + 1)}, {})})),
        saved_model(meta_graph(signatures={"s": part(3, "m" * 2**20)})),
    ],
    ids=["graphs", "parts", "assets", "tags", "tensors", "signature"],
)
def test_more_than_a_model_has_is_not_looked_into(data: bytes) -> None:
    assert read_saved_model(data) is None


def test_a_graph_of_millions_of_empty_nodes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.tfserving.model_files_saved_model.MAX_FIELDS", 1_000)
    assert read_saved_model(saved_model(meta_graph(ops=()) + part(2, b"\x0a\x00" * 1_000))) is None
