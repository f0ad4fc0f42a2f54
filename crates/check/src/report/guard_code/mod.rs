//! Guards as code: a self-contained checker of input shapes, in Python, Rust, C or JSON.
//!
//! The checker determines the program's symbols from the sizes that are plain symbols (or linear in one),
//! compares the other sizes, and then evaluates the conditions. It accepts the inputs on which the program is proved to
//! run and refuses all others with a reason. What it does not check, for data decide it or it is not followed, stands at
//! its beginning.
mod c;
mod contract;
mod cpp;
mod formula;
mod json;
mod python;
mod rust;

pub use contract::Contract;
pub use formula::NotExpressible;
use sizewise_expr::{Expr, Int, Pool, Symbol, text};
use sizewise_ir::Constant;

/// An input of a checker.
#[derive(Clone, Debug)]
pub enum GuardedInput {
    /// A tensor with these sizes, in the program's symbols.
    Tensor {
        /// The placeholder's name.
        name: String,
        /// The sizes.
        sizes: Vec<Expr>,
    },
    /// An integer.
    Number {
        /// The placeholder's name.
        name: String,
        /// Its value, in the program's symbols.
        value: Expr,
    },
    /// A constant input, which may have this value only; what is passed for `None` is not checked.
    Constant {
        /// The placeholder's name.
        name: String,
        /// The value.
        value: Constant,
    },
}

impl GuardedInput {
    /// The placeholder's name.
    pub fn name(&self) -> &str {
        match self {
            GuardedInput::Tensor { name, .. }
            | GuardedInput::Number { name, .. }
            | GuardedInput::Constant { name, .. } => name,
        }
    }
}

/// A symbol as a checker determines it: `(size - offset) // factor`.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The symbol.
    pub symbol: Symbol,
    /// The position of the input among [`GuardSet::inputs`].
    pub input: usize,
    /// The dimension; none for a number.
    pub dim: Option<usize>,
    /// The factor of the symbol in that size.
    pub factor: Int,
    /// What is added to it.
    pub offset: Int,
}

/// The conditions that a checker of input shapes checks.
#[derive(Clone)]
pub struct GuardSet {
    /// The program's name.
    pub program: String,
    /// The expressions.
    pub pool: Pool,
    /// The inputs that have a shape or are numbers.
    pub inputs: Vec<GuardedInput>,
    /// The symbols.
    pub variables: Vec<Variable>,
    /// Sizes that do not determine a symbol: input, dimension (`None` for a number), and the expected value.
    pub fixed: Vec<(usize, Option<usize>, Expr)>,
    /// A minimal set of conditions.
    pub conditions: Vec<Expr>,
    /// Conditions that depend on data and are left to the running program, as text.
    pub left_open: Vec<String>,
    /// The number of steps that are not followed: what they need is not checked.
    pub not_followed: usize,
}

/// The languages of checkers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// A Python module without imports beyond the standard library.
    Python,
    /// A Rust module without dependencies.
    Rust,
    /// A C99 source file.
    C,
    /// The conditions as data.
    Json,
}

impl GuardSet {
    /// The checker's source.
    ///
    /// # Errors
    /// When a condition has no counterpart in the language.
    pub fn emit(&self, language: Language) -> Result<String, NotExpressible> {
        match language {
            Language::Python => python::emit(self),
            Language::Rust => rust::emit(self),
            Language::C => c::emit(self),
            Language::Json => Ok(json::emit(self)),
        }
    }

    /// Finds for each symbol a size that determines it; the other sizes are to be compared. A size is that of an input by
    /// its position, of a dimension or of the number.
    ///
    /// # Errors
    /// The name of a symbol that no size determines.
    pub fn determine(&mut self, sizes: &[(usize, Option<usize>, Expr)]) -> Result<(), String> {
        let mut used = vec![false; sizes.len()];
        for plain in [true, false] {
            for (place, &(input, dim, e)) in sizes.iter().enumerate() {
                let poly = self.pool.poly(e);
                let [(monomial, factor)] = poly.terms.as_slice() else { continue };
                let Some(symbol) = self.pool.as_symbol(*monomial) else { continue };
                let is_plain = *monomial == e;
                if is_plain != plain || self.variables.iter().any(|v| v.symbol == symbol) {
                    continue;
                }
                used[place] = is_plain;
                let (factor, offset) = (factor.clone(), poly.constant.clone());
                self.variables.push(Variable { symbol, input, dim, factor, offset });
            }
        }
        for (&(input, dim, e), _) in sizes.iter().zip(used).filter(|(_, used)| !used) {
            for symbol in self.pool.free_symbols(&[e]) {
                if !self.variables.iter().any(|v| v.symbol == symbol) {
                    return Err(self.pool.symbol_name(symbol).to_string());
                }
            }
            self.fixed.push((input, dim, e));
        }
        Ok(())
    }

    /// A size as messages name it: `x.shape[0]`, or `n`.
    fn place(&self, input: usize, dim: Option<usize>) -> String {
        let name = self.inputs.get(input).map_or("", GuardedInput::name);
        match dim {
            Some(dim) => format!("{name}.shape[{dim}]"),
            None => name.to_string(),
        }
    }

    /// An expression in terms of sizes, as messages show it.
    pub fn shown(&self, e: Expr) -> String {
        let name = |symbol: Symbol| match self.variables.iter().find(|v| v.symbol == symbol) {
            Some(v) if v.factor.is_one() && v.offset.is_zero() => self.place(v.input, v.dim),
            _ => self.pool.symbol_name(symbol).to_string(),
        };
        text::print::python(&self.pool, e, &name)
    }

    /// Whether the conditions are all that the program needs of sizes.
    pub fn is_complete(&self) -> bool {
        self.left_open.is_empty() && self.not_followed == 0
    }

    /// What it says that a checker accepts inputs.
    fn claim(&self) -> &'static str {
        match self.is_complete() {
            true => "the program serves inputs of these shapes",
            false => "these shapes satisfy all that is checked here, which is not all that the program needs",
        }
    }

    /// The comment at the beginning of a checker.
    fn headline(&self) -> Vec<String> {
        let mut lines = vec![
            format!("Checks input shapes of {}.", self.program),
            format!("Written by sizewise {}; do not edit.", env!("CARGO_PKG_VERSION")),
        ];
        if !self.left_open.is_empty() {
            lines.push("Not checked here, as data decide it or it is not followed:".to_string());
            lines.extend(self.left_open.iter().map(|text| format!("  {text}")));
        }
        lines
    }
}
