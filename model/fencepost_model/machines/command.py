"""The Command machine: what a process asks of a task that another process looks after, delivered through the store.

Theory
======
A command is a row beside the task that it is about. Only the task's **supervisor** may act on it. So two fences stand
one behind the other:

* The supervisor's lease on the task moves with the row's version (D-27). Renewing it is a write like any other, and a
  supervisor whose task was taken over or reconciled no longer has the version, whatever its own clock says.
* A claim of a command has a lease and a fence of its own, remembered by a **token**: two threads of one supervisor may
  both have claimed it, one after the other.

Delivery is at least once: a claim whose lease is over is made again. The *effect* happens at most once, because it is
noted on the row (``applied_at``) in the very commit that has it; who finds it noted only completes the command. What
nobody will answer any more, because its task has ended or lost its supervisor, is answered ``unanswered`` in the commit
that ends the task; unless its effect is there, for then the answer is that it was completed.

Where it is ugly: ``effects`` is a ghost that counts what the row notes once.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost_model.arrows import arrows_kept
from fencepost_model.contract import Contract
from fencepost_model.shapes import (
    Actor,
    Assignment,
    Case,
    Field,
    ForEach,
    Guard,
    Invariant,
    Machine,
    Operation,
    Progress,
    Selection,
    SettingShape,
    Sort,
    Status,
    StepProperty,
    Variable,
    Witness,
)
from fencepost_model.terms import (
    NULL,
    AtMost,
    Choose,
    Const,
    Equal,
    FieldOf,
    Less,
    Missing,
    Not,
    Now,
    OneOf,
    Plus,
    Same,
    Setting,
    Smaller,
    TruthTerm,
    ValueTerm,
    all_of,
    any_of,
    implies,
    present,
)

# --- words ------------------------------------------------------------------------------------------------------------

SUBMITTED, CLAIMED, COMPLETED, UNANSWERED = "submitted", "claimed", "completed", "unanswered"
WATCHED, ENDED = "watched", "ended"

COMMAND_STATUSES: tuple[Status, ...] = (
    Status(SUBMITTED, "handed in; nobody has taken it"),
    Status(CLAIMED, "taken by the supervisor of its task under a lease"),
    Status(COMPLETED, "its effect is there, and the caller is told", terminal=True),
    Status(UNANSWERED, "nobody will have its effect any more, and the caller is told", terminal=True),
)
OPEN = (SUBMITTED, CLAIMED)

SUBJECT_STATUSES: tuple[Status, ...] = (
    Status(WATCHED, "the task lives, under a supervisor or waiting for one"),
    Status(ENDED, "the task has ended", terminal=True),
)

SUBJECT = Variable("subject", "subject")
SUPERVISOR = Variable("supervisor", "supervisor", of="subject")
OTHER_SUPERVISOR = Variable("rival", "supervisor", of="subject")
COMMAND = Variable("command", "command", of="subject")
TOKEN = Variable("token", "token", of="command")
OTHER_TOKEN = Variable("other", "token", of="command")
NOW = Now()


def subject(name: str) -> FieldOf:
    """A field of the task's row."""
    return FieldOf("subject", name)


def subject_after(name: str) -> FieldOf:
    """A field of the task's row after the step."""
    return FieldOf("subject", name, after=True)


def supervisor(name: str) -> FieldOf:
    """What a supervisor remembers."""
    return FieldOf("supervisor", name)


def command(name: str) -> FieldOf:
    """A field of the command."""
    return FieldOf("command", name)


def command_after(name: str) -> FieldOf:
    """A field of the command after the step."""
    return FieldOf("command", name, after=True)


def token(name: str) -> FieldOf:
    """What one delivery of a command remembers of its claim."""
    return FieldOf("token", name)


def is_command(*names: str) -> TruthTerm:
    """The command is in one of these statuses."""
    return Equal(command("status"), Const(names[0])) if len(names) == 1 else OneOf(command("status"), names)


def ends_as(*names: str) -> TruthTerm:
    """The step leaves the command in one of these statuses."""
    return OneOf(command_after("status"), names)


