"""Contracts over the pure decision functions of the model and the runtime, and that the two do not differ.

Each function here calls the real one with open arguments and says what must come out. They are written so that the
branches are finitely many: families are six flags, words and kinds are numbers into their lists, times are whole
seconds. What cannot be exhausted (codes as strings, hashes) is a bounded search and says so.

The annotations are read at run time by CrossHair, which makes a symbolic value of each.
"""

from fencepost.errors import ConfigurationError
from fencepost.jobs.profile import LEAST_SHARE, Backoff, Profile
from fencepost_model.aggregation import ENDED, Policy, aggregated
from fencepost_model.buckets import bucket, bucket_of
from fencepost_model.error_codes import (
    FAILURE_KINDS,
    INFRASTRUCTURE,
    ORDER,
    RETRYABLE,
    Family,
    UnclassifiedCode,
    classify,
    family_of_failure,
    first_of,
    is_retryable,
    is_torn,
)
from fencepost_model.machines.job import NEW_LEASE
from fencepost_model.queues import LEASE_OVER_HEARTBEAT, QUEUES, STATUSES, QueueError, QueueProfile
from fencepost_model.terms import Bare, value_of
from fencepost_model.timing import back_off_ceiling, new_lease, renewed_lease
from fencepost_verification.symbolic.engine import Condition

Flags = tuple[bool, bool, bool, bool, bool, bool]

_KINDS = tuple(FAILURE_KINDS.values())
_BACKOFF = Backoff(base_seconds=2.0, cap_seconds=300.0)
_ATTEMPTS = tuple(range(1, 13))
_NODES = tuple(sorted(ENDED))


def _families(flags: Flags) -> frozenset[Family]:
    return frozenset(family for family, fits in zip(ORDER, flags, strict=True) if fits)


# --- error codes ------------------------------------------------------------------------------------------------------


def first_is_earliest(flags: Flags) -> bool:
    """The family that decides fits, and none before it in the order does.

    post: _
    """
    first = first_of(_families(flags))
    if first is None:
        return not any(flags)
    place = ORDER.index(first)
    return flags[place] and not any(flags[:place])


def torn_codes_have_no_family(flags: Flags) -> bool:
    """A code is torn exactly if LEASE, CONTENT or INFRA decides and it is both content and infrastructure.

    post: _
    """
    fence, cancel, limit, lease, content, infra = flags
    return is_torn(_families(flags)) == (not (fence or cancel or limit) and content and (lease or infra))


def trouble_is_never_content(flags: Flags) -> bool:
    """Where a code that is not torn comes out as content, no infrastructure fits; and the other way round.

    post: _
    """
    fitting = _families(flags)
    first = first_of(fitting)
    if is_torn(fitting):
        return True
    if first is Family.CONTENT:
        return INFRASTRUCTURE.isdisjoint(fitting)
    return first not in INFRASTRUCTURE or Family.CONTENT not in fitting


def retry_is_by_family(code: str) -> bool:
    """A code is retryable exactly if its family is; a code without a family is neither.

    pre: len(code) <= 6
    post: _
    """
    try:
        return is_retryable(code) == (classify(code) in RETRYABLE)
    except UnclassifiedCode:
        return True


def failures_keep_their_word(kind: int, retryable: bool) -> bool:
    """A task's failure that may be tried again has a retryable family, and only such a one has.

    pre: 0 <= kind < 9
    post: _
    """
    chosen = _KINDS[kind]
    try:
        return (family_of_failure(chosen.name, retryable=retryable) in RETRYABLE) == retryable
    except UnclassifiedCode:
        return (chosen.again if retryable else chosen.final) is None


# --- back-off ---------------------------------------------------------------------------------------------------------


def ceiling_as_in_the_model(attempt: int) -> bool:
    """The runtime's longest wait after an attempt is the model's, until beyond the cap, which the ninth reaches.

    pre: 1 <= attempt <= 12
    post: _
    """
    # Compared with each in turn, so that each path runs on a plain number: powers of an open exponent take z3 for ever.
    return all(
        _BACKOFF.ceiling(number) == back_off_ceiling(number, 2.0, 300.0) for number in _ATTEMPTS if number == attempt
    )


