//! Formulas: sizes, numbers and conditions over the arguments, read by the crate's own reader of expressions.
use super::names::{Names, shown};
use super::table::{Piece, Result};
use sizewise_expr::read::{Dialect, Read, ReadError, expression_in};
use sizewise_expr::text::{SourcePath, SourceStep};
use sizewise_expr::{Expr, Pool, Sort};
use sizewise_ir::schema::Type;

/// The longest formula, in bytes.
const MAX_FORMULA: usize = 4096;

/// The text of a formula, which is read once to check it and again with the arguments of each call.
#[derive(Clone, Debug)]
pub(super) struct Formula {
    pub text: Box<str>,
    /// The line of the file it stands on.
    pub line: u32,
    /// What it asks of arguments.
    sources: Box<[SourcePath]>,
}

/// What a text asks of arguments, in order of appearance.
fn sources(text: &str) -> Vec<SourcePath> {
    let mut pool = Pool::new();
    // The reader holds the pool while it asks, so there is a symbol in store for every word.
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').count();
    let symbols: Vec<Expr> =
        (0..words).map(|i| pool.symbol_of_sort(&format!("word{i}"), Sort::Int)).collect();
    let mut asked: Vec<SourcePath> = Vec::new();
    let _ = expression_in(&mut pool, text, Dialect::Formula, &mut |path| {
        let at = asked.iter().position(|known| known == path).unwrap_or_else(|| {
            asked.push(path.clone());
            asked.len() - 1
        });
        symbols.get(at).copied()
    });
    asked
}

/// Reads a formula whose sources `resolve` knows; with an error, why a source had no value.
fn read(
    pool: &mut Pool,
    text: &str,
    sources: &[SourcePath],
    resolve: &mut dyn FnMut(&mut Pool, &SourcePath) -> std::result::Result<Expr, String>,
) -> std::result::Result<Read, (ReadError, Option<String>)> {
    let mut reason = None;
    let mut values = Vec::with_capacity(sources.len());
    for path in sources {
        values.push(match resolve(pool, path) {
            Ok(value) => Some(value),
            Err(why) => {
                reason.get_or_insert(why);
                None
            }
        });
    }
    let mut known = |path: &SourcePath| {
        let at = sources.iter().position(|source| source == path)?;
        values.get(at).copied().flatten()
    };
    expression_in(pool, text, Dialect::Formula, &mut known).map_err(|error| (error, reason))
}

impl Formula {
    /// Reads and checks a formula against the names in scope; its value is to be of the sort `wanted`, an integer
    /// being taken for a float.
    pub fn new(piece: Piece, names: &Names, wanted: Sort) -> Result<Formula> {
        let (formula, sort) = Formula::of_any_sort(piece, names)?;
        if sort == wanted || (wanted == Sort::Float && sort == Sort::Int) {
            return Ok(formula);
        }
        let name = |sort| match sort {
            Sort::Int => "an integer",
            Sort::Float => "a float",
            Sort::Bool => "a condition",
        };
        Err(piece.error(0, format!("expected {}, found {}", name(wanted), name(sort))))
    }

    /// Reads and checks a formula against the names in scope; with the sort of its value.
    pub fn of_any_sort(piece: Piece, names: &Names) -> Result<(Formula, Sort)> {
        if piece.text.len() > MAX_FORMULA {
            return Err(piece.error(0, format!("a formula of more than {MAX_FORMULA} bytes")));
        }
        let mut pool = Pool::new();
        let sources = sources(piece.text);
        let found = read(&mut pool, piece.text, &sources, &mut |pool, path| names.resolve(pool, path));
        let read = match found {
            Ok(read) => read,
            Err((error, Some(reason))) => return Err(piece.error(error.offset, reason)),
            Err((error, None)) => return Err(piece.error(error.offset, error.message)),
        };
        if !read.assumptions.is_empty() {
            return Err(piece.error(0, "a formula has no symbols: expected arguments by name"));
        }
        let sort = pool.sort(read.expr);
        let formula = Formula { text: piece.text.into(), line: piece.line(), sources: sources.into() };
        Ok((formula, sort))
    }

    /// A dtype that the formula asks for, if it does.
    pub fn dtype_source(&self, names: &Names) -> Option<String> {
        let asks = |path: &&SourcePath| match path.steps.last() {
            Some(SourceStep::Attribute(name)) => name == "dtype",
            Some(_) => false,
            None => names.get(&path.root).is_none_or(|ty| *ty.strip_optional().0 == Type::ScalarType),
        };
        self.sources.iter().find(asks).map(shown)
    }

    /// Reads the formula with the values of a call; an error is a message.
    pub fn value(
        &self,
        pool: &mut Pool,
        resolve: &mut dyn FnMut(&mut Pool, &SourcePath) -> std::result::Result<Expr, String>,
    ) -> std::result::Result<Read, String> {
        let found = read(pool, &self.text, &self.sources, resolve);
        found.map_err(|(error, reason)| reason.unwrap_or(error.message))
    }
}
