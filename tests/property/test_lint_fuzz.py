"""Whatever bytes a file has, lint answers or says in a sentence why it does not read them: never a traceback."""

import json
from random import Random

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.lint.asking import Answer, ask, ask_together
from shared.lint.recognition import MAX_BYTES, UnreadableError, decoded
from tests.support.lint_healthy import BATCHING_FULL, HEALTHY, L4_GRPC, MODELS, MONITORING, Form, Healthy
from tests.support.lint_healthy_documents import PLAN, SPEC, V1, V2_JSON, V2_YAML
from tests.support.lint_large import LARGE, sized
from tests.support.lint_trial import errors_of

every_kind = pytest.mark.parametrize("healthy", HEALTHY, ids=lambda each: each.name)

FRAGMENTS = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"{",
    b"]",
    b'"',
    b"'",
    b"\\",
    b"\\u",
    b"\\ud800",
    b"\n",
    b"\r",
    b"\t",
    b"\x1b[31m",
    b"\x85",
    b"\xe2\x80\xa8",
    b"$(",
    b"`",
    b"<<EOF\n",
    b"&a ",
    b"*a ",
    b"!!python/object ",
    b"? ",
    b"<<: ",
    b": ",
    b"- ",
    b"|\n",
    b"%YAML 9.9\n",
    b"---\n",
    b"null",
    b"NaN",
    b"1e999",
    b".inf",
    b"9" * 5_000,
    b"-",
    b"=",
    b"0x",
    b"2026-13-45",
    b"1:60:61",
)


def asked(data: bytes, name: str = "it") -> Answer | None:
    """What lint says of a file with these bytes; None: it says that it does not read it, in words."""
    try:
        return ask(name, decoded(data))
    except UnreadableError as error:
        said = str(error)
    assert said.strip()
    return None


@every_kind
def test_a_file_that_ends_anywhere_is_answered(healthy: Healthy) -> None:
    data = healthy.text.encode()
    places = sorted({*range(min(len(data), 40)), *(len(data) * part // 60 for part in range(61))})
    for end in places:
        asked(data[:end])


@every_kind
def test_a_file_that_begins_anywhere_is_answered(healthy: Healthy) -> None:
    data = healthy.text.encode()
    for part in range(1, 40):
        asked(data[len(data) * part // 40 :])


@every_kind
def test_bytes_put_in_lost_and_changed_anywhere_are_answered(healthy: Healthy) -> None:
    random = Random(f"bytes of {healthy.name}")
    for _ in range(120):
        data = bytearray(healthy.text.encode())
        for _ in range(random.choice((1, 1, 2, 5))):
            at = random.randrange(len(data) + 1)
            data[at : at + random.choice((0, 0, 1, 3, 30))] = random.choice((random.choice(FRAGMENTS), random.randbytes(2)))
        asked(bytes(data))


@every_kind
def test_a_word_of_one_file_inside_another_is_answered(healthy: Healthy) -> None:
    random = Random(f"words of {healthy.name}")
    words = healthy.text.split(" ")
    others = [word for other in HEALTHY for word in other.text.split(" ")]
    for _ in range(60):
        mixed = list(words)
        for _ in range(3):
            mixed[random.randrange(len(mixed))] = random.choice(others)
        asked(" ".join(mixed).encode())


@every_kind
def test_other_encodings_are_answered(healthy: Healthy) -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "utf-7", "cp037", "utf-8-sig"):
        asked(healthy.text.encode(encoding))
        asked(("# Zürich, größer\n" + healthy.text).encode(encoding))


@every_kind
def test_utf_16_with_its_mark_reads_as_utf_8_does(healthy: Healthy) -> None:
    answer = asked(healthy.text.encode("utf-16"), healthy.name)
    assert answer is not None
    assert errors_of(answer) == ()


# A shell does not continue a line that ends in a backslash and a carriage return: commands are left out.
NO_COMMANDS = [each for each in HEALTHY if each.form not in (Form.DEPLOY, Form.UPDATE) and each.name != "docker.sh"]


@pytest.mark.parametrize("healthy", NO_COMMANDS, ids=lambda healthy: healthy.name)
def test_a_file_with_windows_line_ends_is_as_healthy_as_without(healthy: Healthy) -> None:
    answer = asked(healthy.text.replace("\n", "\r\n").encode(), healthy.name)
    assert answer is not None
    assert errors_of(answer) == ()


@every_kind
def test_tabs_and_trailing_blanks_are_answered(healthy: Healthy) -> None:
    asked(healthy.text.replace("  ", "\t").encode())
    asked(healthy.text.replace("\n", "\t\n").encode())
    asked(healthy.text.replace("\n", "\r").encode())
    asked(("\n" * 500 + healthy.text + " " * 500).encode())


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_are_answered(data: bytes) -> None:
    asked(data)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200), st.sampled_from(HEALTHY))
def test_random_text_before_and_behind_a_file_is_answered(text: str, healthy: Healthy) -> None:
    data = text.encode("utf-8", "surrogatepass")
    asked(data)
    asked(data + healthy.text.encode())
    asked(healthy.text.encode() + data)


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(
                st.sampled_from(
                    [
                        *("apiVersion", "kind", "metadata", "spec", "template", "containers", "deploy", "batching", "flags", "workload"),
                        *(
                            "env",
                            "objects",
                            "metrics",
                            "slo",
                            "alert",
                            "conditions",
                            "planned_values",
                            "root_module",
                            "resources",
                            "values",
                        ),
                        *("resource_changes", "change", "after", "service", "model_config_list", "incident", "traffic", "annotations", "x"),
                    ]
                ),
                inner,
                max_size=5,
            ),
        ),
        max_leaves=25,
    )
)
def test_any_json_with_familiar_names_is_answered(value: object) -> None:
    asked(json.dumps(value).encode())
    asked(yaml.safe_dump(value).encode())


