//! The conditions of operators that have graphs within.
use sizewise_env::{Clauses, clauses};

clauses! { If {
    C1 "onnxruntime holds a branch to the sizes that it declares, if all are numbers when the model loads."
    C2 "A condition and a number of rounds have exactly one element."
    C3 "Before version 11, onnxruntime merges the sizes of both branches when it loads a model: those that \
       it knows are equal, and so are the ranks."
    C4 "Of branches that make other ranks, it is the one that the example takes where sizes decide that."
} }

clauses! { Loop {
    C1 "The rows that rounds add have one shape. For onnxruntime they have as many elements, and the shape \
       is that of the first."
    C2 "A condition and a number of rounds have exactly one element."
} }

clauses! { Scan {
    C1 "All inputs that are scanned have as many slices."
    C2 "What a round makes of a state has its sizes."
    C3 "onnxruntime's scans take at least one slice."
    C4 "onnxruntime writes scan outputs in place, so that a node of the body has to make each, for one \
       output only."
    C5 "A scan output is of the size that the body declares as a number."
    C6 "onnxruntime loads a scan only if the sizes that the body declares of a slice agree with those that \
       it infers."
    C7 "Axes and directions are given of all inputs that are scanned, or of all outputs that are put \
       together, or of none; a direction is 0 or 1."
} }

/// Those of all.
pub(super) const CLAUSES: Clauses = &[If::ALL, Loop::ALL, Scan::ALL];
