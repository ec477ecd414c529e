"""Causes in the control of a service, and in what is observed of it. Pure."""

from shared.diagnose.known import Harm, KnownCause, Lookalike

CONTROL: tuple[KnownCause, ...] = (
    KnownCause(
        name="stale-etag",
        title="The service changed since it was read",
        seen="409 ABORTED `Conflict for resource 'ranker': version '1786872223639166' was specified but current version is "
        "'1786872645876013'.` Cloud Run's own reconciliation moves the version too.",
        not_to_be_confused_with=(Lookalike("revision-name-conflict", "also 409, with ALREADY_EXISTS and the words `Revision named`"),),
        where_visible="The answer to the call, and the audit log.",
        remedies=("reread-and-retry",),
        wrong_answers=(
            Harm(("clear-revision-name", "pin-or-roll-back", "retry-rollout-later"), "Nothing is wrong with the revision."),
            Harm(("back-off-admin-calls",), "Waiting does not make the old version current again."),
        ),
    ),
    KnownCause(
        name="revision-name-conflict",
        title="The template carries the name of a revision that exists",
        seen="409 ALREADY_EXISTS `Revision named 'ranker-00042-def' with different configuration already exists.`",
        not_to_be_confused_with=(Lookalike("stale-etag", "also 409, with ABORTED and two version numbers"),),
        where_visible="The answer to the call, and the audit log.",
        remedies=("clear-revision-name",),
        wrong_answers=(
            Harm(("reread-and-retry", "retry-rollout-later", "back-off-admin-calls"), "The same name gives the same answer every time."),
            Harm(("pin-or-roll-back",), "Nothing was written."),
        ),
    ),
    KnownCause(
        name="api-request-invalid",
        title="The call itself is wrong",
        seen="400 `not supported in the declared launch stage`, 501 `Operation is not implemented, or supported, or enabled.`, or "
        "another 400 about a field that is no quota.",
        not_to_be_confused_with=(
            Lookalike("gpu-quota-refused", "its text names a quota or GPUs"),
            Lookalike("admin-api-rate-limit", "its text names a quota per minute"),
        ),
        where_visible="The answer to the call, and the audit log.",
        remedies=("fix-api-request",),
        wrong_answers=(
            Harm(("request-quota-increase", "clamp-max-instances"), "No quota is involved."),
            Harm(("retry-rollout-later", "back-off-admin-calls", "reread-and-retry"), "The same call gets the same answer."),
        ),
    ),
    KnownCause(
        name="traffic-pinned",
        title="The new revision is ready and gets no traffic",
        seen="The newest revision is Ready, and the service's traffic names an older one: after a rollback or a split, new revisions "
        "start at 0 %.",
        not_to_be_confused_with=(Lookalike("rollout-in-progress", "the new revision is not ready yet"),),
        where_visible="The service's traffic; request_count by revision_name.",
        remedies=("move-traffic",),
        wrong_answers=(
            Harm(("wait", "retry-rollout-later", "deploy-new-revision"), "The next revision starts at 0 % as well."),
            Harm(("republish-version", "replace-image"), "The deployment is fine."),
        ),
    ),
)

OBSERVATION: tuple[KnownCause, ...] = (
    KnownCause(
        name="insufficient-data",
        title="There is not enough data to say anything",
        seen="Metrics that the answer needs are absent, too few, or newer than Cloud Monitoring's delay (about three minutes). An "
        "incident that closes because data stopped is no recovery.",
        not_to_be_confused_with=(
            Lookalike("over-provisioned", "the metrics are complete for days"),
            Lookalike("metric-name-wrong", "other metrics of the service have points, these never do"),
        ),
        where_visible="The queries themselves: no points, or points of the last three minutes only.",
        remedies=("hold",),
        wrong_answers=(
            Harm(
                ("lower-min-instances", "clamp-max-instances"),
                "Empty is not zero: a service with warm instances always has an instance count.",
            ),
            Harm(("raise-concurrency", "pin-or-roll-back"), "Without data nothing speaks for a change."),
        ),
    ),
    KnownCause(
        name="metric-name-wrong",
        title="The query asks for something that does not exist",
        seen="A query for a name or an aligner that does not exist stays empty or is refused, while other metrics of the same service "
        "have points. The names are plural: container/gpu/utilizations.",
        not_to_be_confused_with=(Lookalike("insufficient-data", "the name is right, and points are missing"),),
        where_visible="The query, and the list of metric descriptors.",
        remedies=("fix-metric-query",),
        wrong_answers=(
            Harm(("lower-min-instances", "clamp-max-instances"), "Empty is not zero load."),
            Harm(("raise-max-instances", "raise-concurrency", "lower-concurrency"), "Nothing was measured."),
        ),
    ),
    KnownCause(
        name="no-fault",
        title="Nothing is wrong",
        seen="Latency and errors are inside the target, but for single minutes; no sign of another cause.",
        not_to_be_confused_with=(Lookalike("over-provisioned", "for days far more instances than needed"),),
        where_visible="The metrics of the objective over the whole window, not one minute.",
        remedies=("hold", "wait"),
        wrong_answers=(
            Harm(
                ("raise-max-instances", "raise-min-instances", "lower-min-instances", "lower-concurrency", "lower-max-batch-size"),
                "A change after one bad minute is followed by the change back.",
            ),
            Harm(("pin-or-roll-back",), "The revision is well."),
        ),
    ),
)
