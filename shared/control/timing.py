"""Every time constant of the decisions, with where it comes from."""

METRIC_FRESH_SECONDS = 300.0
"""An older sample is Unknown. Cloud Run samples every 60 s and shows a point up to 120-180 s later; two lost points are still fresh."""

OUT_COOLDOWN_SECONDS = 60.0
"""Between two raises of any bound: Cloud Run's autoscaler acts on a bound at once, so one sampling period is enough."""

EFFECT_SECONDS = 420.0
"""Between two changes for the same signal: sampling 60 s + visibility up to 240 s + an alert's alignment and duration 120 s. Before
that, an alert that is still open says nothing about the change."""

IN_COOLDOWN_SECONDS = 600.0
"""Between any change, or the end of any trouble, and a lowering: a GPU instance is kept warm 10 minutes when idle, and starting
another takes minutes."""

FLOOR_SECONDS = 1_800.0
"""How long raised min instances stay, at least: three idle retention times of a GPU instance."""

EPISODE_GRACE_SECONDS = 900.0
"""A signal that comes back within this time of its last incident's end is the same trouble (flapping alerts)."""

LOG_MATCH_INCIDENT_SECONDS = 1_800.0
"""Log-match policies never report an end; Cloud Monitoring's shortest automatic close is 30 minutes."""

METRIC_INCIDENT_SECONDS = 7 * 24 * 3600.0
"""Cloud Monitoring's default automatic close. A close that is still missing then was lost."""

ATTEMPT_BUDGET = 4
"""Changes for one signal of one service per `ATTEMPT_WINDOW_SECONDS`; a fifth would not help either: a person must look."""

ATTEMPT_WINDOW_SECONDS = 6 * 3600.0
"""The window of the attempt budget: a rush every morning starts with a fresh budget."""

PIN_REST_SECONDS = 600.0
"""Between two times that what a pin keeps is put back: somebody who changes it again at once is not answered at once."""
ACT_LEASE_SECONDS = 60.0
"""An announced change belongs to its announcer for so long: reconcile ends within 50 s, its ack deadline is 60 s."""

QUOTA_CEILING_SECONDS = 3_600.0
"""How long a refusal for quota is believed: granting more takes people hours, and asking again costs one refused call."""

FOREIGN_CHANGE_SECONDS = 3_600.0
"""How long another person's value of a field is left alone."""

REFUSED_WRITE_SECONDS = 600.0
"""How long a refused write is not tried again."""

UNWRITTEN_SECONDS = 60.0
"""After the second change in a row that never reached Cloud Run; it doubles with each further one."""

UNWRITTEN_AT_MOST_SECONDS = 300.0
"""And no longer than this: when Cloud Run answers again, the waiting change goes out within five minutes."""

TICK_SECONDS = 60.0
"""The schedule's period: nothing is looked at more often than that by the clock alone."""

SCALE_IN_USE_RATIO = 0.8
"""A bound is lowered only to where at most this share of it is in use."""

ROLLOUT_SLACK_SECONDS = 600.0
"""Beyond the start-up window: pulling the image, finding a GPU, Cloud Run's own reconciliation."""

ROLLOUT_RETRY_SECONDS = 300.0
"""After a candidate for which Cloud Run had no GPU, it doubles with each further one: instances end within minutes."""

ROLLOUT_RETRY_AT_MOST_SECONDS = 3_600.0
"""And no longer than this."""

ROLLOUT_ATTEMPTS = 8
"""Candidates of one template that Cloud Run had no room for; after that a person must look."""

CONTENDED_SECONDS = 24 * 3600.0
"""A second change by others within this time of Trimtab's putting it back means that two hands disagree: people win."""

PROBE_FAILURES = 3
"""A golden request that fails so often in a row, one tick apart, condemns the candidate; a single failure may be the network's."""

TRIAL_SETTLE_SECONDS = 60.0
"""After a repair has the traffic: instances start, clients connect anew; what is measured before says nothing of it."""

HARM_SHOWS_SECONDS = 180.0
"""After a repair has the traffic: more than half of a window of metrics, so that its median is of the time after, and longer than instances
take to start."""

TRIAL_AT_MOST_SECONDS = 1_800.0
"""Without metrics, or under quite another load, a repair is judged no later than this: it stays, unproven."""

REPAIR_ATTEMPTS = 3
"""Repairs of one service per `REPAIR_WINDOW_SECONDS`: each is a GPU cold start; a fourth would not help either."""

REPAIR_WINDOW_SECONDS = 6 * 3600.0
"""The window of the repairs' budget, as of the attempts'."""

REPAIR_COOLDOWN_SECONDS = 900.0
"""Between two repairs: start-up, a window of metrics, their delay, and an alert's own duration must have passed to see what one did."""

ROLLOUT_WRITE_TRIES = 5
"""A write that was announced so often and never reached Cloud Run ends the rollout."""
