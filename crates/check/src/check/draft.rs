//! A spec that is being repaired, with its changes as text and as conditions.
use super::pipeline::Examined;
use super::repair::{self, Changes};
use crate::report::Changed;
use crate::spec::{Change, Computed, Contract, Lines, NamedPlace, Spec, dimension_name};
use sizewise_expr::escape::visible;
use sizewise_expr::{Expr, Int, Symbol};

/// A spec that is being repaired.
#[derive(Clone)]
pub(super) struct Draft {
    pub spec: Spec,
    lines: Lines,
    /// What the given spec computes from its dimensions.
    computed: Vec<Computed>,
    /// The named dimensions of the given spec that are sizes by themselves.
    sizes: Vec<String>,
    /// The dimensions that are left to the program.
    left: Vec<String>,
    /// The changes so far as conditions on the symbols of the given spec; `None` if they cannot be written so.
    conditions: Option<Vec<Expr>>,
    /// Dimensions of the given spec and those that the changes have introduced, in those symbols.
    meaning: Vec<(String, Expr)>,
    /// How many of those the given spec has.
    given: usize,
    /// Where the dimensions stand that got names.
    paths: Vec<(String, String)>,
    /// Whether a dimension became the same as another one.
    pub equates: bool,
    /// Whether a dimension may be no larger any more than in the example.
    pub caps: bool,
    /// Whether a dimension has to leave the rest that the example leaves: `4*k + 3`.
    pub leaves_a_rest: bool,
}

impl Draft {
    /// A spec before its first change.
    pub fn new(spec: &Spec, contract: &Contract, first: &mut Examined) -> Draft {
        let spec = spec.resolved(contract).unwrap_or_else(|_| spec.clone()).inlined();
        let meaning = dimensions(first);
        Draft {
            computed: spec.computed(contract),
            sizes: spec.sizes(contract),
            given: meaning.len(),
            spec,
            lines: Lines::default(),
            left: Vec::new(),
            conditions: Some(Vec::new()),
            meaning,
            paths: Vec::new(),
            equates: false,
            caps: false,
            leaves_a_rest: false,
        }
    }

    /// Whether changes make a dimension the same as another one, and let none end at the example.
    pub fn only_equates(&self, changes: &Changes, first: &mut Examined) -> bool {
        let mut tried = Draft { equates: false, caps: false, ..self.clone() };
        tried.apply(changes, first);
        tried.equates && !tried.caps
    }

    /// Says that a number is static, which is a condition.
    pub fn fix(&mut self, path: &str, condition: Expr) {
        let is_name = path.chars().all(|c| c == '_' || c.is_alphanumeric());
        if is_name {
            self.lines.fix(path);
        } else {
            let name = dimension_name(path, 0);
            let name = name.trim_end_matches("_0");
            self.lines.comment(format!("# {} is {name}", visible(path)));
            self.lines.fix(name);
        }
        self.conditions.get_or_insert_default().push(condition);
    }

    /// Says that a dimension got a name.
    pub fn name(&mut self, place: NamedPlace, first: &mut Examined) {
        self.lines.comment(format!("# {} is {}", visible(&place.path), place.name));
        self.lines.introduce(&place.name, place.min, place.max);
        let e = first.assumptions.env.pool.symbol_expr(place.symbol);
        self.meaning.push((place.name.clone(), e));
        self.given = self.meaning.len();
        self.paths.push((place.name.clone(), place.path));
        self.sizes.push(place.name);
    }

    /// Applies changes.
    pub fn apply(&mut self, changes: &Changes, first: &mut Examined) {
        let (spec, changes) = repair::apply(&self.spec, &repair::for_torch(changes));
        self.spec = spec;
        for (name, change) in &changes {
            self.lines.change(name, change);
            self.leaves_a_rest |= matches!(change, Change::Linear { offset, .. } if *offset != 0);
            self.equates |= matches!(change, Change::Derived { factor: 1, offset: 0, .. });
            if let Change::Range { max: Some(max), .. } = change {
                let size = self.meaning(name);
                let env = &first.assumptions.env;
                let hint = size.and_then(|e| {
                    env.pool.eval(e, |s| env.symbol(s).and_then(|info| info.hint.clone())).ok()?.as_int()
                });
                self.caps |= hint == Some(Int::from(*max));
            }
            if matches!(change, Change::Auto { .. }) && !self.left.contains(name) {
                self.left.push(name.clone());
            }
            let condition = self.condition(name, change, first);
            match (&mut self.conditions, condition) {
                (Some(conditions), Some(condition)) => conditions.push(condition),
                (conditions, None) => *conditions = None,
                (None, _) => {}
            }
        }
    }

    /// The dimensions that are left to torch.
    pub fn left(&self) -> &[String] {
        &self.left
    }

    /// The condition under which the inputs of the given spec are still allowed; `None` if it cannot be written so.
    pub fn kept(&self, first: &mut Examined) -> Option<Expr> {
        self.conditions.as_ref().map(|conditions| first.assumptions.env.pool.and(conditions))
    }

