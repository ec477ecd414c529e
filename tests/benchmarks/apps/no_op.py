"""A function that does nothing: what the server itself costs."""

import functions_framework
from flask import Request


@functions_framework.http
def no_op(_request: Request) -> tuple[str, int]:
    return "done\n", 200
