"""The functions' own source files, loaded as functions-framework loads them."""

import importlib.util
from pathlib import Path
from typing import Any

import shared

ROOT = Path(shared.__file__).parent.parent
APPS = Path(__file__).parent / "apps"


def main_of(function: str) -> Path:
    return ROOT / "functions" / function / "main.py"


def load_main(function: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"main_of_{function}", main_of(function))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
