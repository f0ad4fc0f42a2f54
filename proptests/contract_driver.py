"""Asks contracts about calls, both of the file that `contracts.rs` writes; a line for each call: 1 if it is accepted."""

import importlib.util
import struct
import sys

spec = importlib.util.spec_from_file_location("contract", sys.argv[1])
checker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checker)
with open(sys.argv[2], "rb") as file:
    data = file.read()
at = 0


def number():
    global at
    at += 8
    return struct.unpack_from("<q", data, at - 8)[0]


contracts, calls_length = number(), number()
start = at + calls_length
answers = []
for _ in range(contracts):
    length, calls, inputs = number(), number(), number()
    contract = checker._Compact(data[start : start + length])
    start += length
    for _ in range(calls):
        given = []
        for _ in range(inputs):
            rank = number()
            given.append(number() if rank < 0 else tuple(number() for _ in range(rank)))
        answers.append("0" if contract.failing(given) else "1")
print("\n".join(answers))
