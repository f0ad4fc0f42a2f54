#!/usr/bin/env python3
"""Has every verdict checked again by solvers that have nothing in common with sizewise.

    recheck.py --bin target/release/sizewise [--queries FILE.jsonl ...] [--programs FOLDER [--limit N]]
               [--work FOLDER] [--seconds S] [--report tests/recheck.md]

sizewise writes each obligation as an SMT-LIB 2 file (`--emit-smt2`): ranges, assumptions and the negated goal. cvc5 and a Z3 newer than the
one that sizewise links (both from PyPI: `pip install cvc5 z3-solver`) read the files. `implied` has to be unsatisfiable, `inconsistent`
too (there the goal is `False`), `refuted` satisfiable. A refuted obligation that a solver leaves open is put to it again with the
witness filled in. Where the canonical form alone settled a query, its obligation is trivial; then the query's own text is translated to
SMT-LIB here and asked as well (`text`), so that the reader and the canonical forms are checked, too. Answers are kept in the working folder, so an interrupted run goes on where it stopped.

Not part of the test suite: it needs both packages and takes a while. Exit status 1 where a solver contradicts a verdict.
"""
import argparse, ast, collections, glob, json, os, queue, shutil, subprocess, sys, threading

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXPECTED = {"implied": "unsat", "inconsistent": "unsat", "refuted": "sat"}

WORKERS = {
    "z3": """
import sys, json, z3
for line in sys.stdin:
    text, seconds = json.loads(line)
    solver = z3.Solver()
    solver.set("timeout", int(1000 * seconds))
    try:
        solver.from_string(text)
        answer = str(solver.check())
    except z3.Z3Exception as error:
        answer = "error: " + str(error)
    print(json.dumps(answer), flush=True)
""",
    "cvc5": """
import sys, json, cvc5
for line in sys.stdin:
    text, seconds = json.loads(line)
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", str(int(1000 * seconds)))
    answer = "unknown"
    try:
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
        symbols = parser.getSymbolManager()
        while True:
            command = parser.nextCommand()
            if command.isNull():
                break
            said = command.invoke(solver, symbols).strip()
            if said in ("sat", "unsat"):
                answer = said
            elif said.startswith("(error"):
                answer = "error: " + said
    except Exception as error:
        answer = "error: " + str(error)
    print(json.dumps(answer), flush=True)
""",
}


class Solver:
    """A solver in a process of its own, which is replaced when it does not keep to its time."""

    def __init__(self, name, seconds):
        self.name, self.seconds, self.process = name, seconds, None

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKERS[self.name]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process, self.lines), daemon=True).start()

    @staticmethod
    def read(process, lines):
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def check(self, text):
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(json.dumps([text, self.seconds]) + "\n")
            self.process.stdin.flush()
            # Importing the package takes its time once.
            line = self.lines.get(timeout=2 * self.seconds + 10)
        except (queue.Empty, BrokenPipeError):
            line = None
        if line is None:
            self.stop()
            return "unknown"
        return json.loads(line)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def literal(value):
    return f"(- {-value})" if value < 0 else str(value)


def pinned(text, witness):
    """The obligation with the witness filled in."""
    name = lambda s: s if all(c.isalnum() or c == "_" for c in s) else f"|{s}|"
    known = []
    for symbol, value in witness.items():
        for written in {name(symbol), f"|{symbol}|"}:
            if isinstance(value, int) and f"(declare-const {written} " in text:
                known.append(f"(assert (= {written} {literal(value)}))")
    return text.replace("(check-sat)", "\n".join(known) + "\n(check-sat)")


class Untranslated(Exception):
    """Something in a text has no translation here."""


