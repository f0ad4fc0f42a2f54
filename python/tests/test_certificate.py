"""The checker of certificates in Python: it accepts proofs and nothing else."""

import re

import pytest

import sizewise
from sizewise import CertificateError


def certificate(goal: str, proof: str, definitions: str = "") -> str:
    """A certificate of ``x >= 0, y >= 3 |- goal``."""
    return (
        f"(certificate 1 (symbols x y) (premises (>= x 0) (>= y 3)) (defined) (goal {goal}) "
        f"(definitions {definitions}) (proof {proof}))"
    )


def boxed(goal: str, proof: str) -> str:
    """A certificate of ``0 <= x <= 9 |- goal``."""
    return (
        f"(certificate 1 (symbols x) (premises (>= x 0) (<= x 9)) (defined) (goal {goal}) (definitions) (proof {proof}))"
    )


def box_of_doubles(term: str) -> str:
    """A certificate of ``0 <= x <= 9 |- false`` where a term has a value."""
    return boxed("(false)", "(enumerate 10 (x 0 1))").replace("(defined)", f"(defined {term})")


HALF = "#3fe0000000000000"


@pytest.mark.parametrize(
    "text",
    [
        certificate("(>= (+ x y) 3)", "(combine (1 0) (1 1) (1 2))"),
        certificate("(>= (* x y) (* 3 x))", "(multiply 0 1) (combine (1 3) (1 2))"),
        certificate("(!= (* 2 x) 3)", "(contradiction 2)"),
        certificate("(!= (- (* x x) (* 4 y)) 2)", "(modulo 4 2)"),
        certificate("(<= (// x 2) x)", "(combine (2 2) (1 3) (1 0))", "(q (// x 2))"),
        certificate("(>= (+ x y) 3)", "(let z (+ x y)) (combine (1 0) (1 1) (1 2))"),
        certificate("(>= (+ x y) 3)", "(cut x 7 ((combine (1 0) (1 1) (1 2))) ((combine (1 0) (1 1) (1 2))))"),
        boxed("(< (% (* x x) 4) 2)", "(enumerate 10 (x 0 1))").replace("(definitions)", "(definitions (q (// (* x x) 4)))"),
    ],
)
def test_proofs_are_accepted(text: str) -> None:
    assert sizewise.certify(text)["outside"] == []


def test_what_was_shown_is_said() -> None:
    shown = sizewise.certify(certificate("(>= (+ x y) 3)", "(outside z3)"))
    assert shown["goal"] == "(>= (+ x y) 3)"
    assert shown["premises"] == ["(>= x 0)", "(>= y 3)"]
    assert (shown["steps"], shown["outside"]) == (1, ["z3"])


def test_doubles_are_evaluated() -> None:
    goal = f"(= (floor (float* {HALF} (float x))) (// x 2))"
    text = boxed(goal, "(enumerate 10 (x 0 1))").replace(
        "(definitions)", f"(definitions (f (floor (float* {HALF} (float x)))) (q (// x 2)))"
    )
    assert sizewise.certify(text)["assignments"] == 10


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (certificate("(>= x 1)", "(combine (1 0) (1 2))"), "no contradiction"),
        (certificate("(>= x 1)", "(combine (-1 0))"), "a negative or unknown number of times"),
        (certificate("(>= x 1)", "(combine (1 9))"), "no fact 9"),
        (certificate("(>= x 1)", "(guess)"), "no rule `guess`"),
        (certificate("(>= x 1)", "(__init__)"), "no rule"),
        (certificate("(>= x (// x y))", "(contradiction 0)"), "no definition"),
        (certificate("(>= x q)", "(contradiction 0)", "(q (// x 2))"), "no symbol `q`"),
        (certificate("(>= x 1)", "(contradiction 0)", "(x (// y 2))"), "no new name"),
        (certificate("(!= (* x y) 0)", "(divide 2 y 0 0)"), "may be zero"),
        (certificate("(!= (* x x) 1)", "(modulo 4 2)"), "there is a solution modulo 4"),
        (boxed("(<= x 8)", "(enumerate 10 (x 0 1))"), "the claim is false at"),
        (boxed("(<= x 9)", "(enumerate 9 (x 0 1))"), "10 assignments, not what is said"),
        (boxed("(<= x 9)", "(enumerate 1000000001 (x 0 1))").replace("9)", "1000000000)"), "more work than is allowed"),
        (boxed(f"(<= x {'9' * 5_000})", "(enumerate 10 (x 0 1))"), "more than 4000 digits"),
        (boxed("(<= x 09)", "(enumerate 10 (x 0 1))"), "zeros that it does not need"),
        (box_of_doubles("(decimal (float x) #3ff0000000000000)"), "not computed"),
        (boxed("(<= (float x) #3ff)", "(enumerate 10 (x 0 1))"), "no double"),
        (certificate("(>= (+ x y) 3)", "(contradiction 0)"), "is of another kind"),
        (box_of_doubles("(float** (float x) #fff0000000000000)"), "the claim is false at"),
        (certificate("(>= (+ x y) 3)", "(combine (1 0) (1 1) (1 2))").replace("(>= y 3)", "; \u2028 (>= y 3)\n"), "no fact"),
        (certificate("(>= x 1)", "") + ")", "a parenthesis too many"),
        ("(" * 9_000, "nested too deeply"),
        ("", "0 certificates"),
        ("(certificate 2)", "seven parts"),
    ],
)
def test_what_is_no_proof_is_rejected(text: str, says: str) -> None:
    with pytest.raises(CertificateError, match=says.replace("(", r"\(")):
        sizewise.certify(text)


def test_an_answer_has_a_certificate_where_one_is_asked_for() -> None:
    env = sizewise.Env()
    s = env.symbol("s0", min=2)
    env.assume(s % 8 == 0)
    proved = env.implies(s >= 8, certificate=True)
    assert proved and proved.certificate is not None
    assert sizewise.certify(proved.certificate)["outside"] == []
    assert env.implies(s >= 8).certificate is None
    assert env.implies(s >= 8) == env.implies(s >= 8, certificate=False)
    # Nothing is proved.
    assert env.implies(s >= 9, certificate=True).certificate is None
    # Another claim is not what the certificate proves.
    with pytest.raises(CertificateError):
        sizewise.certify(re.sub(r"\(goal .*", "(goal (>= s0 16))", proved.certificate))
    env.assume(s == 9)
    contradiction = env.implies(s >= 16, certificate=True)
    assert contradiction.verdict == "inconsistent" and contradiction.certificate is not None
    assert sizewise.certify(contradiction.certificate)["goal"] == "(false)"
