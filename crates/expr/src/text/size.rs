//! How many operators a text has.
use super::lexer::{Lexer, Op, Token};

/// The number of operators and calls in a text as it is written: one for each binary operator, `not`,
/// negation and power, two for `p if c else q`, `n - 1` for a call of `n` operands (1 at least). The signs of
/// numbers are free. `None` for a text that names a source or that is not made of tokens.
///
/// ```
/// use sizewise_expr::text::size::operators;
///
/// assert_eq!(operators("(s0 + s1)**3"), Some(2));
/// assert_eq!(operators("Max(s0, 1, -2) <= -s1"), Some(4));
/// assert_eq!(operators("L['x'].size()[0]"), None);
/// ```
pub fn operators(text: &str) -> Option<u32> {
    let mut lexer = Lexer::new(text);
    let mut count = 0u32;
    // Of each open bracket, whether it is a call's, and the commas in it so far.
    let mut open: Vec<(bool, u32)> = Vec::new();
    // Whether an operand ends here: a sign behind it is an operator of two operands.
    let (mut ended, mut named) = (false, false);
    let mut token = lexer.next().ok()?.0;
    while token != Token::End {
        let next = lexer.next().ok()?.0;
        let number = matches!(next, Token::Int(_) | Token::Float(_));
        let was_name = std::mem::take(&mut named);
        (count, ended) = match token {
            Token::Int(_) | Token::Float(_) => (count, true),
            Token::Text(_) => return None,
            Token::Name("and" | "or" | "not") => (count + 1, false),
            Token::Name("if") => (count + 2, false),
            Token::Name("else") => (count, false),
            Token::Name(_) => {
                named = true;
                (count, true)
            }
            Token::Op(Op::Open) => {
                open.push((was_name, 0));
                (count, false)
            }
            Token::Op(Op::Close) => {
                let (call, commas) = open.pop()?;
                (count + if call { commas.max(1) } else { 0 }, true)
            }
            Token::Op(Op::Comma) => {
                open.last_mut()?.1 += 1;
                (count, false)
            }
            Token::Op(Op::OpenIndex | Op::CloseIndex | Op::Point | Op::Colon) => return None,
            Token::Op(Op::Plus | Op::Minus) if !ended && number => (count, false),
            Token::Op(_) => (count + 1, false),
            Token::End => break,
        };
        token = next;
    }
    open.is_empty().then_some(count)
}

#[cfg(test)]
mod tests {
    use super::operators;

    #[test]
    fn operators_are_counted_as_written() {
        for (text, count) in [
            ("s0", 0),
            ("-3", 0),
            ("-s0", 1),
            ("s0 - 3", 1),
            ("s0*-3", 1),
            ("(s4 + s9)**3", 2),
            ("Eq(s0, 1)", 1),
            ("Abs(s0)", 1),
            ("Min(s0, s1, s2)", 2),
            ("f(g(a, b), (c + d))", 3),
            ("not (a < b) and c >= d", 4),
            ("a if c > 0 else b", 3),
            ("a // b % 2", 2),
        ] {
            assert_eq!(operators(text), Some(count), "{text}");
        }
    }

    #[test]
    fn what_is_no_plain_expression_is_not_counted() {
        for text in ["L['x'].size()[0]", "a $ b", "a)", "(a", "x[0]"] {
            assert_eq!(operators(text), None, "{text}");
        }
    }
}
