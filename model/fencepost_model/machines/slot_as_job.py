"""The attempt to render, seen as a job: a job with one attempt, from its claim on.

What the attempt occupies is not seen: a job knows no place. Nor is its holder, whom the worker's epoch stands for here.
What is seen is the verdict, the lease, the deadline and the cancel request.
"""

from __future__ import annotations

from fencepost_model.error_codes import EXAMPLES, Family
from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.machines import job, slot
from fencepost_model.machines.slot import SLOT_AS_JOB, SLOT_CONTRACT, SLOT_OF_WORKER, WORKER
from fencepost_model.refinement import STUTTER, Excepted, Image, Performs, Refinement, SeenAs
from fencepost_model.terms import NULL, Choose, Const, Equal, Param, ValueTerm, present


def job_status() -> ValueTerm:
    """The status of the job that an attempt is seen as; null where there is none."""
    value: ValueTerm = NULL
    for status, seen in reversed(list(SLOT_AS_JOB.items())):
        value = Choose(Equal(slot.STATUS, Const(status)), Const(seen), value)
    return value


ONE_ATTEMPT: ValueTerm = Choose(present(slot.STATUS), Const(1), NULL)
NO_HOLDER = "the worker's epoch stands for the holder"
ONE_ONLY = "an attempt to render is one attempt, of which nothing is counted"
NOT_KEPT = "an attempt to render does not keep it"
OWN_CODES = "an attempt to render notes codes of its own"

SLOT_IMAGE = Image(
    "job",
    (WORKER, SLOT_OF_WORKER),
    {
        "status": job_status(),
        "lease_expires_at": slot.slot("lease_expires_at"),
        "deadline_at": slot.slot("deadline_at"),
        "cancel_requested_at": slot.slot("cancel_requested_at"),
        "attempt_count": ONE_ATTEMPT,
        "max_attempts": ONE_ATTEMPT,
        "provider_ref": NULL,
        "next_poll_at": NULL,
    },
    unseen={
        **dict.fromkeys(("worker_id", "lease_generation"), NO_HOLDER),
        **dict.fromkeys(("attempt_id", "poll_count", "origin", "starts", "hand_backs"), ONE_ONLY),
        **dict.fromkeys(("heartbeat_at", "started_at", "finished_at", "next_attempt_at"), NOT_KEPT),
        **dict.fromkeys(("error_code", "error_message"), OWN_CODES),
    },
)
TOKEN_IMAGE = Image("token", (WORKER, SLOT_OF_WORKER), {}, dict.fromkeys(("worker_id", "lease_generation"), NO_HOLDER))

RENEWED = Performs("renew")
RECOVERED = Performs("recover", {"delay": Const(1)})
ACKNOWLEDGED = Performs("acknowledge_cancel")


def _failed(code: ValueTerm) -> Performs:
    return Performs("fail", {"code": code, "message": NULL, "delay": Const(1)})


LOST_RESULT = _failed(Const(EXAMPLES[Family.INFRA]))


def _own_code() -> ValueTerm:
    """The argument, as a choice among the codes that it can have."""
    first, *others = slot.OWN_CODES
    value: ValueTerm = Const(first)
    for code in others:
        value = Choose(Equal(Param("code"), Const(code)), Const(code), value)
    return value


STEPS: dict[str, SeenAs] = {
    "register": Excepted("a registration ends many attempts at once, each as recovery would", STUTTER),
    "beat": STUTTER,
    "reserve": Excepted("an attempt is handed in and claimed in one commit", Performs("claim")),
    "report_accepted": RENEWED,
    "report_running": RENEWED,
    "report_cleaning": RENEWED,
    "succeed": Performs("succeed"),
    "fail": _failed(_own_code()),
    "request_cancel": Performs("request_cancel"),
    "expire": Excepted("a tick of its own takes an expired lease off, before anybody recovers", STUTTER),
    "report_clean/ended_before": STUTTER,
    "report_clean/cancelled": (ACKNOWLEDGED, RECOVERED),
    "report_clean/expired": RECOVERED,
    "report_clean/lost": (LOST_RESULT, RECOVERED),
    "give_up/ended_before": STUTTER,
    "give_up/cancelled": RECOVERED,
    "give_up/expired": RECOVERED,
    "give_up/lost": RECOVERED,
}

_OWN = {setting.name for setting in SLOT_CONTRACT.settings}
SETTINGS: dict[str, ValueTerm] = {
    **{setting.name: Const(setting.default) for setting in job.SETTINGS if setting.name not in _OWN},
    "registers_expired": Const(True),
}

SLOT_REFINES_JOB = Refinement(
    name="render request, as the job",
    clause="§4 Slot",
    concrete=SLOT_CONTRACT,
    abstract=JOB_CONTRACT,
    images=(SLOT_IMAGE, TOKEN_IMAGE),
    steps=STEPS,
    settings=SETTINGS,
)
"""That an attempt to render does what a job may do, with the exceptions named."""
