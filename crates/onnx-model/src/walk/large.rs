//! Sizes whose expressions are too large to follow: repeated outer products square them each time.
use super::Walk;
use super::untracked::marked;
use crate::shape::{Tensor, Value};
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Node, Pool};
use sizewise_kernels::KernelError;

/// The greatest degree of a size that is followed.
const MAX_DEGREE: u64 = 64;
/// The most quotients and remainders of each other in a size that is followed.
const MAX_NESTING: u64 = 64;
/// The most bits of a number among sizes that is followed.
const MAX_BITS: u64 = 4_096;

/// The degrees of expressions that are known, with how many quotients and remainders of each other they have. A pool only
/// grows, so they stay.
#[derive(Default)]
pub(super) struct Degrees(FxHashMap<Expr, (u64, u64)>);

impl Degrees {
    /// Whether an expression is too large to follow.
    fn is_too_large(&mut self, pool: &Pool, e: Expr) -> bool {
        let (degree, nesting) = self.of(pool, e);
        degree > MAX_DEGREE || nesting > MAX_NESTING
    }

    /// The degree of an expression: how many sizes it multiplies at most. A number of too many bits has a degree that is
    /// too large. With it the nesting of quotients and remainders.
    fn of(&mut self, pool: &Pool, e: Expr) -> (u64, u64) {
        if e.as_inline().is_some() || pool.as_symbol(e).is_some() {
            return (u64::from(e.as_inline().is_none()), 0);
        }
        if let Some(&degree) = self.0.get(&e) {
            return degree;
        }
        // What is known already is not visited again.
        let (mut order, mut left) = (Vec::new(), vec![(e, false)]);
        while let Some((part, is_done)) = left.pop() {
            if is_done {
                order.push(part);
            } else if part.as_inline().is_none() && !self.0.contains_key(&part) {
                left.push((part, true));
                pool.for_each_child(part, |child| left.push((child, false)));
            }
        }
        for part in order {
            let found = (self.of_node(pool, part), self.nesting_of_node(pool, part));
            self.0.insert(part, found);
        }
        self.known(e)
    }

    fn known(&self, e: Expr) -> (u64, u64) {
        self.0.get(&e).copied().unwrap_or_default()
    }

    /// The nesting of an expression whose parts have known ones.
    fn nesting_of_node(&self, pool: &Pool, e: Expr) -> u64 {
        let mut nesting = 0;
        pool.for_each_child(e, |part| nesting = self.known(part).1.max(nesting));
        let divides = matches!(pool.as_call(e), Some((Func::FloorDiv | Func::Mod, _)));
        nesting + u64::from(divides)
    }

    /// The degree of an expression whose parts have known ones.
    fn of_node(&self, pool: &Pool, e: Expr) -> u64 {
        let greatest = |parts: &mut dyn Iterator<Item = Expr>| parts.map(|part| self.known(part).0).max();
        match pool.node(e) {
            Some(Node::Int(value)) => {
                if value.bits() > MAX_BITS {
                    MAX_DEGREE + 1
                } else {
                    0
                }
            }
            Some(Node::Sum { constant, terms }) => {
                let is_long = terms.iter().map(|(_, c)| c).chain([constant]).any(|c| c.bits() > MAX_BITS);
                let degree = greatest(&mut terms.iter().map(|(term, _)| *term)).unwrap_or(0);
                if is_long { degree.max(MAX_DEGREE + 1) } else { degree }
            }
            Some(Node::Product(factors)) => factors.iter().fold(0, |degree, &(factor, power)| {
                self.known(factor).0.saturating_mul(u64::from(power)).saturating_add(degree)
            }),
            Some(Node::Call(Func::Pow, args)) => {
                let power = args.get(1).and_then(|power| u64::try_from(power.as_inline()?).ok()).unwrap_or(1);
                greatest(&mut args.iter().copied()).unwrap_or(0).saturating_mul(power)
            }
            Some(Node::Call(_, args)) => greatest(&mut args.iter().copied()).unwrap_or(0),
            _ => u64::from(pool.as_symbol(e).is_some()),
        }
    }
}

