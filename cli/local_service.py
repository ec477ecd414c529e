"""The service that `trimtab local` begins with: at its cap of four instances, and Trimtab may act."""

from shared.records.service import Autonomy, Objective, ScaleBounds, ServiceDocument, ServiceSpec
from shared.records.subject import ServiceId

SERVICE = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
CAP = 4


def spec() -> ServiceDocument:
    """The owner's spec: up to 10 instances, up to 9 dollars an hour, and Trimtab may act."""
    wish = ServiceSpec(scale=ScaleBounds(max_instance_count=10), objective=Objective(usd_per_hour=9.0), autonomy=Autonomy.ACT)
    return ServiceDocument(id=SERVICE, spec=wish)
