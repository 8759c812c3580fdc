"""Automations on Prefect's server for unattended runs."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from prefect.client.schemas.objects import StateType
from prefect.events.actions import ActionTypes, ChangeFlowRunState, SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture

from flows.seen import HEARTBEAT_SECONDS, TAG

SILENT = timedelta(seconds=5 * HEARTBEAT_SECONDS)
"""Silence after which a run counts as crashed."""
STUCK = timedelta(minutes=30)
"""Time for a run to start, scale-up of a node and pull of an image included."""
OVERDUE = timedelta(hours=12)
"""Maximum delay of a check: then the next night's is nearer."""

_RUN, _EACH = "prefect.resource.id", {"prefect.resource.id"}
_OVER = frozenset(f"prefect.flow-run.{name}" for name in ("Completed", "Failed", "Crashed"))
_CANCELLED = frozenset({"prefect.flow-run.Cancelled", "prefect.flow-run.Cancelling"})


def automations(notify: UUID | None = None) -> list[AutomationCore]:
    """The automations, for runs with the tag ``tomrl`` alone.

    Args:
        notify: A notification block for runs that crash, fail or are late; None for none.
    """
    found = [
        AutomationCore(
            name="tomrl: crashed runs",
            description="A run whose heartbeat has stopped is dead: it gives back its slot.",
            trigger=_missing("heartbeat", {"prefect.flow-run.heartbeat"}, SILENT),
            actions=[_end(f"no heartbeat for {SILENT}: its process or its machine is gone")],
        ),
        AutomationCore(
            name="tomrl: stuck pending runs",
            description="A run that was handed to a worker and never began gives back its slot.",
            trigger=_missing("Pending", {"prefect.flow-run.Running"}, STUCK),
            actions=[_end(f"pending for {STUCK}: its worker or its pod never started it")],
        ),
        AutomationCore(
            name="tomrl: late checks",
            description="A check that no worker took is given up; the next one is scheduled.",
            trigger=_missing(
                "Late",
                {"prefect.flow-run.Pending", "prefect.flow-run.Running"},
                OVERDUE,
                tag="check",
            ),
            actions=[_end(f"no worker took it for {OVERDUE}", StateType.CANCELLED)],
        ),
    ]
    return found if notify is None else [*found, _notification(notify)]


def _missing(after: str, expect: set[str], within: timedelta, tag: str = TAG) -> EventTrigger:
    """The trigger that fires for a run without an expected event or end."""
    return EventTrigger(
        match={_RUN: "prefect.flow-run.*"},
        match_related=_tagged(tag),
        after={f"prefect.flow-run.{after}"},
        expect={*expect, *_OVER, *_CANCELLED},
        for_each=_EACH,
        posture=Posture.Proactive,
        threshold=1,
        within=within,
    )


def _notification(block: UUID) -> AutomationCore:
    action: ActionTypes = SendNotification(
        block_document_id=block,
        subject="tomrl: {{ flow_run.name }} is {{ flow_run.state.name }}",
        body="{{ deployment.name }}: {{ flow_run.state.message }}\n{{ flow_run|ui_url }}",
    )
    return AutomationCore(
        name="tomrl: notification",
        description="Tells about runs that crash, fail or are late.",
        trigger=EventTrigger(
            match={_RUN: "prefect.flow-run.*"},
            match_related=_tagged(TAG),
            expect={f"prefect.flow-run.{name}" for name in ("Crashed", "Failed", "Late")},
            for_each=_EACH,
            posture=Posture.Reactive,
            threshold=1,
        ),
        actions=[action],
    )


def _tagged(tag: str) -> dict[str, str | list[str]]:
    return {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{tag}"}


def _end(message: str, state: StateType = StateType.CRASHED) -> ChangeFlowRunState:
    """The action that ends a run; Prefect's own cancellation fails for a run that never began."""
    return ChangeFlowRunState(state=state, name=state.value.capitalize(), message=message)
