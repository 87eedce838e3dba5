"""Latitude: where implementations of the contract may differ, as named choices, each with a default and a way to tell.

A contract that fixed everything would be one implementation. What it leaves open it has to leave open *by name*, else a
difference between two implementations cannot be told from a fault of one. Every entry of ``LATITUDE`` is a question
with a short list of answers. A run of the conformance tests may put the question and print the answer it found.

There are two kinds:

* a choice that is a **setting** of the contract of the job (``Choice.setting``). Each of its options says what a
  profile has to contain, and how the operation named in ``asked_by`` then answers where the options part: by which
  case, or refused by which guard. Both answers are within the contract, under the one profile or the other.
* a choice that the model **leaves open**: its terms admit every option (whose row is claimed first, how long a back-off
  is), or it has taken one side and an implementation that takes the other has to say so (``departs``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost_model.job_contract import JOB_CONTRACT
from fencepost_model.terms import Value


@dataclass(frozen=True, slots=True)
class Answer:
    """How an operation answers: by the case that it takes, or refused by a guard."""

    case: str | None = None
    refused_by: str | None = None

    def __str__(self) -> str:
        return f"takes {self.case}" if self.case is not None else f"is refused by {self.refused_by}"


@dataclass(frozen=True, slots=True)
class Option:
    """One way to do it. ``profile`` holds the settings that choose it, ``answer`` what the operation asked then does.

    ``departs`` marks an option that the terms of the model do not admit: who chooses it deviates, and says so.
    """

    name: str
    meaning: str
    profile: Mapping[str, Value] = field(default_factory=dict[str, Value])
    answer: Answer | None = None
    departs: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A question that the contract leaves to implementations.

    ``asked_by`` names the operation by which a conformance run tells the options apart, and ``told_by`` says in which
    situation and how. Raises ``ValueError`` when it has fewer than two options, two of one name, a default that is none
    of them, or when an operation, case, guard or setting that it names is none of the contract of the job.
    """

    name: str
    question: str
    options: tuple[Option, ...]
    default: str
    clause: str
    told_by: str
    asked_by: str | None = None
    setting: str | None = None

    def __post_init__(self) -> None:
        for complaint in self._complaints():
            raise ValueError(f"choice {self.name!r} {complaint}")

    def option(self, name: str) -> Option:
        """The option of that name; raises ``KeyError`` when there is none."""
        for option in self.options:
            if option.name == name:
                return option
        raise KeyError(name)

    def _complaints(self) -> list[str]:
        names = [option.name for option in self.options]
        found: list[str] = []
        if len(set(names)) < len(names) or len(names) < 2:
            found.append("needs at least two options, of different names")
        if self.default not in names:
            found.append(f"has the default {self.default!r}, which is none of its options; name one of them")
        elif self.option(self.default).departs:
            found.append("has a default that the model does not admit; choose another default")
        if self.asked_by is not None and self.asked_by not in {o.name for o in JOB_CONTRACT.operations}:
            found.append(f"is asked by {self.asked_by!r}, which is no operation; mend the name")
            return found
        for option in self.options:
            found.extend(self._complaints_about(option))
        return found

    def _complaints_about(self, option: Option) -> list[str]:
        if set(option.profile) != ({self.setting} if self.setting is not None else set()):
            return [f"has the option {option.name!r}, whose profile is not about its setting; set just that one"]
        if not set(option.profile) <= set(JOB_CONTRACT.defaults()):
            return [f"is about the setting {self.setting!r}, which the contract lacks; mend the name"]
        if option.answer is None:
            return [f"has the option {option.name!r} without an answer; say what the setting changes"] * bool(
                self.setting
            )
        if self.asked_by is None:
            return [f"has an answer for {option.name!r} but asks no operation; name it in asked_by"]
        operation = JOB_CONTRACT.operation(self.asked_by)
        known = (
            {case.name for case in operation.cases}
            if option.answer.case is not None
            else {guard.name for guard in operation.guards}
        )
        if (option.answer.case or option.answer.refused_by) not in known:
            return [f"expects that {self.asked_by} {option.answer}, which it cannot; mend the name"]
        return []


