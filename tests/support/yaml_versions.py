"""YAML as its two versions read it, and neither with a key twice in one mapping."""

import re
from typing import Any

import yaml

TWICE = "a key stands twice"


class NoFieldTwice(yaml.SafeLoader):
    """YAML's own rule, which PyYAML does not keep."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        found = super().construct_mapping(node, deep=deep)
        if len(found) < len(node.value):
            raise yaml.constructor.ConstructorError(None, None, TWICE, node.start_mark)
        return found


class Yaml11(NoFieldTwice):
    """Scalars as YAML 1.1 types them: `yes` is true, `0444` is octal."""


class Yaml12(NoFieldTwice):
    """Scalars as YAML 1.2 types them."""


Yaml12.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag.rsplit(":", 1)[1] not in {"timestamp", "bool", "int", "float"}]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Yaml12.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
Yaml12.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789"))
Yaml12.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"), list("-+.0123456789")
)
