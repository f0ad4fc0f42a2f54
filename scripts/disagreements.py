#!/usr/bin/env python3
"""Writes docs/disagreements.md: on which side sizewise is where PyTorch's fake and real kernels disagree.

  scripts/disagreements.py BINARY CASES.jsonl.gz > docs/disagreements.md

CASES has one JSON object a line: op, args, kwargs, class, and what the `fake` and the `real` kernel gave ({"returns":…} or {"error":…}).
Shapes and dtypes of tensors are compared. Standard library only.
"""
import collections
import gzip
import json
import subprocess
import sys

CLASSES = {
    "fake_ok_real_error": "the fake kernel accepts, the real one refuses",
    "fake_error_real_ok": "the fake kernel refuses, the real one accepts",
    "outcome_differs:shape": "the shapes differ",
    "outcome_differs:dtype": "the dtypes differ",
    "outcome_differs:kind": "one gives a tensor, the other none",
    "outcome_differs:value": "a number differs",
}

# What stays different, and why: the beginning of the operators' names, and the reason.
REASONS = [
    ("aten.native_batch_norm_backward", "gradients and statistics of other sizes than the input: the real kernel does not compare them"),
    ("aten.batch_norm_backward", "gradients and statistics of other sizes than the input: the real kernel does not compare them"),
    ("aten._batch_norm_impl_index_backward", "no kernel: the result depends on the backend that the forward pass took"),
    ("aten.native_batch_norm", "parameters with fewer elements than channels: the real kernel does not compare the sizes"),
    ("aten._native_batch_norm_legit", "parameters with fewer elements than channels: the real kernel does not compare the sizes"),
    ("aten._batch_norm", "parameters with fewer elements than channels: the real kernel does not compare the sizes"),
    ("aten.native_layer_norm_backward", "gradients and statistics of other sizes than the input: the real kernel does not compare them"),
    ("aten.native_group_norm", "statistics of another size than the groups: the real kernel does not compare them"),
    ("aten._weight_norm", "sizes of `g` that do not broadcast: the fused real kernel does not compare them"),
    ("aten.unfold_backward", "windows that do not fit the size: the real kernel does not compare them"),
    ("aten._fft_", "dimensions beyond the rank: the real kernel does not check them"),
    ("aten.roll", "a tensor without elements is returned before its dimensions are checked"),
    ("aten.repeat.default", "a tensor without elements, repeated a negative number of times"),
    ("aten.mkldnn_rnn_layer", "the size of the workspace is private to oneDNN; operands of other sizes than the layer's are refused here"),
    ("aten._scaled_dot_product_flash_attention_for_cpu_backward", "a gap: the head sizes and dtypes of what the forward pass saved are not compared here"),
    ("aten.gelu_backward", "a gap: where oneDNN computes it, gradients of another dtype or shape are refused"),
    ("aten._fused_sdp_choice", "no kernel: which implementation a build has is private to the backend"),
    ("aten._version", "no kernel: private state of a tensor"),
    ("aten.is_leaf", "no kernel: private state of autograd"),
    ("aten.as_strided.default", "how large the storage is, a view does not tell: unsupported beyond the elements it is known to have"),
    ("aten.unique_consecutive", "how many elements are distinct depends on values: a size known at run time"),
    ("aten.index", "how many elements a mask selects depends on values"),
    ("aten._unsafe_index", "how many elements a mask selects depends on values"),
    ("aten._pack_padded_sequence", "how many elements the sequences have depends on values"),
    ("aten.take_along_dim", "the recorded failure is one of making indices into an empty dimension"),
    ("aten._padded_dense_to_jagged_forward", "whether the last offset fits depends on values"),
    ("aten._weight_int8pack_mm", "operands that are not contiguous: only the real kernel looks"),
    ("aten._weight_int", "no kernel: packed weights are private to the backend"),
    ("aten._dyn_quant", "no kernel: packed weights are private to the backend"),
    ("prims.item", "the value of an element: a symbol is the answer"),
]


