//! Reading names: constants, symbols, function calls and sources.
use super::functions::{Function, lookup};
use super::lexer::{Op, Token, unescaped};
use super::read_error::ReadError;
use super::reader::{Assumption, Level, Operand, Reader};
use super::source::{self, Property, SourcePath, SourceStep};
use super::srepr;
use crate::escape::clipped;
use crate::node::Sort;
use crate::{Expr, Func, Pool};
use smallvec::SmallVec;

/// The positional arguments of a call.
type Args<'a> = SmallVec<[Operand<'a>; 2]>;

/// The arguments of a call.
struct Arguments<'a> {
    positional: Args<'a>,
    /// Keywords, and whether their value is `True`.
    keywords: SmallVec<[(&'a str, bool); 3]>,
}

/// Whether a word is no symbol.
fn is_reserved(word: &str) -> bool {
    matches!(word, "and" | "or" | "not" | "if" | "else" | "in" | "is" | "lambda" | "None")
}

impl<'a> Reader<'a, '_> {
    /// An expression that begins with a name.
    pub(super) fn name(&mut self, name: &str) -> Result<Operand<'a>, ReadError> {
        let at = self.at;
        if is_reserved(name) {
            return Err(self.expected("an operand"));
        }
        if let Some(symbol) = self.quick_symbol(at)? {
            return Ok(Operand::Expr(symbol));
        }
        self.advance()?;
        if self.token == Token::Op(Op::OpenIndex) || self.token == Token::Op(Op::Point) {
            return self.dotted(name, at);
        }
        if self.token == Token::Op(Op::Open) {
            return self.call(name, at);
        }
        Ok(match name {
            "True" | "true" => Operand::Expr(self.pool.bool(true)),
            "False" | "false" => Operand::Expr(self.pool.bool(false)),
            "oo" | "int_oo" => Operand::Infinity { negative: false },
            "nan" => Operand::Expr(self.pool.float(f64::NAN)),
            "zoo" => return Err(self.error(at, "complex infinity has no value".to_owned())),
            _ if self.names_are_sources => {
                let path = SourcePath { root: name.to_owned(), steps: Vec::new(), property: None };
                self.source(&path, at)?
            }
            _ => Operand::Expr(self.pool.symbol(name)),
        })
    }

    /// The symbol that begins here, as torch writes one of a size, if it needs no remark.
    #[inline(never)]
    fn quick_symbol(&mut self, at: usize) -> Result<Option<Expr>, ReadError> {
        let text = self.text();
        let found = if self.remarks { None } else { srepr::symbol(&text[at..]) };
        let Some((symbol, rest)) = found else { return Ok(None) };
        self.lexer.jump(text.len() - rest.len());
        self.advance()?;
        Ok(Some(self.pool.symbol(symbol)))
    }

    /// `math.floor(...)`, `math.inf`, or a source.
    fn dotted(&mut self, root: &str, at: usize) -> Result<Operand<'a>, ReadError> {
        let mut path = SourcePath { root: String::new(), steps: Vec::new(), property: None };
        if matches!(root, "L" | "G") && self.token == Token::Op(Op::OpenIndex) {
            match self.subscript()? {
                SourceStep::Key(key) => path.root = key,
                _ => return Err(self.error(at, format!("expected the name of an input, as in {root}['x']"))),
            }
        } else if let "math" | "torch" | "operator" | "_operator" | "builtins" | "sympy" = root {
            let mut full = root.to_owned();
            while self.take(Op::Point)? {
                let Token::Name(part) = self.token else { return Err(self.expected("a name")) };
                full = format!("{full}.{part}");
                self.advance()?;
            }
            return match full.as_str() {
                "math.inf" | "torch.inf" => Ok(Operand::Infinity { negative: false }),
                "math.nan" => Ok(Operand::Expr(self.pool.float(f64::NAN))),
                _ if self.token == Token::Op(Op::Open) => self.call(&full, at),
                _ => Err(self.error(at, format!("{} is neither a number nor called", clipped(&full)))),
            };
        } else {
            path.root = root.to_owned();
        }
        self.source_steps(&mut path)?;
        self.source(&path, at)
    }

    /// The expression of a source.
    fn source(&mut self, path: &SourcePath, at: usize) -> Result<Operand<'a>, ReadError> {
        match (self.sources)(path) {
            Some(e) => Ok(Operand::Expr(e)),
            None => {
                Err(self.error(at, format!("nothing is known of the source {}", clipped(&path.to_string()))))
            }
        }
    }

    fn source_steps(&mut self, path: &mut SourcePath) -> Result<(), ReadError> {
        loop {
            if self.token == Token::Op(Op::OpenIndex) {
                let step = self.subscript()?;
                path.steps.push(step);
            } else if self.take(Op::Point)? {
                let Token::Name(name) = self.token else { return Err(self.expected("a name")) };
                self.advance()?;
                let called = self.take(Op::Open)?;
                if called {
                    self.require(Op::Close)?;
                }
                let dimension = match name {
                    "storage_offset" if called => {
                        path.property = Some(Property::StorageOffset);
                        return Ok(());
                    }
                    "size" | "stride" if called => self.subscript()?,
                    "shape" if !called => self.subscript()?,
                    _ if called => return Err(self.expected(".size(), .stride() or .storage_offset()")),
                    _ => {
                        path.steps.push(SourceStep::Attribute(name.to_owned()));
                        continue;
                    }
                };
                let SourceStep::Index(dimension) = dimension else {
                    return Err(self.expected("a dimension"));
                };
                path.property = Some(if name == "stride" {
                    Property::Stride(dimension)
                } else {
                    Property::Size(dimension)
                });
                return Ok(());
            } else {
                return Ok(());
            }
        }
    }

    /// `['key']`, `[3]`, or another key of a dictionary: `[True]`, `[1.5]`, `[(1, 'a')]`, `[<Color.RED: 1>]`.
    fn subscript(&mut self) -> Result<SourceStep, ReadError> {
        self.require(Op::OpenIndex)?;
        let start = self.at;
        let negative = self.take(Op::Minus)?;
        let step = match self.token {
            Token::Float(_)
            | Token::Name("True" | "False" | "None" | "inf" | "nan")
            | Token::Op(Op::Open | Op::Less) => {
                let key = source::key(&self.text()[start..]);
                let (step, length) = key.ok_or_else(|| self.expected("a key or an index"))?;
                self.lexer.jump(start + length);
                step
            }
            Token::Text(key) if !negative => SourceStep::Key(unescaped(key).into_owned()),
            Token::Int(digits) => match digits.parse::<i64>() {
                Ok(index) => SourceStep::Index(if negative { -index } else { index }),
                Err(_) => SourceStep::Literal(self.text()[start..self.at + digits.len()].to_owned()),
            },
            _ => return Err(self.expected("a key or an index")),
        };
        self.advance()?;
        self.require(Op::CloseIndex).map(|()| step)
    }

    /// A call of `name`, whose bracket comes next.
    fn call(&mut self, name: &str, at: usize) -> Result<Operand<'a>, ReadError> {
        let text = match self.known_call(at) {
            Some((text, Some(e))) => {
                self.skip(at, text)?;
                return Ok(Operand::Expr(e));
            }
            unknown => unknown.map(|(text, _)| text),
        };
        let arguments = self.arguments()?;
        let read = self.called(name, arguments, at)?;
        if let (Some(text), Operand::Expr(e)) = (text, &read) {
            self.remember(text, *e);
        }
        Ok(read)
    }

    /// The arguments of a call, in brackets. (A function of its own, not part of [`Self::called`], so that
    /// recursion takes little stack.)
    fn arguments(&mut self) -> Result<Arguments<'a>, ReadError> {
        self.advance()?;
        let mut arguments = Arguments { positional: Args::new(), keywords: SmallVec::new() };
        while self.token != Token::Op(Op::Close) {
            self.argument(&mut arguments)?;
            if !self.take(Op::Comma)? {
                break;
            }
        }
        self.require(Op::Close)?;
        Ok(arguments)
    }

    fn argument(&mut self, arguments: &mut Arguments<'a>) -> Result<(), ReadError> {
        match self.token {
            Token::Text(text) => {
                self.advance()?;
                arguments.positional.push(Operand::Text(text));
            }
            Token::Name(keyword) if self.keyword_follows(keyword) => {
                self.advance()?;
                self.advance()?;
                let value = self.operand(Level::Conditional)?;
                arguments.keywords.push((keyword, value == Operand::Expr(self.pool.bool(true))));
            }
            _ => {
                let value = self.operand(Level::Conditional)?;
                arguments.positional.push(value);
            }
        }
        Ok(())
    }

    /// The function `name` of operands that were read before.
    pub(super) fn applied(&mut self, name: &str, positional: Args<'a>) -> Result<Operand<'a>, ReadError> {
        self.called(name, Arguments { positional, keywords: SmallVec::new() }, 0)
    }

    fn called(&mut self, name: &str, arguments: Arguments<'a>, at: usize) -> Result<Operand<'a>, ReadError> {
        let Some((function, least, most)) = lookup(name) else {
            return Err(self.error(at, format!("unknown function {}", clipped(name))));
        };
        let Arguments { positional, keywords } = arguments;
        let known = |keyword: &str| match function {
            Function::Symbol => true,
            Function::Float => keyword == "precision",
            _ => keyword == "evaluate",
        };
        if let Some((keyword, _)) = keywords.iter().find(|(k, _)| !known(k)) {
            let message = format!("{} takes no argument named {}", clipped(name), clipped(keyword));
            return Err(self.error(at, message));
        }
        let found = positional.len();
        if found < least || found > most {
            let wanted = match (least, most) {
                (1, 1) => "1 argument".to_owned(),
                (l, m) if l == m => format!("{l} arguments"),
                (l, usize::MAX) => format!("{l} or more arguments"),
                (l, m) => format!("{l} to {m} arguments"),
            };
            return Err(self.error(at, format!("{} takes {wanted}, found {found}", clipped(name))));
        }
        if function == Function::Symbol {
            return self.declared_symbol(positional, &keywords, at);
        }
        match self.apply(function, positional, at)? {
            Operand::Expr(e) => Ok(Operand::Expr(self.checked(e, at)?)),
            other => Ok(other),
        }
    }

    /// Whether the name that comes next is followed by a single `=`.
    fn keyword_follows(&self, name: &str) -> bool {
        let rest = self.text()[self.at + name.len()..].trim_start();
        rest.starts_with('=') && !rest.starts_with("==")
    }

    fn declared_symbol(
        &mut self,
        args: Args<'a>,
        keywords: &[(&str, bool)],
        at: usize,
    ) -> Result<Operand<'a>, ReadError> {
        let Some(Operand::Text(name)) = args.first() else {
            return Err(self.error(at, "expected the symbol's name in quotes".to_owned()));
        };
        let name = &unescaped(name);
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(self.error(at, format!("'{}' cannot name a symbol", clipped(name))));
        }
        let e = self.pool.symbol(name);
        let said = |keyword: &str| keywords.iter().any(|&(k, holds)| k == keyword && holds);
        if let (true, Some(symbol)) = (self.remarks, self.pool.as_symbol(e)) {
            let entry = self.assumptions.entry(symbol).or_insert(Assumption {
                symbol,
                integer: false,
                positive: false,
                nonnegative: false,
            });
            entry.integer |= said("integer");
            entry.positive |= said("positive");
            entry.nonnegative |= said("nonnegative");
        }
        Ok(Operand::Expr(e))
    }

    fn apply(&mut self, function: Function, args: Args<'a>, at: usize) -> Result<Operand<'a>, ReadError> {
        match function {
            Function::Compare(op) => return self.chain(op, args, at),
            Function::Extremum(func) => return self.extremum(func, args, at),
            Function::Piecewise => return self.piecewise(args, at),
            Function::Pair => return Ok(Operand::Tuple(args.into_vec())),
            Function::Infinity { negative } => return Ok(Operand::Infinity { negative }),
            Function::Float => return self.float_call(args, at),
            Function::Identity => return args.into_iter().next().ok_or_else(|| self.expected("an operand")),
            _ => {}
        }
        let numbers = self.numbers(args, at)?;
        if let Some(e) = self.apply_to_doubles(function, &numbers) {
            return Ok(Operand::Expr(e));
        }
        let e = match (function, numbers.as_slice()) {
            (Function::FloorDiv, &[a, b]) => self.whole_quotient(Pool::floor_div, a, b, at)?,
            (Function::CeilDiv, &[a, b]) => self.whole_quotient(Pool::ceil_div, a, b, at)?,
            (Function::Mod, &[a, b]) => self.remainder(a, b, at)?,
            (Function::ModularIndexing, &[a, d, m]) => {
                let quotient = self.whole_quotient(Pool::floor_div, a, d, at)?;
                self.remainder(quotient, m, at)?
            }
            (Function::Abs, &[a]) => self.pool.abs(a),
            (Function::Where, &[c, p, q]) => self.conditional_of(c, p, q),
            (Function::And, all) => self.pool.and(all),
            (Function::Or, all) => self.pool.or(all),
            (Function::Not, &[a]) => self.pool.not(a),
            (Function::Xor, all) => {
                let even = self.pool.bool(false);
                all.iter().fold(even, |odd, &e| {
                    let e = self.pool.truth(e);
                    self.pool.bitwise(Func::BitXor, odd, e)
                })
            }
            (Function::Add, []) => Expr::ZERO,
            (Function::Mul, []) => Expr::ONE,
            (Function::Add, all) => self.sum(all, at)?,
            (Function::Mul, all) => self.folded(all, at, Pool::mul)?,
            (Function::Pow, &[a, n]) => return self.power(a, n, at),
            (Function::PowByNatural, &[a, n]) => self.pool.pow(a, n),
            (Function::LeftShift, &[a, n]) => self.shifted(a, n, at, Pool::mul)?,
            (Function::RightShift, &[a, n]) => self.shifted(a, n, at, Pool::floor_div)?,
            (Function::Bitwise(func), all) => self.bitwise(func, all, at)?,
            (Function::DenseIndicator, all) if all.len() % 2 == 0 => {
                let all: Vec<Expr> = all.iter().map(|&e| self.pool.as_integer(e)).collect();
                self.pool.dense_indicator(&all)
            }
            (Function::DenseIndicator, _) => {
                return Err(self.error(at, "expected as many strides as sizes".to_owned()));
            }
            (Function::Truth, &[a]) => self.pool.truth(a),
            (Function::Integer, &[a]) if self.pool.as_int(a).is_some() => a,
            (Function::Rational, &[a]) if self.pool.as_int(a).is_some() => a,
            (Function::Rational, &[a, d]) => match (self.pool.as_int(a), self.pool.as_int(d)) {
                (Some(_), Some(d)) if !d.is_zero() => self.pool.ratio(a, &d),
                _ => return Err(self.error(at, "expected two integers, the second not 0".to_owned())),
            },
            _ => return Err(self.error(at, "expected an integer".to_owned())),
        };
        Ok(Operand::Expr(e))
    }

    /// The expressions of operands; a single list stands for its members.
    fn numbers(&mut self, args: Args<'a>, at: usize) -> Result<SmallVec<[Expr; 4]>, ReadError> {
        let args = spread(args);
        let mut numbers = SmallVec::with_capacity(args.len());
        for operand in args {
            numbers.push(self.number(operand, at)?);
        }
        Ok(numbers)
    }

    /// `Float('2.5')` or `float(s0)`.
    fn float_call(&mut self, args: Args<'a>, at: usize) -> Result<Operand<'a>, ReadError> {
        match args.into_iter().next() {
            Some(Operand::Text(text)) => match unescaped(text).trim() {
                "inf" | "+inf" | "oo" => Ok(Operand::Infinity { negative: false }),
                "-inf" | "-oo" => Ok(Operand::Infinity { negative: true }),
                digits => Ok(Operand::Expr(self.float(digits, at)?)),
            },
            Some(operand @ Operand::Infinity { .. }) => Ok(operand),
            Some(operand) => {
                let e = self.number(operand, at)?;
                Ok(Operand::Expr(self.pool.to_float(e)))
            }
            None => Err(self.expected("an operand")),
        }
    }

    /// `Lt(a, b, c)`: each operand compared with the next.
    fn chain(&mut self, op: Op, args: Args<'a>, at: usize) -> Result<Operand<'a>, ReadError> {
        let mut links: SmallVec<[Expr; 2]> = SmallVec::new();
        for pair in args.windows(2) {
            links.push(self.compare(op, pair[0].clone(), at, pair[1].clone(), at)?);
        }
        Ok(Operand::Expr(match links.as_slice() {
            [only] => *only,
            links => self.pool.and(links),
        }))
    }

    /// `a op b`, either of which may be infinite: construction knows that no integer is.
    pub(super) fn compare(
        &mut self,
        op: Op,
        a: Operand<'_>,
        a_at: usize,
        b: Operand<'_>,
        b_at: usize,
    ) -> Result<Expr, ReadError> {
        let (a, b) = (self.extended(a, a_at)?, self.extended(b, b_at)?);
        Ok(match op {
            Op::Equal => self.pool.eq(a, b),
            Op::Less => self.pool.lt(a, b),
            Op::LessEqual => self.pool.le(a, b),
            Op::Greater => self.pool.gt(a, b),
            Op::GreaterEqual => self.pool.ge(a, b),
            _ => self.pool.ne(a, b),
        })
    }

    /// The expression of an operand that meets a double, for which infinity is a number.
    fn extended(&mut self, operand: Operand<'_>, at: usize) -> Result<Expr, ReadError> {
        match operand {
            Operand::Infinity { negative } => {
                Ok(self.pool.float(if negative { f64::NEG_INFINITY } else { f64::INFINITY }))
            }
            operand => self.number(operand, at),
        }
    }

    /// A minimum or maximum; infinite operands win or fall away.
    fn extremum(&mut self, func: Func, args: Args<'a>, at: usize) -> Result<Operand<'a>, ReadError> {
        let args = spread(args);
        let float = args.iter().any(|a| matches!(a, Operand::Expr(e) if self.pool.sort(*e) == Sort::Float));
        let winner = Operand::Infinity { negative: func == Func::Min };
        if !float && args.contains(&winner) {
            return Ok(winner);
        }
        let mut numbers = Vec::with_capacity(args.len());
        let mut infinite = None;
        for operand in args {
            match operand {
                Operand::Infinity { .. } if !float => infinite = Some(operand),
                operand => numbers.push(self.extended(operand, at)?),
            }
        }
        match (numbers.is_empty(), infinite) {
            (true, Some(infinite)) => Ok(infinite),
            (true, None) => Err(self.error(at, "expected at least one operand".to_owned())),
            (false, _) => Ok(Operand::Expr(self.pool.extremum(func, &numbers))),
        }
    }

    /// `Piecewise((p, c), ..., (q, True))`: the value of the first condition that holds.
    fn piecewise(&mut self, args: Args<'a>, at: usize) -> Result<Operand<'a>, ReadError> {
        let mut branches = Vec::with_capacity(args.len());
        for branch in args {
            match branch {
                Operand::Tuple(pair) if pair.len() == 2 => {
                    let pair = self.numbers(pair.into(), at)?;
                    let condition = self.pool.truth(pair[1]);
                    branches.push((pair[0], condition));
                }
                _ => return Err(self.error(at, "expected pairs of a value and a condition".to_owned())),
            }
        }
        match branches.pop() {
            Some((last, condition)) if self.pool.as_bool(condition) == Some(true) => {
                Ok(Operand::Expr(branches.into_iter().rev().fold(last, |q, (p, c)| self.pool.ite(c, p, q))))
            }
            _ => Err(self.error(at, "expected a last branch whose condition is True".to_owned())),
        }
    }
}

/// The members of a single list, or the operands themselves.
fn spread(mut args: Args<'_>) -> Args<'_> {
    match args.as_mut_slice() {
        [Operand::Tuple(members)] => std::mem::take(members).into(),
        _ => args,
    }
}
