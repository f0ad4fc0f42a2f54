//! What a program records of its sizes, as expressions of the environment's pool.
use rustc_hash::FxHashMap;
use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::escape::abridged;
use sizewise_expr::range::ValueRange;
use sizewise_expr::text::known::{KnownCalls, knowing};
use sizewise_expr::{Expr, Sort, Symbol};
use sizewise_ir::{Bounds, ExprRef, Program, Size, Sym};

/// An expression of a program that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the program's expression `{}` cannot be read: {message}", abridged(text))]
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
    read: Vec<Reading>,
    /// Parts of texts read so far.
    calls: KnownCalls<'p>,
    /// What the program's symbols stand for, where that is not the symbol itself.
    symbols: FxHashMap<Symbol, Expr>,
    /// How often a symbol has been bound: what was translated before may have another meaning since.
    bindings: u32,
}

/// One expression of the program's table as it was read.
#[derive(Clone, Copy, Default)]
struct Reading {
    /// The expression in terms of the program's symbols.
    raw: Option<Expr>,
    /// The expression with the symbols replaced, and the number of bindings at that time.
    translated: Option<(Expr, u32)>,
    /// Whether the environment knows all symbols of `translated`.
    declared: bool,
}

impl<'p> Records<'p> {
    /// The expressions of a program.
    pub fn new(program: &'p Program) -> Records<'p> {
        let read = vec![Reading::default(); program.exprs.len()];
        Records { program, read, calls: KnownCalls::default(), symbols: FxHashMap::default(), bindings: 0 }
    }

    /// Lets a symbol of the program stand for an expression from now on.
    pub fn bind(&mut self, symbol: Symbol, e: Expr) {
        self.symbols.insert(symbol, e);
        self.bindings += 1;
    }

    /// Replaces a symbol by a constant in everything that the program's symbols stand for.
    pub fn replace(&mut self, env: &mut ShapeEnv, symbol: Symbol, constant: Expr) {
        for e in self.symbols.values_mut() {
            *e = env.pool.substitute_symbols(*e, |s| (s == symbol).then_some(constant));
        }
        self.bind(symbol, constant);
    }

    /// How often a symbol has been bound.
    pub fn bindings(&self) -> u32 {
        self.bindings
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
        if let Some(e) = self.read.get(expr.index()).and_then(|reading| reading.raw) {
            return Ok(e);
        }
        let text = self.program.exprs.get(expr).map_or("", |e| &e.text);
        let e = knowing(&mut env.pool, text, &mut self.calls)
            .map_err(|error| RecordedError { text: text.to_string(), message: error.to_string() })?;
        if let Some(slot) = self.read.get_mut(expr.index()) {
            slot.raw = Some(e);
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
                if let Some(e) = self.translated(expr) {
                    return Ok(e);
                }
                let e = self.raw(env, expr)?;
                let e = self.translate(env, e);
                if let Some(slot) = self.read.get_mut(expr.index()) {
                    (slot.translated, slot.declared) = (Some((e, self.bindings)), false);
                }
                Ok(e)
            }
        }
    }

    fn translated(&self, expr: ExprRef) -> Option<Expr> {
        let (e, bindings) = self.read.get(expr.index())?.translated?;
        (bindings == self.bindings).then_some(e)
    }

    /// Whether a recorded size can be read.
    pub fn reads(&mut self, env: &mut ShapeEnv, size: Size) -> bool {
        self.size(env, size).is_ok()
    }

    /// Whether a recorded size is literally `e`, and the environment knows all its symbols.
    pub fn is(&mut self, env: &mut ShapeEnv, size: Size, e: Expr) -> bool {
        match size {
            Sym::Literal(v) => e.as_inline() == Some(v),
            Sym::Expr(expr) => {
                self.size(env, size).is_ok_and(|recorded| recorded == e) && self.is_declared(env, expr, e)
            }
        }
    }

    fn is_declared(&mut self, env: &ShapeEnv, expr: ExprRef, e: Expr) -> bool {
        if self.read.get(expr.index()).is_some_and(|reading| reading.declared) {
            return true;
        }
        let declared = self.undeclared(env, e).is_empty();
        if let Some(slot) = self.read.get_mut(expr.index()) {
            slot.declared = declared;
        }
        declared
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
        if env.knows_every_symbol() {
            return Vec::new();
        }
        // Most sizes are one symbol.
        let mut symbols = match env.pool.as_symbol(e) {
            Some(symbol) if env.symbol(symbol).is_some() => return Vec::new(),
            Some(symbol) => vec![symbol],
            None => env.pool.free_symbols(&[e]),
        };
        symbols.retain(|&s| env.symbol(s).is_none());
        symbols
    }

    /// Declares a symbol that only the program's records name, in the range that they give it.
    pub fn declare_unbacked(&self, env: &mut ShapeEnv, symbol: Symbol) {
        let name = env.pool.symbol_name(symbol);
        let bounds = self.program.range_constraints.get(name).copied().unwrap_or_default();
        self.declare_within(env, symbol, range(bounds));
    }

    /// Declares a symbol that the program's records name and that an operator has made just now. The
    /// recorded range comes from later assertions, so nothing is known about the symbol here.
    pub fn declare_made(&self, env: &mut ShapeEnv, symbol: Symbol) {
        self.declare_within(env, symbol, ValueRange::all());
    }

    fn declare_within(&self, env: &mut ShapeEnv, symbol: Symbol, range: ValueRange) {
        let name = env.pool.symbol_name(symbol).to_string();
        let e = env.pool.symbol_expr(symbol);
        match env.pool.sort(e) {
            Sort::Int => env.declare(&name, range, SymbolInfo::default()),
            _ => env.declare_float(&name, SymbolInfo::default()),
        };
    }
}

/// The range of recorded bounds. Empty ranges are taken as unbounded: the reader warns, and assuming the
/// bounds is reported as a contradiction.
pub fn range(bounds: Bounds) -> ValueRange {
    ValueRange::between_options(bounds.min.map(Into::into), bounds.max.map(Into::into))
        .unwrap_or_else(ValueRange::all)
}
