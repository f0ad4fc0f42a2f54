//! Proofs to read: the steps of a certificate, each with the numbers of the facts that it is from.
use super::infix::{factor, infix};
use serde_json::{Value, json};
use sizewise_certificate::{Checked, Event, Fact, Op, Poly, Sexp, Source, Term, Var, explain};
use sizewise_expr::Int;
use std::collections::BTreeSet;
use std::fmt;

/// The most lines of a proof that is part of an answer.
const MAX_LINES: usize = 1_000;
/// The most bytes of their steps.
const MAX_BYTES: usize = 400_000;

/// A line of a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Where the fact is from: `premise`, `negated-goal`, `has-value`, `definition`, `case`, or the name of a step.
    pub rule: &'static str,
    /// The number of the fact, the fact, and what it is from.
    pub says: String,
    /// The number of cases around it.
    pub depth: usize,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:indent$}{:<13}  {}", "", self.rule, self.says, indent = 2 * self.depth.min(40))
    }
}

/// The steps of a certificate as a field of an answer.
pub(super) fn steps(certificate: &str) -> Value {
    let read = Sexp::read_all(certificate).ok().and_then(|mut all| all.pop());
    let checked = read.and_then(|one| explain(&one).ok());
    let lines = checked.map(|checked| Printer::new(&checked, MAX_LINES, MAX_BYTES).lines());
    // What was made has been checked, so it can be read.
    lines.unwrap_or_default().into_iter().map(json).collect()
}

/// What is said where there is no certificate: which rung decided.
pub(super) fn uncertified(rung: &str) -> Value {
    let says = format!("decided by {rung}; no proof was found in steps that can be checked one by one");
    [json(Line { rule: "uncertified", says, depth: 0 })].into_iter().collect()
}

fn json(line: Line) -> Value {
    json!({"rule": line.rule, "says": line.says, "depth": line.depth})
}

/// The lines of a proof that [`explain`] has followed: definitions and facts that steps use, and all steps.
pub fn lines(checked: &Checked) -> Vec<Line> {
    Printer::new(checked, usize::MAX, usize::MAX).lines()
}

struct Printer<'a> {
    checked: &'a Checked,
    /// What is known where a step stands.
    facts: Vec<Fact>,
    /// The numbers of facts that were used.
    used: BTreeSet<usize>,
    /// Whether a step looked at the premises and the goal themselves.
    uses_claim: bool,
    /// The names that were written.
    names: BTreeSet<Var>,
    most: (usize, usize),
}

