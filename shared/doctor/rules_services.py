"""Whether Trimtab can do its work on the services under its care: who else writes them, quota, metrics, the clock. Pure."""

import math
from collections import defaultdict
from collections.abc import Iterator

from shared.cloudrun.metrics import is_metric, is_wrong, nearest
from shared.cloudrun.shapes import ACCELERATORS
from shared.doctor import hcl
from shared.doctor.access import is_default
from shared.doctor.commands import either, gcloud
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import NotAsked, NotSeen, Picture, Served, Source
from shared.doctor.rules_parts import unseen
from shared.doctor.served import LABEL
from shared.records.evidence_keys import CLOUD_RUN, DISTRIBUTIONS, INSTANCE_COUNT, REQUEST_COUNT

MAX_CLOCK_SECONDS = 30.0
"""Google's answers carry whole seconds and take a moment; identity tokens are refused from a few minutes on."""
UNLIMITED = -1
CPU_QUOTA, MEMORY_QUOTA = "CpuAllocPerProjectRegion", "MemAllocPerProjectRegion"
_MILLI = 1_000
_GIB = 2**30
OWN_METRICS = (REQUEST_COUNT, INSTANCE_COUNT, *(each.name for each in DISTRIBUTIONS))
"""Cloud Run's metrics that Trimtab reads."""
OWNED = ("client", "client_version", "scaling", "template", "traffic")
"""What Trimtab writes of a service, as google_cloud_run_v2_service calls it."""
OWNED_V1 = ("metadata[0].annotations", "template", "traffic")
"""The same of google_cloud_run_service."""


def owners(picture: Picture) -> Iterator[Finding]:
    """Services that Terraform writes as well, and services that are gone."""
    if isinstance(picture.owned, NotSeen):
        yield from unseen("owner", "which services have a spec", picture.owned)
    owned = picture.owned if isinstance(picture.owned, tuple) else ()
    for service in owned:
        served = picture.services.get(service, NotAsked())
        if isinstance(served, NotSeen):
            yield from unseen("service", f"the service {service}", served)
        elif served is None:
            why = "it has a spec, and Trimtab makes no service: it waits until somebody does"
            yield Finding("service", Level.PROBLEM, f"{service} is not there", why, f"deploy it, or: trimtab send delete {service}")
        elif isinstance(served, Served) and served.terraform is not None:
            yield from _fight(served)


def runners(picture: Picture) -> Iterator[Finding]:
    """Services that run as an account which Google makes for whatever names none. In a plan it may be known after apply alone."""
    owned = picture.owned if isinstance(picture.owned, tuple) else ()
    for service, served in picture.services.items():
        if not isinstance(served, Served) or (picture.source is Source.PLAN and (service not in owned or served.account is None)):
            continue
        if served.account is None or is_default(served.account):
            what = f"{service} runs as {served.account or 'no account of its own, and so as the default one of Compute Engine'}"
            why = (
                "Trimtab may not act as that account, so each of its changes is refused; and who may, may do whatever else that account "
                "does, which in many projects is an editor"
            )
            words = ("run", "services", "update", service.name, f"--region={service.region}", "--service-account=ACCOUNT")
            give = either(picture, f": {gcloud(*words, project=service.project)}", f" in its template, {hcl.AGAIN}")
            named = "and name it in models of terraform.tfvars and in the spec's serving.service_account"
            yield Finding("service", Level.PROBLEM, what, why, f"give it an account of its own, {named}{give}")


def _fight(served: Served) -> Iterator[Finding]:
    wanted = OWNED_V1 if served.v1 else OWNED
    block = "\n".join(["lifecycle {", "  ignore_changes = [", *(f"    {name}," for name in wanted), "  ]", "}"])
    fought = [name for name in served.changed if name in {each.partition("[")[0] for each in wanted}]
    what = f"{served.service} is also written by Terraform ({served.terraform})"
    why = "its apply puts back what Trimtab changed, and Trimtab what Terraform changed, until Trimtab gives up as Contended"
    if fought:
        yield Finding("owner", Level.PROBLEM, f"{what}: this plan changes {', '.join(fought)}", why, block)
    else:
        unsure = f"{why}; whether its configuration ignores what Trimtab writes cannot be seen from here"
        # A label alone stays for ever, also where the configuration has that block.
        level = Level.NOTE if served.terraform == LABEL else Level.WARNING
        yield Finding("owner", level, what, unsure, block)