def ceiling_rises_to_the_cap(attempt: int) -> bool:
    """The longest wait never falls from one attempt to the next, and stays between base and cap.

    pre: 1 <= attempt <= 12
    post: _
    """
    return all(
        2.0 <= _BACKOFF.ceiling(number) <= _BACKOFF.ceiling(number + 1) <= 300.0
        for number in _ATTEMPTS
        if number == attempt
    )


def far_ceiling_is_the_cap(attempt: int) -> bool:
    """However often a job was tried, its wait is the cap and nothing overflows, by the runtime's own arithmetic.

    pre: attempt > 64
    post: _
    """
    return _BACKOFF.ceiling(attempt) == 300.0


def doubled_until_the_cap(base: int, cap: int) -> bool:
    """For any base and cap in whole seconds the model's fourth wait is eight times the base, cut at the cap.

    pre: 1 <= base <= cap
    post: _
    """
    return back_off_ceiling(4, base, cap) == min(cap, 8 * base)


def share_leaves_a_wait(drawn: float) -> bool:
    """Whatever is drawn from 0 up to 1, the share is from a hundredth up to 1.

    pre: 0.0 <= drawn < 1.0
    post: _
    """
    return LEAST_SHARE <= _BACKOFF.share(lambda: drawn) <= 1.0


# --- leases -----------------------------------------------------------------------------------------------------------


def lease_as_in_the_contract(now: int, lease: int, deadline: int | None) -> bool:
    """The arithmetic of a new lease is the contract's term for it, at any time, of any length, with any deadline.

    pre: lease > 0
    post: _
    """
    scope = Bare({"job": {"deadline_at": deadline}}, clock=now, settings={"lease_seconds": lease})
    return value_of(NEW_LEASE, scope) == new_lease(now, lease, deadline)


def lease_is_alive_and_in_time(now: int, lease: int, deadline: int | None) -> bool:
    """A lease given before the deadline is alive, and over at the deadline at the latest.

    pre: lease > 0
    pre: deadline is None or deadline > now
    post: _
    """
    end = new_lease(now, lease, deadline)
    return end > now and (deadline is None or end <= deadline) and end <= now + lease


def renewal_never_shortens(old: int, now: int, lease: int, deadline: int | None) -> bool:
    """A renewed lease is over no earlier than before, and within the deadline if it was.

    pre: lease > 0
    post: _
    """
    end = renewed_lease(old, now, lease, deadline)
    return end >= old and (deadline is None or end <= max(old, deadline))


def profile_as_in_the_model(lease: int, heartbeat: int) -> bool:
    """The runtime accepts lease and heartbeat exactly if the lease holds three heartbeats, as the model asks.

    pre: -1 <= lease <= 7 and 0 <= heartbeat <= 2
    post: _
    """
    try:
        Profile(lease_seconds=lease, heartbeat_seconds=heartbeat)
    except ConfigurationError:
        return not (lease > 0 and heartbeat > 0 and lease >= LEASE_OVER_HEARTBEAT * heartbeat)
    return lease > 0 and heartbeat > 0 and lease >= LEASE_OVER_HEARTBEAT * heartbeat


# --- words of the queues ----------------------------------------------------------------------------------------------


def written_words_are_read_back(queue: int) -> bool:
    """Each queue reads what it writes for a status as that status, or does not register the status.

    pre: 0 <= queue < 10
    post: _
    """
    profile = QUEUES[queue]
    return all(_is_read_back(profile, meant) for meant in STATUSES)


def _is_read_back(profile: QueueProfile, meant: str) -> bool:
    try:
        return profile.read(profile.written(meant)) == meant
    except QueueError:
        return all(profile.read(word) != meant for word in profile.words)


# --- buckets ----------------------------------------------------------------------------------------------------------


