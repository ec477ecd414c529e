"""server-flag-invalid: flags that tensorflow_model_server does not have, and values that it cannot read. Pure."""

from collections.abc import Iterator

from shared.lint.deployment import Deployment
from shared.lint.finding import Finding
from shared.lint.server_flags import Stray, is_boolean, server_flags, strays
from shared.tfserving.faults import shown
from shared.tfserving.flags import BY_NAME, INVENTED, MAX_SHOWN, BadValue, read_argument

_GOES_ON = "the server prints `unknown argument` and goes on without it"
_STOPS = "the server prints its usage and ends with status 255"
_FILE_WORD = "--batching_parameters_file"
_PLAIN_FIELDS = ("allowed_batch_sizes", "pad_variable_length_inputs")
_AND_NAME_IT = "pass --enable_batching=true --batching_parameters_file=/etc/batching.txt"


def invalid_flag_rules(deployment: Deployment) -> Iterator[Finding]:
    """One finding for each mistake."""
    if server_flags(deployment) is None:
        return
    for stray in strays(deployment):
        yield Finding(
            "server-flag-invalid",
            f"{_shown(stray)}: {stray.meaning}; {_STOPS if stray.bad_value else _GOES_ON}",
            deployment.where_argument(stray.argument),
            _fix(stray),
        )


def _shown(stray: Stray) -> str:
    """The argument, with the value that stands apart."""
    text = stray.argument.text
    if not stray.name:
        return shown(text, limit=MAX_SHOWN)
    if not text.startswith("-"):
        return shown(f"--{stray.name} {text}", limit=MAX_SHOWN)
    apart = f" {stray.value}" if stray.value is not None and "=" not in text else ""
    return shown(f"{text}{apart}", limit=MAX_SHOWN)


def _fix(stray: Stray) -> str:
    name, value = stray.name, shown(stray.value, limit=MAX_SHOWN) if stray.value is not None else None
    if not name:
        return "leave it out, or write it as --flag=value"
    if stray.bad_value:
        return f"--{name}={_true_or_false(value)}" if is_boolean(name) else f"--{name}=N, with a number for N"
    plain = name.replace("-", "_").lower()
    if plain in INVENTED and _FILE_WORD in INVENTED[plain]:
        return f"{_in_the_file(plain, value)} in the batching file, and {_AND_NAME_IT}"
    if stray.meant is not None:
        return f"--{stray.meant}={_fitting(stray.meant, value)}"
    return INVENTED.get(plain, f"leave --{shown(name, limit=MAX_SHOWN)} out: tensorflow_model_server has no such setting")


def _in_the_file(field: str, value: str | None) -> str:
    number = value if value is not None and value.lstrip("-").isalnum() else "N"
    return f"`{field}: {number}`" if field in _PLAIN_FIELDS else f"`{field} {{ value: {number} }}`"


def _fitting(name: str, value: str | None) -> str:
    """The value given, where the flag can read it."""
    if value is not None and not isinstance(read_argument(f"--{name}={value}"), BadValue):
        return value
    if is_boolean(name):
        return _true_or_false(value)
    return "N" if BY_NAME[name].default is None or not isinstance(BY_NAME[name].default, str) else "VALUE"


def _true_or_false(value: str | None) -> str:
    return "false" if value is not None and value.lower() in {"no", "off", "n", "f", "disabled", "none"} else "true"
