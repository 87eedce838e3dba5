"""The command line, on real databases: what it does, what it refuses, and how it says so."""

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, Table

from fencepost.cli.main import main
from fencepost.clock import ManualClock
from fencepost.jobs import DurableJobRuntime


class Shell:
    """Runs the command as a process would, and catches what it says."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.url = url
        self.capsys = capsys

    def run(self, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        said = self.capsys.readouterr()
        status = ended.value.code
        assert isinstance(status, int)
        return status, said.out, said.err

    def json(self, *arguments: str, status: int = 0) -> Any:
        code, out, err = self.run(*arguments, "--json")
        assert code == status, err
        return json.loads(out)


@pytest.fixture
def shell(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("FENCEPOST_URL", store_url)
    return Shell(store_url, capsys)


@pytest.fixture
def ready(shell: Shell) -> Shell:
    assert shell.json("db", "init")["created"] is True
    return shell


def test_init_is_done_once(ready: Shell) -> None:
    assert ready.json("db", "init") == {"table": "fencepost_jobs", "created": False}


def test_the_url_may_be_an_option(store_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(store_url, capsys)
    assert shell.run("db", "init", "--url", store_url)[0] == 0
    assert shell.json("list", "--url", store_url) == []


def test_a_job_from_hand_to_end(ready: Shell) -> None:
    made = ready.json("enqueue", '{"page": 7}', "--priority", "2", "--deadline-in", "3600", "--queue", "pages")
    key = str(made["job"])
    assert (made["case"], made["status"]) == ("created", "pending")
    shown = ready.json("show", key)
    assert (shown["payload"], shown["priority"], shown["queue"]) == ({"page": 7}, 2, "pages")
    assert shown["deadline_at"] is not None
    assert [job["id"] for job in ready.json("list", "--queue", "pages")] == [made["job"]]
    assert ready.json("list", "--queue", "others") == []
    assert ready.json("cancel", key)["case"] == "immediate"
    assert ready.json("list", "--status", "cancelled", "--status", "failed")[0]["status"] == "cancelled"
    refused = ready.json("cancel", key, status=1)
    assert refused["false_guards"] == ["not_ended"]


def test_answers_for_people_are_one_sentence(ready: Shell) -> None:
    assert ready.run("enqueue")[:2] == (0, "Job 1: enqueue (created), now pending.\n")
    assert "pending" in ready.run("list")[1]
    assert "max_attempts" in ready.run("show", "1")[1]
    assert ready.run("cancel", "1")[:2] == (0, "Job 1: request_cancel (immediate), now cancelled.\n")
    status, said, _ = ready.run("cancel", "1")
    assert status == 1
    assert said == "Job 1 is cancelled and refused request_cancel; these guards do not hold: not_ended.\n"
    assert ready.run("list", "--status", "running")[1] == "No such jobs.\n"


@pytest.mark.parametrize("command", ["show", "cancel"])
def test_a_job_that_is_not_there(ready: Shell, command: str) -> None:
    status, said, _ = ready.run(command, "99")
    assert (status, said) == (1, "There is no job 99.\n")


def test_recover_and_expire(ready: Shell, engine: Engine, clock: ManualClock) -> None:
    from sqlalchemy import MetaData

    from fencepost.jobs import job_table

    table: Table = job_table(MetaData())
    runtime = DurableJobRuntime(engine, table, clock=clock)
    held = runtime.load({"status": "running", "attempt_count": 1})
    spent = runtime.load({"status": "pending", "attempt_count": 3})
    assert [(each["job"], each["case"]) for each in ready.json("recover")] == [(held, "requeued")]
    assert [(each["job"], each["case"]) for each in ready.json("recover", "--overdue")] == [(spent, "exhausted")]
    assert ready.run("recover")[1] == "Nothing to recover.\n"
    found = runtime.inspect(held)
    assert found is not None
    assert found.next_attempt_at is not None
    assert found.next_attempt_at - clock.now() != timedelta(0)


def test_a_refused_job_is_not_made(ready: Shell) -> None:
    status, said, _ = ready.run("enqueue", "--max-attempts", "0")
    assert (status, "attempts_positive" in said) == (1, True)
    assert ready.json("list") == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["enqueue", "{page: 7}"], "The payload is not JSON"),
        (["list", "--status", "paused"], "'paused' is no status of a job"),
        (["list", "--table", "elsewhere"], "fencepost db init"),
        (["list", "--url", "mysql://localhost/x"], "'mysql' is not supported"),
        (["list", "--url", "sqlite://"], "needs a file"),
        (["list", "--url", "postgresql://nobody@127.0.0.1:1/none"], "The database could not do it"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(ready: Shell, arguments: list[str], said: str) -> None:
    status, out, err = ready.run(*arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [[], ["db"], ["enqueue"], ["list"], ["show"], ["cancel"], ["recover"]])
def test_help_teaches(shell: Shell, command: list[str]) -> None:
    status, said, _ = shell.run(*command, "--help")
    assert status == 0
    assert "Usage" in said