def outcome(result):
    """What a kernel gave, as far as it is compared."""
    if not isinstance(result, dict) or "error" in result:
        return "refused"
    parts = []
    for value in result.get("returns", []):
        items = value["tensors"] if "tensors" in value else [value["tensor"]] if "tensor" in value else [value]
        for item in items:
            if isinstance(item, dict) and "shape" in item:
                parts.append((tuple(map(str, item["shape"])), item["dtype"]))
            else:
                parts.append(json.dumps(item, sort_keys=True))
    return tuple(parts)


def main():
    binary, path = sys.argv[1:3]
    with gzip.open(path, "rt") as lines:
        cases = [json.loads(line) for line in lines]
    other = collections.Counter(c["class"] for c in cases if c["class"] not in CLASSES)
    cases = [c for c in cases if c["class"] in CLASSES and isinstance(c.get("real"), dict)]
    requests = "\n".join(json.dumps({k: c[k] for k in ("id", "op", "args", "kwargs")}) for c in cases) + "\n"
    answers = subprocess.run([binary, "infer"], input=requests, capture_output=True, text=True, check=True).stdout
    by_class = collections.defaultdict(collections.Counter)
    by_op = collections.defaultdict(collections.Counter)
    for case, line in zip(cases, answers.splitlines()):
        answer = json.loads(line)
        given, real, fake = outcome(answer), outcome(case["real"]), outcome(case.get("fake"))
        if answer.get("error", {}).get("kind") == "unsupported":
            side = "unsupported"
        else:
            side = "real" if given == real else "fake" if given == fake else "neither"
        by_class[case["class"]][side] += 1
        by_op[case["op"]][side] += 1
    sides = ("real", "fake", "neither", "unsupported")
    total = sum((counts for counts in by_class.values()), collections.Counter())
    count = sum(total.values())
    print("# Where PyTorch's kernels disagree\n")
    print("Written by `scripts/disagreements.py`; do not edit.\n")
    print("An operator of PyTorch has a fake kernel, which tracing asks, and a real one, which runs. On recorded calls where the two of torch 2.15\n"
          "on the CPU do not agree, sizewise means to say what the real one does: a program is to be accepted where it runs. It follows the\n"
          "fake kernel where the real one accepts only because it leaves out a check, so that what it computes means nothing.\n")
    print(f"Of {count} calls it sides with the real kernel in {total['real']} ({100 * total['real'] / max(1, count):.1f}%).\n")
    print("| class | with the real kernel | with the fake one | with neither | unsupported |\n| --- | ---: | ---: | ---: | ---: |")
    for name, meaning in CLASSES.items():
        print(f"| {meaning} | " + " | ".join(str(by_class[name][side]) for side in sides) + " |")
    left_out = ", ".join(f"{name} {n}" for name, n in sorted(other.items()))
    print(f"\nNot counted, since the real kernel's outcome is none to follow (no kernel for a dtype, a crash, or an operator that tracing refuses\n"
          f"altogether): {left_out}.\n")
    print("## Operators that stay different in some calls\n")
    print("| operator | real | fake | neither | unsupported | why |\n| --- | ---: | ---: | ---: | ---: | --- |")
    rows = sorted(by_op.items(), key=lambda item: (item[1]["real"] - sum(item[1].values()), item[0]))
    unexplained = 0
    for op, counts in rows:
        if counts["real"] == sum(counts.values()):
            continue
        reason = next((why for name, why in REASONS if op.startswith(name)), "")
        unexplained += not reason
        print(f"| `{op}` | " + " | ".join(str(counts[side]) for side in sides) + f" | {reason} |")
    wholly = [op for op, counts in sorted(by_op.items()) if counts["real"] == sum(counts.values())]
    print(f"\nAn empty last column means that nobody has looked into it yet ({unexplained} operators, few calls each).\n")
    print(f"## Operators that side with the real kernel in every call\n\n{len(wholly)}: " + ", ".join(f"`{op}`" for op in wholly) + ".\n")
    print("## Private state\n")
    print("Unsupported on purpose, since no shape tells it: which implementation a build chooses (`_fused_sdp_choice`, `_nnpack_available`), what autograd\n"
          "keeps of a tensor (`is_leaf`, `output_nr`, `retains_grad`, `_version`), weights packed for one backend (`_weight_int4pack_mm_for_cpu`,\n"
          "`_dyn_quant_pack_4bit_weight`), and nested tensors.")


if __name__ == "__main__":
    main()
