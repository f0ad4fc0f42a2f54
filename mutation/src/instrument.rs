//! Writes a file anew with its mutants behind switches.
use crate::mutants::Mutant;
use crate::sites::Sites;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// A mutant's number: its place in the list.
pub type Number = u32;

/// A part of the written text, and the mutants that are to be given up if the compiler does not accept it. A smaller
/// part counts more.
#[derive(Clone, Debug)]
pub struct Part {
    pub range: Range<usize>,
    pub mutants: Vec<Number>,
}

/// A file as it is written.
#[derive(Default)]
pub struct Written {
    pub text: String,
    pub parts: Vec<Part>,
    /// Mutants that no switch can express here, with the reason.
    pub inexpressible: Vec<(Number, &'static str)>,
}

/// An expression with its mutated copies: what is replaced by what in each.
struct Wrapped {
    range: Range<usize>,
    copies: Vec<(Number, Range<usize>, String)>,
}

struct Writer<'a> {
    source: &'a str,
    wrapped: Vec<Wrapped>,
    /// Text that is put in front of an offset.
    inserted: BTreeMap<usize, Vec<(String, Vec<Number>)>>,
    removed: Vec<Range<usize>>,
    scrutinees: Vec<(Range<usize>, Vec<Number>)>,
    written: Written,
}

/// Puts the mutants of one file behind switches. Those of `dropped` are left out; functions named in `keep_const`
/// stay `const`.
pub fn instrument(
    source: &str,
    mutants: &[(Number, &Mutant)],
    dropped: &HashSet<Number>,
    keep_const: &HashSet<String>,
) -> Result<Written, String> {
    let sites = Sites::of(source)?;
    let mut writer = Writer {
        source,
        wrapped: Vec::new(),
        inserted: BTreeMap::new(),
        removed: Vec::new(),
        scrutinees: Vec::new(),
        written: Written::default(),
    };
    let mut const_functions = HashSet::new();
    for &(n, m) in mutants {
        if dropped.contains(&n) {
            continue;
        }
        // A value is put in front of a body, also where that begins with a constant.
        let in_constant = m.genre != "FnValue" && sites.constants.iter().any(|c| c.contains(&m.start));
        let reason = if in_constant {
            Some("in a constant")
        } else if sites.let_chains.contains(&m.start) {
            Some("joins the conditions of `if let`")
        } else if m.replacement.starts_with("::std::iter::") {
            Some("a value of another type than the opaque one")
        } else {
            None
        };
        if let Some(reason) = reason {
            writer.written.inexpressible.push((n, reason));
            continue;
        }
        if let Some((i, f)) =
            sites.const_functions.iter().enumerate().find(|(_, f)| f.whole.contains(&m.start))
        {
            if keep_const.contains(&f.name) {
                writer.written.inexpressible.push((n, "in a `const fn` that constants call"));
                continue;
            }
            const_functions.insert(i);
        }
        if !writer.place(&sites, n, m) {
            writer.written.inexpressible.push((n, "not found in the syntax tree"));
        }
    }
    writer.removed.extend(const_functions.into_iter().map(|i| sites.const_functions[i].token.clone()));
    // An outer expression before those inside it.
    writer.wrapped.sort_by_key(|w| (w.range.start, usize::MAX - w.range.end));
    let wrapped = std::mem::take(&mut writer.wrapped);
    writer.write(0..source.len(), &wrapped);
    Ok(writer.written)
}

