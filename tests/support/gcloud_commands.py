"""Random `gcloud run deploy` and `gcloud run services update` command lines: right ones, and ones with a mistake as people make them."""

import random

from shared.cloudrun.gcloud_flags import EXCLUSIVE, FLAGS, Command, GcloudFlag, Kind, Place

_TRACK = {"g": [], "b": ["beta"], "a": ["alpha"]}
_COMMAND: dict[Command, list[str]] = {"deploy": ["run", "deploy"], "update": ["run", "services", "update"]}
_NOT_OFFLINE = frozenset(
    {
        "help",
        "flags-file",
        "env-vars-file",
        "build-env-vars-file",
        "document",
        "access-token-file",
        "authorization-token-file",
        "credential-file-override",
        "configuration",
        "impersonate-service-account",
        "universe-domain",
        "account",
        "format",
        "flatten",
        "user-output-enabled",
        "container",
        "set-config-maps",
        "update-config-maps",
        "remove-config-maps",
        "clear-config-maps",
        "source",
        "function",
        "platform",
        "depends-on",
        "remove-containers",
        "base-image",
        "clear-base-image",
        "no-build",
        "regions",
        "project",
        "billing-project",
        "no-traffic",
        "mesh-dataplane",
    }
)
"""They read a file, ask the network, print help, change gcloud for later commands, or want another flag or a service beside them."""

_VALUES: dict[Kind, list[str]] = {
    Kind.TEXT: ["x", "4", "16Gi", "a b", "app:1.2", ""],
    Kind.LIST: ["a", "a,b", "^;^a,b;c", "--p=1,--q=2", "", "a,"],
    Kind.DICT: ["K=v", "K=v,L=w=x", "^|^K=a,b|L=c", ""],
    Kind.ENV: ["K=v", "MODEL_NAME=m,TF=1", "^;^K=a,b;L=", "PORT=8501", ""],
    Kind.ENV_NAMES: ["K", "K,L"],
    Kind.CONTAINER_NAMES: ["a", "a,b"],
    Kind.INSTANCES: ["0", "3", "default", "+4"],
    Kind.SCALING: ["auto", "3"],
    Kind.PERCENT: ["10", "default", "0"],
    Kind.CONCURRENCY: ["80", "default", "2000", "1_0"],
    Kind.PORT: ["8500", "default", " 80"],
    Kind.DURATION: ["300", "90m", "1m30s", "20s", "1h", "1d", "PT5M", "5M", "1.5m", "1000ms"],
    Kind.BUILD_ACCOUNT: ["projects/p/serviceAccounts/a@b"],
    Kind.VOLUME: [
        "name=v,type=in-memory",
        "name=v,type=cloud-storage,bucket=b",
        "name=v,type=cloud-storage,bucket=b,readonly=true",
        "name=v,type=nfs,location=1.2.3.4:/x",
        "name=v,type=in-memory,size-limit=1Gi",
    ],
    Kind.MOUNT: ["volume=v,mount-path=/m", "mount-path=/x,volume=w"],
    Kind.STARTUP_PROBE: [
        "tcpSocket.port=8500,periodSeconds=10",
        "httpGet.path=/,httpGet.port=1",
        "grpc.port=1,grpc.service=s",
        "",
        "periodSeconds=",
    ],
    Kind.LIVENESS_PROBE: ["httpGet.path=/v1", "grpc.port=1,failureThreshold=3", "", "initialDelaySeconds=1"],
    Kind.READINESS_PROBE: ["httpGet.path=/v1", "grpc.port=1,successThreshold=3", ""],
}
_OWN_VALUES: dict[str, list[str]] = {
    "set-secrets": ["K=s:1", "/a/b=s:latest", "K=projects/1/secrets/s:2"],
    "update-secrets": ["K=s:1", "/a/b=s:latest"],
    "set-cloudsql-instances": ["p:r:i", "p:r:i,p:r:j"],
    "add-cloudsql-instances": ["p:r:i"],
    "remove-cloudsql-instances": ["p:r:i"],
    "encryption-key-shutdown-hours": ["4"],
    "args": ["--p=1", "--p=1,--q=2", "^;^--p=1,2;--q=3", "serve", ""],
    "command": ["tensorflow_model_server", "sh,-c"],
    "labels": ["team=search", "a=b,c=d"],
    "update-labels": ["team=search"],
    "mesh": ["m"],
    "trace-token": ["t"],
}
_BAD_VALUES = [
    "",
    "abc",
    "-1",
    "0",
    "=",
    "a",
    "K",
    "K=v,,L=w",
    "^^a",
    "none",
    "gen3",
    "70000",
    "1x",
    "foo=bar",
    "X_GOOGLE_A=1",
    "1.5",
    "-x",
    ",",
    "a,a",
]
_INVENTED = [
    "--max-concurrency=60",
    "--gpu-count=1",
    "--gpu-runtime=nvidia-l4",
    "--accelerator=l4",
    "--max-retries=3",
    "--enable_batching=true",
    "--cpus=4",
    "--env=A=1",
    "--max_instances=3",
    "--readiness=1",
    "--no-gpu",
]


