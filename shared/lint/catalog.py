"""Every lint code: what it reports, why, what mends it, and by whose authority. Names never change their meaning. Pure.

The texts are in one module for each thing that codes are about; here they become one mapping. Importing it loads nothing else.
"""

from collections.abc import Mapping

from shared.lint.code import Code, Group
from shared.lint.codes_batching_form import FORM_CODES
from shared.lint.codes_batching_meaning import MEANING_CODES
from shared.lint.codes_commands import COMMAND_CODES
from shared.lint.codes_flags import FLAG_CODES
from shared.lint.codes_instances import INSTANCE_CODES
from shared.lint.codes_models import MODEL_FILE_CODES, MODELS_FILE_CODES, QUERY_CODES
from shared.lint.codes_probes import PROBE_CODES
from shared.lint.codes_service import SERVICE_CODES

__all__ = ["CODES", "GROUPS", "Code", "Group"]

GROUPS: tuple[Group, ...] = (
    Group("gcloud command", COMMAND_CODES),
    Group("Cloud Run instances: GPU, CPU, memory, image, scaling", INSTANCE_CODES),
    Group("Cloud Run service: limits, document, ports", SERVICE_CODES),
    Group("Probes", PROBE_CODES),
    Group("Batching parameters file, form", FORM_CODES),
    Group("Batching parameters, meaning", MEANING_CODES),
    Group("Flags of tensorflow_model_server", FLAG_CODES),
    Group("models.config", MODELS_FILE_CODES),
    Group("Model files", MODEL_FILE_CODES),
    Group("Alert policies and queries", QUERY_CODES),
)
"""All codes, in the order in which they are listed."""

CODES: Mapping[str, Code] = {code.name: code for group in GROUPS for code in group.codes}
"""By name."""