impl Writer<'_> {
    fn place(&mut self, sites: &Sites, n: Number, m: &Mutant) -> bool {
        match m.genre.as_str() {
            "FnValue" => {
                let text = format!("if crate::mutation::active({n}) {{ return {}; }} ", m.replacement);
                self.inserted.entry(m.start).or_default().push((text, vec![n]));
            }
            "MatchArm" => {
                let Some(arm) = sites.arms.get(&m.start) else { return false };
                match &arm.guard {
                    None => {
                        let text = format!(" if !crate::mutation::active({n})");
                        self.inserted.entry(arm.pattern_end).or_default().push((text, vec![n]));
                    }
                    Some(guard) => {
                        self.wrap(guard.clone(), n, guard.clone(), "false");
                    }
                }
                match self.scrutinees.iter_mut().find(|(range, _)| *range == arm.scrutinee) {
                    Some((_, arms)) => arms.push(n),
                    None => self.scrutinees.push((arm.scrutinee.clone(), vec![n])),
                }
            }
            "MatchArmGuard" => {
                let Some(guard) = sites.guards.get(&m.start) else { return false };
                self.wrap(guard.clone(), n, m.start..m.end, &m.replacement);
            }
            "BinaryOperator" | "UnaryOperator" | "StructField" => {
                let Some(expression) = sites.expressions.get(&m.start) else { return false };
                self.wrap(expression.clone(), n, m.start..m.end, &m.replacement);
            }
            _ => return false,
        }
        true
    }

    fn wrap(&mut self, range: Range<usize>, n: Number, replaced: Range<usize>, by: &str) {
        let copy = (n, replaced, by.to_string());
        match self.wrapped.iter_mut().find(|w| w.range == range) {
            Some(w) => w.copies.push(copy),
            None => self.wrapped.push(Wrapped { range, copies: vec![copy] }),
        }
    }

    fn write(&mut self, range: Range<usize>, wrapped: &[Wrapped]) {
        let mut at = range.start;
        let mut rest = wrapped;
        while let Some((first, others)) = rest.split_first() {
            if first.range.start >= range.end {
                break;
            }
            self.plain(at..first.range.start);
            let inside = others.iter().take_while(|w| w.range.start < first.range.end).count();
            self.expression(first, &others[..inside]);
            at = first.range.end;
            rest = &others[inside..];
        }
        self.plain(at..range.end);
    }

    fn expression(&mut self, w: &Wrapped, inside: &[Wrapped]) {
        // What is put in front of an expression (the value of a function) stays outside it.
        self.insertions(w.range.start);
        let begin = self.written.text.len();
        self.written.text.push('(');
        for (n, replaced, by) in &w.copies {
            let start = self.written.text.len();
            self.written.text.push_str(&format!("if crate::mutation::active({n}) {{ "));
            self.written.text.push_str(&self.source[w.range.start..replaced.start]);
            self.written.text.push_str(by);
            self.written.text.push_str(&self.source[replaced.end..w.range.end]);
            self.written.text.push_str(" } else ");
            self.written.parts.push(Part { range: start..self.written.text.len(), mutants: vec![*n] });
        }
        self.written.text.push_str("{ ");
        self.write(w.range.clone(), inside);
        self.written.text.push_str(" })");
        let mutants = w.copies.iter().map(|(n, ..)| *n).collect();
        self.written.parts.push(Part { range: begin..self.written.text.len(), mutants });
    }

    fn insertions(&mut self, at: usize) {
        for (text, mutants) in self.inserted.remove(&at).unwrap_or_default() {
            let start = self.written.text.len();
            self.written.text.push_str(&text);
            self.written.parts.push(Part { range: start..self.written.text.len(), mutants });
        }
    }

    /// Source text without an expression that is wrapped.
    fn plain(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            self.insertions(at);
            if let Some(i) = self.removed.iter().position(|r| r.start == at) {
                at = self.removed.swap_remove(i).end;
                continue;
            }
            let next_insertion = self.inserted.range(at + 1..range.end).next().map(|(at, _)| *at);
            let next_removal =
                self.removed.iter().map(|r| r.start).filter(|s| (at + 1..range.end).contains(s)).min();
            let end = [next_insertion, next_removal].into_iter().flatten().min().unwrap_or(range.end);
            let offset = self.written.text.len();
            for (scrutinee, arms) in &self.scrutinees {
                if (at..end).contains(&scrutinee.start) {
                    let begin = offset + scrutinee.start - at;
                    self.written
                        .parts
                        .push(Part { range: begin..begin + scrutinee.len(), mutants: arms.clone() });
                }
            }
            self.written.text.push_str(&self.source[at..end]);
            at = end;
        }
    }
}