SETTINGS: tuple[SettingShape, ...] = (
    SettingShape("supervisor_seconds", Sort.DURATION, "the length of a supervisor's lease on a task", 30),
    SettingShape("command_seconds", Sort.DURATION, "the length of the claim of a command", 10),
)
SETTINGS_ASSUMED: TruthTerm = all_of(
    Less(Const(0), Setting("supervisor_seconds")), Less(Const(0), Setting("command_seconds"))
)

# --- guards -----------------------------------------------------------------------------------------------------------

IS_WATCHED = Guard(
    "watched", Equal(subject("status"), Const(WATCHED)), "§6 commands", "nobody looks after what has ended"
)
IS_SUPERVISOR = Guard(
    "supervisor",
    Equal(subject("owner_id"), supervisor("owner_id")),
    "§6 owner-filtered claim",
    "only the process that has the task can do anything to it",
)
HAS_VERSION = Guard(
    "version",
    Equal(subject("version"), supervisor("version")),
    "D-27",
    "a supervisor whose task was taken over or reconciled meanwhile does not know the row any more",
)
SUPERVISION_ALIVE = Guard(
    "supervision_alive",
    Less(NOW, subject("lease_expires_at")),
    "D-27",
    "a supervisor whose lease is over may be replaced",
)
SUPERVISION_OVER = Guard(
    "supervision_over",
    any_of(Missing(subject("lease_expires_at")), AtMost(subject("lease_expires_at"), NOW)),
    "D-27, D-1",
    "a live supervisor is left alone; a missing lease protects nobody",
)
SUPERVISES: tuple[Guard, ...] = (IS_WATCHED, IS_SUPERVISOR, HAS_VERSION, SUPERVISION_ALIVE)

OWN_TOKEN = Guard(
    "own_token", Equal(token("owner_id"), supervisor("owner_id")), "§6 commands", "a delivery runs in one supervisor"
)
IS_CLAIMED = Guard("claimed", is_command(CLAIMED), "§6 commands", "only what is claimed is worked on, and ends once")
FENCE_CURRENT = Guard(
    "fence",
    Equal(command("fence"), token("fence")),
    "§6 lease and fence",
    "an earlier claim, also one of the same supervisor, is no longer a claim",
)
CLAIM_ALIVE = Guard(
    "claim_alive",
    Less(NOW, command("claim_expires_at")),
    "§6 lease and fence",
    "what is over may be claimed by another",
)
HOLDS_CLAIM: tuple[Guard, ...] = (IS_CLAIMED, OWN_TOKEN, FENCE_CURRENT, CLAIM_ALIVE)
NOT_APPLIED = Guard(
    "not_applied",
    Missing(command("applied_at")),
    "§6 effect at most once",
    "what is delivered twice has its effect once",
)
APPLIED = Guard(
    "applied", present(command("applied_at")), "§6 effect at most once", "an answer tells of an effect that is there"
)

# --- effects ----------------------------------------------------------------------------------------------------------


def of_subject(name: str, value: ValueTerm) -> Assignment:
    """Set a field of the task's row."""
    return Assignment(subject(name), value)


def of_command(name: str, value: ValueTerm) -> Assignment:
    """Set a field of the command."""
    return Assignment(command(name), value)


NEXT_VERSION: ValueTerm = Plus(subject("version"), Const(1))
NEW_LEASE: ValueTerm = Plus(NOW, Setting("supervisor_seconds"))
MOVES: tuple[Assignment, ...] = (
    of_subject("version", NEXT_VERSION),
    Assignment(supervisor("version"), NEXT_VERSION),
)
ANSWER_ALL = ForEach(
    (COMMAND,),
    is_command(*OPEN),
    (
        of_command("status", Choose(Missing(command("applied_at")), Const(UNANSWERED), Const(COMPLETED))),
        of_command("claim_expires_at", NULL),
        of_command("answered_at", NOW),
    ),
    "each open command is answered: completed where its effect is there, else unanswered",
)
SUBJECT_ENDS: tuple[Assignment, ...] = (
    of_subject("status", Const(ENDED)),
    of_subject("owner_id", NULL),
    of_subject("lease_expires_at", NULL),
)

# --- operations -------------------------------------------------------------------------------------------------------

