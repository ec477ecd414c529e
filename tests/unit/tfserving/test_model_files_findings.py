"""A version against the service that is to serve it: batching and memory."""

from shared.tfserving.model_files_findings import MAX_FINDINGS, FindingCode, findings
from shared.tfserving.model_files_saved_model import Structure, read_saved_model
from tests.support.saved_models import DT_FLOAT, ROWS, meta_graph, saved_model, signature, tensor

GIB = 2**30


def structure(**signatures: bytes) -> Structure:
    read = read_saved_model(saved_model(meta_graph(signatures=signatures)))
    assert read is not None
    return read


def batched(**signatures: bytes) -> list[tuple[FindingCode, str | None]]:
    found = findings(structure(**signatures), size_bytes=0, batching_enabled=True)
    return [(one.code, one.signature) for one in found]


def test_a_model_of_rows_takes_batches() -> None:
    assert batched(serving_default=ROWS) == []


def test_what_says_nothing_of_its_shape_is_not_found_fault_with() -> None:
    unknown = signature({"x": tensor(DT_FLOAT, None), "s": tensor(DT_FLOAT, (3,), sparse=True)}, {"y": tensor(DT_FLOAT, None)})
    assert batched(s=unknown) == []


def test_scalars_and_fixed_first_dimensions() -> None:
    fixed = signature({"x": tensor(DT_FLOAT, (1, 4))}, {"y": tensor(DT_FLOAT, (1, 2))})
    scalar = signature({"k": tensor(DT_FLOAT, ()), "x": tensor(DT_FLOAT, (-1, 4))}, {"y": tensor(DT_FLOAT, ())})
    assert batched(a=fixed, b=scalar, c=ROWS) == [
        (FindingCode.INPUT_NOT_BATCHABLE, "a"),
        (FindingCode.OUTPUT_NOT_BATCHABLE, "a"),
        (FindingCode.INPUT_RANK_ZERO, "b"),
        (FindingCode.OUTPUT_NOT_BATCHABLE, "b"),
    ]


def test_a_first_dimension_of_zero_is_fixed_too() -> None:
    assert batched(s=signature({"x": tensor(DT_FLOAT, (0, 4))}, {})) == [(FindingCode.INPUT_NOT_BATCHABLE, "s")]


def test_without_batching_shapes_are_the_clients_affair() -> None:
    fixed = signature({"x": tensor(DT_FLOAT, ())}, {"y": tensor(DT_FLOAT, ())})
    assert findings(structure(s=fixed), size_bytes=0, batching_enabled=False) == ()


def test_the_text_names_tensor_signature_and_what_the_server_says() -> None:
    fixed = signature({"image": tensor(DT_FLOAT, (1, 224, 224, 3))}, {"labels": tensor(DT_FLOAT, ())})
    by_input, by_output = findings(structure(serving_default=fixed), size_bytes=0, batching_enabled=True)
    assert by_input.text == (
        'Input "image" of signature "serving_default" has a first dimension of 1, not of any size. With batching on, requests are put '
        "together along it, and a batch of two would fail. Export the model with a first dimension of None, or turn batching off."
    )
    assert by_output.text == (
        'Output "labels" of signature "serving_default" is a scalar. With batching on, a batch is cut back into its requests along the '
        "first dimension, and would fail with FAILED_PRECONDITION: Batched output tensor has 0 dimensions. Export the model with one row "
        "of output for each row of input, or turn batching off."
    )


def test_a_graph_without_signatures() -> None:
    found = findings(structure(), size_bytes=0, batching_enabled=True)
    assert [one.code for one in found] == [FindingCode.NO_SIGNATURES]


def test_memory_as_tf_serving_estimates_it() -> None:
    def codes(size_bytes: int, *, copied: bool = False) -> list[FindingCode]:
        found = findings(
            None,
            size_bytes=size_bytes,
            batching_enabled=True,
            memory_bytes=12 * GIB,
            gpu_memory_bytes=24 * GIB,
            copied_into_memory=copied,
        )
        return [one.code for one in found]

    assert codes(10 * GIB) == []
    assert codes(10 * GIB + 1) == [FindingCode.MEMORY_TOO_SMALL]
    assert codes(5 * GIB, copied=True) == []
    assert codes(6 * GIB, copied=True) == [FindingCode.MEMORY_TOO_SMALL]
    assert codes(21 * GIB) == [FindingCode.MEMORY_TOO_SMALL, FindingCode.GPU_MEMORY_TOO_SMALL]


def test_the_text_of_memory_names_both_sizes() -> None:
    (found,) = findings(None, size_bytes=6 * GIB, batching_enabled=True, memory_bytes=8 * GIB, copied_into_memory=True)
    assert "The instance has 8.00 GiB; the version needs 7.20 GiB (1.2 times its files" in found.text
    assert "and 6.00 GiB for the copy of the files in memory" in found.text


def test_what_is_found_is_bounded() -> None:
    fixed = signature({f"x{at}": tensor(DT_FLOAT, ()) for at in range(50)}, {})
    assert len(batched(s=fixed)) == MAX_FINDINGS