impl<'a> Printer<'a> {
    fn new(checked: &'a Checked, lines: usize, bytes: usize) -> Printer<'a> {
        Printer {
            checked,
            facts: Vec::new(),
            used: BTreeSet::new(),
            uses_claim: false,
            names: BTreeSet::new(),
            most: (lines, bytes),
        }
    }

    fn lines(mut self) -> Vec<Line> {
        let checked = self.checked;
        let is_step = |event: &&Event| matches!(event.source, Source::Step(_) | Source::Case(..));
        for event in checked.events.iter().filter(|event| !is_step(event)) {
            self.facts.extend(event.facts.iter().cloned());
        }
        let (mut steps, mut bytes, mut more) = (Vec::new(), 0, 0);
        for event in checked.events.iter().filter(is_step) {
            if steps.len() >= self.most.0 || bytes >= self.most.1 {
                more += usize::from(matches!(event.source, Source::Step(_)));
                continue;
            }
            self.facts.truncate(event.first);
            let said = match &event.source {
                Source::Step(step) => self.step(event, step),
                Source::Case(at, of) => self.case(event, *at, *of),
                _ => Vec::new(),
            };
            self.facts.extend(event.facts.iter().cloned());
            bytes += said.iter().map(|line| line.says.len()).sum::<usize>();
            steps.extend(said);
        }
        if more > 0 {
            steps.push(Line {
                rule: "more",
                says: format!("{more} steps; the certificate has them"),
                depth: 0,
            });
        }
        let mut start = Vec::new();
        for event in checked.events.iter().filter(|event| !is_step(event)) {
            start.extend(self.start(event));
        }
        let mut lines = self.definitions();
        lines.extend(start);
        lines.extend(steps);
        lines
    }

    /// What the names stand for that were written.
    fn definitions(&mut self) -> Vec<Line> {
        let mut lines = Vec::new();
        // A definition uses names that were defined before.
        for (name, term) in self.checked.definitions.iter().rev() {
            let number = self.checked.names.numbers.get(name);
            if number.is_some_and(|number| self.names.contains(number)) {
                let says = format!("{name} is {}", self.term(term));
                lines.push(Line { rule: "definition", says, depth: 0 });
            }
        }
        lines.reverse();
        lines
    }

    /// The facts that a proof begins with, where steps use them.
    fn start(&mut self, event: &Event) -> Vec<Line> {
        let claim = &self.checked.claim;
        let defined = |at: usize| self.checked.definitions.get(at);
        let (rule, stated, why) = match &event.source {
            Source::Premise(at) => ("premise", claim.premises.get(*at).map(infix), "as"),
            Source::NegatedGoal => {
                ("negated-goal", Some(infix(&claim.goal())), "assuming that this is false:")
            }
            Source::HasValue => ("has-value", Some(operand(&event.facts).to_owned()), "as"),
            Source::Definition(at) => {
                ("definition", defined(*at).map(|(name, term)| format!("{name} is {}", infix(term))), "as")
            }
            Source::Case(..) | Source::Step(_) => return Vec::new(),
        };
        let stated = stated.unwrap_or_default();
        let parts = match &event.source {
            Source::Premise(at) => {
                claim.premises.get(*at).and_then(|premise| self.parts(premise, &event.facts))
            }
            _ => None,
        };
        let mut lines = Vec::new();
        for (at, fact) in event.facts.iter().enumerate() {
            let number = event.first + at;
            if self.used.contains(&number) {
                let fact = self.fact(fact);
                let stated = parts.as_ref().map_or(&stated, |parts| &parts[at]);
                let why = if fact == *stated { String::new() } else { format!(", {why} {stated}") };
                lines.push(Line { rule, says: format!("[{number}] {fact}{why}"), depth: 0 });
            }
        }
        // It has been looked at as it stands.
        if lines.is_empty() && self.uses_claim {
            match event.source {
                Source::Premise(_) => lines.push(Line { rule, says: stated, depth: 0 }),
                Source::NegatedGoal if stated != "false" => {
                    lines.push(Line { rule, says: format!("not ({stated})"), depth: 0 })
                }
                _ => {}
            }
        }
        lines
    }

    /// The part of a conjunction that each of its facts is from.
    fn parts(&self, premise: &Term, facts: &[Fact]) -> Option<Vec<String>> {
        let mut parts = vec![premise];
        while let Some(at) = parts.iter().position(|part| matches!(part, Term::Call(Op::All, _))) {
            let Term::Call(_, inner) = parts[at] else { break };
            parts.splice(at..=at, inner);
        }
        let mut texts = Vec::new();
        let mut found = Vec::new();
        for part in parts {
            let known = found.len();
            match self.checked.names.fact(part, true).ok()? {
                Fact::All(several) => found.extend(several),
                one => found.push(one),
            }
            texts.extend((known..found.len()).map(|_| infix(part)));
        }
        (found == facts).then_some(texts)
    }

    /// The facts of a case.
    fn case(&mut self, event: &Event, at: usize, of: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut place = format!("{} of {of}: ", at + 1);
        for (number, fact) in (event.first..).zip(&event.facts) {
            let says = format!("{}[{number}] {}", std::mem::take(&mut place), self.fact(fact));
            lines.push(Line { rule: "case", says, depth: event.depth });
        }
        if lines.is_empty() {
            lines.push(Line {
                rule: "case",
                says: format!("{place}nothing more is known"),
                depth: event.depth,
            });
        }
        lines
    }

    /// What a step adds, or how it ends a proof.
    fn step(&mut self, event: &Event, step: &[Sexp]) -> Vec<Line> {
        let Some((rule, rest)) = step.split_first() else { return Vec::new() };
        let (rule, from, raw) = match (rule.word().unwrap_or_default(), rest) {
            ("combine", parts) => {
                let (from, raw) = self.combination(parts);
                ("combine", from, raw)
            }
            ("multiply", [a, b]) => {
                ("multiply", format!("{}*{}", self.at(a), self.at(b)), self.product(a, b))
            }
            ("square", [term]) => {
                let raw = self.poly(term).and_then(|p| p.product(&p)).map(Fact::Ge);
                ("square", format!("({})**2", self.read(term)), raw)
            }
            ("let", [name, term]) => {
                let name = name.word().unwrap_or_default();
                ("let", format!("{name} as a new name for {}", self.read(term)), None)
            }
            ("equal", [a, b]) => ("equal", format!("{} and {}", self.at(a), self.at(b)), None),
            ("divide", [fact, quotient, positive, k]) => {
                let divisor = self.sum_of(positive, k);
                let quotient = self.read(quotient);
                let from = format!(
                    "{} as ({divisor})*({quotient}), and {}: {divisor} >= {}",
                    self.at(fact),
                    self.at(positive),
                    self.read(k)
                );
                ("divide", from, None)
            }
            (rule, rest) => return vec![self.end(event.depth, rule, rest)],
        };
        let mut lines = Vec::new();
        for (number, fact) in (event.first..).zip(&event.facts) {
            // What was divided by a common divisor, or rounded, is said as it was before.
            let before = raw.as_ref().filter(|raw| *raw != fact).map(|raw| format!(": {}", self.fact(raw)));
            let fact = self.fact(fact);
            let says = format!("[{number}] {fact}, from {from}{}", before.unwrap_or_default());
            lines.push(Line { rule, says, depth: event.depth });
        }
        lines
    }

    /// Steps that end a proof, or divide it into cases.
    fn end(&mut self, depth: usize, rule: &str, rest: &[Sexp]) -> Line {
        let (rule, says) = match (rule, rest) {
            ("split", [fact]) => ("split", format!("cases of {}", self.at(fact))),
            ("cut", [term, k]) => {
                let (term, k) = (self.read(term), self.read(k));
                ("cut", format!("cases {term} <= {k} and {term} > {k}"))
            }
            ("modulo", [m, facts @ ..]) => {
                let facts: Vec<String> = facts.iter().map(|at| self.at(at)).collect();
                let m = m.word().unwrap_or_default();
                ("modulo", format!("no residues modulo {m} solve {}", facts.join(" and ")))
            }
            ("enumerate", [count, ranges @ ..]) => ("enumerate", self.assignments(count, ranges)),
            ("contradiction", [fact]) => ("contradiction", format!("{} is false", self.at(fact))),
            ("outside", [solver]) => {
                self.uses_claim = true;
                let solver = solver.word().unwrap_or_default();
                ("outside", format!("{solver} finds a contradiction, which nothing checks"))
            }
            _ => ("step", String::new()),
        };
        Line { rule, says, depth }
    }

    /// That no assignment within ranges satisfies the premises and not the goal.
    fn assignments(&mut self, count: &Sexp, ranges: &[Sexp]) -> String {
        let count = count.word().unwrap_or_default();
        let mut known = Vec::new();
        for range in ranges {
            let [name, low, high] = range.items() else { continue };
            let p = self.poly(name).unwrap_or_default();
            let least = self.greatest(low, &p.negated()).map(|k| -k);
            let greatest = self.greatest(high, &p);
            // Where there is none, that is by a range which is empty.
            if count == "0" && least <= greatest {
                continue;
            }
            let [least, greatest] = [least, greatest].map(|k| k.unwrap_or_default());
            let name = name.word().unwrap_or_default();
            known.push(format!("{least} <= {name} <= {greatest} by {} and {}", self.at(low), self.at(high)));
        }
        let known = if known.is_empty() { String::new() } else { format!(" with {}", known.join(", ")) };
        if count == "0" {
            return format!("there is no assignment{known}");
        }
        self.uses_claim = true;
        let is_contradiction = matches!(&self.checked.claim.goal, None | Some(Term::Call(Op::False, _)));
        let holds = if is_contradiction { "" } else { ", the goal holds," };
        format!(
            "at each assignment{known} ({count} in all) a premise fails{holds} or an operation has no value"
        )
    }

    /// The greatest value of `p` by a fact.
    fn greatest(&self, at: &Sexp, p: &Poly) -> Option<Int> {
        let rest = exceeding(&self.known(at)?, &p.negated())?;
        rest.as_constant().map(Int::from_big)
    }

    /// A sum of multiples of facts, and what it comes to.
    fn combination(&mut self, parts: &[Sexp]) -> (String, Option<Fact>) {
        let (mut from, mut sum, mut equation) = (String::new(), Some(Poly::default()), true);
        for part in parts {
            let [times, at] = part.items() else { continue };
            let fact = self.known(at);
            equation &= matches!(fact, Some(Fact::Eq(_)));
            let product = match fact {
                Some(Fact::Eq(p) | Fact::Ge(p)) => self.poly(times).and_then(|times| times.product(&p)),
                _ => None,
            };
            sum = sum.zip(product).map(|(sum, product)| sum.plus(&product));
            let term = Term::read(times).map(|term| self.factor(&term)).unwrap_or_default();
            let at = self.at(at);
            let multiple = format!("{term}*{at}");
            let multiple = match multiple.strip_prefix("-1*") {
                Some(negative) => format!("-{negative}"),
                None => multiple.strip_prefix("1*").map(str::to_owned).unwrap_or(multiple),
            };
            match multiple.strip_prefix('-') {
                _ if from.is_empty() => from = multiple,
                Some(negative) => from.push_str(&format!(" - {negative}")),
                None => from.push_str(&format!(" + {multiple}")),
            }
        }
        (from, sum.map(|sum| if equation { Fact::Eq(sum) } else { Fact::Ge(sum) }))
    }

    fn product(&self, a: &Sexp, b: &Sexp) -> Option<Fact> {
        match (self.known(a)?, self.known(b)?) {
            (Fact::Ge(p), Fact::Ge(q)) => p.product(&q).map(Fact::Ge),
            _ => None,
        }
    }

    /// `q + K`, where a fact is `q >= 0`.
    fn sum_of(&mut self, fact: &Sexp, k: &Sexp) -> String {
        match (self.known(fact), self.poly(k)) {
            (Some(Fact::Ge(q)), Some(k)) => self.sum(&q.plus(&k)),
            _ => String::new(),
        }
    }

    fn known(&self, at: &Sexp) -> Option<Fact> {
        self.facts.get(at.word()?.parse::<usize>().ok()?).cloned()
    }

    fn poly(&self, text: &Sexp) -> Option<Poly> {
        self.checked.names.poly(&Term::read(text).ok()?).ok()
    }

    /// The number of a fact that is used.
    fn at(&mut self, at: &Sexp) -> String {
        let number = at.word().unwrap_or_default();
        self.used.extend(number.parse::<usize>());
        format!("[{number}]")
    }

    fn read(&mut self, text: &Sexp) -> String {
        Term::read(text).map(|term| self.term(&term)).unwrap_or_default()
    }

    fn term(&mut self, term: &Term) -> String {
        self.note(term);
        infix(term)
    }

    fn factor(&mut self, term: &Term) -> String {
        self.note(term);
        factor(term)
    }

    /// Notes the names of a term.
    fn note(&mut self, term: &Term) {
        match term {
            Term::Name(name) => self.names.extend(self.checked.names.numbers.get(name)),
            Term::Call(_, operands) => operands.iter().for_each(|operand| self.note(operand)),
            Term::Int(_) | Term::Real(_) => {}
        }
    }

    /// A fact: `2*x - y + 3 >= 0`.
    fn fact(&mut self, fact: &Fact) -> String {
        match fact {
            Fact::Ge(p) => format!("{} >= 0", self.sum(p)),
            Fact::Eq(p) => format!("{} == 0", self.sum(p)),
            Fact::All(parts) if parts.is_empty() => "true".to_owned(),
            Fact::Any(parts) if parts.is_empty() => "false".to_owned(),
            Fact::All(parts) => self.joined(parts, " and "),
            Fact::Any(parts) => match unequal(parts) {
                Some(p) => format!("{} != 0", self.sum(&p)),
                None => self.joined(parts, " or "),
            },
        }
    }

    fn joined(&mut self, parts: &[Fact], word: &str) -> String {
        let part = |part: &Fact| match part {
            Fact::Ge(_) | Fact::Eq(_) => self.fact(part),
            Fact::All(_) | Fact::Any(_) => format!("({})", self.fact(part)),
        };
        parts.iter().map(part).collect::<Vec<_>>().join(word)
    }

    fn sum(&mut self, p: &Poly) -> String {
        self.names.extend(p.vars());
        let mut text = String::new();
        // The constant last.
        let constant = p.terms.get_key_value(&Vec::new());
        for (monomial, c) in p.terms.iter().filter(|(monomial, _)| !monomial.is_empty()).chain(constant) {
            let c = c.to_string();
            let (size, is_negative) = (c.trim_start_matches('-'), c.starts_with('-'));
            text.push_str(match (text.is_empty(), is_negative) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            });
            let power = |(var, k): &(Var, u32)| {
                let name = self.checked.names.list.get(*var as usize).map_or("?", String::as_str);
                if *k == 1 { name.to_owned() } else { format!("{name}**{k}") }
            };
            let mut factors: Vec<String> = monomial.iter().map(power).collect();
            if factors.is_empty() || size != "1" {
                factors.insert(0, size.to_owned());
            }
            text.push_str(&factors.join("*"));
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }
}

/// What has a value because of these facts.
fn operand(facts: &[Fact]) -> &'static str {
    match facts {
        [Fact::Ge(_)] => "an exponent or the distance of a shift",
        [Fact::Any(parts)] if parts.is_empty() => "a divisor, an exponent or the distance of a shift",
        _ => "a divisor",
    }
}

