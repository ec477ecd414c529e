"""The methods of Google's APIs that the doctor calls, each with the permission that it takes. All of them read.

Names, paths and permissions as in the APIs' reference. A policy is asked for in its third version: in the first, where there is a
condition, a role is shown under a name that it does not have, or nothing is shown at all.
"""

from typing import Final

from shared.gcp.project_calls import Method

RUN: Final = "run.googleapis.com"
_PUBSUB, _FIRESTORE, _STORAGE = "pubsub.googleapis.com", "firestore.googleapis.com", "storage.googleapis.com"
_MONITORING, _IAM, _RESOURCES = "monitoring.googleapis.com", "iam.googleapis.com", "cloudresourcemanager.googleapis.com"
ENABLED = Method("serviceusage.services.list", "serviceusage.googleapis.com", "v1", "serviceusage.services.list")
PROJECT = Method("cloudresourcemanager.projects.get", _RESOURCES, "v3", "resourcemanager.projects.get")
PROJECT_POLICY = Method(
    "cloudresourcemanager.projects.getIamPolicy", _RESOURCES, "v3", "resourcemanager.projects.getIamPolicy", verb="POST"
)
ANCESTRY = Method("cloudresourcemanager.projects.getAncestry", _RESOURCES, "v1", "resourcemanager.projects.get", verb="POST")
FOLDER_POLICY = Method("cloudresourcemanager.folders.getIamPolicy", _RESOURCES, "v3", "resourcemanager.folders.getIamPolicy", verb="POST")
ORGANIZATION_POLICY = Method(
    "cloudresourcemanager.organizations.getIamPolicy", _RESOURCES, "v3", "resourcemanager.organizations.getIamPolicy", verb="POST"
)
BUCKET = Method("storage.buckets.get", _STORAGE, "storage/v1", "storage.buckets.get")
BUCKET_POLICY = Method("storage.buckets.getIamPolicy", _STORAGE, "storage/v1", "storage.buckets.getIamPolicy")
NOTIFICATIONS = Method("storage.notifications.list", _STORAGE, "storage/v1", "storage.buckets.get")
REPOSITORY_POLICY = Method(
    "artifactregistry.projects.locations.repositories.getIamPolicy",
    "artifactregistry.googleapis.com",
    "v1",
    "artifactregistry.repositories.getIamPolicy",
)
FUNCTIONS_LIST = Method(
    "cloudfunctions.projects.locations.functions.list", "cloudfunctions.googleapis.com", "v2", "cloudfunctions.functions.list"
)
TOPICS_LIST = Method("pubsub.projects.topics.list", _PUBSUB, "v1", "pubsub.topics.list")
TOPIC_POLICY = Method("pubsub.projects.topics.getIamPolicy", _PUBSUB, "v1", "pubsub.topics.getIamPolicy")
SUBSCRIPTIONS = Method("pubsub.projects.subscriptions.list", _PUBSUB, "v1", "pubsub.subscriptions.list")
SUBSCRIPTION_POLICY = Method("pubsub.projects.subscriptions.getIamPolicy", _PUBSUB, "v1", "pubsub.subscriptions.getIamPolicy")
JOB = Method("cloudscheduler.projects.locations.jobs.get", "cloudscheduler.googleapis.com", "v1", "cloudscheduler.jobs.get")
SINK = Method("logging.projects.sinks.get", "logging.googleapis.com", "v2", "logging.sinks.get")
DATABASE = Method("firestore.projects.databases.get", _FIRESTORE, "v1", "datastore.databases.getMetadata")
FIELDS = Method("firestore.projects.databases.collectionGroups.fields.list", _FIRESTORE, "v1", "datastore.indexes.list")
DOCUMENTS = Method("firestore.projects.databases.documents.list", _FIRESTORE, "v1", "datastore.entities.list")
SERVICE = Method("run.projects.locations.services.get", RUN, "v2", "run.services.get")
SERVICE_POLICY = Method("run.projects.locations.services.getIamPolicy", RUN, "v2", "run.services.getIamPolicy")
ACCOUNTS = Method("iam.projects.serviceAccounts.list", _IAM, "v1", "iam.serviceAccounts.list")
ACCOUNT_POLICY = Method("iam.projects.serviceAccounts.getIamPolicy", _IAM, "v1", "iam.serviceAccounts.getIamPolicy", verb="POST")
QUOTAS = Method("cloudquotas.projects.locations.services.quotaInfos.list", "cloudquotas.googleapis.com", "v1", "cloudquotas.quotas.get")
DESCRIPTORS = Method("monitoring.projects.metricDescriptors.list", _MONITORING, "v3", "monitoring.metricDescriptors.list")
ALERT_POLICIES = Method("monitoring.projects.alertPolicies.list", _MONITORING, "v3", "monitoring.alertPolicies.list")

_VERSION: Final = "3"
IN_QUERY: Final = {"options.requestedPolicyVersion": _VERSION}
"""Of most getIamPolicy methods."""
IN_BUCKETS_QUERY: Final = {"optionsRequestedPolicyVersion": _VERSION}
IN_BODY: Final = {"options": {"requestedPolicyVersion": int(_VERSION)}}
"""Of those of the Resource Manager."""