class Translation:
    """A query's text in SMT-LIB: a reader and an encoder of their own."""

    COMPARISONS = {ast.Eq: "=", ast.NotEq: "distinct", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
    CALLS = {"Eq": "=", "Ne": "distinct", "Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">="}

    def __init__(self, query):
        self.lines, self.symbols, self.quotients = ["(set-logic ALL)"], {}, {}
        for name, bounds in query.get("symbols", {}).items():
            symbol = self.symbol(name)
            for relation, bound in ((">=", bounds.get("min")), ("<=", bounds.get("max"))):
                if bound is not None:
                    self.lines.append(f"(assert ({relation} {symbol} {literal(bound)}))")
        for text in query.get("given", []):
            condition = self.condition(text)
            self.lines.append(f"(assert {condition})")
        goal = self.condition(query["goal"])
        self.text = "\n".join(self.lines + [f"(assert (not {goal}))", "(check-sat)", ""])

    def symbol(self, name):
        if name not in self.symbols:
            self.symbols[name] = f"|{name}|"
            self.lines.append(f"(declare-const |{name}| Int)")
        return self.symbols[name]

    def condition(self, text):
        sort, term = self.term(ast.parse(text.strip(), mode="eval").body)
        if sort != "Bool":
            raise Untranslated(text)
        return term

    def of_sort(self, node, wanted):
        sort, term = self.term(node)
        if sort != wanted:
            raise Untranslated(ast.dump(node))
        return term

    def divided(self, a, b):
        if (a, b) not in self.quotients:
            q, r = f"q{len(self.quotients)}", f"r{len(self.quotients)}"
            self.quotients[a, b] = q, r
            self.lines += [
                f"(declare-const {q} Int)", f"(declare-const {r} Int)", f"(assert (= {a} (+ (* {b} {q}) {r})))",
                f"(assert (or (and (> {b} 0) (<= 0 {r}) (< {r} {b})) (and (< {b} 0) (< {b} {r}) (<= {r} 0))))",
            ]
        return self.quotients[a, b]

    def compared(self, relation, left, right):
        (s, a), (t, b) = self.term(left), self.term(right)
        if s != t or s == "Bool" and relation not in ("=", "distinct"):
            raise Untranslated(relation)
        return f"({relation} {a} {b})"

    def term(self, node):
        integer = lambda e: self.of_sort(e, "Int")
        truth = lambda e: self.of_sort(e, "Bool")
        match node:
            case ast.Constant(value=bool(value)):
                return "Bool", str(value).lower()
            case ast.Constant(value=int(value)):
                return "Int", literal(value)
            case ast.Name(id=name):
                return "Int", self.symbol(name)
            case ast.UnaryOp(op=ast.USub(), operand=e):
                return "Int", f"(- {integer(e)})"
            case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=e):
                return "Bool", f"(not {truth(e)})"
            case ast.BinOp(left=a, op=ast.BitAnd() | ast.BitOr() as op, right=b):
                return "Bool", f"({'and' if isinstance(op, ast.BitAnd) else 'or'} {truth(a)} {truth(b)})"
            case ast.BinOp(left=a, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=b):
                sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(op)]
                return "Int", f"({sign} {integer(a)} {integer(b)})"
            case ast.BinOp(left=a, op=ast.FloorDiv(), right=b):
                return "Int", self.divided(integer(a), integer(b))[0]
            case ast.BinOp(left=a, op=ast.Mod(), right=b):
                return "Int", self.divided(integer(a), integer(b))[1]
            case ast.BinOp(left=a, op=ast.Pow(), right=ast.Constant(value=int(n))) if 0 <= n <= 12:
                return "Int", "(* 1 1 " + " ".join([integer(a)] * n) + ")"
            case ast.BoolOp(op=op, values=values):
                return "Bool", f"({'and' if isinstance(op, ast.And) else 'or'} {' '.join(map(truth, values))})"
            case ast.Compare(left=left, ops=ops, comparators=others):
                operands = [left, *others]
                if any(type(op) not in self.COMPARISONS for op in ops):
                    raise Untranslated("comparison")
                parts = [self.compared(self.COMPARISONS[type(op)], a, b) for op, a, b in zip(ops, operands, others)]
                return "Bool", f"(and true {' '.join(parts)})"
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.call(name, args)
        raise Untranslated(ast.dump(node))

    def call(self, name, args):
        integer = lambda e: self.of_sort(e, "Int")
        if name in self.CALLS and len(args) == 2:
            return "Bool", self.compared(self.CALLS[name], *args)
        if name in ("And", "Or"):
            return "Bool", f"({name.lower()} {'true' if name == 'And' else 'false'} {' '.join(self.of_sort(a, 'Bool') for a in args)})"
        if name == "Not":
            return "Bool", f"(not {self.of_sort(args[0], 'Bool')})"
        if name == "FloorDiv":
            return "Int", self.divided(integer(args[0]), integer(args[1]))[0]
        if name in ("Mod", "PythonMod"):
            return "Int", self.divided(integer(args[0]), integer(args[1]))[1]
        if name == "ModularIndexing":
            a, b, c = map(integer, args)
            return "Int", self.divided(self.divided(a, b)[0], c)[1]
        if name in ("Min", "Max"):
            best, relation = integer(args[0]), "<=" if name == "Min" else ">="
            for other in map(integer, args[1:]):
                best = f"(ite ({relation} {best} {other}) {best} {other})"
            return "Int", best
        if name == "Abs":
            a = integer(args[0])
            return "Int", f"(ite (>= {a} 0) {a} (- {a}))"
        if name == "Where":
            condition = self.of_sort(args[0], "Bool")
            return "Int", f"(ite {condition} {integer(args[1])} {integer(args[2])})"
        raise Untranslated(name)


