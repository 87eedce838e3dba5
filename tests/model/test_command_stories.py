"""Runs of one command between two supervisors: double delivery, old supervisors, orphans."""

from __future__ import annotations

from dataclasses import dataclass, field

from fencepost_model.machines.command import COMMAND_CONTRACT
from fencepost_model.machines.command_worlds import supervised
from fencepost_model.semantics import Accepted, Call, Refused, Row, Semantics, State

SETTINGS = {"supervisor_seconds": 30, "command_seconds": 10}


@dataclass
class Story:
    """One task, supervisors ``s1`` and ``s2``; deliveries ``a`` and ``b`` run in the first, ``c`` in the second."""

    state: State = field(init=False)
    semantics: Semantics = field(init=False)
    slots: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        population = supervised(("s1", "s2"), "s1", "s1", "s2")
        self.semantics = Semantics(COMMAND_CONTRACT, population, SETTINGS)
        self.state = next(self.semantics.initial())
        by_machine = {
            machine: [s.index for s in population.slots if s.machine == machine]
            for machine in ("subject", "supervisor", "command", "token")
        }
        self.slots = {
            "subject": by_machine["subject"][0],
            "command": by_machine["command"][0],
            "s1": by_machine["supervisor"][0],
            "s2": by_machine["supervisor"][1],
            **dict(zip("abc", by_machine["token"], strict=True)),
        }
        self.take("create")

    def row(self, name: str) -> Row:
        return self.state.rows[0][self.slots[name]]

    def at(self, instant: float) -> None:
        self.state = self.semantics.advance(self.state, instant - self.state.now)

    def call(self, operation: str, who: str) -> Call:
        binding: dict[str, int] = {}
        for variable in COMMAND_CONTRACT.operation(operation).over:
            match variable.name:
                case "supervisor":
                    binding["supervisor"] = self.slots[who if who in ("s1", "s2") else {"c": "s2"}.get(who, "s1")]
                case "token":
                    binding["token"] = self.slots[who]
                case name:
                    binding[name] = self.slots[name]
        return Call(operation, 0, binding)

    def take(self, operation: str, who: str = "") -> str:
        call = self.call(operation, who)
        outcome = self.semantics.attempt(self.state, call)
        assert isinstance(outcome, Accepted), f"{operation} is refused: {outcome}"
        assert self.semantics.broken_step_properties(self.state, call, outcome.state) == ()
        assert self.semantics.broken_invariants(outcome.state) == ()
        self.state = outcome.state
        return outcome.case.name

    def refused(self, operation: str, who: str = "") -> set[str]:
        outcome = self.semantics.attempt(self.state, self.call(operation, who))
        assert isinstance(outcome, Refused), f"{operation} is allowed: {outcome}"
        return set(outcome.guards)


def asked() -> Story:
    """A task that ``s1`` looks after, with a command handed in."""
    story = Story()
    story.take("adopt", "s1")
    story.take("submit_command")
    return story


def test_a_command_is_claimed_done_and_answered() -> None:
    story = asked()
    story.take("claim_command", "a")
    story.at(3)
    story.take("apply", "a")
    story.take("complete", "a")
    assert {n: story.row("command")[n] for n in ("status", "effects", "answered_at")} == {
        "status": "completed",
        "effects": 1,
        "answered_at": 3,
    }
    assert "open" in story.refused("claim_command", "b")


def test_a_claim_that_runs_out_while_the_first_executor_works_gives_no_second_effect() -> None:
    story = asked()
    story.take("claim_command", "a")
    story.take("apply", "a")
    story.at(10)
    assert "claim_alive" in story.refused("complete", "a")
    story.take("claim_command", "b")
    assert story.refused("complete", "a") == {"fence"}
    assert story.refused("apply", "b") == {"not_applied"}
    story.take("complete", "b")
    assert story.row("command")["effects"] == 1


def test_only_the_supervisor_of_the_task_claims() -> None:
    story = asked()
    assert story.refused("claim_command", "c") == {"supervisor", "version"}
    story.take("claim_command", "a")
    assert story.refused("claim_command", "b") == {"unclaimed"}


def test_the_old_supervisor_of_a_task_that_was_taken_over_is_refused() -> None:
    story = asked()
    story.take("claim_command", "a")
    story.at(30)
    story.take("adopt", "s2")
    assert {"supervisor", "version"} <= story.refused("apply", "a")
    assert {"supervisor", "version"} <= story.refused("renew_supervision", "s1")
    story.take("claim_command", "c")
    story.take("apply", "c")
    story.take("complete", "c")


def test_the_old_supervisor_of_a_reconciled_task_is_refused() -> None:
    story = asked()
    story.at(30)
    story.take("reconcile")
    assert "watched" in story.refused("renew_supervision", "s1")
    assert "version" in story.refused("finish", "s1")
    assert "watched" in story.refused("adopt", "s2")


def test_an_orphans_command_is_answered_unanswered() -> None:
    story = asked()
    story.at(29)
    assert story.refused("reconcile") == {"supervision_over"}
    story.at(30)
    story.take("reconcile")
    assert story.row("command")["status"] == "unanswered"
    assert story.row("command")["effects"] == 0
    assert "watched" in story.refused("submit_command")


def test_an_orphans_command_that_had_its_effect_is_answered_completed() -> None:
    story = asked()
    story.take("claim_command", "a")
    story.take("apply", "a")
    story.at(30)
    story.take("reconcile")
    assert story.row("command")["status"] == "completed"


def test_commands_do_not_outlive_their_task() -> None:
    story = asked()
    story.take("finish", "s1")
    assert story.row("command")["status"] == "unanswered"


def test_a_renewal_moves_lease_and_version_together() -> None:
    story = asked()
    assert story.refused("renew_supervision", "s1") == {"gains"}
    story.at(5)
    version = story.row("subject")["version"]
    story.take("renew_supervision", "s1")
    assert isinstance(version, int)
    assert (story.row("subject")["version"], story.row("subject")["lease_expires_at"]) == (version + 1, 35)


def test_a_claim_reaches_no_further_than_the_supervision() -> None:
    story = asked()
    story.at(25)
    story.take("claim_command", "a")
    assert story.row("command")["claim_expires_at"] == 30
