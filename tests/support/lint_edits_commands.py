"""Random edits of gcloud commands, mostly of their words."""

import re
import shlex
from collections.abc import Callable
from random import Random

from tests.support.lint_edits_texts import VALUES, edited_characters, misspelt

_REGIONS = ("us-central1", "europe-west1", "us-west1", "europe-west9", "us-east4-a", "asia-southeast1", "mars-north1", "global")
_BY_FLAG: dict[str, tuple[str, ...]] = {
    "region": _REGIONS,
    "gpu": ("0", "2", "4", "one", "nvidia-l4", "1.0", "-1"),
    "gpu-type": ("nvidia-t4", "nvidia-tesla-t4", "l4", "NVIDIA-L4", "nvidia-rtx-pro-6000", "nvidia-a100-80gb"),
    "cpu": ("1", "2", "3", "5", "6", "8", "10", "16", "20", "0.5", "4000m", "4.0", "four", "100m", "1500m"),
    "memory": (
        "512Mi",
        "1Gi",
        "2Gi",
        "8Gi",
        "16G",
        "16GB",
        "16GiB",
        "16384Mi",
        "24Gi",
        "32Gi",
        "64Gi",
        "100Gi",
        "16",
        "16 Gi",
        "16gi",
        "0",
    ),
    "concurrency": ("0", "1", "80", "1000", "1001", "5000", "default", "-4", "8.5", "many"),
    "max-instances": ("0", "1", "2", "10", "default", "-1", "100000", "x"),
    "min-instances": ("0", "1", "5", "default", "-1", "2.5"),
    "min": ("0", "4", "default", "-1"),
    "timeout": ("0", "3600", "3601", "60m", "61m", "1h", "2h", "5 minutes", "300s", "PT5M", "-30", "1.5", "1h30m"),
    "port": ("0", "80", "8080", "65535", "65536", "-1", "http", "default", "8500/tcp"),
    "execution-environment": ("gen1", "gen3", "GEN2", "second"),
    "ingress": ("all", "private", "internal-and-cloud-load-balancing", "INTERNAL"),
    "startup-probe": (
        "tcpSocket.port=8500",
        "tcpSocket.port=8500,periodSeconds=300",
        "tcpSocket.port=8500,timeoutSeconds=500,periodSeconds=240",
        "httpGet.path=/healthz",
        "httpGet.port=8501,failureThreshold=-1",
        "grpc.port=8500,initialDelaySeconds=241",
        "tcpSocket.port=99999",
        "tcp.port=8500",
        "tcpSocket.port=8500,httpGet.path=/x",
        "periodSeconds=10",
        "8500",
        "",
    ),
    "service-account": ("nobody", "a@b@c", ""),
    "image": (
        "tensorflow/serving",
        "TensorFlow/Serving:2.20.0",
        "tensorflow/serving:",
        "gcr.io/acme/x:v1:v2",
        "tensorflow/serving@sha256:12",
        "",
        "a b",
    ),
    "set-env-vars": ("MODEL_NAME", "PORT=8500", "A=1,A=2", "=x", "MODEL_NAME=a;b", "1A=2", "A=1,,B=2", "K_SERVICE=x", "A=b,c"),
    "update-env-vars": ("A", "PORT=80", "=x", "A=1,B"),
    "labels": ("Team=x", "team=Shelves", "a=b=c", "team", "=", "a=1,b=2", "goog-x=1"),
    "update-labels": ("team", "team=x,Stage=y", "=v"),
    "args": (
        "--port=8500,--rest_api_port=8501",
        "-v",
        "--a=1,b=2",
        "-v,-v",
        "^;^--a=1,b=2;--c=3",
        "--model_name=a b",
        "",
        "^,--a",
        "--enable_batching",
    ),
    "command": ("/bin/sh,-c", "", "serve"),
    "add-volume": (
        "name=w,type=gcs,bucket=b",
        "name=w,type=cloud-storage",
        "type=in-memory,size-limit=1Gi",
        "name=w,type=nfs,location=10.0.0.1:/m",
        "w",
    ),
    "add-volume-mount": ("volume=nowhere,mount-path=/w", "volume=weights", "volume=weights,mount-path=w", "/w"),
}
_FOREIGN_FLAGS = (
    "--max-concurrency=80",
    "--max-retries=3",
    "--gpu-count=1",
    "--accelerator=nvidia-l4",
    "--gpus=1",
    "--instances=3",
    "--replicas=2",
    "--env=A=1",
    "--platform=managed",
    "--platform=gke",
    "--zone=us-east4-a",
    "--machine-type=g2-standard-4",
    "--batching",
    "--container-concurrency=8",
    "--liveness-probe=tcpSocket.port=8500",
    "--liveness-probe=httpGet.path=/v1/models/x,httpGet.port=8501,periodSeconds=30",
    "--session-affinity",
    "--cpu-throttling",
    "--no-cpu-throttling",
    "--gpu-zonal-redundancy",
    "--min-instances=4",
    "--http2",
    "--no-use-http2",
    "--revision-suffix=v2",
    "--tag=canary",
    "--no-traffic",
    "--quiet",
    "--format=json",
    "--async",
    "--no-async",
    "--description=x",
    "--vpc-egress=all",
    "--network=default",
    "--set-secrets=KEY=key:latest",
    "--cpu=1",
    "--gpu=1",
    "--memory=1Gi",
    "--verbosity=debug",
    "--verbosity=loud",
    "--clear-labels",
    "-q",
    "-it",
    "extra",
)