@pytest.mark.parametrize("depth", [50, 400, 3_000, 100_000])
def test_deep_nesting_is_answered(depth: int) -> None:
    for text in (
        "[" * depth,
        "[" * depth + "]" * depth,
        '{"template":' * depth + "1" + "}" * depth,
        '{"template":{"containers":' + "[" * depth + "]" * depth + "}}",
        '{"planned_values":' + "[" * depth + "]" * depth + "}",
        "template: " + "{a: " * depth + "1" + "}" * depth,
        "template: " + "[" * depth,
        "deploy: " + "- " * depth + "x",
        "model_config_list " + "{ config " * depth + "}" * depth,
        "model_config_list " + "{" * depth + "}" * depth,
        "max_batch_size " + "<" * depth,
        "gcloud run deploy x " + "$(" * depth + ")" * depth,
        "gcloud run deploy x " + "(" * depth,
        "gcloud run deploy x " + "`" * depth,
        "gcloud run deploy x --args=" + "^" * depth,
    ):
        asked(text.encode())


@pytest.mark.parametrize("depth", [50, 400, 900])
def test_deeply_indented_blocks_are_answered(depth: int) -> None:
    block = "\n".join(" " * level + "a:" for level in range(depth))
    for head in ("template:\n", "apiVersion: serving.knative.dev/v1\nkind: Service\nspec:\n", "workload:\n", "service: a:b:c\nspec:\n"):
        asked((head + "\n".join(f" {line}" for line in block.split("\n"))).encode())


def test_yaml_whose_aliases_explode_is_answered() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12)
    )
    for text in (
        bomb,
        f"template:\n  x: &b [1]\n{bomb}",
        V2_YAML + bomb,
        V1 + bomb,
        f"workload: {{rows_per_request: 1}}\n{bomb}",
        SPEC + bomb,
        "template: &t\n  containers: *t\n",
        "template: &t {containers: [*t]}\n",
        "deploy: &d\n  <<: *d\n",
        "template: &a {<<: [*a, *a]}\n",
    ):
        asked(text.encode())


def test_numbers_of_thousands_of_digits_are_answered() -> None:
    for digits in ("9" * 5_000, "-" + "1" * 4_400, "0x" + "f" * 5_000, "1e" + "9" * 400, "0" * 6_000, "1." + "3" * 5_000):
        asked(L4_GRPC.replace("72", digits).replace("8500", digits).encode())
        asked(L4_GRPC.replace("--memory=16Gi", f"--memory={digits}Gi").replace("--timeout=45", f"--timeout={digits}s").encode())
        asked(BATCHING_FULL.replace("24", digits).encode())
        asked(MODELS.replace("7", digits).encode())
        asked(V1.replace("8500", digits).replace("24Gi", f"{digits}Gi").encode())
        asked(V2_JSON.replace("8501", digits).encode())
        asked(V2_YAML.replace("30s", f"{digits}s").replace("8500", digits).encode())
        asked(PLAN.replace("8500", digits).replace("40", digits).encode())
        asked(SPEC.replace("48", digits).encode())
        asked(f"workload: {{rows_per_request: {digits}}}\nbatching: |\n  max_batch_size {{ value: {digits} }}\n".encode())
        asked(f"deploy: gcloud run deploy x\nmetrics: {{a: {digits}}}\nslo: {{p99_ms: {digits}}}\n".encode())
        asked(f"gs://b/m/{digits}/saved_model.pb {digits}\ngs://b/m/1/x 3\n".encode())
        asked(f"--port={digits}\n--grpc_max_threads={digits}\n--rest_api_timeout_in_ms={digits}\n".encode())


def test_two_parts_of_one_kind_are_refused_in_words() -> None:
    with pytest.raises(UnreadableError, match="both have monitoring"):
        ask_together([("a", MONITORING), ("b", MONITORING)])


def test_more_than_a_megabyte_is_refused_unread() -> None:
    with pytest.raises(UnreadableError, match="at most 1,000,000 are read"):
        decoded(b"#" * (MAX_BYTES + 1))
    with pytest.raises(UnreadableError, match="10,000,000 bytes"):
        decoded(b"\xff" * 10_000_000)


@pytest.mark.parametrize("name", LARGE)
def test_nine_hundred_kilobytes_of_every_kind_are_answered(name: str) -> None:
    data = sized(name, 900_000).encode()
    assert 850_000 < len(data) <= MAX_BYTES
    asked(data)
