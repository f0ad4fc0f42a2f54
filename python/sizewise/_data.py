"""Conditions that data decide: which answers export, and the checks that state them in the code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sizewise._attempts import is_undecided
from sizewise._branching import checks_of_line
from sizewise._errors import DataDependentError
from sizewise._follow import Taken

#: The most exports that are tried for one answer to the first condition.
_MAX_TRIES = 8

#: Answers to the conditions that data decide, in the order in which torch asks for them; `None` leaves one open.
Answers: TypeAlias = tuple[bool | None, ...]

#: A trace with such answers: the conditions that torch asked for, and the error that ended it.
Trace = Callable[[Answers], tuple[list[Taken], Exception | None]]


@dataclass(frozen=True)
class Side:
    """What becomes of an export where the first condition has one of its answers."""

    #: Whether the module can be exported; `None` if `_MAX_TRIES` exports did not tell.
    exports: bool | None
    #: The answers with which it exports, or those of the longest attempt.
    answers: Answers
    #: The conditions that were asked for.
    asked: list[Taken]
    #: What ended the longest attempt.
    error: Exception | None = None


def sides(trace: Trace, asked: list[Taken]) -> dict[bool, Side]:
    """What becomes of an export that ended with the last of some conditions, by the answer to it."""
    condition = asked[-1].condition
    if not (condition.is_Relational or condition.is_Boolean):
        return {}
    # torch got past those before it.
    return {answer: _side(trace, (*(None,) * (len(asked) - 1), answer)) for answer in (True, False)}


def _side(trace: Trace, first: Answers) -> Side:
    """Looks for answers to all further conditions with which the module exports; no first, as to "is it empty?"."""
    waiting, furthest = [first], None
    for _ in range(_MAX_TRIES):
        if not waiting:
            break
        answers = waiting.pop()
        asked, error = trace(answers)
        if error is None:
            return Side(True, answers, asked)
        if furthest is None or len(asked) > len(furthest.asked):
            furthest = Side(False, answers, asked, error)
        if is_undecided(error) and len(asked) > len(answers):
            past = (*answers, *(None,) * (len(asked) - len(answers) - 1))
            waiting += [(*past, True), (*past, False)]
    assert furthest is not None
    return Side(None if waiting else False, furthest.answers, furthest.asked, furthest.error)


def checks(one: Taken, error: Exception | None = None) -> list[str]:
    """The calls of `torch._check` that state that a condition holds, and that it does not; as torch words them, if it does.

    There are none where neither torch nor the line says the condition in the words of the code.
    """
    advised = _checks_of(error) if error is not None else []
    if not advised and one.place is not None and one.place.cause == "branch":
        return checks_of_line(one.place.source)
    return advised


def error_of(asked: list[Taken], sides: dict[bool, Side], cause: Exception) -> DataDependentError:
    """The error of a condition that data decide.

    Parameters
    ----------
    asked : list
        The conditions that torch asked for, the one where it stopped last.
    sides : dict
        What was tried, by the answer; empty for a number, which has no answer to try.
    cause : Exception
        torch's own error.
    """
    first = asked[-1]
    message = f"{_at(first)}data decide `{first.condition}`, so no assumption on sizes settles it"
    message += "".join(_found(sides))
    advice = checks(first, cause)
    useful = [answer for answer in sides if sides[answer].exports]
    if len(advice) == 2 and len(useful) == 1:
        advice = [advice[0] if useful[0] else advice[1]]
    if not sides:
        message += "\nThe line needs the number itself: write a loop as an operator on whole tensors, or keep the number a tensor"
    elif not advice:
        message += "\nAssert it, or its opposite, by `torch._check` before this line, in the words of the code"
    elif not useful:
        message += "\nThese pass this line, but no export was found behind it:"
    else:
        message += "\nWrite before this line" + (" one of" if len(advice) > 1 else "") + ":"
    if sides:
        message += "".join(f"\n    {check}" for check in advice)
    for answer in useful:
        message += _further(sides[answer], len(asked), "" if len(useful) == 1 else f", where it is {str(answer).lower()},")
    for answer, found in sides.items():
        if not found.exports:
            message += _stopped(answer, found)
    place = first.place
    file, line = (place.file, place.line) if place is not None else (None, None)
    exports = {answer: found.exports for answer, found in sides.items() if found.exports is not None}
    return DataDependentError(message, str(first.condition), file, line, exports)


def _at(one: Taken) -> str:
    return f"{one.place.file}:{one.place.line}: {one.place.source}\n" if one.place is not None else ""


def _found(sides: dict[bool, Side]) -> list[str]:
    """What was tried, in one clause a side."""
    said = {True: "exports", False: "does not export", None: "was not seen to export"}
    words = [f"{said[found.exports]} where it is {str(answer).lower()}" for answer, found in sides.items()]
    return ["; the module ", ", and ".join(words)] if words else []


def _further(found: Side, after: int, where: str) -> str:
    """The checks that an export needs behind the first one."""
    message = ""
    for one, answer in zip(found.asked[after:], found.answers[after:], strict=False):
        if answer is not None:
            known = checks(one) or [f"assert `{one.condition}`", f"assert the opposite of `{one.condition}`"]
            message += f"\nand{where} before {_at(one).strip() or 'a line that is not known'}"
            message += f"\n    {known[0 if answer else 1]}"
    return message


def _stopped(answer: bool, found: Side) -> str:
    """Where the longest attempt with an answer ended."""
    start = f"\nWhere it is {str(answer).lower()}, the export ends at "
    if is_undecided(found.error) and len(found.asked) > len(found.answers):
        last = found.asked[-1]
        is_condition = last.condition.is_Relational or last.condition.is_Boolean
        asks = f"asks for `{last.condition}`" if is_condition else f"needs `{last.condition}` as a number"
        return f"{start}{_at(last).strip() or 'a line that is not known'}\n    which {asks}"
    text = str(found.error).strip().splitlines()
    return f"{start}{type(found.error).__name__}: {text[0][:200] if text else ''}"


def _checks_of(error: Exception) -> list[str]:
    """The calls of ``torch._check`` that torch's message advises."""
    lines = str(error).splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("To fix the error, insert one of")), len(lines))
    found = []
    for line in lines[start + 1 :]:
        number, _, call = line.strip().partition(". ")
        if not number.isdigit():
            break
        found.append(call)
    return found
