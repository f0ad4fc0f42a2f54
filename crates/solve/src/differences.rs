//! Difference constraints: conditions of the form `x - y <= c` are edges of a graph, whose paths are chains
//! of inequalities.
//!
//! Such a system has no solution exactly if its graph has a cycle of negative length. Otherwise, shortest
//! distances are a solution. The Bellman-Ford algorithm finds either. It relaxes all edges in rounds: as many
//! as a shortest path has edges against the order of the nodes. Chains lead forwards in that order, so a
//! chain of inequalities of any length takes two rounds.
use super::program::to_i128;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Node, Pool};

/// All edges are looked at this often before the graph is given up.
const MAX_ROUNDS: usize = 32;

/// The result for a system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Solved {
    /// These of the conditions, by position, already contradict each other.
    Contradiction(Vec<usize>),
    /// Values of the atoms that satisfy all conditions that are difference constraints.
    Solution(FxHashMap<Expr, Int>),
    /// Neither was found.
    Open,
}

/// `to - from <= length`.
struct Edge {
    to: usize,
    length: i128,
    /// The condition that says so.
    condition: usize,
}

struct DifferenceGraph {
    /// What the nodes stand for; the first one for 0.
    atoms: Vec<Option<Expr>>,
    nodes: FxHashMap<Expr, usize>,
    edges: Vec<Vec<Edge>>,
    count: usize,
}

/// Solves the difference constraints among the conditions; the others are left out.
pub(super) fn solve(pool: &Pool, conditions: &[Expr]) -> Solved {
    let mut graph =
        DifferenceGraph { atoms: vec![None], nodes: FxHashMap::default(), edges: vec![Vec::new()], count: 0 };
    for (i, &condition) in conditions.iter().enumerate() {
        match pool.as_call(condition) {
            Some((Func::NotPositive, &[p])) => graph.at_most_zero(pool, p, i, false),
            Some((Func::IsZero, &[p])) => {
                graph.at_most_zero(pool, p, i, false);
                graph.at_most_zero(pool, p, i, true);
            }
            _ => {}
        }
    }
    graph.solve(pool)
}

impl DifferenceGraph {
    fn node(&mut self, atom: Expr) -> usize {
        *self.nodes.entry(atom).or_insert_with(|| {
            self.atoms.push(Some(atom));
            self.edges.push(Vec::new());
            self.atoms.len() - 1
        })
    }

    /// Adds `p <= 0`, or `p >= 0`, if that is a difference constraint: `x - y + c <= 0` is `x - y <= -c`.
    fn at_most_zero(&mut self, pool: &Pool, p: Expr, condition: usize, negated: bool) {
        let one = (p, Int::ONE);
        let (constant, terms) = match pool.node(p) {
            Some(Node::Sum { constant, terms }) => (constant.clone(), &terms[..]),
            _ => (Int::ZERO, std::slice::from_ref(&one)),
        };
        let Some(constant) = to_i128(&constant).filter(|c| c.unsigned_abs() < 1 << 64) else { return };
        let (mut plus, mut minus) = (None, None);
        for (monomial, coefficient) in terms {
            let positive = coefficient.is_positive() != negated;
            let place = if positive { &mut plus } else { &mut minus };
            if !coefficient.abs().is_one() || place.replace(*monomial).is_some() {
                return;
            }
        }
        let length = if negated { constant } else { -constant };
        let from = minus.map_or(0, |atom| self.node(atom));
        let to = plus.map_or(0, |atom| self.node(atom));
        self.edges[from].push(Edge { to, length, condition });
        self.count += 1;
    }

    fn solve(&self, pool: &Pool) -> Solved {
        let order = self.order();
        let mut distance = vec![0i128; self.atoms.len()];
        // The node before each on the path that gave it its distance, and the condition of the edge between.
        let mut before: Vec<Option<(usize, usize)>> = vec![None; self.atoms.len()];
        for _ in 0..MAX_ROUNDS {
            pool.charge(self.count);
            let mut shortened = false;
            for &node in &order {
                for edge in &self.edges[node] {
                    let through = distance[node] + edge.length;
                    if through < distance[edge.to] {
                        distance[edge.to] = through;
                        before[edge.to] = Some((node, edge.condition));
                        shortened = true;
                    }
                }
            }
            if !shortened {
                let value = |(i, atom): (usize, &Option<Expr>)| {
                    Some(((*atom)?, Int::from(distance[i] - distance[0])))
                };
                return Solved::Solution(self.atoms.iter().enumerate().filter_map(value).collect());
            }
            if let Some(conditions) = cycle(&before) {
                return Solved::Contradiction(conditions);
            }
        }
        Solved::Open
    }

