//! The report in the format of torch's constraint violations, for tools that read those.
//!
//! Header, bullets and fixes have the form that torch 2.15 gives them (`torch.export` raises them as
//! `UserError`), so that `refine_dynamic_shapes_from_suggested_fixes` can read the fixes. Torch says nothing
//! of conditions on several dimensions that are no equation; here they are listed like those on one.
use super::model::{GuardReport, GuardVerdict, Outcome, Report};
use sizewise_expr::escape::visible;
use sizewise_expr::text::{print, read};
use sizewise_expr::{Expr, Func, Int, Pool, Symbol};
use std::fmt::Write;

/// The report in torch's words; empty if nothing is violated.
pub fn to_torch(report: &Report) -> String {
    if report.verdict == Outcome::Invalid {
        let messages: Vec<_> = report.diagnostics.iter().map(|d| visible(&d.message)).collect();
        return format!("{}\n", messages.join("\n"));
    }
    let mut bullets: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for guard in report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated && !g.follows) {
        let mut pool = Pool::new();
        let Ok(read) = read::closed(&mut pool, &guard.expr) else { continue };
        let condition = pool.truth(read.expr);
        let bullet = Bullet { report, pool };
        for name in bullet.dims(condition) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let text = visible(&bullet.text(guard, condition)).into_owned();
        if !bullets.contains(&text) {
            bullets.push(text);
        }
    }
    if bullets.is_empty() {
        return String::new();
    }
    names.sort();
    bullets.sort();
    let mut out = format!(
        "Constraints violated ({})! For more information, run with TORCH_LOGS=\"+dynamic\".\n",
        visible(&names.join(", "))
    );
    for bullet in bullets {
        let _ = writeln!(out, "  - {bullet}");
    }
    let lines = fix_lines(report);
    if !lines.is_empty() {
        out.push_str("Suggested fixes:\n");
        for line in lines {
            let _ = writeln!(out, "  {}", visible(&line));
        }
    }
    out
}

/// The first fix, dimensions before equations. Dimensions without a name have none in torch's fixes.
fn fix_lines(report: &Report) -> Vec<String> {
    let Some(fix) = report.fixes.first() else { return Vec::new() };
    let unnamed: Vec<&str> = fix
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter_map(|line| line.rsplit(" is ").next())
        .collect();
    let mut lines: Vec<&str> = fix
        .text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter(|line| line.split(" = ").next().is_none_or(|name| !unnamed.contains(&name)))
        .collect();
    lines.sort_by_key(|line| !line.contains("Dim("));
    lines.into_iter().map(str::to_string).collect()
}

/// One line about one condition.
struct Bullet<'r> {
    report: &'r Report,
    pool: Pool,
}

