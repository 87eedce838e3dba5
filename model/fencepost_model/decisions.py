"""The decisions of the contract as records: where the sources are silent or disagree, and what the contract says there.

A *decision* is cited by its number, as ``D-14``, in the clauses of guards, statements and operations all over the
model. Which of them cite it is not written here: it is computed from those clauses (``cites``), so that a decision that
nothing cites stands out. The contract brought D-1 to D-27 with it; building it added the others, each with a record
among the decisions of the project.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"\bD-(\d+)\b")


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision: its number, the question, where the sources leave it open, the answer, the clauses it is about.

    ``record`` is the name of the project's own record of it (a file name without its ending), where there is one.
    """

    number: int
    question: str
    left_open: str
    answer: str
    clauses: tuple[str, ...]
    record: str = ""

    @property
    def id(self) -> str:
        """The number as it is cited."""
        return f"D-{self.number}"


def cites(clause: str) -> tuple[str, ...]:
    """The decisions that a clause cites, each once, in the order written: ``("D-5", "D-29")``."""
    return tuple(dict.fromkeys(f"D-{int(number)}" for number in _NUMBER.findall(clause)))


DECISIONS: tuple[Decision, ...] = (
    Decision(
        1,
        "Which running rows may recovery take?",
        "one recovery asks for an expiry that has passed and so never sees a row without one (001 C8)",
        "A running row is either held or expired, never both and never neither; an expiry of null is expired.",
        ("§2 held, expired", "§2 recover"),
    ),
    Decision(
        2,
        "Does a cancel request stop a success that comes after it?",
        "000 §1.4 calls the check for it optional",
        "The profile chooses, by cancel_wins, and the default is that it does. Both choices are proved.",
        ("§2 succeed", "§2 skip"),
    ),
    Decision(
        3,
        "Does asking a provider use up an attempt?",
        "the sources count every claim, and a poll is one",
        "It does not. Polls have a bound of their own, so they come to an end as well.",
        ("§2 resume_poll",),
    ),
    Decision(
        4,
        "What does a cancel do to a job that waits for a provider?",
        "000 §2.2 tells of pending and running jobs only",
        "It ends at once. Calling the work off at the provider is a clean-up job of the handler.",
        ("§2 request_cancel",),
    ),
    Decision(
        5,
        "Who ends a job whose deadline passes while nobody holds it?",
        "claiming it is forbidden and recovery looks at running rows, so nobody does",
        "An operation of its own, expire_overdue; rows of older programs that nobody could claim are ended by it too.",
        ("§2 expire_overdue",),
    ),
    Decision(
        6,
        "Does handing a job back in good order cost an attempt?",
        "the sources let a worker hand back at shutdown and do not say what it costs",
        "No, while the generation is below the release ceiling; from there on it counts as a failed attempt.",
        ("§2 release",),
    ),
    Decision(
        7,
        "Can a batch be resuming while its lease is over?",
        "INV-1 as printed says no, and then the mere passing of time breaks it",
        "It has two parts: one about every state, and one, about the lease, at the commit that enters resuming.",
        ("§3 INV-1",),
    ),
    Decision(
        8,
        "How many families of error codes are there?",
        "000 §0 says four, 000 §4 lists six",
        "Six.",
        ("§5",),
    ),
    Decision(
        9,
        "To which family does a code belong that fits several patterns?",
        "000 §4 gives patterns that overlap and no order; no order gets all of its own examples right",
        "A registration by name decides; else a fixed order of the families; a code that fits none is refused.",
        ("§5",),
    ),
    Decision(
        10,
        "Does a paused task keep its slot?",
        "003 says both, in §2.1 and §11.2",
        "One that was paused in the middle of its work does; one that was paused before it started holds none.",
        ("§6",),
    ),
    Decision(
        11,
        "Which step of a retry counts the attempt?",
        "in 003 the verb counts it, and the start counts it once more",
        "The start does, and nothing else.",
        ("§6",),
    ),
    Decision(
        12,
        "Do the clocks of a task run while it is queued or paused?",
        "003 does not say",
        "They stand still, and the deadline that the work sees moves accordingly.",
        ("§6",),
    ),
    Decision(
        13,
        "How can a terminal task come back, when terminal statuses have no way out?",
        "003 §2.2 freezes them, and verbs of §3.1 leave them",
        "By a revival, which is listed apart and adds to the history without changing it.",
        ("§6",),
    ),
    Decision(
        14,
        "Whose clock decides whether a lease is over?",
        "the sources compare with the caller's time",
        "The store's, read in the same statement; in tests one that is given.",
        ("§7",),
    ),
    Decision(
        15,
        "Is an attempt counted when it is claimed or when it is recovered?",
        "the queues differ, and one of them is off by one (001 C8)",
        "When it is claimed, and recovery puts a job back exactly if some are left: a budget of N means N starts.",
        ("§2 claim", "§2 recover"),
    ),
    Decision(
        16,
        "What is answered to a second submission while the first is live?",
        "a partial index refuses it, and no section says what the caller gets",
        "It is a duplicate, and the answer names the live job; if that one is about to be cancelled, it says so.",
        ("§2 enqueue",),
    ),
    Decision(
        17,
        "Which of two numbers counts when sections disagree?",
        "000 and 001 differ about leases, recovery loops and words",
        "That of the later section, which tells what is implemented; each such pair is listed.",
        ("§1",),
    ),
    Decision(
        18,
        "Which queues carry a generation and an identity of the attempt?",
        "000 makes both optional, and most tables have neither",
        "All of them. An owner's name is no fence: one worker may claim a job twice.",
        ("§1", "§2 claim"),
    ),
    Decision(
        19,
        "What does a terminal write have to show?",
        "000 §1.4 accepts the lease or the identity of the attempt",
        "The lease, always.",
        ("§2 succeed, fail",),
    ),
    Decision(
        20,
        "Can a job fail with a FENCE code?",
        "000 §4 has it as a family of failures, and says that the system may go on with the job",
        "No. It is what the store answers to a stale caller; as a verdict of a handler it is refused.",
        ("§5", "§2 fail"),
    ),
    Decision(
        21,
        "Is trouble of the infrastructure tried again by family or by a list of codes?",
        "000 §4 says both in one row",
        "By family; a profile may make single codes final.",
        ("§5",),
    ),
    Decision(
        22,
        "May a claim read first and update afterwards?",
        "000 §5.2 has three forms, one of which ends the read before it writes",
        "It is one transaction that takes the write lock first; the form in two steps is proved to do the same.",
        ("§8", "§2 rules"),
    ),
    Decision(
        23,
        "Is work done again whose holder has vanished?",
        "003 §5.5 forbids it silently, 000 §6.1 does it",
        "Durable work is put back within its budget; what is not durable is only marked as lost.",
        ("§6",),
    ),
    Decision(
        24,
        "Which statuses have the machines that are named but never listed?",
        "attempts, slots, requirements, pipeline runs and commands are spoken of with a few of their words",
        "Those of the table of machines.",
        ("§1",),
    ),
    Decision(
        25,
        "How often may a batch be resumed?",
        "001 §3.2 C puts it back without a limit",
        "As often as its resume budget says; then it ends with its run.",
        ("§4 Batch",),
    ),
    Decision(
        26,
        "What happens to a job that several callers asked for when one of them withdraws?",
        "groups and deduplication share jobs, and a cancel names the job",
        "Only the caller's association ends. The job ends when the last of them withdraws.",
        ("§2 Parents", "§4 Batch"),
    ),
    Decision(
        27,
        "May a supervisor renew its lease without moving the version?",
        "003 §5.6 has a touch that writes beside the version",
        "No: lease and version move together, so that a supervisor that was replaced is refused.",
        ("§6 Commands",),
    ),
    Decision(
        28,
        "Can a job without a deadline wait for a provider?",
        "a queue that parks demands a deadline at the start, but rows of older programs have none",
        "No: parking it is refused, and its handler finishes or fails it.",
        ("§2 park",),
        "0005-park-needs-a-deadline",
    ),
    Decision(
        29,
        "By which codes does the contract itself end an attempt?",
        "families are named for a passed deadline and for a hand-back that counts, but no codes",
        "By four: JOB_DEADLINE_EXCEEDED, LEASE_RELEASE_CEILING, LEASE_TIMEOUT_RECOVERED, LEASE_TIMEOUT_MAX_ATTEMPTS.",
        ("§2 expire_overdue", "§2 release", "§2 recover", "§5"),
        "0006-codes-the-contract-writes",
    ),
    Decision(
        30,
        "Does a cancel that takes effect at once also leave a request on the row?",
        "000 §2.2 does not say",
        "No: the field means that a holder has been asked to stop, and there was none.",
        ("§2 request_cancel",),
        "0009-immediate-cancel",
    ),
)
"""Every decision, by number."""


def decision_named(name: str) -> Decision:
    """The decision of that id, such as ``D-14``; raises ``KeyError`` when there is none."""
    for decision in DECISIONS:
        if decision.id == name:
            return decision
    raise KeyError(name)
