"""The commands that mend, with every name in them quoted for a shell. Pure."""

import shlex

from shared.doctor.picture import Picture, Source


def gcloud(*words: str, project: str) -> str:
    """A gcloud command about a project."""
    return shlex.join(["gcloud", *words, f"--project={project}"])


def redeploy(picture: Picture) -> str:
    """What makes anew what Terraform makes; for a plan, what to do about the configuration."""
    if picture.source is Source.PLAN:
        return "use the module terraform/modules/control-plane as it is, or add what is missing"
    return shlex.join(["make", "deploy", f"PROJECT={picture.project}", f"REGION={region(picture)}"])


def region(picture: Picture) -> str:
    """Where the functions are; a placeholder where that is not known."""
    functions = picture.functions
    regions = {each.region for each in functions.values() if each.region} if isinstance(functions, dict) else set()
    return min(regions) if regions else "REGION"