CREATE = Operation(
    name="create",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(SUBJECT,),
    guards=(Guard("new", Missing(subject("status")), "§6 commands", "a task is created once"),),
    cases=(
        Case(
            "created",
            (),
            (of_subject("status", Const(WATCHED)), of_subject("version", Const(0))),
            "the task waits for a supervisor",
        ),
    ),
    clause="§6 commands",
    meaning="There is a task to be looked after.",
)

ADOPT = Operation(
    name="adopt",
    actor=Actor.CLAIMER,
    selection=Selection.NAMED,
    over=(SUBJECT, SUPERVISOR),
    guards=(IS_WATCHED, SUPERVISION_OVER),
    cases=(
        Case(
            "adopted",
            (),
            (of_subject("owner_id", supervisor("owner_id")), of_subject("lease_expires_at", NEW_LEASE), *MOVES),
            "it is the supervisor under a fresh lease, and the version has moved past all others",
        ),
    ),
    clause="D-27",
    meaning="A process takes a task on that nobody looks after.",
)

RENEW = Operation(
    name="renew_supervision",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(SUBJECT, SUPERVISOR),
    guards=(
        *SUPERVISES,
        Guard(
            "gains",
            Less(subject("lease_expires_at"), NEW_LEASE),
            "§8 no idle writes",
            "a renewal that gains nothing is not written",
        ),
    ),
    cases=(
        Case("renewed", (), (of_subject("lease_expires_at", NEW_LEASE), *MOVES), "lease and version move together"),
    ),
    clause="D-27",
    meaning="A supervisor says that it is alive.",
)

FINISH = Operation(
    name="finish",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(SUBJECT, SUPERVISOR),
    guards=SUPERVISES,
    cases=(
        Case(
            "ended",
            (),
            (*SUBJECT_ENDS, of_subject("version", NEXT_VERSION)),
            "the task ends, and with it what was asked of it",
            also=(ANSWER_ALL,),
        ),
    ),
    clause="§6 commands",
    meaning="A supervisor ends its task.",
)

RECONCILE = Operation(
    name="reconcile",
    actor=Actor.SYSTEM,
    selection=Selection.SWEEP,
    over=(SUBJECT,),
    guards=(IS_WATCHED, SUPERVISION_OVER),
    cases=(
        Case(
            "orphaned",
            (),
            (*SUBJECT_ENDS, of_subject("version", NEXT_VERSION)),
            "the task is given up, and the orphan's commands are answered",
            also=(ANSWER_ALL,),
        ),
    ),
    clause="§6 commands, an orphan's command",
    meaning="Another process finds that nobody looks after a task.",
)

SUBMIT = Operation(
    name="submit_command",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(SUBJECT, COMMAND),
    guards=(
        IS_WATCHED,
        Guard("new", Missing(command("status")), "§6 command id", "one id is one command"),
    ),
    cases=(
        Case(
            "submitted",
            (),
            (of_command("status", Const(SUBMITTED)), of_command("fence", Const(0)), of_command("effects", Const(0))),
            "it waits for the supervisor of its task",
        ),
    ),
    clause="§6 commands",
    meaning="Somebody asks something of a task.",
    acts_on="command",
)

CLAIM = Operation(
    name="claim_command",
    actor=Actor.CLAIMER,
    selection=Selection.SWEEP,
    over=(SUBJECT, SUPERVISOR, COMMAND, TOKEN),
    guards=(
        *SUPERVISES,
        OWN_TOKEN,
        Guard("open", is_command(*OPEN), "§6 commands", "what has been answered is not delivered again"),
        Guard(
            "unclaimed",
            any_of(Missing(command("claim_expires_at")), AtMost(command("claim_expires_at"), NOW)),
            "§6 at-least-once delivery",
            "while a claim is alive, another delivery would race it",
        ),
    ),
    cases=(
        Case(
            "claimed",
            (),
            (
                of_command("status", Const(CLAIMED)),
                of_command(
                    "claim_expires_at",
                    Smaller(Plus(NOW, Setting("command_seconds")), subject("lease_expires_at")),
                ),
                of_command("fence", Plus(command("fence"), Const(1))),
                Assignment(token("fence"), Plus(command("fence"), Const(1))),
            ),
            "this delivery may act, until the claim or the supervision is over",
        ),
    ),
    clause="§6 owner-filtered claim",
    meaning="A supervisor takes a command for its own task, also one whose earlier delivery was not heard of again.",
    acts_on="command",
)

