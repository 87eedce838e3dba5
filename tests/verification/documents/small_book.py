"""A small book: a main chapter, one other chapter, and every appendix with few results; the rest is not examined."""

from __future__ import annotations

from functools import cache

from fencepost_model.machines.admission import GROUP_CONTRACT
from fencepost_model.machines.job_questions import QUESTIONS
from fencepost_model.timing import BEATS_DELAYED
from fencepost_verification.documents.appendices import Appendix, TimeResults, appendix_files
from fencepost_verification.documents.book import Book
from fencepost_verification.documents.evidence_input import Evidence
from fencepost_verification.documents.pages import Pages
from fencepost_verification.evidence import Held
from fencepost_verification.explore.fairness import answered
from fencepost_verification.findings.catalogue import GAPS, find
from fencepost_verification.findings.words import GAPS as GAPS_OF_WORDS
from fencepost_verification.prove.timing import prove_bound

OTHER = Evidence(GROUP_CONTRACT, title="Several askers", meaning="One job that several callers asked for.")


@cache
def some_results() -> Appendix:
    """A few real results: the others are not examined."""
    few = tuple(gap for gap in GAPS if gap in GAPS_OF_WORDS[:2] or gap.title == "An owner is no fence")
    questions = [question for question in QUESTIONS if not question.ends][:1]
    return Appendix(
        vocabularies=(Held("ApiMutationJob: every word has one meaning", "all of them"),),
        time=TimeResults((prove_bound(BEATS_DELAYED),)),
        findings=find(gaps=few, settle=False),
        answers=[answered(question) for question in questions],
    )


def book(evidence: Evidence) -> Book:
    """The book of a main chapter with the evidence given."""
    chapters = (OTHER,)
    appendices = {**Pages(evidence).word_files(), **appendix_files(some_results(), (evidence, *chapters))}
    return Book(evidence, chapters, appendices)