impl Bullet<'_> {
    /// The name of a symbol's dimension.
    fn name(&self, symbol: Symbol) -> String {
        let own = self.pool.symbol_name(symbol);
        let dim = self.report.symbols.get(own).and_then(|s| s.dim.clone());
        dim.unwrap_or_else(|| own.to_string())
    }

    /// What a symbol is in guard code: `L['x'].size()[0]`.
    fn source(&self, symbol: Symbol) -> String {
        let own = self.pool.symbol_name(symbol);
        match self.report.symbols.get(own).and_then(|s| s.source.as_deref()) {
            Some(source) => local(source),
            None => self.name(symbol),
        }
    }

    fn dims(&self, condition: Expr) -> Vec<String> {
        self.pool.free_symbols(&[condition]).into_iter().map(|s| self.name(s)).collect()
    }

    fn code(&self, e: Expr) -> String {
        print::python(&self.pool, e, &|s| self.source(s))
    }

    fn text(&self, guard: &GuardReport, condition: Expr) -> String {
        let symbols = self.pool.free_symbols(&[condition]);
        if let Some(&[p]) = self.pool.as_func(condition, Func::IsZero)
            && let Some(text) = self.equation(p)
        {
            return text;
        }
        let described: Vec<String> = symbols.iter().map(|&s| self.described(s)).collect();
        let subject = described.join(" and ");
        match self.interval(condition, &symbols) {
            Some(interval) => {
                format!("Not all values of {subject} satisfy the generated guard {interval}")
            }
            None if symbols.is_empty() => format!("The guard {} is not satisfied.", guard.shown),
            None => {
                format!("Not all values of {subject} satisfy the generated guard {}.", self.code(condition))
            }
        }
    }

    /// `p == 0` where it sets a dimension to a constant or relates two of them.
    fn equation(&self, p: Expr) -> Option<String> {
        let poly = self.pool.poly(p);
        let terms: Vec<(Symbol, Int)> = poly
            .terms
            .iter()
            .map(|(monomial, c)| self.pool.as_symbol(*monomial).map(|s| (s, c.clone())))
            .collect::<Option<_>>()?;
        match terms.as_slice() {
            [(symbol, c)] if poly.constant.is_multiple_of(c) => {
                let value = (-&poly.constant).floor_div(c)?;
                Some(format!(
                    "You marked {} as dynamic but your code specialized it to be a constant ({value}). If you're \
                     using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using \
                     Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO.",
                    self.name(*symbol)
                ))
            }
            [(a, ca), (b, cb)] => {
                // One of both has the coefficient 1 or -1: it is the one that depends.
                let ((y, cy), (x, cx)) =
                    if ca.abs().is_one() && (!cb.abs().is_one() || self.name(*a) > self.name(*b)) {
                        ((a, ca), (b, cb))
                    } else if cb.abs().is_one() {
                        ((b, cb), (a, ca))
                    } else {
                        return None;
                    };
                let (name, root) = (self.name(*y), self.name(*x));
                let (this, that) =
                    (format!("{name} = {}", self.source(*y)), format!("{root} = {}", self.source(*x)));
                let (factor, offset) = (-&(cx * cy), -&(&poly.constant * cy));
                if factor.is_one() && offset.is_zero() {
                    return Some(format!("The values of {this} and {that} must always be equal."));
                }
                let product = if factor.is_one() { root.clone() } else { format!("{factor}*{root}") };
                let value = match (offset.signum(), factor == Int::from(-1)) {
                    (0, false) => product,
                    (_, true) => format!("{offset} - {root}"),
                    (1, false) => format!("{product} + {offset}"),
                    _ => format!("{product} - {}", offset.abs()),
                };
                Some(format!(
                    "The values of {this} must always be related to the values of {that} by {name} = {value}."
                ))
            }
            _ => None,
        }
    }

    /// A symbol with its source and the range that the spec gives it.
    fn described(&self, symbol: Symbol) -> String {
        let (name, source) = (self.name(symbol), self.source(symbol));
        let own = self.report.symbols.get(self.pool.symbol_name(symbol));
        // Up to 2 a lower bound is none to torch, which traces with sizes of at least 2 anyway.
        let least = own.and_then(|s| s.min.clone()).filter(|min| min.as_i64().is_none_or(|min| min > 2));
        let most = own.and_then(|s| s.max.clone());
        let range = match (least, most) {
            (Some(least), Some(most)) => format!(" {least} <= {name} <= {most}"),
            (Some(least), None) => format!(" {least} <= {name}"),
            (None, Some(most)) => format!(" {name} <= {most}"),
            (None, None) => String::new(),
        };
        format!("{name} = {source} in the specified range{range}")
    }

    /// A bound of one symbol, as torch words intervals.
    fn interval(&self, condition: Expr, symbols: &[Symbol]) -> Option<String> {
        let &[p] = self.pool.as_func(condition, Func::NotPositive)? else { return None };
        let [symbol] = symbols else { return None };
        let poly = self.pool.poly(p);
        let [(monomial, c)] = poly.terms.as_slice() else { return None };
        if self.pool.as_symbol(*monomial) != Some(*symbol) || !c.abs().is_one() {
            return None;
        }
        let source = self.source(*symbol);
        let own = self.report.symbols.get(self.pool.symbol_name(*symbol));
        let least = own.and_then(|s| s.min.clone()).map_or("0".to_string(), |v| v.to_string());
        let most = own.and_then(|s| s.max.clone()).map_or("IntInfinity()".to_string(), |v| v.to_string());
        // `c - s <= 0` is a lower bound, `s - c <= 0` an upper one.
        Some(if c.is_negative() {
            format!("{} <= {source} and {source} <= {most}", poly.constant)
        } else {
            format!("{least} <= {source} and {source} <= {}", -&poly.constant)
        })
    }
}

/// A source as guard code has it: `xs[0].shape[1]` is `L['xs'][0].size()[1]`.
fn local(source: &str) -> String {
    if let Some(inner) = source.strip_prefix('(') {
        return format!("({}", local(inner));
    }
    let (path, dim) = match source.rfind(".shape[") {
        Some(at) => (&source[..at], Some(&source[at + ".shape".len()..])),
        None => (source, None),
    };
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    let (root, rest) = path.split_at(end);
    match dim {
        Some(dim) => format!("L['{root}']{rest}.size(){dim}"),
        None => format!("L['{root}']{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::local;

    #[test]
    fn sources_are_written_as_guard_code_writes_them() {
        let table = [
            ("x.shape[0]", "L['x'].size()[0]"),
            ("xs[0].shape[1]", "L['xs'][0].size()[1]"),
            ("d['k'].shape[2]", "L['d']['k'].size()[2]"),
            ("n", "L['n']"),
            ("(x.shape[0]//32)", "(L['x'].size()[0]//32)"),
        ];
        for (source, code) in table {
            assert_eq!(local(source), code);
        }
    }
}