APPLY = Operation(
    name="apply",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(SUBJECT, SUPERVISOR, COMMAND, TOKEN),
    guards=(*SUPERVISES, *HOLDS_CLAIM, NOT_APPLIED),
    cases=(
        Case(
            "applied",
            (),
            (
                of_command("applied_at", NOW),
                of_command("effects", Plus(command("effects"), Const(1))),
                *MOVES,
            ),
            "the task is changed, and the command says so, in one commit",
        ),
    ),
    clause="§6 effect at most once",
    meaning="A delivery has its effect on the task.",
    acts_on="command",
)

COMPLETE = Operation(
    name="complete",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(SUBJECT, SUPERVISOR, COMMAND, TOKEN),
    guards=(*SUPERVISES, *HOLDS_CLAIM, APPLIED),
    cases=(
        Case(
            "completed",
            (),
            (
                of_command("status", Const(COMPLETED)),
                of_command("claim_expires_at", NULL),
                of_command("answered_at", NOW),
            ),
            "the caller is told",
        ),
    ),
    clause="§6 commands",
    meaning="A delivery answers, be the effect its own or that of an earlier one.",
    acts_on="command",
)

OPERATIONS: tuple[Operation, ...] = (
    CREATE,
    ADOPT,
    RENEW,
    FINISH,
    RECONCILE,
    SUBMIT,
    CLAIM,
    APPLY,
    COMPLETE,
)

SUBJECT_TABLE: Mapping[str, tuple[str, ...]] = {
    WATCHED: ("adopt", "renew_supervision", "finish", "reconcile"),
    ENDED: (),
}
COMMAND_TABLE: Mapping[str, tuple[str, ...]] = {
    SUBMITTED: ("claim_command", "finish", "reconcile"),
    CLAIMED: ("claim_command", "apply", "complete", "finish", "reconcile"),
    COMPLETED: (),
    UNANSWERED: (),
}

SUBJECT_MACHINE = Machine(
    name="subject",
    meaning="The row of a task as far as commands are concerned: who looks after it, and its version.",
    fields=(
        Field("status", Sort.WORD, "whether the task lives", nullable=False, words=(WATCHED, ENDED)),
        Field("owner_id", Sort.IDENTITY, "the supervisor that has the task"),
        Field("lease_expires_at", Sort.INSTANT, "until when it has the task; at this very instant it has it no more"),
        Field("version", Sort.COUNT, "goes up with every change of the row, renewals included", nullable=False),
    ),
    statuses=SUBJECT_STATUSES,
    table=SUBJECT_TABLE,
    created_by="create",
)
SUPERVISOR_MACHINE = Machine(
    name="supervisor",
    meaning="What a process remembers of a task that it looks after, or has looked after.",
    fields=(
        Field("owner_id", Sort.IDENTITY, "the process", nullable=False, fixed=True),
        Field("version", Sort.COUNT, "the version that it wrote last"),
    ),
    belongs_to="subject",
)
COMMAND_MACHINE = Machine(
    name="command",
    meaning="Something asked of a task, under one id: delivered at least once, done at most once, always answered.",
    fields=(
        Field("status", Sort.WORD, "where it stands", nullable=False, words=tuple(s.name for s in COMMAND_STATUSES)),
        Field("claim_expires_at", Sort.INSTANT, "until when the latest delivery may act"),
        Field("fence", Sort.COUNT, "goes up at every claim", nullable=False),
        Field("applied_at", Sort.INSTANT, "when it had its effect"),
        Field("answered_at", Sort.INSTANT, "when the caller was told"),
        Field("effects", Sort.COUNT, "how often it had its effect", nullable=False, ghost=True),
    ),
    statuses=COMMAND_STATUSES,
    table=COMMAND_TABLE,
    created_by="submit_command",
    belongs_to="subject",
)
TOKEN_MACHINE = Machine(
    name="token",
    meaning="What one delivery in a supervisor remembers of its claim of a command.",
    fields=(
        Field("owner_id", Sort.IDENTITY, "the supervisor in which it runs", nullable=False, fixed=True),
        Field("fence", Sort.COUNT, "the fence of its claim"),
    ),
    belongs_to="command",
)

