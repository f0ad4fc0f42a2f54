//! Checkers in C++17: the contract's bytes beside the header that evaluates them.
use super::contract::Contract;
use super::formula::constant_message;
use super::{GuardSet, GuardedInput};
use sizewise_contract::HEADER;
use sizewise_expr::escape::{c_literal, comment};
use std::fmt::Write;

/// Bytes on a line.
const ROW: usize = 24;

impl Contract {
    /// A C++17 header that checks inputs, without exceptions, RTTI or allocation.
    pub fn to_cpp(&self, set: &GuardSet) -> String {
        let mut out = String::new();
        for line in set.headline() {
            let _ = writeln!(out, "// {}", comment(&line));
        }
        let _ =
            write!(out, "{HEADER}\nnamespace sizewise {{\n\ninline constexpr unsigned char contract[] = {{");
        for (at, byte) in self.bytes.iter().enumerate() {
            let _ = write!(out, "{}{byte},", if at % ROW == 0 { "\n    " } else { " " });
        }
        out.push_str("\n};\n\n");
        let inputs: Vec<String> = set.inputs.iter().map(wanted).collect();
        let checks = self.messages();
        for (name, messages) in [("wrong_input", &inputs), ("failing_check", &checks)] {
            // An array has at least one element.
            let _ = writeln!(out, "inline constexpr const char *{name}[] = {{");
            messages.iter().for_each(|message| {
                let _ = writeln!(out, "    {},", c_literal(message));
            });
            let _ = writeln!(out, "    nullptr,\n}};\n");
        }
        let names: Vec<&str> = set.inputs.iter().map(GuardedInput::name).collect();
        let _ = writeln!(
            out,
            "// nullptr if {}, else why not. The inputs: {}.\n\
             inline const char *check(const sizewise_input *inputs, size_t count) {{\n    \
             const sizewise_result result = sizewise_check(contract, sizeof contract, inputs, count);\n    \
             switch (result.status) {{\n        \
             case SIZEWISE_OK: return nullptr;\n        \
             case SIZEWISE_WRONG_COUNT: return \"there have to be {} inputs\";\n        \
             case SIZEWISE_WRONG_INPUT: return wrong_input[result.index];\n        \
             case SIZEWISE_CHECK_FAILS: return failing_check[result.index];\n        \
             default: return \"the contract is damaged\";\n    }}\n}}\n\n}}  // namespace sizewise",
            set.claim(),
            if names.is_empty() { "none".to_owned() } else { comment(&names.join(", ")) },
            names.len(),
        );
        out
    }
}

/// What an input has to be.
fn wanted(input: &GuardedInput) -> String {
    match input {
        GuardedInput::Tensor { name, sizes } => {
            let plural = if sizes.len() == 1 { "" } else { "s" };
            format!(
                "{name} has to be a tensor of {} dimension{plural}, no size of which is negative",
                sizes.len()
            )
        }
        GuardedInput::Number { name, .. } => format!("{name} has to be an integer"),
        GuardedInput::Constant { name, value } => constant_message(name, value),
    }
}
