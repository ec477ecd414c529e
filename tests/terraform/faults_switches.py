"""Faults to plant in what a deployment may switch on: half of a switch, and a switch that nobody threw."""

from tests.terraform.faults import CONTROL, FUNCTIONS, Seen
from tests.terraform.plans import Edit

SWITCHES = "modules/control-plane/switches.tf"

HALF = {
    "a profiler that the functions are not told of": Seen(
        Edit(SWITCHES, 'TRIMTAB_PROFILER = "true"', 'TRIMTAB_PROFILE = "true"'), "TRIMTAB_PROFILE='true': Extra inputs"
    ),
    "a ratio that is no number": Seen(
        Edit(SWITCHES, "tostring(var.trace_ratio)", '"often"'), "command: settings: TRIMTAB_TRACE_RATIO='often'"
    ),
    "a right to look at profiles instead of sending them": Seen(
        Edit(SWITCHES, '"roles/cloudprofiler.agent"', '"roles/cloudprofiler.user"'),
        "roles: not in the list: Granted(member="
        "'serviceAccount:trimtab-reconcile@acme-ml.iam.gserviceaccount.com', role='roles/cloudprofiler.user', on='project acme-ml'",
    ),
    "spans by the right to write everything": Seen(
        Edit(SWITCHES, '"roles/telemetry.tracesWriter"', '"roles/telemetry.writer"'), "role='roles/telemetry.writer', on='project acme-ml'"
    ),
    "the second role of who sends spans left out": Seen(
        Edit(SWITCHES, ', "roles/serviceusage.serviceUsageConsumer"', ""),
        "roles: missing: Granted(member='serviceAccount:trimtab-reconcile@acme-ml.iam.gserviceaccount.com', "
        "role='roles/serviceusage.serviceUsageConsumer'",
    ),
    "rights of reconcile alone": Seen(
        Edit(SWITCHES, "for name in keys(local.functions) :", 'for name in ["reconcile"] :'),
        "roles: missing: Granted(member='serviceAccount:trimtab-alert@acme-ml.iam.gserviceaccount.com', role='roles/cloudprofiler.agent'",
    ),
    "an API of the profiler that is another": Seen(
        Edit(SWITCHES, '"cloudprofiler.googleapis.com"', '"profiler.googleapis.com"'),
        "APIs: profiler.googleapis.com is switched on, and nobody needs it",
    ),
    "spans that nobody keeps": Seen(
        Edit(SWITCHES, '"cloudtrace.googleapis.com", ', ""), "APIs: cloudtrace.googleapis.com is needed and stays off"
    ),
}
"""Planned with everything switched on."""
UNTOLD = {
    "switches without their variables": Seen(
        Edit(FUNCTIONS, "merge(local.environment, local.switched_environment, ", "merge(local.environment, "),
        "trimtab-upload: is told of {}, want {'TRIMTAB_",
    ),
    "switches without their APIs": Seen(
        Edit(CONTROL, "], local.switched_apis)", "])"),
        "APIs: telemetry.googleapis.com is needed and stays off",
    ),
    "a profiler that the root keeps to itself": Seen(
        Edit("main.tf", "  cloud_profiler           = var.cloud_profiler\n", ""),
        "trimtab-alert: is told of {'TRIMTAB_TRACE_RATIO': '0.05'}, want {",
    ),
    "a ratio that the root keeps to itself": Seen(
        Edit("main.tf", "  trace_ratio              = var.trace_ratio\n", ""),
        "trimtab-alert: is told of {'TRIMTAB_PROFILER': 'true'}, want {",
    ),
}
"""Likewise, and each by itself: together they would hide each other."""
UNASKED = {
    "a profiler that nobody switched on": Seen(
        Edit(SWITCHES, "on          = var.cloud_profiler", "on          = true"),
        "roles: not in the list: Granted(member='serviceAccount:trimtab-alert@acme-ml.iam.gserviceaccount.com', "
        "role='roles/cloudprofiler.agent'",
    ),
    "spans that nobody switched on": Seen(
        Edit(SWITCHES, "var.trace_ratio > 0", "var.trace_ratio >= 0"),
        "roles: not in the list: Granted(member='serviceAccount:trimtab-alert@acme-ml.iam.gserviceaccount.com', "
        "role='roles/telemetry.tracesWriter'",
    ),
}
"""Planned with nothing switched on."""
