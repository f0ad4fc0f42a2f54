//! Expressions of a spec that torch takes as they are given: they are written as they were read.

/// Operators of two characters, before those of one.
const DOUBLE: [&str; 6] = ["**", "//", "==", "!=", "<=", ">="];
const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];

/// What stands between two brackets.
#[derive(Default)]
struct Group {
    /// How many operands it has if it is a call, else none.
    takes: Option<usize>,
    commas: usize,
    comparisons: usize,
    has_bits: bool,
}

impl Group {
    /// Whether Python and the reader of expressions take it for the same.
    fn is_plain(&self) -> bool {
        let compares_bits = self.comparisons > 0 && self.has_bits;
        let operands = self.takes.unwrap_or(1);
        self.comparisons <= 1 && !compares_bits && self.commas + 1 == operands
    }
}

/// The text for torch, with its names for functions; `None` where more would have to be changed.
pub(super) fn as_given(text: &str, is_variable: &dyn Fn(&str) -> bool) -> Option<String> {
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    let mut groups = vec![Group::default()];
    let mut has_variable = false;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ if DOUBLE.iter().any(|op| rest.starts_with(op)) => 2,
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        let is_call = after.starts_with('(');
        let group = groups.last_mut()?;
        match token {
            " " | "+" | "-" | "*" | "**" | "//" | "%" => out.push_str(token),
            _ if first.is_ascii_digit() && token.bytes().all(|b| b.is_ascii_digit()) => out.push_str(token),
            _ if COMPARISONS.contains(&token) => {
                group.comparisons += 1;
                out.push_str(token);
            }
            "&" | "|" | "^" => {
                group.has_bits = true;
                out.push_str(token);
            }
            "," => {
                group.commas += 1;
                out.push_str(token);
            }
            "(" => {
                groups.push(Group::default());
                out.push_str(token);
            }
            ")" => {
                groups.pop().filter(Group::is_plain)?;
                out.push_str(token);
            }
            "~" | "Max" | "max" | "Min" | "min" | "Abs" | "abs" if is_call => {
                let (name, takes) = match token {
                    "~" => ("torch.sym_not", 1),
                    "Max" | "max" => ("torch.sym_max", 2),
                    "Min" | "min" => ("torch.sym_min", 2),
                    _ => ("abs", 1),
                };
                out.push_str(name);
                out.push('(');
                groups.push(Group { takes: Some(takes), ..Group::default() });
                rest = &after[1..];
                continue;
            }
            word if is_word(first) && !is_call && is_variable(word) => {
                has_variable = true;
                out.push_str(word);
            }
            _ => return None,
        }
        rest = after;
    }
    let [whole] = groups.as_slice() else { return None };
    (has_variable && whole.is_plain()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::as_given;

    #[test]
    fn what_torch_takes_is_kept() {
        for (text, kept) in [
            ("n >= b + 1", Some("n >= b + 1")),
            ("b*n <= 40", Some("b*n <= 40")),
            ("(n + b) % 4 == 0", Some("(n + b) % 4 == 0")),
            ("(n & 1) == 0", Some("(n & 1) == 0")),
            ("Max(n, Min(b, 3)) - 2*b >= 4", Some("torch.sym_max(n, torch.sym_min(b, 3)) - 2*b >= 4")),
            ("~(n == 7) | (Abs(b) < 3)", Some("torch.sym_not(n == 7) | (abs(b) < 3)")),
            // Other functions, chains, what binds otherwise in Python, and no condition on a variable.
            ("Eq(n, 3)", None),
            ("max(n, b, 3) == 4", None),
            ("1 < n < b", None),
            ("n < 3 & b < 4", None),
            ("n & 1 == 0", None),
            ("n > 2 and b > 2", None),
            ("2 > 3", None),
            ("m >= 3", None),
            ("n >= 2.5", None),
            ("(n >= 2", None),
            ("n >= 2)", None),
            ("n, b", None),
        ] {
            let is_variable = |name: &str| ["n", "b"].contains(&name);
            assert_eq!(as_given(text, &is_variable).as_deref(), kept, "{text}");
        }
    }
}