    /// The nodes in an order in which edges lead forwards, except those that close cycles: the reverse
    /// postorder of a depth-first search.
    fn order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.atoms.len());
        let mut entered = vec![false; self.atoms.len()];
        // Nodes being looked at, each with the number of its edges that were followed.
        let mut stack: Vec<(usize, usize)> = Vec::new();
        for start in 0..self.atoms.len() {
            if !std::mem::replace(&mut entered[start], true) {
                stack.push((start, 0));
            }
            while let Some((node, followed)) = stack.last_mut() {
                match self.edges[*node].get(*followed) {
                    Some(edge) => {
                        *followed += 1;
                        if !std::mem::replace(&mut entered[edge.to], true) {
                            stack.push((edge.to, 0));
                        }
                    }
                    None => {
                        order.push(*node);
                        stack.pop();
                    }
                }
            }
        }
        order.reverse();
        order
    }
}

/// The conditions along a cycle of predecessors, which is one of negative length.
fn cycle(before: &[Option<(usize, usize)>]) -> Option<Vec<usize>> {
    // 0: not seen; otherwise the walk that has seen the node.
    let mut seen = vec![0usize; before.len()];
    for start in 0..before.len() {
        let mut node = start;
        while seen[node] == 0 {
            seen[node] = start + 1;
            let Some((previous, _)) = before[node] else { break };
            node = previous;
        }
        if seen[node] != start + 1 || before[node].is_none() {
            continue;
        }
        let (first, mut conditions) = (node, Vec::new());
        while let Some((previous, condition)) = before[node] {
            conditions.push(condition);
            node = previous;
            if node == first {
                conditions.sort_unstable();
                conditions.dedup();
                return Some(conditions);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::read;

    fn solved(conditions: &[&str]) -> (Pool, Vec<Expr>, Solved) {
        let mut pool = Pool::new();
        let conditions: Vec<Expr> =
            conditions.iter().map(|c| read::closed(&mut pool, c).expect("a condition").expr).collect();
        let solved = solve(&pool, &conditions);
        (pool, conditions, solved)
    }

    #[test]
    fn cycles_of_negative_length_are_contradictions() {
        let table: [(&[&str], &[usize]); 5] = [
            (&["a <= b", "b <= c", "c < a"], &[0, 1, 2]),
            (&["x <= 7", "a < b", "b < a", "y >= 2"], &[1, 2]),
            (&["a >= 5", "b <= 3", "Eq(a, b)"], &[0, 1, 2]),
            (&["Eq(a, b + 1)", "Eq(b, c + 1)", "c >= a - 1"], &[0, 1, 2]),
            (&["a < 0", "a > 0"], &[0, 1]),
        ];
        for (conditions, expected) in table {
            assert_eq!(solved(conditions).2, Solved::Contradiction(expected.to_vec()), "{conditions:?}");
        }
    }

    #[test]
    fn distances_solve_what_can_be_solved() {
        let chain: Vec<String> = (0..500).map(|i| format!("x{i} < x{}", i + 1)).collect();
        let rising: Vec<&str> = chain.iter().map(String::as_str).collect();
        let falling: Vec<&str> = rising.iter().rev().copied().collect();
        let table: [&[&str]; 5] = [
            &["a <= b", "b <= c", "c <= a"],
            &["a >= 5", "a <= 9", "b > a", "Eq(c, b - 7)"],
            &rising,
            &falling,
            &[],
        ];
        for conditions in table {
            let (pool, read, solved) = solved(conditions);
            let Solved::Solution(values) = solved else { panic!("{conditions:?}: {solved:?}") };
            for (text, condition) in conditions.iter().zip(read) {
                let value = |s| {
                    let e = pool.known_symbol_expr(s)?;
                    Some(sizewise_expr::Value::Int(values.get(&e)?.clone()))
                };
                assert_eq!(pool.eval(condition, value), Ok(sizewise_expr::Value::Bool(true)), "{text}");
            }
        }
    }

    #[test]
    fn other_conditions_are_left_out() {
        let conditions = ["a + b <= 3", "2*a - b <= 3", "a*b - c <= 2", "Ne(a, b)", "a <= b"];
        assert!(matches!(solved(&conditions).2, Solved::Solution(_)));
    }
}
