//! Branching into cases, and the constraints that each case adds.
use super::*;

impl Solver<'_> {
    /// The values of the problem's symbols at a vertex, if they satisfy its conditions.
    pub(super) fn candidate(&mut self, node: &Branch, vertex: &Vertex) -> Option<FxHashMap<Symbol, Int>> {
        self.candidates += 1;
        if self.candidates > 24 {
            return None;
        }
        let mut values: FxHashMap<Symbol, Int> = FxHashMap::default();
        for s in self.symbols.clone() {
            let e = self.pool.symbol_expr(s);
            let poly = Poly { constant: Int::ZERO, terms: [(e, Int::ONE)].into_iter().collect() };
            values.insert(s, self.value(node, vertex, &poly)?.0);
        }
        let mut evaluator = Evaluator::new(self.pool, |s| values.get(&s).cloned().map(Value::Int));
        if self.conditions.iter().all(|&c| evaluator.truth(c) == Ok(true)) {
            return Some(values);
        }
        None
    }

    /// The value of a polynomial at a vertex, rounded down, and whether every variable in it has an integer
    /// value. Variables that the vertex does not have are free within the table's bounds.
    pub(super) fn value(&mut self, node: &Branch, vertex: &Vertex, poly: &Poly) -> Option<(Int, bool)> {
        let reduced = node.forms.reduce(poly);
        let (mut total, mut exact) = (reduced.constant.clone(), true);
        for (m, c) in &reduced.terms {
            let v = match vertex.values.get(m) {
                Some((v, whole)) => {
                    exact &= whole;
                    v.clone()
                }
                None => {
                    let range = self.table.domain(self.pool, *m).range;
                    match (range.lo.finite(), range.hi.finite()) {
                        (Some(l), _) => l.clone(),
                        (None, Some(h)) if h.is_negative() => h.clone(),
                        _ => Int::ZERO,
                    }
                }
            };
            total = &total + &(&v * c);
        }
        Some((total, exact))
    }

    /// Where to split.
    pub(super) fn choose(&mut self, node: &mut Branch, vertex: Option<&Vertex>) -> Option<Split> {
        let smallest = (0..node.clauses.len()).min_by_key(|&i| node.clauses[i].len());
        if let Some(i) = smallest
            && node.clauses[i].len() <= 2
        {
            return Some(Split::Cases(node.clauses.swap_remove(i)));
        }
        let vertex = vertex?;
        // A form at a value that it does not have.
        let mut holes: Vec<Poly> = Vec::new();
        for (terms, known) in node.forms.iter() {
            for hole in &known.holes {
                holes.push(Poly { constant: -hole, terms: terms.clone() });
            }
        }
        for p in holes {
            if let Some((v, true)) = self.value(node, vertex, &p)
                && v.is_zero()
            {
                let mut below = p;
                below.constant = &below.constant + &Int::ONE;
                return Some(Split::At(below));
            }
        }
        if let Some(i) = smallest
            && node.clauses[i].len() <= MAX_CASES
        {
            return Some(Split::Cases(node.clauses.swap_remove(i)));
        }
        // A fraction: the variable with the narrowest range first.
        let mut best: Option<(usize, Int, Expr, Int)> = None;
        for (&m, (floor, whole)) in &vertex.values {
            if *whole || matches!(self.pool.node(m), Some(Node::Product(_))) {
                continue;
            }
            let range = self.table.domain(self.pool, m).range;
            let width = match (range.lo.finite(), range.hi.finite()) {
                (Some(l), Some(h)) => h - l,
                _ => Int::from(1i64 << 40),
            };
            let before = node.splits.iter().filter(|&&s| s == m).count();
            if best.as_ref().is_none_or(|(b, w, e, _)| (before, &width, m) < (*b, w, *e)) {
                best = Some((before, width, m, floor.clone()));
            }
        }
        // In a narrow region, a sum at its end is as good as an equation, which leaves fewer variables.
        if best.as_ref().is_none_or(|(_, width, _, _)| width.bits() > 8)
            && best.is_some()
            && let Some((sum, end)) = vertex.tight.iter().find(|(sum, _)| {
                sum.terms.iter().any(|(m, _)| vertex.values.get(m).is_some_and(|(_, whole)| !whole))
                    && !sum.terms.iter().any(|(m, _)| matches!(self.pool.node(*m), Some(Node::Product(_))))
            })
        {
            let form = Poly { constant: -end, terms: sum.terms.clone() };
            let upper = node.forms.at_upper_end(&sum.terms, end);
            return Some(if upper { Split::From(form) } else { Split::At(form) });
        }
        if let Some((_, _, m, floor)) = best {
            node.splits.push(m);
            let p = Poly { constant: -floor, terms: [(m, Int::ONE)].into_iter().collect() };
            return Some(Split::At(p));
        }
        let (e, split) = self.split_product(node, vertex)?;
        node.splits.push(e);
        Some(split)
    }

    /// Splits a factor of a product whose value is not the product of the factors' values.
    pub(super) fn split_product(&mut self, node: &Branch, vertex: &Vertex) -> Option<(Expr, Split)> {
        let at = |solver: &mut Self, e: Expr| {
            let poly = Poly { constant: Int::ZERO, terms: [(e, Int::ONE)].into_iter().collect() };
            solver.value(node, vertex, &poly).map(|(v, _)| v)
        };
        let products = self.products.clone();
        let mut best: Option<(usize, Int, std::cmp::Reverse<Expr>, Int)> = None;
        for (m, x, y) in products {
            let (m, vx, vy) = (at(self, m)?, at(self, x)?, at(self, y)?);
            if m == &vx * &vy {
                continue;
            }
            for (e, v) in [(x, vx), (y, vy)] {
                let range = self.table.domain(self.pool, e).range;
                if range.as_point().is_some() || matches!(self.pool.node(e), Some(Node::Product(_))) {
                    continue;
                }
                let (low, high) = (range.lo.finite(), range.hi.finite());
                let width = match (low, high) {
                    (Some(l), Some(h)) => h - l,
                    _ => Int::from(1i64 << 40),
                };
                // Cut at the value, so that it becomes an end of both halves where products are exact.
                let cut = if high == Some(&v) { &v - &Int::ONE } else { v };
                // The least split, the narrowest, the newest: quotients before symbols.
                let before = node.splits.iter().filter(|&&s| s == e).count();
                let key = (before, width, std::cmp::Reverse(e), cut);
                best = Some(match best {
                    Some(b) => b.min(key),
                    None => key,
                });
            }
        }
        let (_, _, std::cmp::Reverse(e), cut) = best?;
        Some((e, Split::At(Poly { constant: -cut, terms: [(e, Int::ONE)].into_iter().collect() })))
    }
}