impl Walk<'_> {
    /// Leaves out of results what is too large to follow. Elements are as if nothing followed them; of a result with
    /// such a size nothing but its type is known.
    pub(super) fn leave_out_large(&mut self, values: &mut [Option<Value>]) -> Option<KernelError> {
        let mut is_size = false;
        for value in values.iter_mut() {
            let Some(known) = value else { continue };
            match self.has_large_parts(known) {
                (true, _) => {
                    is_size = true;
                    *known = match known {
                        Value::Tensor(tensor) => Tensor::unranked(tensor.dtype).into(),
                        _ => Value::Unknown,
                    };
                }
                (false, true) => *known = marked(known, true),
                (false, false) => {}
            }
        }
        let message = "a size is too large an expression to follow".to_owned();
        is_size.then_some(KernelError::Unsupported(message))
    }

    /// Whether a value has a size, and whether it has an element, that is too large to follow.
    fn has_large_parts(&mut self, value: &Value) -> (bool, bool) {
        match value {
            Value::Tensor(tensor) => self.has_large(tensor),
            Value::Sequence(sequence) => {
                let (pool, degrees) = (&self.env.pool, &mut self.degrees);
                let is_long = sequence.count.is_some_and(|count| degrees.is_too_large(pool, count));
                let mut items = sequence.items.iter().flatten();
                // The elements of an item are no matter of the list, so they count as its sizes.
                (is_long || items.any(|item| self.has_large(item) != (false, false)), false)
            }
            Value::Optional(Some(value), _) => {
                let (size, element) = self.has_large_parts(value);
                (size || element, false)
            }
            _ => (false, false),
        }
    }

    fn has_large(&mut self, tensor: &Tensor) -> (bool, bool) {
        let (pool, degrees) = (&self.env.pool, &mut self.degrees);
        // Most tensors have sizes of inputs and no elements that are followed.
        let is_plain = |size: &Expr| size.as_inline().is_some() || pool.as_symbol(*size).is_some();
        if tensor.elements.is_none()
            && tensor.places.is_none()
            && tensor.spans.is_none()
            && tensor.shape.iter().flatten().all(is_plain)
        {
            return (false, false);
        }
        let places = tensor.places.iter().flat_map(|places| &places.sizes);
        let is_size =
            tensor.shape.iter().flatten().chain(places).any(|&size| degrees.is_too_large(pool, size));
        let mut numbers = tensor.known_integers();
        (is_size, numbers.any(|e| degrees.is_too_large(pool, e)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Model;
    use sizewise_env::ShapeEnv;

    /// A model that repeats outer products, each of which squares the number of elements.
    fn outer(rounds: usize) -> Model {
        let node = |at: usize| {
            format!(
                "r{at} = Reshape(v{at}, m) a{at} = Unsqueeze(r{at}, z) b{at} = Unsqueeze(r{at}, o) \
                 v{} = Mul(a{at}, b{at}) ",
                at + 1
            )
        };
        let nodes: String = (0..rounds).map(node).collect();
        let text = format!(
            "<ir_version: 8, opset_import: [\"\" : 18]>\ng (float[A,B] v0) => (float[P,Q] v{rounds}) \
             <int64[1] m = {{-1}}, int64[1] z = {{0}}, int64[1] o = {{1}}> {{ {nodes} }}"
        );
        Model::read(text.into_bytes()).expect("a model")
    }

    #[test]
    fn sizes_that_grow_with_each_node_are_followed_up_to_a_bound() {
        for rounds in [3, 10, 60] {
            let model = outer(rounds);
            let mut env = ShapeEnv::new();
            let shape = vec![env.pool.symbol("A"), env.pool.symbol("B")];
            let mut walk = Walk::new(&model, env, false);
            walk.run(vec![("v0".to_owned(), Tensor::new(crate::shape::Dtype::F32, shape).into())]);
            let sizes = walk.values.iter().flatten().filter_map(|value| value.tensor()?.shape.clone());
            let degrees: Vec<u64> = sizes.flatten().map(|e| walk.degrees.of(&walk.env.pool, e).0).collect();
            assert!(degrees.iter().all(|&degree| degree <= MAX_DEGREE), "{degrees:?}");
            // Conditions and sizes that are left out have at most the square of what is followed.
            assert!(walk.env.pool.len() < 1_000, "{}", walk.env.pool.len());
        }
    }

    #[test]
    fn degrees_are_of_whole_expressions() {
        let mut pool = Pool::new();
        let (a, b) = (pool.symbol("a"), pool.symbol("b"));
        let square = pool.mul(a, a);
        let half = pool.floor_div(square, b);
        let product = pool.mul(half, square);
        let sum = pool.add(product, b);
        let mut degrees = Degrees::default();
        for (e, degree) in [(Expr::ONE, 0), (a, 1), (square, 2), (half, 2), (product, 4), (sum, 4)] {
            assert_eq!(degrees.of(&pool, e).0, degree);
        }
        let number = pool.int(sizewise_expr::Int::power_of_two(5_000));
        assert!(degrees.is_too_large(&pool, number));
        let long = pool.add(a, number);
        assert!(degrees.is_too_large(&pool, long));
    }

    #[test]
    fn quotients_of_quotients_are_followed_up_to_a_bound() {
        let mut pool = Pool::new();
        let a = pool.symbol("a");
        let (mut e, mut degrees) = (a, Degrees::default());
        for round in 1..=2 * MAX_NESTING {
            let sum = pool.add(e, a);
            e = pool.floor_div(sum, Expr::from(3));
            assert_eq!(degrees.of(&pool, e), (1, round));
            assert_eq!(degrees.is_too_large(&pool, e), round > MAX_NESTING);
        }
        // A sum and a quotient of each round, and the symbol, each once.
        assert_eq!(degrees.0.len() as u64, 2 * 2 * MAX_NESTING + 1);
    }
}
