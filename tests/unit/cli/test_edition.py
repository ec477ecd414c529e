"""The local edition: real entry points, a store that may be kept, a simulated Cloud Run."""

import json
from datetime import UTC, datetime
from pathlib import Path

from cli.edition import LocalEdition
from cli.local_service import CAP, SERVICE, spec
from shared import log
from shared.local.clock import SeededIds, VirtualClock
from shared.records.observed import Bounds
from shared.records.plan import DenialCode
from shared.records.service import Hold
from shared.simulation.monitoring import notification

START = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)


def incident(edition: LocalEdition, clock: VirtualClock) -> None:
    edition.adopt(spec(), Bounds(max_instance_count=CAP), demand=6)
    body = notification(SERVICE, "0.a1", "open", started_at=START, now=clock.now())
    edition.bus.publish("alerts", json.dumps(body).encode())
    edition.bus.run_until_idle()


def test_an_alert_goes_through_the_real_entry_points() -> None:
    clock = VirtualClock(START)
    with log.silenced(), LocalEdition(":memory:", clock, SeededIds(clock)) as edition:
        incident(edition, clock)
        assert edition.status(SERVICE)["max_instance_count"] == 8
        assert edition.bus.counts.refused == 0


def test_a_kept_store_starts_where_it_left_off_and_sees_no_foreign_hand(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    with log.silenced(), LocalEdition(tmp_path / "kept.db", clock, SeededIds(clock)) as edition:
        incident(edition, clock)
    clock.advance(60)
    with log.silenced(), LocalEdition(tmp_path / "kept.db", clock, SeededIds(clock, seed=8)) as edition:
        edition.adopt(spec(), Bounds(max_instance_count=CAP), demand=6)
        assert edition.status(SERVICE)["max_instance_count"] == 8
        edition.tick()
        edition.bus.run_until_idle()
        codes = [denial.code for decision in edition.store.decisions(SERVICE, limit=10) for denial in decision.denials]
        assert DenialCode.FOREIGN_CHANGE not in codes


def test_two_editions_one_after_the_other_do_not_share_their_ports() -> None:
    for _ in range(2):
        clock = VirtualClock(START)
        with log.silenced(), LocalEdition(":memory:", clock, SeededIds(clock)) as edition:
            incident(edition, clock)
            assert edition.status(SERVICE)["cloud_run_writes"] == 1


def test_a_kept_store_keeps_the_spec_and_the_holds_that_commands_gave(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    hold = Hold(hold_id="launch", reason="launch day", author="kim", created_at=START)
    with log.silenced(), LocalEdition(tmp_path / "kept.db", clock, SeededIds(clock)) as edition:
        incident(edition, clock)
        stored = edition.store.read(SERVICE).document
        assert stored is not None
        changed = stored.model_copy(update={"generation": 2, "holds": (hold,)})
        edition.store.put_service(changed, if_generation=1)
    with log.silenced(), LocalEdition(tmp_path / "kept.db", clock, SeededIds(clock, seed=8)) as edition:
        edition.adopt(spec(), Bounds(max_instance_count=CAP), demand=6)
        assert edition.store.read(SERVICE).document == changed
