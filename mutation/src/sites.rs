//! Where in a file a mutant can be switched on: the expression of which a mutated copy is made, the arm that gets a
//! guard.
use crate::mutants::Lines;
use std::collections::HashMap;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr};

/// The arm of a `match`.
pub struct Arm {
    pub pattern_end: usize,
    pub guard: Option<Range<usize>>,
    /// What is matched: where an arm that is missed is reported.
    pub scrutinee: Range<usize>,
}

/// A function that is `const`.
pub struct ConstFunction {
    pub name: String,
    pub token: Range<usize>,
    pub whole: Range<usize>,
}

/// The places of one file, by the byte offset at which a mutant starts.
#[derive(Default)]
pub struct Sites {
    /// Operators and fields of structs: the expression to be copied.
    pub expressions: HashMap<usize, Range<usize>>,
    pub guards: HashMap<usize, Range<usize>>,
    pub arms: HashMap<usize, Arm>,
    pub const_functions: Vec<ConstFunction>,
    /// Operators between the conditions of `if let … && …`, which nothing can replace.
    pub let_chains: Vec<usize>,
    /// What is evaluated when it is compiled.
    pub constants: Vec<Range<usize>>,
}

impl Sites {
    pub fn of(text: &str) -> Result<Sites, String> {
        let file = syn::parse_file(text).map_err(|e| e.to_string())?;
        let mut finder = Finder { lines: Lines::of(text), chain: None, sites: Sites::default() };
        finder.visit_file(&file);
        Ok(finder.sites)
    }
}

struct Finder<'a> {
    lines: Lines<'a>,
    /// The largest expression of operators around the one at hand: a replaced operator may bind otherwise in it.
    chain: Option<Range<usize>>,
    sites: Sites,
}

impl Finder<'_> {
    fn range(&self, node: &impl Spanned) -> Range<usize> {
        let span = node.span();
        let (start, end) = (span.start(), span.end());
        self.lines.offset(start.line, start.column)..self.lines.offset(end.line, end.column)
    }

    fn visit_let_chain(&mut self, e: &Expr) {
        match e {
            Expr::Binary(b) if matches!(b.op, BinOp::And(_)) => {
                let op = self.range(&b.op).start;
                self.sites.let_chains.push(op);
                self.visit_let_chain(&b.left);
                self.visit_let_chain(&b.right);
            }
            e => self.visit_expr(e),
        }
    }
}

fn assigns(op: &BinOp) -> bool {
    use BinOp::*;
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

fn has_let(e: &Expr) -> bool {
    match e {
        Expr::Let(_) => true,
        Expr::Binary(b) if matches!(b.op, BinOp::And(_)) => has_let(&b.left) || has_let(&b.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr(&mut self, e: &'ast Expr) {
        let chain = self.chain.take();
        let whole = self.range(e);
        match e {
            Expr::Binary(b) => {
                let op = self.range(&b.op).start;
                if assigns(&b.op) {
                    self.sites.expressions.insert(op, whole);
                } else if has_let(e) {
                    self.visit_let_chain(e);
                    return;
                } else {
                    let chain = chain.unwrap_or(whole);
                    self.sites.expressions.insert(op, chain.clone());
                    for operand in [&b.left, &b.right] {
                        self.chain = matches!(**operand, Expr::Binary(_)).then(|| chain.clone());
                        self.visit_expr(operand);
                    }
                    self.chain = None;
                    return;
                }
            }
            Expr::Unary(u) => {
                let op = self.range(&u.op).start;
                self.sites.expressions.insert(op, whole);
            }
            Expr::Struct(s) => {
                for field in &s.fields {
                    let at = self.range(field).start;
                    self.sites.expressions.insert(at, whole.clone());
                }
            }
            Expr::Match(m) => {
                let scrutinee = self.range(&m.expr);
                for arm in &m.arms {
                    let guard = arm.guard.as_ref().map(|(_, guard)| self.range(guard));
                    if let Some(guard) = &guard {
                        self.sites.guards.insert(guard.start, guard.clone());
                    }
                    let pattern_end = self.range(&arm.pat).end;
                    let at = self.range(arm).start;
                    let scrutinee = scrutinee.clone();
                    self.sites.arms.insert(at, Arm { pattern_end, guard, scrutinee });
                }
            }
            _ => {}
        }
        visit::visit_expr(self, e);
        self.chain = None;
    }

    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        let whole = self.range(item);
        self.sites.constants.push(whole);
        visit::visit_item_const(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        let whole = self.range(item);
        self.sites.constants.push(whole);
        visit::visit_impl_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        let whole = self.range(item);
        self.sites.constants.push(whole);
        visit::visit_item_static(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if let Some(token) = &item.sig.constness {
            let (token, whole) = (self.range(token), self.range(item));
            self.sites.const_functions.push(ConstFunction { name: item.sig.ident.to_string(), token, whole });
        }
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if let Some(token) = &item.sig.constness {
            let (token, whole) = (self.range(token), self.range(item));
            self.sites.const_functions.push(ConstFunction { name: item.sig.ident.to_string(), token, whole });
        }
        visit::visit_impl_item_fn(self, item);
    }
}
