"""The ValidationResult machine: two stages, one judgement, and the gate before a version is written.

Theory
======
A validation compiles a source and, for a page, renders it. Each stage passes, passes with a warning, fails, is skipped,
or cannot be run. The published code carried the compile's success over when the renderer was down, and so wrote
versions that nobody had looked at. Here the judgement is taken from both stages in the step that records the second:
``unavailable`` is a judgement of its own, retryable, an error of the infrastructure, and never a pass.

A version is written through one gate. An override, off unless the caller asks for it, stands in for a *render* that
could not be made; it is recorded on the result and in an event, in the same step, and it makes no judgement better.
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
    Guard,
    Invariant,
    Machine,
    Operation,
    Parameter,
    Progress,
    Selection,
    Sort,
    Status,
    StepProperty,
    Variable,
    Witness,
    in_order,
)
from fencepost_model.terms import (
    NULL,
    Const,
    Equal,
    FieldOf,
    Holds,
    Missing,
    Not,
    OneOf,
    Param,
    Same,
    TruthTerm,
    Value,
    all_of,
    any_of,
    implies,
    present,
)

# --- words ------------------------------------------------------------------------------------------------------------

CHECKING, PASSED, FAILED, UNAVAILABLE = "checking", "passed", "failed", "unavailable"
WARNING, SKIPPED = "warning", "skipped"
STAGE_WORDS = (PASSED, WARNING, UNAVAILABLE, FAILED, SKIPPED)
CONTENT, INFRA = "CONTENT", "INFRA"

STATUSES: tuple[Status, ...] = (
    Status(CHECKING, "a stage has still to come"),
    Status(PASSED, "everything that was required is well; a version may be written"),
    Status(FAILED, "the source is wrong", terminal=True),
    Status(UNAVAILABLE, "a stage could not be run; nothing is known of the source"),
)
JUDGED = (PASSED, FAILED, UNAVAILABLE)

TABLE: Mapping[str, tuple[str, ...]] = {
    CHECKING: ("record_compile", "record_render"),
    PASSED: ("write_version",),
    FAILED: (),
    UNAVAILABLE: ("write_version", "check_again"),
}

FIELDS: tuple[Field, ...] = (
    Field("status", Sort.WORD, "what the validation comes to", nullable=False, words=tuple(s.name for s in STATUSES)),
    Field("require_render", Sort.FLAG, "whether a render is required: for pages, not for components", nullable=False),
    Field("compile", Sort.WORD, "how the compile came out", words=STAGE_WORDS),
    Field("render", Sort.WORD, "how the render came out", words=STAGE_WORDS),
    Field("retryable", Sort.FLAG, "whether it is worth while to validate again"),
    Field("error_family", Sort.WORD, "whose fault it is", words=(CONTENT, INFRA)),
    Field("valid", Sort.FLAG, "what a caller from outside is told"),
    Field("version_written", Sort.FLAG, "whether a version has been written", nullable=False),
    Field("overridden", Sort.FLAG, "whether the version was written without a render", nullable=False),
    Field("override_event", Sort.FLAG, "whether an event tells of the override", nullable=False),
)

RESULT = Variable("result", "validation")


def result(name: str) -> FieldOf:
    """A field of the result, as the step finds it."""
    return FieldOf("result", name)


def result_after(name: str) -> FieldOf:
    """A field of the result, as the step leaves it."""
    return FieldOf("result", name, after=True)


def is_status(*names: str) -> TruthTerm:
    """The result has one of these statuses."""
    return Equal(result("status"), Const(names[0])) if len(names) == 1 else OneOf(result("status"), names)


def stage(name: str, *words: str) -> TruthTerm:
    """A stage came out as one of these."""
    return OneOf(result(name), words)


def to(name: str, value: Value) -> Assignment:
    """Set a field of the result."""
    return Assignment(result(name), Const(value))


# --- effects ----------------------------------------------------------------------------------------------------------

HAS_PASSED = (to("status", PASSED), to("retryable", False), to("valid", True))
HAS_FAILED = (to("status", FAILED), to("retryable", False), to("valid", False), to("error_family", CONTENT))
IS_UNAVAILABLE = (to("status", UNAVAILABLE), to("retryable", True), to("valid", False), to("error_family", INFRA))

IS_CHECKING = Guard("checking", is_status(CHECKING), "§4 gate", "a judgement stands until somebody checks again")


def _outcome(name: str, words: tuple[str, ...], why: str) -> Guard:
    return Guard(name, OneOf(Param("outcome"), words), "§4 gate", why)


OUTCOME = Parameter("outcome", Sort.WORD, "how the stage came out", words=STAGE_WORDS)

# --- operations -------------------------------------------------------------------------------------------------------

OPEN = Operation(
    name="open",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(RESULT,),
    parameters=(Parameter("require_render", Sort.FLAG, "whether a render is required"),),
    guards=(Guard("new", Missing(result("status")), "§1", "a result is opened once"),),
    cases=(
        Case(
            "opened",
            (),
            (
                to("status", CHECKING),
                Assignment(result("require_render"), Param("require_render")),
                to("version_written", False),
                to("overridden", False),
                to("override_event", False),
            ),
            "the source is compiled next",
        ),
    ),
    clause="§4 gate",
    meaning="Somebody has a source validated.",
)

RECORD_COMPILE = Operation(
    name="record_compile",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(RESULT,),
    parameters=(OUTCOME,),
    guards=(
        IS_CHECKING,
        Guard("not_compiled", Missing(result("compile")), "§4 gate", "a stage comes out once"),
    ),
    cases=in_order(
        Case(
            "content_wrong",
            (_outcome("compile_content", (FAILED, WARNING), "the compiler has looked, and what it saw is not a pass"),),
            (Assignment(result("compile"), Param("outcome")), to("render", SKIPPED), *HAS_FAILED),
            "the source is wrong",
        ),
        Case(
            "not_run",
            (_outcome("compile_not_run", (UNAVAILABLE, SKIPPED), "nobody has looked at the source"),),
            (Assignment(result("compile"), Param("outcome")), to("render", SKIPPED), *IS_UNAVAILABLE),
            "nothing is known of the source",
        ),
        Case(
            "render_next",
            (Guard("render_required", Holds(result("require_render")), "§4 gate", "a page is looked at, too"),),
            (Assignment(result("compile"), Param("outcome")),),
            "the page is rendered next",
        ),
        Case(
            "passed",
            (),
            (Assignment(result("compile"), Param("outcome")), to("render", SKIPPED), *HAS_PASSED),
            "a component needs no more",
        ),
    ),
    clause="§4 gate",
    meaning="The compile stage has come out.",
)

RECORD_RENDER = Operation(
    name="record_render",
    actor=Actor.HOLDER,
    selection=Selection.NAMED,
    over=(RESULT,),
    parameters=(OUTCOME,),
    guards=(
        IS_CHECKING,
        Guard("compiled", present(result("compile")), "§4 gate", "only what compiles is rendered"),
    ),
    cases=in_order(
        Case(
            "content_wrong",
            (_outcome("render_failed", (FAILED,), "the page was looked at and is wrong"),),
            (Assignment(result("render"), Param("outcome")), *HAS_FAILED),
            "the source is wrong",
        ),
        Case(
            "not_run",
            (_outcome("render_not_run", (UNAVAILABLE, SKIPPED), "nobody has looked at the page"),),
            (Assignment(result("render"), Param("outcome")), *IS_UNAVAILABLE),
            "nothing is known of the page",
        ),
        Case(
            "passed",
            (),
            (Assignment(result("render"), Param("outcome")), *HAS_PASSED),
            "the page is well, perhaps with a warning",
        ),
    ),
    clause="§4 gate",
    meaning="The render stage has come out.",
)

WRITE_VERSION = Operation(
    name="write_version",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(RESULT,),
    parameters=(Parameter("override", Sort.FLAG, "write although no render could be made; off by default"),),
    guards=(
        Guard("judged", is_status(PASSED, UNAVAILABLE), "§4 gate", "a source that is wrong is never written"),
        Guard(
            "unwritten", Not(Holds(result("version_written"))), "§4 gate", "one validation lets one version be written"
        ),
        Guard(
            "passed_or_overridden",
            any_of(is_status(PASSED), all_of(Holds(Param("override")), stage("compile", PASSED))),
            "§4 gate, explicit override",
            "an override stands in for a render that could not be made, and for nothing else",
        ),
    ),
    cases=in_order(
        Case(
            "passed",
            (Guard("passed", is_status(PASSED), "§4 gate", "what has passed needs no override"),),
            (to("version_written", True),),
            "the version is there",
        ),
        Case(
            "overridden",
            (),
            (to("version_written", True), to("overridden", True), to("override_event", True)),
            "the version is there, and result and event say on whose word",
        ),
    ),
    clause="§4 gate",
    meaning="A version of the page or component is written.",
)

CHECK_AGAIN = Operation(
    name="check_again",
    actor=Actor.CLIENT,
    selection=Selection.NAMED,
    over=(RESULT,),
    guards=(
        Guard("unavailable", is_status(UNAVAILABLE), "§4 gate, retryable", "a judgement of the content stands"),
        Guard(
            "nothing_written",
            Not(Holds(result("version_written"))),
            "§4 gate",
            "what was written on somebody's word stays on record as it was",
        ),
    ),
    cases=(
        Case(
            "checking",
            (),
            (
                to("status", CHECKING),
                *(Assignment(result(n), NULL) for n in ("compile", "render", "retryable", "error_family", "valid")),
            ),
            "both stages are run anew",
        ),
    ),
    clause="§4 gate, retryable",
    meaning="Somebody has a source validated again after the infrastructure was at fault.",
)

OPERATIONS: tuple[Operation, ...] = (OPEN, RECORD_COMPILE, RECORD_RENDER, WRITE_VERSION, CHECK_AGAIN)

VALIDATION_MACHINE = Machine(
    name="validation",
    meaning="The result of a validation: what its stages say, what it comes to, and what was written on it.",
    fields=FIELDS,
    statuses=STATUSES,
    table=TABLE,
    created_by="open",
)

# --- statements -------------------------------------------------------------------------------------------------------

GOOD: TruthTerm = all_of(
    stage("compile", PASSED), any_of(Not(Holds(result("require_render"))), stage("render", PASSED, WARNING))
)
VISIBLE = tuple(field.name for field in FIELDS)


def _invariant(name: str, statement: TruthTerm, meaning: str) -> Invariant:
    return Invariant(name, "§4 gate", (RESULT,), statement, meaning)


INVARIANTS: tuple[Invariant, ...] = (
    _invariant(
        "passed_on_both_stages",
        implies(is_status(PASSED), GOOD),
        "A result is passed only with a compile that passed and, where required, a render that passed or warned.",
    ),
    _invariant(
        "good_stages_are_judged_passed",
        implies(all_of(present(result("render")), GOOD), is_status(PASSED)),
        "What is well is not held back.",
    ),
    _invariant(
        "unavailable_is_no_verdict",
        implies(
            is_status(UNAVAILABLE),
            all_of(
                Holds(result("retryable")), Equal(result("error_family"), Const(INFRA)), Not(Holds(result("valid")))
            ),
        ),
        "Trouble with the infrastructure is retryable, called by its name, and no valid answer.",
    ),
    _invariant(
        "told_exactly_when_judged",
        all_of(
            *(
                all_of(implies(is_status(*JUDGED), present(answer)), implies(present(answer), is_status(*JUDGED)))
                for answer in (result("valid"), result("retryable"))
            )
        ),
        "Whether the source is valid, and whether to validate again, is told exactly on a judgement.",
    ),
    _invariant(
        "unavailable_is_no_failure",
        implies(is_status(UNAVAILABLE), Not(any_of(stage("compile", FAILED, WARNING), stage("render", FAILED)))),
        "What failed on its content is not excused by the infrastructure.",
    ),
    _invariant(
        "failed_on_content_only",
        implies(
            is_status(FAILED),
            all_of(
                Equal(result("error_family"), Const(CONTENT)),
                Not(Holds(result("retryable"))),
                Not(stage("compile", UNAVAILABLE, SKIPPED)),
                Not(stage("render", UNAVAILABLE)),
            ),
        ),
        "Nobody is told that the source is wrong because a stage could not be run.",
    ),
    _invariant(
        "valid_exactly_when_passed",
        all_of(
            implies(Holds(result("valid")), is_status(PASSED)),
            implies(is_status(PASSED), Holds(result("valid"))),
        ),
        "A caller from outside is told valid exactly for what has passed.",
    ),
    _invariant(
        "passed_without_fault",
        implies(is_status(PASSED), all_of(Missing(result("error_family")), Not(Holds(result("retryable"))))),
        "What has passed names no fault.",
    ),
    _invariant(
        "judged_on_all_stages",
        all_of(
            implies(is_status(*JUDGED), all_of(present(result("compile")), present(result("render")))),
            implies(is_status(CHECKING), all_of(Missing(result("render")), Missing(result("error_family")))),
            implies(is_status(CHECKING), any_of(Missing(result("compile")), stage("compile", PASSED))),
        ),
        "A judgement rests on both stages.",
    ),
    _invariant(
        "render_awaited_where_required",
        implies(all_of(is_status(CHECKING), present(result("compile"))), Holds(result("require_render"))),
        "Only a page waits for a render.",
    ),
    _invariant(
        "written_on_a_pass_or_on_record",
        implies(
            Holds(result("version_written")),
            any_of(is_status(PASSED), all_of(is_status(UNAVAILABLE), Holds(result("overridden")))),
        ),
        "No version is written on a result that has not passed, unless an override is on record.",
    ),
    _invariant(
        "override_on_record",
        implies(
            Holds(result("overridden")),
            all_of(
                Holds(result("version_written")),
                Holds(result("override_event")),
                stage("compile", PASSED),
                stage("render", UNAVAILABLE, SKIPPED),
            ),
        ),
        "An override is on the result and in an event, and stands in for a render alone.",
    ),
)

STEP_PROPERTIES: tuple[StepProperty, ...] = (
    StepProperty(
        "judgement_stands",
        "§4 gate",
        (RESULT,),
        implies(
            is_status(*JUDGED),
            any_of(
                all_of(
                    *(
                        Same(result(n), result_after(n))
                        for n in VISIBLE
                        if n not in ("version_written", "overridden", "override_event")
                    )
                ),
                all_of(
                    is_status(UNAVAILABLE),
                    Not(Holds(result("version_written"))),
                    Equal(result_after("status"), Const(CHECKING)),
                ),
            ),
        ),
        "A judgement is not improved afterwards; only what was unavailable is checked again.",
    ),
    StepProperty(
        "written_once",
        "§4 gate",
        (RESULT,),
        all_of(Not(Holds(result("version_written"))), Holds(result_after("version_written"))),
        "One validation lets one version be written.",
        of="write_version",
    ),
    StepProperty(
        "override_is_asked_for",
        "§4 gate, explicit override",
        (RESULT,),
        all_of(
            implies(Not(Holds(Param("override"))), is_status(PASSED)),
            implies(is_status(PASSED), Not(Holds(result_after("overridden")))),
        ),
        "Nothing is overridden unless somebody asks for it, and nothing that has passed is called overridden.",
        of="write_version",
    ),
    StepProperty(
        "required_render_kept",
        "§4 gate",
        (RESULT,),
        implies(present(result("status")), Same(result("require_render"), result_after("require_render"))),
        "What is required of a result does not change.",
    ),
    *(
        StepProperty(
            f"{stage_name}_recorded_once",
            "§4 gate",
            (RESULT,),
            all_of(
                is_status(CHECKING),
                Missing(result(stage_name)),
                Equal(result_after(stage_name), Param("outcome")),
            ),
            f"The {stage_name} is recorded once, as it came out.",
            of=f"record_{stage_name}",
        )
        for stage_name in ("compile", "render")
    ),
    StepProperty(
        "rendered_after_the_compile",
        "§4 gate",
        (RESULT,),
        stage("compile", PASSED),
        "Only what compiles is rendered.",
        of="record_render",
    ),
    StepProperty(
        "opened_once",
        "§1",
        (RESULT,),
        Missing(result("status")),
        "A result is opened once.",
        of="open",
    ),
    StepProperty(
        "checked_again_after_trouble_only",
        "§4 gate, retryable",
        (RESULT,),
        all_of(Holds(result("retryable")), Not(Holds(result("version_written")))),
        "Only trouble with the infrastructure is worth a second look.",
        of="check_again",
    ),
)

WITNESSES: tuple[Witness, ...] = (
    *(Witness(f"{s.name}_reached", "§1", (RESULT,), is_status(s.name), f"A validation is {s.name}.") for s in STATUSES),
    Witness(
        "compiled_and_unavailable",
        "001 §6.1",
        (RESULT,),
        all_of(is_status(UNAVAILABLE), stage("compile", PASSED), stage("render", UNAVAILABLE)),
        "A page compiles and no renderer is there: the case that the published code let pass.",
    ),
    Witness(
        "passed_with_a_warning",
        "001 §6.1",
        (RESULT,),
        all_of(is_status(PASSED), stage("render", WARNING)),
        "A warning about the content is no failure.",
    ),
    Witness(
        "component_passed_without_a_render",
        "§4 gate",
        (RESULT,),
        all_of(is_status(PASSED), stage("render", SKIPPED)),
        "A component passes on its compile alone.",
    ),
    Witness(
        "written_by_override",
        "§4 gate, explicit override",
        (RESULT,),
        all_of(Holds(result("overridden")), Holds(result("version_written"))),
        "A version was written on somebody's word.",
    ),
)

PROGRESS: tuple[Progress, ...] = (
    Progress(
        "no_limbo",
        "§3 no limbo",
        (RESULT,),
        is_status(CHECKING),
        ("record_compile", "record_render"),
        "A validation under way has a stage that comes out.",
    ),
    Progress(
        "retryable",
        "§4 gate, retryable",
        (RESULT,),
        all_of(is_status(UNAVAILABLE), Not(Holds(result("version_written")))),
        ("check_again",),
        "What was unavailable can be checked again at once.",
        at_once=True,
    ),
    Progress(
        "passed_can_be_written",
        "§4 gate",
        (RESULT,),
        all_of(is_status(PASSED), Not(Holds(result("version_written")))),
        ("write_version",),
        "What has passed can be written at once.",
        at_once=True,
    ),
)

VALIDATION_CONTRACT = Contract(
    name="validation",
    machines=(VALIDATION_MACHINE,),
    operations=OPERATIONS,
    invariants=INVARIANTS,
    step_properties=(*STEP_PROPERTIES, *arrows_kept(each for each in OPERATIONS if each is not RECORD_COMPILE)),
    witnesses=WITNESSES,
    progress=PROGRESS,
)
"""The contract of the validation gate (contract §4)."""
