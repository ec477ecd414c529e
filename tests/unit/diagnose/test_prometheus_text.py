"""A page of TF Serving's metrics as measures."""

import pytest

from shared.diagnose.evidence_text import EvidenceTextError
from shared.diagnose.prometheus_text import between, read_page, since_start
from tests.unit.diagnose.questions import batching, first


def page(*, ok: int, unavailable: int, waited_us: int, requests: int) -> str:
    """A page as the server writes it."""
    return f"""\
# TYPE :tensorflow:serving:request_count counter
:tensorflow:serving:request_count{{model_name="m",status="OK"}} {ok}
:tensorflow:serving:request_count{{model_name="m",status="UNAVAILABLE"}} {unavailable}
# TYPE :tensorflow:serving:batching_session:queuing_latency histogram
:tensorflow:serving:batching_session:queuing_latency_bucket{{thread_pool_name="",le="100"}} 3
:tensorflow:serving:batching_session:queuing_latency_bucket{{thread_pool_name="",le="+Inf"}} {requests}
:tensorflow:serving:batching_session:queuing_latency_sum{{thread_pool_name=""}} {waited_us}
:tensorflow:serving:batching_session:queuing_latency_count{{thread_pool_name=""}} {requests}
# TYPE :tensorflow:serving:batching_session:padding_size histogram
:tensorflow:serving:batching_session:padding_size_bucket{{execution_batch_size="8",le="+Inf"}} 4
:tensorflow:serving:batching_session:padding_size_sum{{execution_batch_size="8"}} 8
:tensorflow:serving:batching_session:padding_size_count{{execution_batch_size="8"}} 4
:tensorflow:serving:batching_session:padding_size_bucket{{execution_batch_size="16",le="+Inf"}} 1
:tensorflow:serving:batching_session:padding_size_sum{{execution_batch_size="16"}} 7
:tensorflow:serving:batching_session:padding_size_count{{execution_batch_size="16"}} 1
# TYPE :tensorflow:core:graph_runs counter
:tensorflow:core:graph_runs{{}} 5
# TYPE :tensorflow:serving:request_latency histogram
"""


EARLY = page(ok=1000, unavailable=0, waited_us=50_000, requests=10)
LATE = page(ok=1600, unavailable=120, waited_us=650_000, requests=70)
QUEUING = ":tensorflow:serving:batching_session:queuing_latency"


def test_one_page_gives_counts_and_means_since_the_start() -> None:
    measures = since_start(read_page(EARLY))
    assert measures[":tensorflow:serving:request_count{model_name=m,status=OK} count [requests]"] == 1000
    assert measures[f"{QUEUING} mean [us]"] == 5000
    assert measures[f"{QUEUING} count [samples]"] == 10


def test_a_histogram_of_several_label_sets_has_one_mean_over_all() -> None:
    measures = since_start(read_page(EARLY))
    assert measures[":tensorflow:serving:batching_session:padding_size mean [rows]"] == 3
    assert measures[":tensorflow:serving:batching_session:padding_size{execution_batch_size=16} mean [rows]"] == 7


def test_two_pages_give_rates_and_the_means_between_them() -> None:
    measures = between(read_page(EARLY), read_page(LATE), 60)
    assert measures["window [s]"] == 60
    assert measures[":tensorflow:serving:request_count{model_name=m,status=OK} rate [1/s]"] == 10
    assert measures[":tensorflow:serving:request_count{model_name=m,status=UNAVAILABLE} rate [1/s]"] == 2
    assert measures[f"{QUEUING} mean [us]"] == 10_000


def test_a_counter_that_went_back_is_unknown() -> None:
    measures = between(read_page(LATE), read_page(EARLY), 60)
    assert measures[":tensorflow:serving:request_count{model_name=m,status=OK} rate [1/s]"] is None
    assert measures[f"{QUEUING} mean [us]"] is None


def test_what_comes_out_is_evidence() -> None:
    assert first(metrics=between(read_page(EARLY), read_page(LATE), 60), batching=batching(8)) == "batch-queue-full"


def test_pages_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(EvidenceTextError, match="the later one must be later"):
        between(read_page(EARLY), read_page(LATE), 0)


@pytest.mark.parametrize("text", ["", "<html>404</html>", "a{b=1} x", "# TYPE x counter\nx{ 1"])
def test_what_is_no_page_is_refused_in_one_way(text: str) -> None:
    with pytest.raises(EvidenceTextError, match="page of Prometheus metrics"):
        read_page(text)