CANCEL_OR_SUCCESS = Choice(
    name="cancel_or_success",
    question="Does a requested cancel beat a success that comes after it?",
    options=(
        Option(
            "cancel",
            "the success is refused, the holder acknowledges the cancel",
            {"cancel_wins": True},
            Answer(refused_by="cancel_does_not_win"),
        ),
        Option("success", "the success stands", {"cancel_wins": False}, Answer(case="succeeded")),
    ),
    default="cancel",
    clause="D-2",
    setting="cancel_wins",
    asked_by="succeed",
    told_by="a holder reports success after a cancel was requested",
)

PARKING = Choice(
    name="parking",
    question="May jobs of the queue wait for an outside provider?",
    options=(
        Option("no", "park is refused", {"registers_park": False}, Answer(refused_by="park_registered")),
        Option("yes", "jobs carry a deadline and may be parked", {"registers_park": True}, Answer(case="parked")),
    ),
    default="no",
    clause="§2 park",
    setting="registers_park",
    asked_by="park",
    told_by="a holder parks a job that has a deadline",
)

SKIPPING = Choice(
    name="skipping",
    question="May jobs of the queue end skipped?",
    options=(
        Option("no", "skip is refused", {"registers_skip": False}, Answer(refused_by="skip_registered")),
        Option("yes", "content may make a job needless", {"registers_skip": True}, Answer(case="skipped")),
    ),
    default="no",
    clause="§2 skip",
    setting="registers_skip",
    asked_by="skip",
    told_by="a holder skips with a CONTENT code",
)

WORD_FOR_A_PASSED_DEADLINE = Choice(
    name="word_for_a_passed_deadline",
    question="By which word does a job end whose deadline has passed?",
    options=(
        Option("failed", "failed, with a DEADLINE code", {"registers_expired": False}, Answer(case="overdue")),
        Option("expired", "expired, with the same code", {"registers_expired": True}, Answer(case="expired")),
    ),
    default="failed",
    clause="§2 expire_overdue, D-5",
    setting="registers_expired",
    asked_by="expire_overdue",
    told_by="a job waits when its deadline passes",
)

COST_OF_A_RELEASE = Choice(
    name="cost_of_a_release",
    question="Does handing a job back cost an attempt?",
    options=(
        Option(
            "free_below_the_ceiling",
            "not while the generation is below the release ceiling",
            {"release_ceiling": 20},
            Answer(case="handed_back"),
        ),
        Option("always", "a hand-back counts like a failure", {"release_ceiling": 0}, Answer(case="retried")),
    ),
    default="free_below_the_ceiling",
    clause="§2 release, D-6",
    setting="release_ceiling",
    asked_by="release",
    told_by="a worker hands its first claim back while attempts are left",
)

BOUND_OF_POLLS = Choice(
    name="bound_of_polls",
    question="How often is a provider asked?",
    options=(
        Option("often", "a hundred times", {"max_polls": 100}, Answer(case="resumed")),
        Option("once", "once, then the deadline decides", {"max_polls": 1}, Answer(refused_by="polls_left")),
    ),
    default="often",
    clause="§2 resume_poll, D-3",
    setting="max_polls",
    asked_by="resume_poll",
    told_by="a parked job is due for its second poll",
)

RETRY_OF_LIMIT = Choice(
    name="retry_of_limit",
    question="Is a job tried again that failed with a code of the family LIMIT?",
    options=(
        Option("no", "it ends failed", answer=Answer(case="final")),
        Option("yes", "it waits for its next attempt", answer=Answer(case="retried"), departs=True),
    ),
    default="no",
    clause="§5, D-21",
    asked_by="fail",
    told_by="a holder fails with a LIMIT code while attempts are left",
)

RETRY_OF_INFRA = Choice(
    name="retry_of_infra",
    question="Is every code of the family INFRA tried again?",
    options=(
        Option("by_family", "the family decides", answer=Answer(case="retried")),
        Option("narrowed", "a profile names codes that are final", answer=Answer(case="final"), departs=True),
    ),
    default="by_family",
    clause="§5, D-21",
    asked_by="fail",
    told_by="a holder fails with each registered INFRA code while attempts are left",
)

