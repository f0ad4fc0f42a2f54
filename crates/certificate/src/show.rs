//! Facts and steps for people.
use super::fact::{Fact, Names};
use super::poly::Poly;
use super::term::Sexp;
use num_traits::{One, Signed};
use std::fmt;

impl Names {
    /// A fact as people write it: `2*x - y + 3 >= 0`.
    pub fn shown(&self, fact: &Fact) -> String {
        let all = |parts: &[Fact], word: &str, none: &str| match parts.len() {
            0 => none.to_owned(),
            _ => parts.iter().map(|part| format!("({})", self.shown(part))).collect::<Vec<_>>().join(word),
        };
        match fact {
            Fact::Ge(p) => format!("{} >= 0", self.sum(p)),
            Fact::Eq(p) => format!("{} = 0", self.sum(p)),
            Fact::All(parts) => all(parts, " and ", "true"),
            Fact::Any(parts) => all(parts, " or ", "false"),
        }
    }

    fn sum(&self, p: &Poly) -> String {
        let mut text = String::new();
        // The constant last.
        for (monomial, c) in
            p.terms.iter().filter(|(m, _)| !m.is_empty()).chain(p.terms.get_key_value(&Vec::new()))
        {
            let sign = match (text.is_empty(), c.is_negative()) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let power = |(var, k): &(u32, u32)| {
                let name = &self.list[*var as usize];
                if *k == 1 { name.clone() } else { format!("{name}**{k}") }
            };
            let mut factors: Vec<String> = monomial.iter().map(power).collect();
            if factors.is_empty() || !c.abs().is_one() {
                factors.insert(0, c.abs().to_string());
            }
            text = text + sign + &factors.join("*");
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }
}

impl fmt::Display for Sexp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sexp::Word(word) => f.write_str(word),
            Sexp::List(items) => {
                let words: Vec<String> = items.iter().map(Sexp::to_string).collect();
                write!(f, "({})", words.join(" "))
            }
        }
    }
}
