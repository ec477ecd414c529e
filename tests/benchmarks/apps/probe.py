"""A real function that can be asked, at `GET /modules`, what its process has loaded.

`BENCH_FUNCTION` names the function; `BENCH_ALSO_IMPORT` (names with commas) is loaded after it.
"""

import importlib
import json
import os
import sys

import functions_framework
from flask import Request

from tests.benchmarks.sources import load_main

_name = os.environ["BENCH_FUNCTION"]
_real = getattr(load_main(_name), _name)
for _other in filter(None, os.environ.get("BENCH_ALSO_IMPORT", "").split(",")):
    importlib.import_module(_other)


@functions_framework.http
def probe(request: Request) -> tuple[str, int]:
    if request.method == "GET" and request.path == "/modules":
        return json.dumps(sorted(sys.modules)), 200
    answer: tuple[str, int] = _real(request)
    return answer