def edit_command(random: Random, text: str) -> tuple[str, str]:
    """The command with one edit in it, and what was done."""
    if random.random() < 0.2:
        return edited_characters(random, text, "'\"=,- ^:.\\")
    try:
        words = shlex.split(re.sub(r"\\\n", " ", _without_comments(text)))
    except ValueError:
        return edited_characters(random, text, "'\"=,- ")
    flags = [index for index, word in enumerate(words) if word.startswith("-")]
    if not flags:
        return edited_characters(random, text, "'\"=,- ")
    edit = random.choice(_EDITS)
    said = edit(random, words, random.choice(flags))
    return _written(random, words), f"{edit.__name__.strip('_')}: {said}"


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))


def _written(random: Random, words: list[str]) -> str:
    if random.random() < 0.5:
        return shlex.join(words) + "\n"
    first = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    lines = [shlex.join(words[:first])]
    for word in words[first:]:
        if word.startswith("-") or not lines:
            lines.append(shlex.quote(word))
        else:
            lines[-1] += f" {shlex.quote(word)}"
    return " \\\n  ".join(lines) + "\n"


def _named(word: str) -> tuple[str, str, str]:
    name, equals, value = word.partition("=")
    return name, equals, value


def _drop(random: Random, words: list[str], at: int) -> str:
    at = random.randrange(1, len(words)) if random.random() < 0.3 else at
    return words.pop(at)


def _double(random: Random, words: list[str], at: int) -> str:
    words.insert(random.randrange(at, len(words) + 1), words[at])
    return words[at]


def _swap(random: Random, words: list[str], at: int) -> str:
    other = random.randrange(1, len(words))
    words[at], words[other] = words[other], words[at]
    return f"{words[at]} and {words[other]}"


def _misspell(random: Random, words: list[str], at: int) -> str:
    name, equals, value = _named(words[at])
    name = misspelt(random, name)
    words[at] = f"{name}{equals}{value}"
    return name


def _misspell_any(random: Random, words: list[str], at: int) -> str:
    at = random.randrange(1, len(words))
    words[at] = misspelt(random, words[at])
    return words[at]


def _underscores(random: Random, words: list[str], at: int) -> str:
    name, equals, value = _named(words[at])
    name = random.choice((f"--{name[2:].replace('-', '_')}", f"--{name[2:].title().replace('-', '')}", name.upper(), name[1:], f"-{name}"))
    words[at] = f"{name}{equals}{value}"
    return name


def _value(random: Random, words: list[str], at: int) -> str:
    name, _, _ = _named(words[at])
    words[at] = f"{name}={random.choice(_BY_FLAG.get(name[2:], VALUES))}"
    return words[at]


def _any_value(random: Random, words: list[str], at: int) -> str:
    name, _, _ = _named(words[at])
    words[at] = f"{name}={random.choice(VALUES)}"
    return words[at]


def _known_value(random: Random, words: list[str], at: int) -> str:
    there = [index for index, word in enumerate(words) if _named(word)[0][2:] in _BY_FLAG]
    return _value(random, words, random.choice(there) if there else at)


def _join_value(random: Random, words: list[str], at: int) -> str:
    words[at] = random.choice((words[at].replace("=", "", 1), words[at].replace("=", ":", 1), words[at].replace("=", " = ", 1)))
    return words[at]


def _split_value(random: Random, words: list[str], at: int) -> str:
    name, equals, value = _named(words[at])
    words[at : at + 1] = random.choice(([name, value], [name, "=", value], [f"{name}=", value])) if equals else [name]
    return name


def _no_value(random: Random, words: list[str], at: int) -> str:
    words[at] = _named(words[at])[0] + random.choice(("", "="))
    return words[at]


def _negate(random: Random, words: list[str], at: int) -> str:
    name, equals, value = _named(words[at])
    words[at] = (f"--{name[5:]}" if name.startswith("--no-") else f"--no-{name[2:]}") + equals + value
    return words[at]


def _value_for_switch(random: Random, words: list[str], at: int) -> str:
    switches = [index for index, word in enumerate(words) if word.startswith("--") and "=" not in word]
    at = random.choice(switches) if switches else at
    words[at] = f"{_named(words[at])[0]}={random.choice(('true', 'false', '1', 'yes'))}"
    return words[at]


def _foreign_flag(random: Random, words: list[str], at: int) -> str:
    word = random.choice(_FOREIGN_FLAGS)
    words.insert(random.choice((at, len(words))), word)
    return word


def _typography(random: Random, words: list[str], at: int) -> str:
    name, equals, value = _named(words[at])
    words[at] = random.choice(
        (f"\u2013{name[2:]}{equals}{value}", f"\u2014{name[2:]}{equals}{value}", f"{name}{equals}\u201c{value}\u201d")
    )
    return words[at]


def _number(random: Random, words: list[str], at: int) -> str:
    numbers = [index for index, word in enumerate(words) if re.search(r"=\d+", word)]
    at = random.choice(numbers) if numbers else at
    scale = random.choice((0, -1, 2, 10, 100, 1000, 0.5))
    words[at] = re.sub(r"=(\d+)", lambda found: f"={int(found[1]) * scale:g}", words[at], count=1)
    return words[at]


_EDITS: tuple[Callable[[Random, list[str], int], str], ...] = (
    _drop,
    _double,
    _swap,
    _misspell,
    _misspell,
    _misspell_any,
    _underscores,
    _value,
    _known_value,
    _known_value,
    _known_value,
    _any_value,
    _join_value,
    _split_value,
    _no_value,
    _negate,
    _value_for_switch,
    _foreign_flag,
    _typography,
    _number,
)
