//! Operations of two operands, by name.
use sizewise_expr::{Expr, Pool};

/// The operations of two operands, each named as the pool's method for it.
macro_rules! operations {
    ($($(#[$doc:meta])* $operation:ident $method:ident),+ $(,)?) => {
        /// An operation of two operands.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Operation {
            $($(#[$doc])* $operation),+
        }

        impl Operation {
            pub(super) fn apply(self, pool: &mut Pool, a: Expr, b: Expr) -> Expr {
                match self {
                    $(Operation::$operation => pool.$method(a, b)),+
                }
            }
        }
    };
}

operations! {
    /// `a + b`.
    Add add,
    /// `a - b`.
    Sub sub,
    /// `a * b`.
    Mul mul,
    /// `a // b`.
    FloorDiv floor_div,
    /// `a / b`, rounded upwards.
    CeilDiv ceil_div,
    /// `a % b`.
    Modulo modulo,
    /// The lesser of two.
    Min min,
    /// The greater of two.
    Max max,
    /// `a == b`.
    Eq eq,
    /// `a != b`.
    Ne ne,
    /// `a <= b`.
    Le le,
    /// `a < b`.
    Lt lt,
    /// `a >= b`.
    Ge ge,
    /// `a > b`.
    Gt gt,
}
