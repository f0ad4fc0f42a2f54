//! Terms with variables: the two sides of a rule, and its conditions.
use sizewise_expr::{EvalError, Expr, Func, Int, Pool, Sort, Value, evaluate_call};

/// An operation of a rule's terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `(+ a b …)`.
    Add,
    /// `(- a b)`, or `(- a)` for the negation.
    Sub,
    /// `(* a b …)`.
    Mul,
    /// `(// a b)`, rounded down.
    FloorDiv,
    /// `(% a b)`, with the sign of `b`.
    Mod,
    /// `(min a b …)`.
    Min,
    /// `(max a b …)`.
    Max,
    /// `(abs a)`.
    Abs,
    /// `(ite c a b)`: `a` where `c` holds, else `b`.
    Ite,
    /// `(== a b)`.
    Eq,
    /// `(!= a b)`.
    Ne,
    /// `(<= a b)`.
    Le,
    /// `(< a b)`.
    Lt,
    /// `(>= a b)`.
    Ge,
    /// `(> a b)`.
    Gt,
    /// `(and p q …)`.
    And,
    /// `(or p q …)`.
    Or,
    /// `(not p)`.
    Not,
}

/// Name, operation, fewest and most operands, sort of the operands, sort of the result.
type OperationRow = (&'static str, Operation, usize, usize, Sort, Sort);

/// Every operation. The first operand of `ite` is a truth value all the same.
const OPERATIONS: [OperationRow; 18] = [
    ("+", Operation::Add, 2, 8, Sort::Int, Sort::Int),
    ("-", Operation::Sub, 1, 2, Sort::Int, Sort::Int),
    ("*", Operation::Mul, 2, 8, Sort::Int, Sort::Int),
    ("//", Operation::FloorDiv, 2, 2, Sort::Int, Sort::Int),
    ("%", Operation::Mod, 2, 2, Sort::Int, Sort::Int),
    ("min", Operation::Min, 2, 8, Sort::Int, Sort::Int),
    ("max", Operation::Max, 2, 8, Sort::Int, Sort::Int),
    ("abs", Operation::Abs, 1, 1, Sort::Int, Sort::Int),
    ("ite", Operation::Ite, 3, 3, Sort::Int, Sort::Int),
    ("==", Operation::Eq, 2, 2, Sort::Int, Sort::Bool),
    ("!=", Operation::Ne, 2, 2, Sort::Int, Sort::Bool),
    ("<=", Operation::Le, 2, 2, Sort::Int, Sort::Bool),
    ("<", Operation::Lt, 2, 2, Sort::Int, Sort::Bool),
    (">=", Operation::Ge, 2, 2, Sort::Int, Sort::Bool),
    (">", Operation::Gt, 2, 2, Sort::Int, Sort::Bool),
    ("and", Operation::And, 2, 8, Sort::Bool, Sort::Bool),
    ("or", Operation::Or, 2, 8, Sort::Bool, Sort::Bool),
    ("not", Operation::Not, 1, 1, Sort::Bool, Sort::Bool),
];

impl Operation {
    fn row(self) -> OperationRow {
        OPERATIONS[self as usize]
    }

    /// The operation that a rule file calls `name`.
    pub fn named(name: &str) -> Option<Operation> {
        OPERATIONS.iter().find(|row| row.0 == name).map(|row| row.1)
    }

    /// The fewest and the most operands.
    pub fn arity(self) -> (usize, usize) {
        (self.row().2, self.row().3)
    }

    /// The sort of operand `i`.
    pub fn operand_sort(self, i: usize) -> Sort {
        if self == Operation::Ite && i == 0 { Sort::Bool } else { self.row().4 }
    }

    /// The sort of the result.
    pub fn sort(self) -> Sort {
        self.row().5
    }
}

/// A term of a rule.
#[derive(Clone, PartialEq, Debug)]
pub enum Pattern {
    /// An integer.
    Int(Int),
    /// `true` or `false`.
    Bool(bool),
    /// `?name`, by its position in the rule's list of variables.
    Var(usize),
    /// An operation.
    Call(Operation, Vec<Pattern>),
}

/// Values of a rule's variables during matching.
pub type Bindings = smallvec::SmallVec<[Option<Expr>; 6]>;

impl Pattern {
    /// The sort of the term; of a variable, `None`.
    pub fn sort(&self) -> Option<Sort> {
        match self {
            Pattern::Int(_) => Some(Sort::Int),
            Pattern::Bool(_) => Some(Sort::Bool),
            Pattern::Var(_) => None,
            Pattern::Call(op, _) => Some(op.sort()),
        }
    }

    /// Calls `visit` with every variable, as often as it occurs.
    pub fn for_each_variable(&self, visit: &mut impl FnMut(usize)) {
        match self {
            Pattern::Var(v) => visit(*v),
            Pattern::Call(_, args) => args.iter().for_each(|a| a.for_each_variable(visit)),
            Pattern::Int(_) | Pattern::Bool(_) => {}
        }
    }

    /// The term with its variables replaced, built canonically; `None` while a variable has no value.
    pub fn instantiate(&self, pool: &mut Pool, bindings: &Bindings) -> Option<Expr> {
        let (op, args) = match self {
            Pattern::Int(value) => return Some(pool.int(value.clone())),
            Pattern::Bool(value) => return Some(pool.bool(*value)),
            Pattern::Var(v) => return bindings.get(*v).copied().flatten(),
            Pattern::Call(op, args) => (*op, args),
        };
        let mut values: smallvec::SmallVec<[Expr; 4]> = smallvec::SmallVec::new();
        for a in args {
            values.push(a.instantiate(pool, bindings)?);
        }
        Some(match (op, values.as_slice()) {
            (Operation::Add, _) => pool.sum(values),
            (Operation::Mul, _) => pool.product(values),
            (Operation::Sub, &[a]) => pool.neg(a),
            (Operation::Sub, &[a, b]) => pool.sub(a, b),
            (Operation::FloorDiv, &[a, b]) => pool.floor_div(a, b),
            (Operation::Mod, &[a, b]) => pool.modulo(a, b),
            (Operation::Min, _) => pool.extremum(Func::Min, &values),
            (Operation::Max, _) => pool.extremum(Func::Max, &values),
            (Operation::Abs, &[a]) => pool.abs(a),
            (Operation::Ite, &[c, a, b]) => pool.ite(c, a, b),
            (Operation::Eq, &[a, b]) => pool.eq(a, b),
            (Operation::Ne, &[a, b]) => pool.ne(a, b),
            (Operation::Le, &[a, b]) => pool.le(a, b),
            (Operation::Lt, &[a, b]) => pool.lt(a, b),
            (Operation::Ge, &[a, b]) => pool.ge(a, b),
            (Operation::Gt, &[a, b]) => pool.gt(a, b),
            (Operation::And, _) => pool.and(&values),
            (Operation::Or, _) => pool.or(&values),
            (Operation::Not, &[a]) => pool.not(a),
            _ => return None,
        })
    }

    /// The value of the term as written, without any canonical construction. Every operand is evaluated, so a
    /// zero divisor anywhere is an error.
    pub fn evaluate(&self, assignment: &[Value]) -> Result<Value, EvalError> {
        let (op, args) = match self {
            Pattern::Int(value) => return Ok(Value::Int(value.clone())),
            Pattern::Bool(value) => return Ok(Value::Bool(*value)),
            Pattern::Var(v) => return assignment.get(*v).cloned().ok_or(EvalError::Domain),
            Pattern::Call(op, args) => (*op, args),
        };
        let values =
            args.iter().map(|a| a.evaluate(assignment)).collect::<Result<Vec<Value>, EvalError>>()?;
        let int = |i: usize| values.get(i).and_then(Value::as_int).ok_or(EvalError::Domain);
        let fold = |start: Int, step: fn(&Int, &Int) -> Int| {
            values
                .iter()
                .try_fold(start, |total, v| Some(step(&total, &v.as_int()?)))
                .ok_or(EvalError::Domain)
        };
        Ok(match op {
            Operation::Add => Value::Int(fold(Int::ZERO, |a, b| a + b)?),
            Operation::Mul => Value::Int(fold(Int::ONE, |a, b| a * b)?),
            Operation::Sub if values.len() == 1 => Value::Int(-&int(0)?),
            Operation::Sub => Value::Int(&int(0)? - &int(1)?),
            Operation::FloorDiv => evaluate_call(Func::FloorDiv, &values)?,
            Operation::Mod => evaluate_call(Func::Mod, &values)?,
            Operation::Min => evaluate_call(Func::Min, &values)?,
            Operation::Max => evaluate_call(Func::Max, &values)?,
            Operation::Abs => evaluate_call(Func::Abs, &values)?,
            Operation::Ite => evaluate_call(Func::Ite, &values)?,
            Operation::Eq => Value::Bool(int(0)? == int(1)?),
            Operation::Ne => Value::Bool(int(0)? != int(1)?),
            Operation::Le => Value::Bool(int(0)? <= int(1)?),
            Operation::Lt => Value::Bool(int(0)? < int(1)?),
            Operation::Ge => Value::Bool(int(0)? >= int(1)?),
            Operation::Gt => Value::Bool(int(0)? > int(1)?),
            Operation::And => evaluate_call(Func::And, &values)?,
            Operation::Or => evaluate_call(Func::Or, &values)?,
            Operation::Not => evaluate_call(Func::Not, &values)?,
        })
    }
}
