//! What a spec says of one dimension or of one scalar input.
use sizewise_expr::text::read;
use sizewise_expr::{Expr, Int, Pool};

/// A named dimension with its range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DimSpec {
    /// The name; dimensions of one name are one dimension.
    pub name: String,
    /// The least size.
    pub min: Int,
    /// The greatest size, if there is one.
    pub max: Option<Int>,
}

impl DimSpec {
    /// Refuses a range other than the one that was said of the same name before.
    ///
    /// # Errors
    /// When they differ, as a message.
    pub fn agrees(&self, min: Option<&Int>, max: Option<&Int>) -> Result<(), String> {
        if (Some(&self.min), self.max.as_ref()) == (min, max) {
            return Ok(());
        }
        let show = |min: &Int, max: Option<&Int>| {
            format!("{min}..{}", max.map_or("unbounded".to_string(), ToString::to_string))
        };
        let (here, before) = (show(&self.min, self.max.as_ref()), show(min.unwrap_or(&Int::ZERO), max));
        Err(format!("{} has the range {here} here and {before} before", self.name))
    }
}

/// The size that an expression computes from its roots, over symbols that carry their names: a sum of them, each times a
/// number of at least 1, and of a number.
///
/// # Errors
/// When it is anything else, as a message.
pub(super) fn computed(pool: &mut Pool, expression: &str, roots: &[&str]) -> Result<Expr, String> {
    let read = read::closed(pool, expression).map_err(|error| format!("in `{expression}`: {error}"))?;
    let is_root = |name: &str| roots.contains(&name);
    if let [root] = roots {
        let symbols = pool.free_symbols(&[read.expr]).into_iter();
        if let Some(other) = symbols.map(|symbol| pool.symbol_name(symbol)).find(|name| !is_root(name)) {
            return Err(format!("`{expression}` may only use its root {root}, not {other}"));
        }
    }
    let is_size = |(term, factor): &(Expr, Int)| {
        let name = pool.as_symbol(*term).map(|symbol| pool.symbol_name(symbol));
        name.is_some_and(is_root) && factor.is_positive()
    };
    let terms = pool.poly(read.expr).terms;
    match roots {
        _ if terms.iter().all(is_size) && !terms.is_empty() => Ok(read.expr),
        [root] => {
            Err(format!("`{expression}` is not of the form k*{root} + c with integers k and c, k at least 1"))
        }
        _ => Err(format!("`{expression}` is no sum of its roots, each times a number of at least 1")),
    }
}

/// The roots of a computed size with their factors, and the number that is added.
///
/// # Errors
/// When it is no sum of these roots, each times a number of at least 1, and of a number; as a message.
pub fn sum_of(expression: &str, roots: &[&str]) -> Result<(Vec<(String, Int)>, Int), String> {
    let mut pool = Pool::new();
    let size = computed(&mut pool, expression, roots)?;
    let poly = pool.poly(size);
    let name = |term: Expr| pool.as_symbol(term).map_or_else(String::new, |s| pool.symbol_name(s).to_owned());
    let terms = poly.terms.iter().map(|(term, factor)| (name(*term), factor.clone())).collect();
    Ok((terms, poly.constant))
}

/// Whether the program may make a dimension static.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hint {
    /// It may make the dimension static.
    Auto,
    /// It must not.
    Dynamic,
}

/// What a spec says of one dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// It has the size of the example.
    Static,
    /// It has this size.
    Size(Int),
    /// The program infers its range, possibly within bounds.
    Inferred {
        /// Whether the program may make it static.
        hint: Hint,
        /// The least size, if said.
        min: Option<Int>,
        /// The greatest size, if said.
        max: Option<Int>,
    },
    /// It is a named dimension.
    Dim(DimSpec),
    /// It is computed from a named dimension.
    Derived {
        /// The expression over the root's name, such as `2*batch + 1`.
        expression: String,
        /// The named dimension; it need not be one of any input.
        root: DimSpec,
    },
    /// It is computed from several named dimensions; only ONNX models take such.
    Sum {
        /// The expression over the roots' names, such as `past + q`.
        expression: String,
        /// The named dimensions.
        roots: Vec<DimSpec>,
    },
    /// It is this expression over the variables of a ShapesSpec.
    Formula(String),
}
