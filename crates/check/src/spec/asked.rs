//! Where torch asked for conditions while it traced a program, over the sizes that a spec allows.
use super::assumptions::Assumptions;
use super::contract::{Contract, at, resolve};
use sizewise_expr::text::{Property, SourcePath, read};
use sizewise_expr::{Expr, Pool};
use sizewise_ir::{Asked, SourceTable, Traced, UserInput};
use sizewise_solve::requirements;

/// The most conditions that are read.
const MAX_ASKED: usize = 4096;

impl<'p> Contract<'p> {
    /// How the inputs of a traced program are others than this program's: no such inputs, or other sizes in the
    /// example. `None` if they are the same, as far as both are known.
    pub fn differs(&self, traced: &Traced) -> Option<String> {
        let users: Vec<UserInput> = self.inputs.iter().map(|input| input.input.clone()).collect();
        let table = SourceTable::new(&users);
        let mut pool: Pool = self.env.pool.clone();
        for (source, size) in &traced.sizes {
            let mut find = |source: &SourcePath| resolve(&self.inputs, &table, source);
            let Ok(read) = read::expression(&mut pool, source, &mut find) else { continue };
            let own = self.example_int(read.expr).filter(|own| own.to_i64() != Some(*size));
            if let Some(own) = own {
                return Some(format!("`{source}` is {size} there, and {own} in the example of this program"));
            }
        }
        traced.asked.iter().find_map(|asked| {
            let mut missing = false;
            let mut find = |source: &SourcePath| {
                let found = resolve(&self.inputs, &table, source);
                missing |= found.is_none();
                found
            };
            let _ = read::expression(&mut pool, &asked.condition, &mut find);
            missing.then(|| format!("this program has not all sizes of `{}`", asked.condition))
        })
    }

    /// The conditions that torch asked for, each over the sizes that are assumed, and after them what they need to have
    /// a value. What cannot be read is left out.
    pub fn asked(&self, assumptions: &mut Assumptions<'p>) -> Vec<(Expr, &'p Asked)> {
        if self.program.asked.is_empty() {
            return Vec::new();
        }
        let users: Vec<UserInput> = self.inputs.iter().map(|input| input.input.clone()).collect();
        let table = SourceTable::new(&users);
        let (pool, inputs) = (&mut assumptions.env.pool, &assumptions.inputs);
        let mut find = |source: &SourcePath| {
            let recorded = resolve(&self.inputs, &table, source)?;
            let input = self.inputs.get(table.find(&source.root, &source.steps)?)?;
            let sizes = inputs.iter().find(|sizes| sizes.index == input.input.index);
            let Some(sizes) = sizes else { return Some(recorded) };
            match source.property {
                Some(Property::Size(d)) => sizes.allowed.as_ref().map_or(Some(recorded), |list| at(list, d)),
                Some(_) => Some(recorded),
                None => Some(sizes.scalar.unwrap_or(recorded)),
            }
        };
        let read = self.program.asked.iter().take(MAX_ASKED).filter_map(|asked| {
            let read = read::expression(pool, &asked.condition, &mut find).ok()?;
            Some((pool.truth(read.expr), asked))
        });
        let mut found: Vec<(Expr, &Asked)> = read.collect();
        for (condition, asked) in found.clone() {
            found.extend(requirements(pool, &[condition]).into_iter().map(|needed| (needed, asked)));
        }
        found
    }
}
