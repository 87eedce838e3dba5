"""A harness behind standard streams: reads messages from standard input, writes answers to standard output.

``python -m fencepost_verification.conformance.serve memory|sqlite|postgresql|package.module:factory`` serves that
adapter, so that any in-process harness is also a program.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import IO, Any

from fencepost_verification.conformance.connect import TargetError, adapter
from fencepost_verification.conformance.harness import Harness, answer
from fencepost_verification.conformance.protocol import Json


def serve(harness: Harness, messages: IO[str], answers: IO[str]) -> None:
    """Answer each message until ``stop`` or the end of the messages."""
    for line in messages:
        message: Any = {}
        try:
            message = json.loads(line)
        except ValueError as error:
            given: Json = {"error": f"the message is no JSON: {error}"}
        else:
            given = answer(harness, message)
        try:
            text = json.dumps(given, allow_nan=False)
        except (TypeError, ValueError) as error:
            text = json.dumps({"error": f"the answer cannot be written as JSON: {error}"})
        answers.write(text + "\n")
        answers.flush()
        if given.get("ok") is True and message.get("do") == "stop":
            return
    harness.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the adapter that the one argument names; 2 when it cannot be found."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) != 1:
        print("Name one adapter to serve: memory, sqlite, postgresql or package.module:factory.", file=sys.stderr)
        return 2
    try:
        harness = adapter(words[0]).factory()
    except TargetError as error:
        print(error, file=sys.stderr)
        return 2
    # What a library prints must not pass for an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    serve(harness, sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
