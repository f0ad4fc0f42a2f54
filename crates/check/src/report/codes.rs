//! What the codes of diagnostics mean.

/// The codes with their meaning.
pub const CODES: &[(&str, &str)] = &[
    (
        "exported-again",
        "`sizewise.export` in Python: the program was exported once more, with torch's `backed_size_oblivious` or within \
         `sizewise.decider()`, as the first one refuses sizes at which the module itself runs.",
    ),
    (
        "fix-applied",
        "`sizewise.export(..., fix=True)` in Python: the spec was changed; the note says how, and what that costs.",
    ),
    (
        "module-runs",
        "In Python: the module itself runs at counterexamples of the report, so that it is this export that refuses \
         them. Another example, or `sizewise.export`, may give a program that does not.",
    ),
    (
        "guard-not-implied",
        "Your spec allows shapes that break a condition that the program depends on: a guard from \
         the trace, a condition of an operator, or a recorded size or range. The report shows an input that \
         breaks it and, where one was found, a change of the spec that was proved to work. Either narrow \
         the spec (check --fix), or change the line that is named.",
    ),
    (
        "shape-mismatch",
        "The program records a shape or dtype for a value that its operator does not give. The file was \
         edited, or written by a tool with another definition of the operator; nothing that depends on the \
         recorded shape can be trusted. Of an ONNX model: an output is declared with another size than its nodes \
         make, such as a size of the example that was kept as a number, or the name of another dimension \
         (dim_param). Declare the output as it is computed, or leave its size open.",
    ),
    (
        "unused-mismatch",
        "The program records a shape or dtype for a value that its operator does not give, but nothing uses \
         the value, so the program runs.",
    ),
    (
        "guard-undecided",
        "A condition was neither proved nor refuted within the budget. It may hold. The report says what \
         was exhausted; a larger budget may decide it.",
    ),
    (
        "unsupported-operator",
        "A node calls an operator without a fake kernel. The recorded shapes of its results are trusted \
         from there on, so the verdict is at best unknown. Declare the operator in a file and name it with \
         --ops (docs/operators.md).",
    ),
    (
        "spec-does-not-fit",
        "The spec names inputs or dimensions that the program does not have, contradicts itself, or \
         excludes the example that the program was traced with. The message names the place in the \
         structure of the inputs.",
    ),
    (
        "contradictory",
        "No input satisfies the spec together with what the program assumes about the dimensions that the \
         spec leaves open. The conditions named are a minimal set that contradicts itself.",
    ),
    (
        "contradictory-contract",
        "The program's own ranges and guards contradict each other: the exported module refuses every \
         input. The conditions named are a minimal set that contradicts itself. The file was edited, or \
         written by a tool with wrong guards.",
    ),
    (
        "left-to-module",
        "The spec leaves sizes to torch.export (Dim.AUTO), so that it promises nothing of them: torch infers their ranges from the \
         example, and the exported module refuses what does not fit. The note says which sizes it refuses. Name the \
         dimensions, or export again with another example, where these have to work.",
    ),
    (
        "nothing-works",
        "What the program needs contradicts the spec: it fails at every size that the spec allows, so no assumption \
         makes the spec right. A size that the spec computes from another one is computed in another way than the \
         program needs, or the program itself is wrong.",
    ),
    (
        "undecided-assumptions",
        "Whether any input satisfies the assumptions was not decided within the budget, so nothing is \
         concluded from them.",
    ),
    (
        "data-dependent",
        "An operator depends on an open condition on data-dependent sizes. A torch._check with the \
         condition, before the line that is named, decides it.",
    ),
    (
        "assertion-dropped",
        "The program's shapes depend on a bound of a data-dependent number, and neither an assertion in the \
         graph nor an operator checks it: where it does not hold, recorded shapes are wrong. Exporters must \
         keep the assertion that the bound comes from.",
    ),
    (
        "frozen-data",
        "A number that data decide, such as lengths.max().item(), may have one value only: the exported module refuses \
         all other data when it runs. torch.export.draft_export does so where the code reads the number as a constant \
         (int(), range(), a branch): the value is that of the example. Keep the number a tensor or a symbol of its own \
         (torch._check states what is known of it), and export again.",
    ),
    ("malformed-call", "A node's arguments do not fit the schema of its operator."),
    (
        "unreadable",
        "An expression of the program could not be read. Where it is a guard or a range, what the program takes is not \
         known: the verdict is at best unknown, and no shapes are said to be accepted.",
    ),
    (
        "not-checked",
        "The file could not be read as a program or a model, or what it holds is not supported, or sizewise failed at it. \
         Nothing is known of this program; the others are judged all the same.",
    ),
    (
        "guard-of-kwargs",
        "A guard of the program speaks of what **kwargs takes. The module that torch makes of such a program fails at \
         every call (NameError: name 'L' is not defined). Name the parameters in the signature of forward instead of \
         collecting them, and export again.",
    ),
    (
        "rounding",
        "A condition on doubles is proved for sizes up to a limit; beyond that, doubles do not represent \
         every integer. No tensor is that large.",
    ),
    (
        "overflow",
        "A result gets more elements than 64 bits can count when an unbounded dimension grows beyond the \
         size named.",
    ),
    (
        "index-values",
        "An operator looks up indices that are data, or that are computed from sizes in a way that is not followed. \
         The shapes are right if they are in range; an index out of range fails when the program runs.",
    ),
    (
        "stated-condition",
        "The metadata of an ONNX model state conditions on its sizes. The check found that the model does not \
         need one of them, could not tell, or that they do not suffice for the model to run.",
    ),
    (
        "conditions-incomplete",
        "An ONNX model refuses sizes at which all conditions in the report hold: an example shows that, but no \
         condition on sizes describes it. Do not serve the model by the conditions alone.",
    ),
    (
        "broadcast-by-example",
        "Operands of an ONNX model broadcast in one way at the sizes of the example, and in another where the \
         other size is 1. The conditions in the report are those of the first way.",
    ),
];

/// What a code means.
pub fn meaning(code: &str) -> Option<&'static str> {
    CODES.iter().find(|(known, _)| *known == code).map(|(_, meaning)| *meaning)
}
