"""Which revisions get traffic and which is the newest, by a service's description or by what the log shows of its status. Pure.

A status comes as YAML or JSON, in one line or in many (`traffic` of v1 with `revisionName`, `trafficStatuses` of v2 with `revision`), as
gcloud's table (`100% LATEST`, `100% seg-00027-bam`), as Terraform's block, or in a person's words (`seg-00027-bam 100 %`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from shared.diagnose.picture import Picture

_NAME = r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ITEM = re.compile(r"\}\s{0,3},?\s{0,3}\{|(?:^|\n|(?<=[\s\[]))-\s(?=\S)|[{}]", re.MULTILINE)
"""Where one entry of a list ends and the next begins."""
_PERCENT_KEY = re.compile(r"\bpercent[\"']?\s?[:=]\s?[\"']?(\d{1,3})\b", re.IGNORECASE)
_REVISION_KEY = re.compile(
    rf"\brevision(?:_?name)?[\"']?\s?[:=]\s?[\"']?(?:projects/\S{{1,200}}/revisions/)?(?P<revision>{_NAME})\b", re.IGNORECASE
)
_LATEST_KEY = re.compile(r"\blatest_?revision[\"']?\s?[:=]\s?[\"']?true|allocation_type_latest", re.IGNORECASE)
_ROW = re.compile(rf"(?:^|\s)(?P<percent>\d{{1,3}}) ?% (?P<what>LATEST|{_NAME}-{_NAME})(?=\s|,|;|$)", re.MULTILINE)
_WORDS = re.compile(rf"\b(?P<revision>{_NAME}-{_NAME})\s?[:=]?\s?(?P<percent>\d{{1,3}}) ?%")
_UPDATED = re.compile(rf"last updated on .{{1,200}}?\brevision (?P<revision>{_NAME})\b", re.IGNORECASE | re.DOTALL)
LATEST = "LATEST"
_MOST_ENTRIES = 100


@dataclass(frozen=True, slots=True)
class Share:
    """The part of the traffic that a revision gets by configuration; `revision` is `LATEST` where it follows the newest."""

    revision: str
    percent: float
    told: str


def traffic_shares(picture: Picture) -> list[Share]:
    """What traffic names, by the service's description, else by the log; each revision once."""
    found = []
    targets = picture.deployment.service.get("traffic")
    for target in targets if isinstance(targets, list) else []:
        if isinstance(target, dict) and isinstance(target.get("revision"), str) and target.get("percent"):
            percent = float(target["percent"])
            found.append(Share(target["revision"], percent, f"traffic gives {percent:g} % to {target['revision']}"))
    if found or isinstance(targets, list):
        return found
    shares: dict[str, Share] = {}
    for revision, percent, told in (*_entries(picture), *_rows(picture)):
        shares.setdefault(revision, Share(revision, percent, told))
    return list(shares.values())


def _entries(picture: Picture) -> Iterator[tuple[str, float, str]]:
    """Entries of a list that have a share and a revision, from the first word `traffic` on."""
    begins = next((at for at, line in enumerate(picture.lines) if "traffic" in line.text.lower()), None)
    if begins is None:
        return
    lines = picture.lines[begins:]
    text = "\n".join(line.text for line in lines)
    offset = text.lower().index("traffic")
    entries = ((item, percent) for item in _ITEM.split(text[offset:]) if (percent := _PERCENT_KEY.search(item)) is not None)
    for item, percent in islice(entries, _MOST_ENTRIES):
        revision = _REVISION_KEY.search(item)
        told = next((line.quoted() for line in lines if percent[0] in line.text and (revision is None or revision[0] in line.text)), None)
        told = told or next((line.quoted() for line in lines if percent[0] in line.text), "traffic")
        if _LATEST_KEY.search(item) is not None:
            yield LATEST, float(percent[1]), told
        elif revision is not None:
            yield revision["revision"], float(percent[1]), told


def _rows(picture: Picture) -> Iterator[tuple[str, float, str]]:
    """The table of gcloud, and a person's words."""
    table = False
    for line in picture.lines:
        table = table or "traffic" in line.text.lower()
        if not table:
            continue
        rows = [(row["what"], float(row["percent"])) for row in _ROW.finditer(line.text)]
        if not rows and "traffic" in line.text.lower():
            rows = [(each["revision"], float(each["percent"])) for each in _WORDS.finditer(line.text)]
        for what, percent in rows:
            yield what, percent, line.quoted()


def newest_ready(picture: Picture) -> tuple[str, str] | None:
    """The newest revision that is ready, and what says so; None where nothing does."""
    sighting = picture.last("latest-ready") or picture.last("serves-nothing") or picture.last("latest-created")
    if sighting is not None:
        return str(sighting.match["revision"]), str(sighting)
    status = picture.deployment.service.get("latestReadyRevision")
    if isinstance(status, str) and status:
        return status.rpartition("/")[2], f"latestReadyRevision is {status}"
    found = _UPDATED.search(picture.log_text)
    if found is not None:
        line = next(line for line in picture.lines if found["revision"] in line.text)
        return found["revision"], f"{line.quoted()} [the service was last updated with this revision]"
    return None