# --- statements -------------------------------------------------------------------------------------------------------


def live_delivery(name: str) -> TruthTerm:
    """The delivery that the variable stands for may act now."""
    return all_of(
        is_command(CLAIMED),
        Equal(command("fence"), FieldOf(name, "fence")),
        Less(NOW, command("claim_expires_at")),
    )


def has_task(name: str) -> TruthTerm:
    """The supervisor that the variable stands for has the task now."""
    return all_of(
        Equal(subject("owner_id"), FieldOf(name, "owner_id")),
        Equal(subject("version"), FieldOf(name, "version")),
        Less(NOW, subject("lease_expires_at")),
    )


INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "owner_under_a_lease",
        "D-27",
        (SUBJECT,),
        all_of(
            implies(present(subject("owner_id")), present(subject("lease_expires_at"))),
            implies(present(subject("lease_expires_at")), present(subject("owner_id"))),
            implies(Equal(subject("status"), Const(ENDED)), Missing(subject("owner_id"))),
        ),
        "A task is looked after under a lease or not at all.",
    ),
    Invariant(
        "version_not_ahead",
        "D-27",
        (SUBJECT, SUPERVISOR),
        implies(
            present(supervisor("version")),
            all_of(present(subject("status")), AtMost(supervisor("version"), subject("version"))),
        ),
        "No supervisor remembers a version that the row has not reached.",
    ),
    Invariant(
        "current_version_is_of_the_owner",
        "D-27",
        (SUBJECT, SUPERVISOR),
        implies(Equal(subject("version"), supervisor("version")), Equal(subject("owner_id"), supervisor("owner_id"))),
        "Who knows the current version has the task.",
    ),
    Invariant(
        "versions_differ",
        "D-27",
        (SUBJECT, SUPERVISOR, OTHER_SUPERVISOR),
        Not(Equal(supervisor("version"), FieldOf("rival", "version"))),
        "No two supervisors wrote one version.",
    ),
    Invariant(
        "one_supervisor",
        "D-27",
        (SUBJECT, SUPERVISOR, OTHER_SUPERVISOR),
        Not(all_of(has_task("supervisor"), has_task("rival"))),
        "At most one supervisor has a task.",
    ),
    Invariant(
        "effect_at_most_once",
        "§6 effect at most once",
        (SUBJECT, COMMAND),
        implies(
            present(command("status")),
            any_of(
                all_of(Missing(command("applied_at")), Equal(command("effects"), Const(0))),
                all_of(present(command("applied_at")), Equal(command("effects"), Const(1))),
            ),
        ),
        "A command has its effect at most once, and the row says whether it did.",
    ),
    Invariant(
        "completed_has_its_effect",
        "§6 commands",
        (SUBJECT, COMMAND),
        implies(is_command(COMPLETED), Equal(command("effects"), Const(1))),
        "Nobody is told that a command was completed which had no effect.",
    ),
    Invariant(
        "unanswered_had_no_effect",
        "§6 an orphan's command",
        (SUBJECT, COMMAND),
        implies(is_command(UNANSWERED), Equal(command("effects"), Const(0))),
        "Nobody is told that a command was left unanswered which had its effect.",
    ),
    Invariant(
        "ended_task_answers",
        "§6 an orphan's command",
        (SUBJECT, COMMAND),
        implies(Equal(subject("status"), Const(ENDED)), Not(is_command(*OPEN))),
        "No command waits on a task that has ended.",
    ),
    Invariant(
        "answered_exactly_when_closed",
        "§6 commands",
        (SUBJECT, COMMAND),
        all_of(
            implies(is_command(COMPLETED, UNANSWERED), present(command("answered_at"))),
            implies(is_command(*OPEN), Missing(command("answered_at"))),
        ),
        "The time of the answer is set exactly on commands that are answered.",
    ),
    Invariant(
        "claim_exactly_while_claimed",
        "§6 lease and fence",
        (SUBJECT, COMMAND),
        all_of(
            implies(is_command(CLAIMED), present(command("claim_expires_at"))),
            implies(present(command("claim_expires_at")), is_command(CLAIMED)),
            implies(is_command(SUBMITTED), Missing(command("applied_at"))),
        ),
        "A claim is on the row exactly while somebody may work under it.",
    ),
    Invariant(
        "claim_within_the_supervision",
        "§6 lease and fence",
        (SUBJECT, COMMAND),
        implies(is_command(CLAIMED), AtMost(command("claim_expires_at"), subject("lease_expires_at"))),
        "No claim reaches past the supervision under which it was made.",
    ),
    Invariant(
        "live_delivery_runs_in_the_supervisor",
        "§6 owner-filtered claim",
        (SUBJECT, COMMAND, TOKEN),
        implies(live_delivery("token"), Equal(token("owner_id"), subject("owner_id"))),
        "A delivery that may act runs in the supervisor that has the task.",
    ),
    Invariant(
        "command_of_a_task",
        "§6 commands",
        (SUBJECT, COMMAND),
        implies(present(command("status")), present(subject("status"))),
        "A command is about a task that exists.",
    ),
    Invariant(
        "fence_not_ahead",
        "§6 lease and fence",
        (SUBJECT, COMMAND, TOKEN),
        implies(
            present(token("fence")),
            all_of(
                present(command("status")), AtMost(Const(1), token("fence")), AtMost(token("fence"), command("fence"))
            ),
        ),
        "No delivery remembers a fence that the command has not reached.",
    ),
    Invariant(
        "fences_differ",
        "§6 lease and fence",
        (SUBJECT, COMMAND, TOKEN, OTHER_TOKEN),
        Not(Equal(token("fence"), FieldOf("other", "fence"))),
        "No two deliveries got the same fence.",
    ),
    Invariant(
        "one_delivery_acts",
        "§6 lease and fence",
        (SUBJECT, COMMAND, TOKEN, OTHER_TOKEN),
        Not(all_of(live_delivery("token"), live_delivery("other"))),
        "At most one delivery of a command may act.",
    ),
)

