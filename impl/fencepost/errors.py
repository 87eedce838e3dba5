"""The exceptions of the runtime: one base class, and those that more than one part raises.

Every message is one sentence that says what is wrong and what to do instead. A class stands here when callers of
different parts must be able to catch it; what a single part alone raises stays with that part and inherits from
`FencepostError`.

All of them pass through SQLAlchemy unwrapped (`DontWrapMixin`): a value refused while a statement is being bound
reaches the caller as itself, and not inside a `StatementError` that prints the SQL around it.
"""

from sqlalchemy.exc import DontWrapMixin


class FencepostError(DontWrapMixin, Exception):
    """Whatever the runtime refuses or cannot do; catch this to catch all of it."""


class ConfigurationError(FencepostError):
    """A setting, a URL or an environment that the runtime cannot work with; the message names what to change."""


class DatetimeError(FencepostError):
    """A value that no time column may hold: not a datetime at all, or one outside the years 1 to 9999 in UTC."""


class NaiveDatetime(DatetimeError):
    """A datetime without a time zone, met where an aware one is required (contract §8)."""


class TransactionError(FencepostError):
    """A transaction is not in the state that the call requires; nothing was written by the call."""


class TransactionAborted(TransactionError):
    """The database ended the transaction after an error inside it that was not let through; nothing was committed."""


class WriteConflict(FencepostError):
    """A write lost against concurrent writers as often as its schedule allows; `__cause__` is the last conflict."""