/// By how much the polynomial of a fact `q >= 0`, or of one of `q = 0` and `-q = 0`, exceeds `p`, if that is a number.
fn exceeding(fact: &Fact, p: &Poly) -> Option<Poly> {
    let (Fact::Ge(q) | Fact::Eq(q)) = fact else { return None };
    let opposite = matches!(fact, Fact::Eq(_)).then(|| q.negated());
    let rests = [Some(q.clone()), opposite].into_iter().flatten().map(|q| q.minus(p));
    rests.into_iter().find(|rest| rest.as_constant().is_some())
}

/// The `p` of which `p - 1 >= 0` or `-p - 1 >= 0`.
fn unequal(parts: &[Fact]) -> Option<Poly> {
    match parts {
        [Fact::Ge(above), Fact::Ge(below)] => {
            let p = above.plus_int(1);
            (p.negated().plus_int(-1) == *below).then_some(p)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_proof_in_an_answer_ends_with_how_much_more_there_is() {
        let steps = "(square x) ".repeat(MAX_LINES + 6) + "(outside z3)";
        let text = format!(
            "(certificate 1 (symbols x) (premises) (defined) (goal (false)) (definitions) (proof {steps}))"
        );
        let shown = super::steps(&text);
        let lines = shown.as_array().map_or(&[][..], Vec::as_slice);
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(lines[MAX_LINES]["says"], "7 steps; the certificate has them");
    }
}