COMMAND_FIELDS = tuple(field.name for field in COMMAND_MACHINE.fields)
SUBJECT_FIELDS = tuple(field.name for field in SUBJECT_MACHINE.fields)

STEP_PROPERTIES: tuple[StepProperty, ...] = (
    StepProperty(
        "answer_stands",
        "§6 commands",
        (SUBJECT, COMMAND),
        implies(
            is_command(COMPLETED, UNANSWERED),
            all_of(*(Same(command(name), command_after(name)) for name in COMMAND_FIELDS)),
        ),
        "A command that is answered does not change.",
    ),
    StepProperty(
        "ended_stays_ended",
        "§6 commands",
        (SUBJECT,),
        implies(
            Equal(subject("status"), Const(ENDED)),
            all_of(*(Same(subject(name), subject_after(name)) for name in SUBJECT_FIELDS)),
        ),
        "A task that has ended is not taken on again.",
    ),
    StepProperty(
        "version_moves_with_the_lease",
        "D-27",
        (SUBJECT,),
        implies(
            all_of(
                present(subject("status")),
                any_of(
                    Not(Same(subject("lease_expires_at"), subject_after("lease_expires_at"))),
                    Not(Same(subject("owner_id"), subject_after("owner_id"))),
                    Not(Same(subject("status"), subject_after("status"))),
                ),
            ),
            Equal(subject_after("version"), Plus(subject("version"), Const(1))),
        ),
        "No write of the row, a renewal included, leaves its version.",
    ),
    StepProperty(
        "version_never_falls",
        "D-27",
        (SUBJECT,),
        implies(present(subject("status")), AtMost(subject("version"), subject_after("version"))),
        "The version only grows.",
    ),
    StepProperty(
        "only_the_supervisor_acts",
        "§6 owner-filtered claim, D-27",
        (SUBJECT, SUPERVISOR),
        all_of(Equal(subject("status"), Const(WATCHED)), has_task("supervisor")),
        "Only the supervisor that has the task now acts on it or on its commands; the old one of a task that was "
        "taken over or reconciled is refused.",
        by=Actor.HOLDER,
    ),
    *(
        StepProperty(
            f"only_a_live_delivery_may_{name}",
            "§6 lease and fence",
            (SUBJECT, COMMAND, TOKEN),
            all_of(live_delivery("token"), Equal(subject("owner_id"), token("owner_id"))),
            "Only the latest delivery acts on a command, and only while its claim is alive.",
            of=name,
        )
        for name in ("apply", "complete")
    ),
    StepProperty(
        "claimed_by_the_supervisor",
        "§6 owner-filtered claim",
        (SUBJECT, SUPERVISOR, COMMAND, TOKEN),
        all_of(
            Equal(subject("status"), Const(WATCHED)),
            has_task("supervisor"),
            Equal(token("owner_id"), subject("owner_id")),
            is_command(*OPEN),
        ),
        "A command is claimed by the supervisor of its task alone.",
        of="claim_command",
    ),
    StepProperty(
        "live_claim_respected",
        "§6 lease and fence",
        (SUBJECT, COMMAND),
        implies(
            all_of(is_command(CLAIMED), Less(NOW, command("claim_expires_at"))),
            Same(command("fence"), command_after("fence")),
        ),
        "No command is taken from a delivery whose claim is alive.",
    ),
    StepProperty(
        "claim_born_alive",
        "§6 lease and fence",
        (SUBJECT, COMMAND),
        all_of(
            Less(NOW, command_after("claim_expires_at")),
            AtMost(command_after("claim_expires_at"), subject("lease_expires_at")),
            Less(command("fence"), command_after("fence")),
        ),
        "A claim is alive when it is made, reaches no further than the supervision, and has a fence of its own.",
        of="claim_command",
    ),
    StepProperty(
        "live_supervisor_left_alone",
        "D-27",
        (SUBJECT,),
        implies(
            Less(NOW, subject("lease_expires_at")),
            Same(subject("owner_id"), subject_after("owner_id")),
        ),
        "Reconciliation leaves a task alone that somebody looks after.",
        by=Actor.SYSTEM,
    ),
    StepProperty(
        "supervisor_knows_its_version",
        "D-27",
        (SUBJECT, SUPERVISOR),
        implies(
            Equal(subject_after("status"), Const(WATCHED)),
            Equal(FieldOf("supervisor", "version", after=True), subject_after("version")),
        ),
        "Whatever a supervisor does to its task, it knows the row afterwards.",
        by=Actor.HOLDER,
    ),
    StepProperty(
        "adopted_when_free",
        "D-27",
        (SUBJECT,),
        all_of(
            Equal(subject("status"), Const(WATCHED)),
            any_of(Missing(subject("lease_expires_at")), AtMost(subject("lease_expires_at"), NOW)),
        ),
        "A task is taken on only where nobody looks after it.",
        of="adopt",
    ),
    StepProperty(
        "reconciled_while_watched",
        "§6 an orphan's command",
        (SUBJECT,),
        Equal(subject("status"), Const(WATCHED)),
        "What has ended is not reconciled.",
        of="reconcile",
    ),
    StepProperty(
        "renewal_gains",
        "§8 no idle writes",
        (SUBJECT,),
        Less(subject("lease_expires_at"), subject_after("lease_expires_at")),
        "A renewal makes the lease longer.",
        of="renew_supervision",
    ),
    StepProperty(
        "effect_of_an_open_command",
        "§6 effect at most once",
        (SUBJECT, COMMAND),
        all_of(is_command(CLAIMED), Missing(command("applied_at"))),
        "An effect is had by a command that is claimed and has had none.",
        of="apply",
    ),
    StepProperty(
        "completed_after_its_effect",
        "§6 commands",
        (SUBJECT, COMMAND),
        all_of(is_command(CLAIMED), present(command("applied_at"))),
        "A command is completed after its effect.",
        of="complete",
    ),
    StepProperty(
        "submitted_once_to_a_live_task",
        "§6 command id",
        (SUBJECT, COMMAND),
        all_of(Missing(command("status")), Equal(subject("status"), Const(WATCHED))),
        "An id is one command, and what has ended takes none.",
        of="submit_command",
    ),
    StepProperty(
        "created_once",
        "§6 commands",
        (SUBJECT,),
        Missing(subject("status")),
        "A task is created once.",
        of="create",
    ),
    StepProperty(
        "unanswered_only_with_its_task",
        "§6 an orphan's command",
        (SUBJECT, COMMAND),
        implies(all_of(is_command(*OPEN), ends_as(UNANSWERED)), Equal(subject_after("status"), Const(ENDED))),
        "A command is given up only when its task is.",
    ),
)

