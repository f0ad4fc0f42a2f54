"""What a question to a native environment costs, with the expressions handed over as sympy trees."""

import time

import sympy

from sizewise import _native
from sizewise._sympy import Reader


def main() -> None:
    env = _native.Env()
    reader = Reader(env)
    s, t = sympy.symbols("s0 s1", integer=True, positive=True)
    for name in ("s0", "s1"):
        env.declare(env.symbol(name), 2, None, 64)
    env.assume(reader.number(sympy.Eq(sympy.Mod(s, 8), 0)))
    goals = [sympy.Ge(s * (k + 2) + t * (k % 7), k) for k in range(2000)]
    for what in ("cold", "warm"):
        began = time.perf_counter()
        numbers = [reader.number(goal) for goal in goals]
        print(f"{what} walk: {(time.perf_counter() - began) / len(goals) * 1e6:.2f} us an expression")
    for what in ("first", "again"):
        began = time.perf_counter()
        answers = [env.settle(number)[0] for number in numbers]
        print(f"{what} settled: {(time.perf_counter() - began) / len(goals) * 1e6:.2f} us a question")
    print(f"{sum(answer is not None for answer in answers)} of {len(answers)} settled")


if __name__ == "__main__":
    main()
