//! The conditions of operators that have graphs within.
use sizewise_env::{Clauses, clauses};

clauses! { If {
    C1 "For onnxruntime, the outputs of a branch have the sizes that it declares, if all are known when \
        the model loads."
    C2 "The condition has exactly one element."
    C3 "Before version 11, the outputs of both branches have the same rank, and equal sizes where \
        onnxruntime knows them when it loads the model."
    C4 "Whether the condition is true, which decides the rank of the results where the branches make \
        different ones."
} }

clauses! { Loop {
    C1 "The rows that iterations add have the same shape. onnxruntime compares only their numbers of \
        elements, and takes the shape of the first."
    C2 "The condition and the trip count have exactly one element."
} }

clauses! { Scan {
    C1 "All scan inputs have the same number of slices."
    C2 "The body returns states of the shapes that it was given."
    C3 "For onnxruntime, there is at least one slice to scan."
    C4 "For onnxruntime, each scan output is made by a node of the body, and returned once."
    C5 "States and scan outputs have the sizes that the body declares as numbers."
    C6 "For onnxruntime, the sizes that the body declares agree with those that are inferred when the \
        model loads."
    C7 "Lists of axes and directions have an entry for each scan input or output, and directions are 0 or \
        1."
} }

/// Those of all.
pub(super) const CLAUSES: Clauses = &[If::ALL, Loop::ALL, Scan::ALL];