def of_queries(binary, files, folder):
    """(source, name, verdict, witness, file) for every query; None as the file where it has no counterpart in SMT-LIB."""
    for path in files:
        source = os.path.splitext(os.path.basename(path))[0]
        out = os.path.join(folder, "obligations", source)
        with open(path) as lines:
            asked = [json.loads(line) for line in lines if line.strip()]
        # What is recorded of the answers is no part of the questions.
        questions = [{key: query[key] for key in ("id", "symbols", "given", "goal") if key in query} for query in asked]
        text = "".join(json.dumps(question) + "\n" for question in questions)
        run = subprocess.run([binary, "entail", "--emit-smt2", out], input=text, capture_output=True, text=True, check=True)
        for query, line in zip(asked, run.stdout.splitlines()):
            answer = json.loads(line)
            verdict, file = answer.get("verdict", "error"), answer.get("smt2")
            yield source, answer["id"], verdict, answer.get("witness"), file
            if verdict in EXPECTED and (file is None or trivial(file)):
                if verdict == "inconsistent":
                    query = {**query, "goal": "1 < 0"}
                try:
                    text = Translation(query).text
                except (Untranslated, SyntaxError):
                    text = None
                own = os.path.join(out, "text-" + os.path.basename(file or answer["id"] + ".smt2"))
                if text is not None:
                    with open(own, "w") as target:
                        target.write(text)
                yield source + " (text)", answer["id"], verdict, answer.get("witness"), own if text else None


def trivial(path):
    """Whether the negated goal, the last assertion of an obligation, is a constant: then the canonical form settled the query."""
    with open(path) as file:
        asserted = [line for line in file if line.startswith("(assert ")]
    return not asserted or asserted[-1].strip() in ("(assert false)", "(assert true)")


