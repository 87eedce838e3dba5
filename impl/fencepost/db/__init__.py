"""The dialect layer: the only package of the runtime that knows which database it talks to (contract §8).

Above this package there is one code path. It asks for what it means (a write transaction, the store's time, an index
with a predicate, whether an error was a conflict) and never for the name of a dialect or a driver. A test reads the
source of the runtime and fails when a dialect test, a driver import or a bare `OperationalError` appears outside.

=============== =======================================================================================================
`dialects`      which store this is, and what it is capable of
`engine`        engines set up for durable work, how durable a commit is, connections whose statements stand alone
`tx`            write transactions, whether one holds the write lock, the end of a read
`types`         UTC datetimes, JSON payloads and automatic keys
`moments`       the store's clock and arithmetic on times, in SQL
`indexes`       partial indexes from one predicate
`errors`        which exceptions are conflicts, which are lost connections
`retry`         a write that runs again, each time in a fresh transaction
=============== =======================================================================================================

The functions take a synchronous `sqlalchemy.Connection`. Asynchronous programs run the same functions through
`AsyncConnection.run_sync`; the few `async` twins here do nothing else.
"""