def random_command(seed: int, *, mistakes: int) -> list[str]:
    """A command line as its words. Without mistakes gcloud accepts most; with them it refuses most."""
    chance = random.Random(seed)
    command: Command = chance.choice(["deploy", "deploy", "update"])
    track = chance.choice(["g", "g", "b", "a"])
    flags = [flag for flag in FLAGS.values() if track in flag.tracks(command) and flag.name not in _NOT_OFFLINE]
    chosen = _without_conflicts(chance.sample(flags, chance.randint(1, 9)))
    words = [part for flag in chosen for part in [_written(chance, flag)]]
    if chance.random() < 0.15 and command == "deploy":
        words = _with_containers(chance, chosen)
    for _ in range(mistakes):
        words = _mistake(chance, words)
    named = chance.random() < 0.9 or any(part[0].startswith("--revision-suffix") for part in words)
    name = ["svc", "--region=us-east4"] if named else ["--region=us-east4"]
    flat = [word for part in words for word in part]
    first = chance.random() < 0.8 or "--container" in " ".join(flat)
    flat = [*name, *flat] if first else [*flat, *name]
    return ["gcloud", *_TRACK[track], *_COMMAND[command], *flat]


def _without_conflicts(flags: list[GcloudFlag]) -> list[GcloudFlag]:
    names = [flag.name for flag in flags]
    dropped: set[str] = set()
    for group in EXCLUSIVE:
        parts = [part for part in group if any(name in names for name in part)]
        for part in parts[1:]:
            dropped.update(name for name in part if name not in parts[0])
    if "scaling" in names:
        dropped |= {"max", "service-max-instances"}
    if "set-secrets" in names or "update-secrets" in names:
        dropped |= {"set-env-vars", "update-env-vars"}
    return [flag for flag in flags if flag.name not in dropped]


def _value(chance: random.Random, flag: GcloudFlag) -> str:
    if flag.name in {"max", "service-max-instances"}:
        return chance.choice(["1", "40"])
    if flag.choices:
        return chance.choice(flag.choices)
    return chance.choice(_OWN_VALUES.get(flag.name) or _VALUES[flag.kind])


def _written(chance: random.Random, flag: GcloudFlag) -> list[str]:
    if flag.kind is Kind.SWITCH:
        return [f"--{flag.name}" if chance.random() < 0.5 else f"--no-{flag.name}"]
    if flag.kind is Kind.ONE_WAY:
        return [f"--{flag.name}"]
    value = _value(chance, flag)
    if value and not value.startswith("-") and chance.random() < 0.4:
        return [f"--{flag.name}", value]
    return [f"--{flag.name}={value}"]


def _with_containers(chance: random.Random, flags: list[GcloudFlag]) -> list[list[str]]:
    service = [_written(chance, flag) for flag in flags if flag.place is not Place.CONTAINER]
    first = [_written(chance, flag) for flag in flags if flag.place is Place.CONTAINER and flag.name not in {"port", "use-http2"}]
    return [*service, ["--container=main"], *first, ["--image=a"], ["--port=8500"], ["--container", "side"], ["--image", "b"]]


def _mistake(chance: random.Random, words: list[list[str]]) -> list[list[str]]:
    changed = [list(part) for part in words]
    at = chance.randrange(len(changed))
    part = changed[at]
    name, equals, value = part[0].partition("=")
    bad = chance.choice(_BAD_VALUES)
    gone = chance.randrange(2, max(3, len(name)))
    other = _written(chance, chance.choice([flag for flag in FLAGS.values() if flag.name not in _NOT_OFFLINE]))
    put = chance.choice(
        [
            [],
            [part, part],
            [[name]],
            [[f"{name}={bad}"]],
            [[name, bad]],
            [[part[0][:gone] + part[0][gone + 1 :], *part[1:]]],
            [[chance.choice(_INVENTED)], part],
            [["extra"], part],
            [other, part],
            [[name, *([value] if equals else []), *part[1:]]],
            [[part[0].replace("--", "-", 1), *part[1:]]],
        ]
    )
    changed[at : at + 1] = put
    return changed or [["--cpu=1"]]
