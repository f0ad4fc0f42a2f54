//! Two examples a command, which its help ends with. A test runs them.

/// The end of a help text: examples, each with what it answers.
macro_rules! examples {
    ($($(#[$when:meta])? $name:ident: $($says:literal $command:literal)+;)+) => {
        $($(#[$when])? pub const $name: &str = concat!("Examples:", $("\n  # ", $says, "\n  ", $command,)+);)+
    };
}

examples! {
    CHECK:
        "Does the program serve every size that this spec allows?"
        "sizewise check examples/area.pt2 --spec examples/area.json"
        "The same as JSON, with ten times the usual work on each condition."
        "sizewise check examples/bert.pt2 --spec examples/bert.json --format json --budget 10"
        "All programs in a folder, as annotations on GitHub."
        "sizewise check examples --format github --jobs 2";
    SPEC:
        "The spec that a program has, to edit."
        "sizewise spec init examples/bert.pt2"
        "A spec as Python, to paste beside torch.export.export."
        "sizewise spec show examples/thirds.json --as python";
    SPEC_INIT:
        "The spec that a program has."
        "sizewise spec init examples/bert.pt2"
        "What another example makes dynamic, as Python."
        "sizewise spec init examples/area.pt2 --example '{\"x\": [4], \"y\": [8]}' --as python";
    SPEC_WIDEN:
        "The widest spec that is proved to work."
        "sizewise spec widen examples/thirds.pt2"
        "The same as Python."
        "sizewise spec widen examples/thirds.pt2 --as python"
        "The widest spec of an ONNX model."
        "sizewise spec widen examples/patches.onnx";
    SPEC_SHOW:
        "The spec that a program was exported with, as Python."
        "sizewise spec show examples/bert.pt2"
        "A spec as JSON."
        "sizewise spec show examples/area.json --as json";
    EXPLAIN:
        "Which lines and operators make dimensions static, or limit them?"
        "sizewise explain examples/flatten.pt2"
        "What does this code of a report mean?"
        "sizewise explain guard-not-implied"
        "What does an ONNX model need of its sizes?"
        "sizewise explain examples/patches.onnx";
    GUARDS:
        "A checker of input shapes in Python."
        "sizewise guards examples/bert.pt2 --emit python"
        "The same in C."
        "sizewise guards examples/area.pt2 --emit c"
        "A contract, which travels with a deployed model."
        "sizewise guards examples/area.pt2 --emit contract"
        "A checker for an ONNX model."
        "sizewise guards examples/patches.onnx";
    SHOW:
        "The program as torch prints it."
        "sizewise show examples/branch.pt2 --as readable"
        "The graph for Graphviz."
        "sizewise show examples/branch.pt2 --as dot"
        "The graph for Google's Model Explorer."
        "sizewise show examples/branch.pt2 --as model-explorer";
    VERIFY:
        "Does the program keep the rules of its dialect?"
        "sizewise verify examples/bert.pt2"
        "Does it keep those of the training dialect?"
        "sizewise verify examples/area.pt2 --dialect training";
    PASS:
        "Removes dead code and repeated computations."
        "sizewise pass examples/bert.pt2 --run dce,cse"
        "Decomposes operators."
        "sizewise pass examples/branch.pt2 --run functionalize,decompose";
    LOWER:
        "The program in ExecuTorch's Edge dialect."
        "sizewise lower examples/thirds.pt2 --to edge"
        "The same, written to a file."
        "sizewise lower examples/area.pt2 --to edge --output /dev/null";
    EVAL:
        "What happens to inputs of these sizes?"
        "sizewise eval examples/area.pt2 x=4 y=8"
        "The same as JSON lines, for many shapes."
        "echo '{\"id\": 1, \"shapes\": {\"x\": [4], \"y\": [8]}}' | sizewise eval examples/area.pt2";
    ANNOTATE:
        "Which shapes do the lines of the model make?"
        "sizewise annotate examples/bert.pt2"
        "The same as hints for an editor, where sizes have the names of a spec."
        "sizewise annotate examples/pooled.pt2 --spec examples/pooled.py --format json";
    COST:
        "What does the program cost, at any sizes?"
        "sizewise cost examples/bert.pt2"
        "The same with numbers at given sizes."
        "sizewise cost examples/area.pt2 --at x=8 --at y=16";
    BOUNDS_OF:
        "How large does each value get?"
        "sizewise bounds-of examples/area.pt2 --spec examples/area.json"
        "The same for programs, of one value."
        "sizewise bounds-of examples/area.pt2 --value add --format json";
    PLAN:
        "One arena for all buffers, at all sizes that the spec allows."
        "sizewise plan examples/area.pt2 --spec examples/area.json"
        "The same for a planner to read, with offsets that are multiples of 64."
        "sizewise plan examples/area.pt2 --spec examples/area.json --align 64 --format json";
    FIT:
        "Which batch fits in 2 MB, with sequences of 32?"
        "sizewise fit examples/bert.pt2 --memory 2MB --maximize input_ids.0 --given input_ids.1=32"
        "The same for all lengths, as a table."
        "sizewise fit examples/bert.pt2 --memory 2MB --maximize input_ids.0 --frontier input_ids.1";
    PROFILE:
        "The shapes of a TensorRT profile, as flags of trtexec."
        "sizewise profile examples/area.pt2 --spec examples/area.json --for tensorrt"
        "Four shapes to pad inputs to, with as little padding as possible."
        "sizewise profile examples/bert.pt2 --buckets 4";
    DIFF:
        "What did this export change?"
        "sizewise diff examples/area.pt2 examples/area.pt2"
        "The same as Markdown for a pull request."
        "sizewise diff examples/bert.pt2 examples/bert.pt2 --format markdown"
        "Which inputs does one spec allow and another one not?"
        "sizewise diff examples/area.json examples/area.json --program examples/area.pt2";
    INFER:
        "What does this call return?"
        "echo '{\"op\":\"aten.t.default\",\"args\":[{\
         \"tensor\":{\"shape\":[2,3],\"dtype\":\"bool\"}}]}' | sizewise infer"
        "Many calls, with four threads."
        "sizewise infer --jobs 4 < calls.jsonl";
    INFER_ONNX:
        "What does this call of an ONNX operator return?"
        "echo '{\"op\":\"Relu\",\"opset\":18,\"inputs\":[{\"dtype\":\"f32\",\"shape\":[2,3]}]}' | sizewise infer-onnx"
        "Many calls, with four threads."
        "sizewise infer-onnx --jobs 4 < calls.jsonl";
    OPS:
        "Which operators have a fake kernel?"
        "sizewise ops"
        "Which have none?"
        "sizewise ops --missing";
    ENTAIL:
        "Do these conditions imply the goal?"
        "sizewise entail 's0 % 8 == 0 and s0 >= 2' '=> s0 >= 8'"
        "Questions as JSON lines."
        "echo '{\"id\": 1, \"given\": [\"s0 >= 2\"], \"goal\": \"s0 >= 1\"}' | sizewise entail";
    CERTIFY:
        "Are the proofs of these answers right?"
        "sizewise entail --certificate < questions.jsonl > answers.jsonl && sizewise certify answers.jsonl"
        "Their proofs, line by line."
        "sizewise certify --steps - < answers.jsonl";
    SIMPLIFY:
        "The smallest equivalent expression."
        "sizewise simplify 'Max(s0, 1) + 4*s1//4' --given 's0 >= 2'"
        "Questions as JSON lines."
        "echo '{\"id\": 1, \"expr\": \"(2*s0)//2\"}' | sizewise simplify";
    MINIMIZE:
        "Which of these guards are redundant?"
        "sizewise minimize 's0 >= 2' 's0 >= 1' 's0 <= 90'"
        "Questions as JSON lines."
        "echo '{\"id\": 1, \"guards\": [\"s0 >= 2\", \"s0 >= 1\"]}' | sizewise minimize";
    BOUNDS:
        "The least and the greatest value."
        "sizewise bounds 'Mod(s0, 8)*s0' --given 's0 >= 2' --given 's0 <= 90'"
        "Questions as JSON lines."
        "echo '{\"id\": 1, \"given\": [\"s0 <= 9\"], \"expr\": \"2*s0\"}' | sizewise bounds";
    REPLAY:
        "What did torch ask, and what need not be guarded?"
        "sizewise replay trace.jsonl --format text"
        "An answer a question, as JSON lines."
        "sizewise replay trace.jsonl.gz";
    #[cfg(feature = "service")]
    SERVE:
        "The service and its page, on this machine alone."
        "sizewise serve --listen 127.0.0.1:8077"
        "For a network, to those who have a token."
        "sizewise serve --listen 0.0.0.0:8077 --tokens tokens.txt";
    COMPLETIONS:
        "Completions for bash."
        "sizewise completions bash"
        "For zsh."
        "sizewise completions zsh";
    MAN:
        "The manual page."
        "sizewise man"
        "A page a command."
        "sizewise man --folder man";
}