ORDER_OF_CLAIMS = Choice(
    name="order_of_claims",
    question="Which of several due jobs is claimed first?",
    options=(
        Option("priority_due_id", "the highest priority, then the longest due, then the smallest identity"),
        Option("any", "whichever the store finds"),
    ),
    default="priority_due_id",
    clause="§2 rules",
    asked_by="claim",
    told_by="a claim of one job while jobs of two priorities and two due times wait; repeated, for luck may hide it",
)

LENGTH_OF_A_BACK_OFF = Choice(
    name="length_of_a_back_off",
    question="How long is the back-off after an attempt that counts?",
    options=(
        Option("growing", "longer with every attempt, with jitter"),
        Option("constant", "the same every time"),
    ),
    default="growing",
    clause="§2 fail, recover",
    asked_by="fail",
    told_by="the due times that repeated failures of one job leave on its row; any length above nothing is lawful",
)

FORM_OF_THE_CLAIM = Choice(
    name="form_of_the_claim",
    question="Is a claim one statement, or a read and then one conditional update for each row?",
    options=(
        Option("at_once", "read and update in one transaction that holds the write lock"),
        Option("two_steps", "the read ends before the updates, each of which repeats the whole guard"),
    ),
    default="at_once",
    clause="D-22",
    asked_by="claim",
    told_by="the statements of a claim; its results are the same, by the refinement proof",
)

CAPACITY = Choice(
    name="capacity",
    question="Is the number of live jobs of a queue bounded?",
    options=(
        Option("unbounded", "every well-formed job is admitted"),
        Option("bounded", "counted and inserted under one lock, else refused with a LIMIT code", departs=True),
    ),
    default="unbounded",
    clause="§2 enqueue",
    asked_by="enqueue",
    told_by="jobs are enqueued until one is refused; the contract of the admission says what then holds",
)

DUPLICATES = Choice(
    name="duplicates",
    question="Are submissions compared by a key?",
    options=(
        Option("no", "two submissions are two jobs"),
        Option("refused", "while a job with the key is live, the second one is refused and named it", departs=True),
    ),
    default="no",
    clause="§2 enqueue, D-16",
    asked_by="enqueue",
    told_by="the same key is submitted twice; the contract of the admission says what then holds",
)

WAKE_UPS = Choice(
    name="wake_ups",
    question="How does an idle worker learn of work?",
    options=(
        Option("notified", "by a notification, with a poll behind it"),
        Option("polled", "by its poll alone"),
    ),
    default="notified",
    clause="§3, §8",
    asked_by="claim",
    told_by="the time between enqueue and claim, against the length of the poll",
)

COMPLETION = Choice(
    name="completion",
    question="Is each finish committed by itself, or are several flushed together?",
    options=(
        Option("single", "one transaction for each finish"),
        Option("group", "buffered, beaten meanwhile, and judged row by row in the flush"),
    ),
    default="single",
    clause="§2 Group completion",
    asked_by="succeed",
    told_by="the commits that several finishes cause; their results are the same, by the refinement proof",
)

FORM_OF_AN_ATTEMPT_ID = Choice(
    name="form_of_an_attempt_id",
    question="What does the identity of an attempt look like?",
    options=(
        Option("random", "a fresh universally unique identity"),
        Option("counted", "the generation that opened it"),
    ),
    default="random",
    clause="§2 claim, D-18",
    asked_by="claim",
    told_by="the identities that several claims leave; a run compares them up to renaming",
)

LATITUDE: tuple[Choice, ...] = (
    CANCEL_OR_SUCCESS,
    PARKING,
    SKIPPING,
    WORD_FOR_A_PASSED_DEADLINE,
    COST_OF_A_RELEASE,
    BOUND_OF_POLLS,
    RETRY_OF_LIMIT,
    RETRY_OF_INFRA,
    ORDER_OF_CLAIMS,
    LENGTH_OF_A_BACK_OFF,
    FORM_OF_THE_CLAIM,
    CAPACITY,
    DUPLICATES,
    WAKE_UPS,
    COMPLETION,
    FORM_OF_AN_ATTEMPT_ID,
)
"""Every choice, those that are settings first."""


def choice_named(name: str) -> Choice:
    """The choice of that name; raises ``KeyError`` when there is none."""
    for choice in LATITUDE:
        if choice.name == name:
            return choice
    raise KeyError(name)
