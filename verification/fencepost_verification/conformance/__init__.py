"""The judge: a protocol, a tour over what the contract allows and forbids, and a report, for any implementation.

=============== =======================================================================================================
`protocol`      the messages, their JSON Schema generated from a contract, and what makes an answer malformed
`capabilities`  what an implementation may lack, each a sentence; closed unless declared
`harness`       what a Python implementation writes to be judged: one method for each operation
`connect`       how an implementation is reached: in this process, or as a program over its standard streams
`situations`    what the guards of a contract can tell apart, and every call that is worth making in a situation
`graph`         the states of a small world and the steps between them, for planning
`scope`         the small worlds that are toured
`tour`          few long paths that take every edge, and every refused call on the way
`verdict`       what a wrong answer refutes, clause by clause
`report`        the same for the terminal and as JSON
`run`           one whole run, from a target to a report
`smoke`         a first look at a new harness, in a second
`reference`     the model itself as an implementation
`adapters`      built-in implementations: the model in memory, our runtime on SQLite and PostgreSQL
`offenders`     small wrong implementations, each named for its fault, which the judge must catch
=============== =======================================================================================================

Nothing outside `reference`, `adapters` and `offenders` knows our runtime, and nothing here needs a solver.
"""
