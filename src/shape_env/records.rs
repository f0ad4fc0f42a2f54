//! What a program records of its sizes, as expressions of the environment's pool.
use super::{ShapeEnv, SymbolInfo};
use crate::expr::text::read;
use crate::expr::{Expr, Sort, Symbol};
use crate::ir::{Bounds, ExprRef, Program, Size, Sym};
use crate::range::ValueRange;
use rustc_hash::FxHashMap;

/// An expression of a program that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the program's expression `{text}` cannot be read: {message}")]
pub struct RecordedError {
    /// The expression.
    pub text: String,
    /// What is wrong with it.
    pub message: String,
}

/// The expressions of a program in one pool. Symbols of the program may stand for expressions of the environment.
#[derive(Clone)]
pub struct Records<'p> {
    program: &'p Program,
    read: Vec<Option<Expr>>,
    /// What the program's symbols stand for, where that is not the symbol itself.
    symbols: FxHashMap<Symbol, Expr>,
}

impl<'p> Records<'p> {
    /// The expressions of a program.
    pub fn new(program: &'p Program) -> Records<'p> {
        Records { program, read: vec![None; program.exprs.len()], symbols: FxHashMap::default() }
    }

    /// Lets a symbol of the program stand for an expression from now on.
    pub fn bind(&mut self, symbol: Symbol, e: Expr) {
        self.symbols.insert(symbol, e);
    }

    /// What the program's symbol stands for, if it was bound.
    pub fn binding(&self, symbol: Symbol) -> Option<Expr> {
        self.symbols.get(&symbol).copied()
    }

    /// An expression over what the program's symbols stand for.
    pub fn translate(&self, env: &mut ShapeEnv, e: Expr) -> Expr {
        if self.symbols.is_empty() {
            return e;
        }
        env.pool.substitute_symbols(e, |s| self.symbols.get(&s).copied())
    }

    /// An expression of the program's table in terms of its own symbols.
    ///
    /// # Errors
    /// When the text cannot be read.
    pub fn raw(&mut self, env: &mut ShapeEnv, expr: ExprRef) -> Result<Expr, RecordedError> {
        if let Some(e) = self.read.get(expr.index()).copied().flatten() {
            return Ok(e);
        }
        let text = self.program.exprs.get(expr).map_or("", |e| &e.text);
        let e = read::expression(&mut env.pool, text, &mut |_| None)
            .map_err(|error| RecordedError { text: text.to_string(), message: error.to_string() })?
            .expr;
        if let Some(slot) = self.read.get_mut(expr.index()) {
            *slot = Some(e);
        }
        Ok(e)
    }

    /// A recorded size.
    ///
    /// # Errors
    /// When its text cannot be read.
    pub fn size(&mut self, env: &mut ShapeEnv, size: Size) -> Result<Expr, RecordedError> {
        match size {
            Sym::Literal(v) => Ok(env.pool.int(v)),
            Sym::Expr(expr) => {
                let e = self.raw(env, expr)?;
                Ok(self.translate(env, e))
            }
        }
    }

    /// A recorded double.
    ///
    /// # Errors
    /// When its text cannot be read.
    pub fn float(&mut self, env: &mut ShapeEnv, value: Sym<f64>) -> Result<Expr, RecordedError> {
        match value {
            Sym::Literal(v) => Ok(env.pool.float(v)),
            Sym::Expr(expr) => {
                let e = self.raw(env, expr)?;
                let e = self.translate(env, e);
                Ok(env.pool.to_float(e))
            }
        }
    }

    /// A recorded truth value.
    ///
    /// # Errors
    /// When its text cannot be read.
    pub fn truth(&mut self, env: &mut ShapeEnv, value: Sym<bool>) -> Result<Expr, RecordedError> {
        match value {
            Sym::Literal(v) => Ok(env.pool.bool(v)),
            Sym::Expr(expr) => {
                let e = self.raw(env, expr)?;
                let e = self.translate(env, e);
                Ok(env.pool.truth(e))
            }
        }
    }

    /// The unbacked symbols in `e` that the environment does not know yet.
    pub fn undeclared(&self, env: &ShapeEnv, e: Expr) -> Vec<Symbol> {
        let mut symbols = env.pool.free_symbols(&[e]);
        symbols.retain(|&s| env.symbol(s).is_none());
        symbols
    }

    /// Declares a symbol that only the program's records name, in the range that they give it.
    pub fn declare_unbacked(&self, env: &mut ShapeEnv, symbol: Symbol) {
        let name = env.pool.symbol_name(symbol).to_string();
        let e = env.pool.symbol_expr(symbol);
        if env.pool.sort(e) != Sort::Int {
            env.declare_float(&name, SymbolInfo::default());
            return;
        }
        let bounds = self.program.range_constraints.get(name.as_str()).copied().unwrap_or_default();
        env.declare(&name, range(bounds), SymbolInfo::default());
    }
}

/// The range of recorded bounds; inverted ones, which no value satisfies, are taken as unbounded (the reader warns).
pub fn range(bounds: Bounds) -> ValueRange {
    ValueRange::between_options(bounds.min.map(Into::into), bounds.max.map(Into::into))
        .unwrap_or_else(ValueRange::all)
}