def quotas(picture: Picture) -> Iterator[Finding]:
    """Quotas below what the services may grow to."""
    if isinstance(picture.quotas, NotSeen | NotAsked):
        yield from unseen("quota", "the project's quotas", picture.quotas)
        return
    needed: dict[tuple[str, str], float] = defaultdict(float)
    who: dict[tuple[str, str], list[str]] = defaultdict(list)
    for served in picture.services.values():
        if not isinstance(served, Served) or served.max_instances is None or served.service.project != picture.project:
            continue
        for quota, amount in _needs(served):
            key = (quota, served.service.region)
            needed[key] += amount * served.max_instances
            who[key].append(f"{served.service.name} (max {served.max_instances})")
    for key, amount in sorted(needed.items()):
        quota, region = key
        allowed = picture.quotas.get(key)
        if allowed is None:
            why = "its services may need more than it allows, and then a raise is refused"
            yield Finding("quota", Level.UNKNOWN, f"{quota} in {region}: not known", why, "see g.co/cloudrun/gpu-quota")
        elif allowed != UNLIMITED and amount > allowed:
            what = f"{quota} in {region} allows {_amount(quota, allowed)}; {', '.join(who[key])} may need {_amount(quota, amount)}"
            why = "Cloud Run refuses a raise above the quota, when it is needed most"
            yield Finding("quota", Level.WARNING, what, why, "ask for more at g.co/cloudrun/gpu-quota, or lower scale.max_instance_count")


def _needs(served: Served) -> Iterator[tuple[str, float]]:
    """Quota and what one instance takes of it, in the quota's own unit."""
    card = ACCELERATORS.get(served.accelerator or "")
    if card is not None and served.gpus:
        yield card.quota_metric(zonal_redundancy=served.zonal_redundancy), served.gpus * (_MILLI if card.quota_in_milligpu else 1)
    if served.cpu is not None:
        yield CPU_QUOTA, served.cpu * _MILLI
    if served.memory_gib is not None:
        yield MEMORY_QUOTA, served.memory_gib * _GIB


def _amount(quota: str, value: float) -> str:
    if quota == CPU_QUOTA:
        return f"{value / _MILLI:g} vCPU"
    if quota == MEMORY_QUOTA:
        return f"{value / _GIB:g} GiB"
    milli = any(card.quota_in_milligpu and quota.startswith(card.quota_stem) for card in ACCELERATORS.values())
    return f"{value / (_MILLI if milli else 1):g} GPUs"


def metrics(picture: Picture) -> Iterator[Finding]:
    """Metrics that are named and do not exist."""
    there = picture.metrics
    if isinstance(there, NotSeen | NotAsked):
        yield from unseen("metric", "which metrics there are", there)
    else:
        for name in OWN_METRICS:
            if name not in there:
                why = "Trimtab reads it as Unknown: it never lowers and never promotes by it"
                mend = "nothing of yours is wrong: report the project's region and this name to whoever keeps Trimtab"
                yield Finding("metric", Level.WARNING, f"Cloud Monitoring has no metric {name}", why, mend)
    if isinstance(picture.alert_policies, NotSeen | NotAsked):
        yield from unseen("metric", "the alert policies", picture.alert_policies)
        return
    for policy in picture.alert_policies:
        for name in policy.metrics:
            if name.startswith(CLOUD_RUN) and not _exists(name, picture):
                meant = nearest(name)
                mend = f"name {meant} in the policy" if meant else "name one that exists: trimtab lint says more"
                why = "the policy never opens an incident, and nobody is told that it cannot"
                level = Level.PROBLEM if policy.enabled else Level.WARNING
                yield Finding("metric", level, f"the alert policy {policy.name!r} watches {name}, which does not exist", why, mend)


def _exists(name: str, picture: Picture) -> bool:
    if isinstance(picture.metrics, frozenset) and name in picture.metrics:
        return True
    return is_metric(name) or not is_wrong(name)


def clock(picture: Picture) -> Iterator[Finding]:
    """A clock that is off."""
    ahead = picture.clock_ahead_seconds
    if isinstance(ahead, NotSeen | NotAsked):
        yield from unseen("clock", "Google's time", ahead)
    elif math.fabs(ahead) > MAX_CLOCK_SECONDS:
        what = f"this machine's clock is {math.fabs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} Google's"
        why = "tokens made here may be refused, and times in commands mean another moment"
        yield Finding("clock", Level.WARNING, what, why, "sudo timedatectl set-ntp true")