    /// Whether dimensions got names that the spec does not have.
    pub fn names_dimensions(&self) -> bool {
        !self.paths.is_empty()
    }

    /// The number of changes.
    pub fn changed(&self) -> usize {
        self.written().len()
    }

    /// Whether a dimension is set to a number.
    pub fn fixes_a_size(&self) -> bool {
        self.lines.fixes_a_size()
    }

    /// The changes as Python.
    pub fn text(&self) -> String {
        self.written().text()
    }

    /// What becomes of each dimension, in words.
    pub fn changes(&self) -> Vec<Changed> {
        let is_new = |name: &str| self.meaning[self.given..].iter().any(|(new, _)| new == name);
        let changed = |(name, needs): (String, String)| {
            let computed = self.computed.iter().map(|place| (&place.name, &place.path));
            let mut named = self.paths.iter().map(|(name, path)| (name, path)).chain(computed);
            let source = named.find(|(known, _)| **known == name).map(|(_, path)| path.clone());
            let named =
                |word: &str| self.paths.iter().find(|(name, _)| name == word).map(|(_, path)| path.as_str());
            let needs: Vec<&str> = needs.split(' ').map(|word| named(word).unwrap_or(word)).collect();
            Changed { dim: source.clone().unwrap_or(name), source, needs: needs.join(" ") }
        };
        self.written().needs(|name| !is_new(name)).into_iter().map(changed).collect()
    }

    /// What the spec said of computed dimensions that are left to torch.
    pub fn no_longer(&self) -> Option<String> {
        let left = self.computed.iter().filter(|place| self.lines.is_left(&place.root));
        let left: Vec<String> =
            left.map(|place| format!("{} is {}", visible(&place.path), place.expression)).collect();
        (!left.is_empty()).then(|| format!("the spec no longer says that {}", left.join(" and ")))
    }

    /// The lines to show: with those dimensions that are left to torch because their root is, and without names that
    /// nothing is computed from.
    fn written(&self) -> Lines {
        let mut lines = self.lines.clone();
        for place in &self.computed {
            if let Some(change) = self.lines.left_change(&place.root, place.factor, place.offset) {
                lines.comment(format!("# {} is {}", visible(&place.path), place.name));
                lines.change(&place.name, &change);
            }
        }
        let is_given = |name: &str| self.meaning[..self.given].iter().any(|(known, _)| known == name);
        lines.retain(|name| match self.lines.is_left(name) {
            true => {
                self.sizes.iter().any(|size| size == name)
                    || self.computed.iter().any(|place| place.name == name)
            }
            false => is_given(name) || self.meaning.iter().all(|(known, _)| known != name),
        });
        lines
    }

    fn meaning(&self, name: &str) -> Option<Expr> {
        self.meaning.iter().rev().find(|(known, _)| known == name).map(|(_, e)| *e)
    }

    /// A change as a condition on the symbols of the spec as given.
    fn condition(&mut self, name: &str, change: &Change, first: &mut Examined) -> Option<Expr> {
        let size = self.meaning(name)?;
        let pool = &mut first.assumptions.env.pool;
        let mut between = |e: Expr, min: i64, max: Option<i64>| {
            let low = pool.int(min);
            let low = pool.ge(e, low);
            match max {
                Some(max) => {
                    let high = pool.int(max);
                    let high = pool.le(e, high);
                    pool.and(&[low, high])
                }
                None => low,
            }
        };
        match change {
            Change::Range { min, max } | Change::Auto { min, max } => Some(between(size, *min, *max)),
            Change::Size(value) => {
                let value = pool.int(*value);
                Some(pool.eq(size, value))
            }
            Change::Derived { root, factor, offset } => {
                let root = self.meaning(root)?;
                let (factor, offset) = (pool.int(*factor), pool.int(*offset));
                let product = pool.mul(factor, root);
                let derived = pool.add(product, offset);
                Some(pool.eq(size, derived))
            }
            Change::Linear { root, factor, offset, min, max } => {
                let (factor, offset) = (pool.int(*factor), pool.int(*offset));
                let rest = pool.sub(size, offset);
                let t = pool.floor_div(rest, factor);
                let remainder = pool.modulo(rest, factor);
                let divides = pool.eq(remainder, Expr::ZERO);
                let known = self.meaning.iter().rev().find(|(known, _)| known == root).map(|(_, e)| *e);
                let mut parts = vec![divides];
                match known {
                    Some(known) => parts.push(pool.eq(known, t)),
                    None => self.meaning.push((root.clone(), t)),
                }
                let low = pool.int(*min);
                parts.push(pool.ge(t, low));
                if let Some(max) = max {
                    let high = pool.int(*max);
                    parts.push(pool.le(t, high));
                }
                Some(pool.and(&parts))
            }
        }
    }
}

/// The named dimensions of a spec, with their symbols.
fn dimensions(examined: &mut Examined) -> Vec<(String, Expr)> {
    let dims: Vec<(Symbol, String)> =
        examined.assumptions.dims.iter().map(|(s, name)| (*s, name.clone())).collect();
    dims.into_iter().map(|(s, name)| (name, examined.assumptions.env.pool.symbol_expr(s))).collect()
}