WITNESSES: tuple[Witness, ...] = (
    *(
        Witness(f"{s.name}_reached", "§1", (SUBJECT, COMMAND), is_command(s.name), f"A command is {s.name}.")
        for s in COMMAND_STATUSES
    ),
    Witness(
        "delivered_twice",
        "§6 at-least-once delivery",
        (SUBJECT, COMMAND, TOKEN, OTHER_TOKEN),
        all_of(live_delivery("token"), present(FieldOf("other", "fence"))),
        "A command is delivered anew while an earlier delivery still remembers its claim.",
    ),
    Witness(
        "effect_before_a_second_delivery",
        "§6 effect at most once",
        (SUBJECT, COMMAND, TOKEN, OTHER_TOKEN),
        all_of(live_delivery("token"), present(FieldOf("other", "fence")), present(command("applied_at"))),
        "A delivery meets the effect of an earlier one that did not live to answer.",
    ),
    Witness(
        "old_supervisor_remembers",
        "D-27",
        (SUBJECT, SUPERVISOR, OTHER_SUPERVISOR),
        all_of(has_task("supervisor"), present(FieldOf("rival", "version"))),
        "A supervisor has a task that another one still remembers.",
    ),
    Witness(
        "completed_with_an_orphan",
        "§6 an orphan's command",
        (SUBJECT, COMMAND),
        all_of(
            is_command(COMPLETED),
            Equal(subject("status"), Const(ENDED)),
            Less(command("applied_at"), command("answered_at")),
        ),
        "A command whose effect was there is answered completed when its task ends.",
    ),
)