def bucket_is_one_of_them(number: int, buckets: int) -> bool:
    """The bucket of any hash is one of the buckets.

    pre: number >= 0 and buckets >= 1
    post: _
    """
    return 0 <= bucket_of(number, buckets) < buckets


def bucket_is_stable(key: str, buckets: int) -> bool:
    """A key falls into the same bucket each time, and with one bucket into that one.

    pre: len(key) <= 2 and 1 <= buckets <= 4
    post: _
    """
    return bucket(key, buckets) == bucket(key, buckets) < buckets and bucket(key, 1) == 0


# --- pipelines --------------------------------------------------------------------------------------------------------


def aggregation_ignores_order(one: int, other: int) -> bool:
    """What two ended nodes come to does not depend on which is which, under any policy.

    pre: 0 <= one < 5 and 0 <= other < 5
    post: _
    """
    nodes = [_NODES[one], _NODES[other]]
    return all(aggregated(nodes, policy) == aggregated(nodes[::-1], policy) for policy in Policy)


def success_needs_a_reason(one: int, other: int) -> bool:
    """A run of two nodes succeeds only without a failure among them, or with the quorum met.

    pre: 0 <= one < 5 and 0 <= other < 5
    post: _
    """
    nodes = [_NODES[one], _NODES[other]]
    unharmed = "failed" not in nodes and "stopped" not in nodes and "cancelled" not in nodes
    for policy in (Policy.FAIL_FAST, Policy.ALL_SETTLED):
        if (aggregated(nodes, policy) == "succeeded") != unharmed:
            return False
    return all(
        (aggregated(nodes, Policy.QUORUM, quorum=quorum) == "succeeded") == (nodes.count("succeeded") >= quorum)
        for quorum in (1, 2, 3)
    )


CONDITIONS: tuple[Condition, ...] = (
    Condition(first_is_earliest, "of the families that fit, the first in the order decides", "§5, D-9"),
    Condition(torn_codes_have_no_family, "a code is refused as torn in just the cases that the contract names", "§5"),
    Condition(trouble_is_never_content, "infrastructure trouble never passes as a fault of the content", "§5"),
    Condition(retry_is_by_family, "whether a code is retried follows from its family", "D-21", searched=True),
    Condition(failures_keep_their_word, "a task's failure is retryable exactly if its family is", "003 §2.4"),
    Condition(
        ceiling_as_in_the_model, "for attempts 1 to 12 the runtime's back-off is the model's", "§2 fail, recover"
    ),
    Condition(ceiling_rises_to_the_cap, "for attempts 1 to 12 the back-off rises from base to cap", "§2 fail, recover"),
    Condition(
        far_ceiling_is_the_cap, "from attempt 65 on the back-off is the cap: nothing overflows", "§2 fail, recover"
    ),
    Condition(doubled_until_the_cap, "the back-off doubles until the cap", "§2 fail, recover"),
    Condition(share_leaves_a_wait, "jitter always leaves a wait", "§2 fail, recover"),
    Condition(lease_as_in_the_contract, "the lease arithmetic is the contract's term", "§2 claim"),
    Condition(lease_is_alive_and_in_time, "a lease given before the deadline is alive and ends in time", "§2 claim"),
    Condition(renewal_never_shortens, "a renewal never shortens a lease", "§2 renew"),
    Condition(profile_as_in_the_model, "the runtime's profile asks for three heartbeats as the model does", "§2, §7"),
    Condition(written_words_are_read_back, "each queue reads back what it writes", "000 §3"),
    Condition(bucket_is_one_of_them, "the bucket of any hash is one of the buckets", "§6 buckets"),
    Condition(bucket_is_stable, "a key stays in its bucket", "§6 buckets", searched=True),
    Condition(aggregation_ignores_order, "what a pipeline comes to does not depend on the order of its nodes", "§6"),
    Condition(success_needs_a_reason, "a pipeline succeeds only for a reason", "§6"),
)
"""Every contract that is checked."""
