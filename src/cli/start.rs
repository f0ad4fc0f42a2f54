//! `sizewise help start`: where to begin.
use super::failure::Result;
use super::files;
use std::process::ExitCode;

/// What to do first.
const START: &str = "\
You have an exported program and want to know which sizes it serves:

    sizewise check model.pt2 --spec spec.json     does every input that the spec allows work?
    sizewise spec init model.pt2                  the spec that the program has, to edit
    sizewise spec widen model.pt2                 the widest spec that is proved to work

torch.export.export itself failed (\"Constraints violated\", \"Could not guard on data-dependent expression\"):

        print(sizewise.assume(model, args, dynamic_shapes=spec))

    in Python exports along the path of the example, and says what that path needs and which line needs it. Or:

 1. Export once more and let torch infer the sizes; this succeeds wherever the model can be traced:

        from torch.export import Dim, export, save
        ep = export(model, args, dynamic_shapes={\"x\": (Dim.AUTO, Dim.AUTO)})
        save(ep, \"model.pt2\")

    Use an example in which no dynamic size is 0 or 1: torch.export makes those static.
    If that fails too (data-dependent sizes), use torch.export.draft_export in place of export.

 2. Write the dynamic_shapes that you wanted to a file, and check them:

        dynamic_shapes = {\"x\": (Dim(\"batch\", min=1, max=64), Dim(\"seq\", max=512))}

        sizewise check model.pt2 --spec spec.py

    The file is parsed and never run; JSON is read as well.

    The report names the line of the operator that needs each condition (of a branch on a size, which no archive
    records, the line where the size first appears), an input near your example that breaks it, and fixes that are
    proved to work.

 3. Paste a fix into your code and export with it, or write it to a file: sizewise check ... --fix fixed.json

The exported model fails in production:

    sizewise eval model.pt2 x=3,8               what happens at these sizes, and why
    sizewise explain model.pt2 --dim x.0        why this dimension is static
    sizewise guards model.pt2 --emit python     a checker to stand before the model

You have an ONNX model:

    sizewise check model.onnx                   does every input that it declares work, and are outputs as declared?
    sizewise check model.onnx --fix fixed.onnx  the model with the declarations of a fix: names, sums, multiples, outputs
    sizewise check model.onnx --fix spec.py     the ranges of a fix as a spec, which an ONNX file cannot declare
    sizewise show model.onnx --as onnx -o FILE  the model with all shapes and conditions filled in

eval, explain, spec and guards take models as they take programs.
";

/// Prints it.
///
/// # Errors
/// When it cannot be written.
pub fn print() -> Result<ExitCode> {
    files::write(None, START)?;
    Ok(ExitCode::SUCCESS)
}