PROGRESS: tuple[Progress, ...] = (
    Progress(
        "no_limbo",
        "§3 no limbo, §6 an orphan's command",
        (SUBJECT, COMMAND),
        is_command(*OPEN),
        ("reconcile",),
        "Each open command is answered at the latest when nobody looks after its task any more.",
    ),
    *(
        Progress(
            f"{name}_when_supervision_is_over",
            "D-27, D-1",
            over,
            all_of(IS_WATCHED.term, SUPERVISION_OVER.term),
            (name,),
            "From the very instant at which a supervisor's lease is over the task can be taken on or given up.",
            at_once=True,
        )
        for name, over in (("adopt", (SUBJECT, SUPERVISOR)), ("reconcile", (SUBJECT,)))
    ),
    Progress(
        "claimable_when_the_claim_is_over",
        "§6 at-least-once delivery",
        (SUBJECT, SUPERVISOR, COMMAND, TOKEN),
        all_of(*(guard.term for guard in CLAIM.guards)),
        ("claim_command",),
        "From the very instant at which a claim is over the command can be delivered again.",
        at_once=True,
    ),
    Progress(
        "delivery_can_answer",
        "§6 commands",
        (SUBJECT, SUPERVISOR, COMMAND, TOKEN),
        all_of(
            live_delivery("token"),
            has_task("supervisor"),
            Equal(subject("status"), Const(WATCHED)),
            Equal(token("owner_id"), supervisor("owner_id")),
        ),
        ("apply", "complete"),
        "A delivery that is heard has its effect or answers, at once.",
        at_once=True,
    ),
)

COMMAND_CONTRACT = Contract(
    name="command",
    machines=(SUBJECT_MACHINE, SUPERVISOR_MACHINE, COMMAND_MACHINE, TOKEN_MACHINE),
    operations=OPERATIONS,
    invariants=INVARIANTS,
    step_properties=(*STEP_PROPERTIES, *arrows_kept(OPERATIONS)),
    witnesses=WITNESSES,
    progress=PROGRESS,
    settings=SETTINGS,
    settings_assumed=SETTINGS_ASSUMED,
)
"""The contract of commands (contract §6)."""
