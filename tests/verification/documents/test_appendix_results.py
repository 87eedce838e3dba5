"""From a checklist to the appendices: what was run is shown, what was not stays unexamined."""

from fencepost_model.specification import CHAPTERS
from fencepost_verification.appendix_results import appendix_of
from fencepost_verification.checklist import Checklist
from fencepost_verification.documents.appendices import Appendix
from fencepost_verification.evidence import Held, Refuted
from fencepost_verification.mutants.judging import MutantReport
from fencepost_verification.mutants.ledger import Entry
from fencepost_verification.prove import vocabularies

GROUP = CHAPTERS["group"]


def test_an_empty_checklist_examines_nothing() -> None:
    assert appendix_of(Checklist()) == Appendix()


def test_a_check_that_was_run_is_taken_over() -> None:
    done = Checklist()
    done.run("vocabularies", "columns are told apart", vocabularies.check)
    done.run("own clocks group", "safety holds", lambda: (Held("a", "unbounded"), Refuted("b", "it falls")))
    done.run("measure", "nothing goes on for ever", lambda: (Held("lowered", "unbounded"),))
    done.run("update predicates", "each is needed", tuple)
    done.mutants["group"] = MutantReport("group", ())
    done.ledgers["group"] = (
        Entry("group", "s", "invariant", "D-26", Held("s", "unbounded"), (), (), None, ("prove",)),
    )
    appendix = appendix_of(done)
    assert appendix.vocabularies == vocabularies.check()
    assert appendix.clocks is not None
    (clocks,) = appendix.clocks
    assert clocks.chapter == "group"
    assert [type(verdict) for verdict in clocks.verdicts] == [Held, Refuted]
    assert {each.statement for each in clocks.exempt} >= {each.name for each in GROUP.contract.progress}
    assert appendix.measures is not None
    assert [type(verdict) for each in appendix.measures for verdict in each.verdicts] == [Held]
    assert appendix.ledgers is not None
    assert [(each.chapter, len(each.entries)) for each in appendix.ledgers] == [("group", 1)]
    # Somebody looked and found nothing: that is a result.
    assert appendix.updates == []
    assert appendix.codes is None
    assert appendix.time is None
    assert appendix.findings is None
    assert appendix.answers is None


def test_the_bounds_are_worked_out_where_time_was_judged() -> None:
    done = Checklist()
    done.run("timing", "each bound holds", lambda: (Held("a bound", "over the reals"),))
    appendix = appendix_of(done)
    assert appendix.time is not None
    assert all(proof.beyond for proof in appendix.time.bounds)
    assert len(appendix.time.enduring) == len(appendix.time.endurance)