def of_programs(binary, folder, work, limit):
    """The same for everything that checks of programs have decided, each under its own contract and under every spec that lies beside it
    (`*spec*.json`, or `dynamic_shapes` of a `truth.json`)."""
    programs = sorted(glob.glob(os.path.join(folder, "**", "*.pt2"), recursive=True))
    if limit and limit < len(programs):
        programs = [programs[i * len(programs) // limit] for i in range(limit)]
    for program in programs:
        name = os.path.splitext(os.path.relpath(program, folder))[0].replace(os.sep, "-")
        specs = [None] + sorted(glob.glob(program[: -len(".pt2")] + "*spec*.json"))
        truth = os.path.join(os.path.dirname(program), "truth.json")
        if os.path.exists(truth):
            with open(truth) as file:
                recorded = json.load(file).get("dynamic_shapes")
            if recorded is not None:
                os.makedirs(os.path.join(work, "specs"), exist_ok=True)
                specs.append(os.path.join(work, "specs", name + ".json"))
                with open(specs[-1], "w") as file:
                    json.dump(recorded, file)
        for i, spec in enumerate(specs):
            out = os.path.join(work, "obligations", "programs", f"{name}-{i}")
            shutil.rmtree(out, ignore_errors=True)
            command = [binary, "check", program, "--format", "json", "--output", os.devnull, "--emit-smt2", out]
            subprocess.run(command + (["--spec", spec] if spec else []), capture_output=True)
            for path in sorted(glob.glob(os.path.join(out, "*.smt2"))):
                with open(path) as obligation:
                    status = obligation.readline().split()[-1]
                verdict = {"unsat": "implied", "sat": "refuted"}.get(status, "unknown")
                source = "programs, spec" if spec else "programs, contract"
                yield source, f"{name}-{i}/{os.path.basename(path)}", verdict, None, path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(HERE, "target/release/sizewise"))
    parser.add_argument("--queries", nargs="*", default=sorted(glob.glob(os.path.join(HERE, "tests/data/queries/*.jsonl"))))
    parser.add_argument("--programs", help="a folder of .pt2 files, whose checks are checked again as well")
    parser.add_argument("--limit", type=int, default=0, help="as many of the programs, evenly spread; 0 for all")
    parser.add_argument("--work", default="recheck")
    parser.add_argument("--seconds", type=float, default=2, help="for each obligation and solver")
    parser.add_argument("--minutes", type=float, default=0, help="stop after this long; 0 for never")
    parser.add_argument("--report", help="where to write the report, Markdown")
    options = parser.parse_args()
    import time
    deadline = time.monotonic() + 60 * options.minutes if options.minutes else None
    os.makedirs(options.work, exist_ok=True)
    kept = os.path.join(options.work, "answers.jsonl")
    known = {}
    if os.path.exists(kept):
        with open(kept) as lines:
            for line in lines:
                source, name, text, solver, answer = json.loads(line)
                known[(text, solver)] = answer
    obligations = list(of_queries(options.bin, options.queries, options.work))
    if options.programs:
        obligations += list(of_programs(options.bin, options.programs, options.work, options.limit))
    solvers = [Solver(name, options.seconds) for name in WORKERS]
    counts = collections.defaultdict(collections.Counter)
    wrong, errors, finished = [], [], True
    import hashlib
    with open(kept, "a") as out:
        for source, name, verdict, witness, path in obligations:
            if verdict not in EXPECTED:
                counts[(source, verdict)]["obligations"] += 1
                continue
            row = counts[(source, verdict)]
            row["obligations"] += 1
            if path is None:
                row["without counterpart"] += 1
                continue
            with open(path) as file:
                text = file.read()
            for solver in solvers:
                attempts = [(text, "")]
                if verdict == "refuted" and witness:
                    attempts.append((pinned(text, witness), ", given the witness"))
                result = "undecided"
                for attempt, how in attempts:
                    key = (hashlib.sha256(attempt.encode()).hexdigest(), solver.name)
                    if key not in known:
                        if deadline and time.monotonic() > deadline:
                            finished = False
                            result = "not asked"
                            break
                        known[key] = solver.check(attempt)
                        out.write(json.dumps([source, name, *key, known[key]]) + "\n")
                        out.flush()
                    answer = known[key]
                    if answer.startswith("error"):
                        errors.append((solver.name, source, name, answer))
                    if answer == EXPECTED[verdict]:
                        result = "confirmed" + how
                        break
                    if answer in ("sat", "unsat"):
                        # A model that the solver found without the witness is no contradiction to anything but `implied`.
                        wrong.append((solver.name, source, name, verdict, answer + how))
                        result = "contradicted"
                        break
                row[solver.name + " " + result] += 1
    for solver in solvers:
        solver.stop()
    text = report(counts, wrong, errors, finished, options)
    print(text)
    if options.report and finished:
        with open(options.report, "w") as file:
            file.write(text)
    return 1 if wrong else 0


def report(counts, wrong, errors, finished, options):
    import cvc5, z3
    lines = ["# Verdicts checked again", ""]
    lines += [
        "Written by `tests/recheck.py`. Every verdict of the recorded queries, and of checks of programs, is written as an SMT-LIB 2 file",
        f"(`--emit-smt2`) and read by cvc5 {cvc5.__version__} and Z3 {z3.get_version_string()}, {options.seconds:g} seconds each. `implied` and",
        "`inconsistent` have to be unsatisfiable, `refuted` satisfiable. A refuted obligation that a solver leaves open is put to it",
        "again with the witness filled in. `(text)`: the canonical form alone settled these, so the text itself was translated by the script.",
        "",
        "| source | verdict | obligations | solver | confirmed | with the witness | contradicted | undecided |",
        "|---|---|---:|---|---:|---:|---:|---:|",
    ]
    total = collections.Counter()
    for (source, verdict), row in sorted(counts.items()):
        total["obligations"] += row["obligations"]
        total["verdicts"] += 0 if source.endswith(" (text)") else row["obligations"]
        total["open"] += row["obligations"] if verdict not in EXPECTED else 0
        total["none"] += row["without counterpart"]
        if verdict not in EXPECTED:
            lines.append(f"| {source} | {verdict} | {row['obligations']} | | | | | |")
        for name in WORKERS if verdict in EXPECTED else ():
            cells = [row[f"{name} {what}"] for what in ("confirmed", "confirmed, given the witness", "contradicted", "undecided")]
            for what, cell in zip(("confirmed", "witness", "contradicted", "undecided"), cells):
                total[f"{name} {what}"] += cell
            total["not asked"] += row[f"{name} not asked"]
            lines.append(f"| {source} | {verdict} | {row['obligations']} | {name} | " + " | ".join(map(str, cells)) + " |")
    lines += ["", f"{total['verdicts']} verdicts in {total['obligations']} obligations, {total['open']} of them undecided by sizewise, {total['none']} without counterpart in SMT-LIB", "(doubles, bitwise operations)."]
    for name in WORKERS:
        both = total[f"{name} confirmed"] + total[f"{name} witness"]
        lines.append(f"{name} confirms {both}, contradicts {total[f'{name} contradicted']}, leaves {total[f'{name} undecided']} open.")
    if not finished:
        lines.append(f"**Not finished**: {total['not asked']} questions were not asked.")
    lines += [f"- contradicted by {w[0]}: {w[1]} {w[2]}: {w[3]}, the solver says {w[4]}" for w in wrong]
    lines += [f"- error of {e[0]} on {e[1]} {e[2]}: {e[3][:200]}" for e in errors[:20]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
