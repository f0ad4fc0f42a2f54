//! The sizes that graphs within nodes declare for what they make, as onnxruntime holds results to them.
use super::loading::address;
use super::unmade::row;
use super::{Ended, Given, Walk, declared};
use crate::read::Row;
use crate::read::message::GraphProto;
use crate::shape::Value;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The sizes to which a result is held.
enum Held {
    /// These, where there is a number.
    To(Vec<Option<i64>>),
    /// It is not known whether it is held to any.
    Unknown,
}

/// What onnxruntime has of an output of a graph when the model loads: what is declared and what is inferred. Where
/// these disagree, it has none of what is declared. `needs_all`: a result is held to all sizes or to none.
fn held(stated: &[Option<i64>], inferred: Option<&Row>, needs_all: bool) -> Held {
    let merged = match inferred {
        Some(Some(row)) if row.len() == stated.len() => {
            let mut pairs = row.iter().zip(stated);
            if pairs.any(|(row, stated)| row.zip(*stated).is_some_and(|(row, stated)| row != stated)) {
                row.clone()
            } else {
                stated.iter().zip(row).map(|(stated, row)| stated.or(*row)).collect()
            }
        }
        Some(None) if needs_all && stated.contains(&None) => return Held::Unknown,
        _ => stated.to_vec(),
    };
    if needs_all && merged.contains(&None) { Held::To(vec![None; merged.len()]) } else { Held::To(merged) }
}

impl Walk<'_> {
    /// Notes which sizes of the results of a graph are inferred when the model loads.
    pub(super) fn note_results(&mut self, graph: &GraphProto, results: &[Value]) {
        let Some(found) = &mut self.finding else { return };
        let rows: Vec<Row> = results.iter().map(row).collect();
        let known = found.results.entry(address(graph)).or_insert_with(|| rows.clone());
        // Calls of one function may differ.
        let differ = known.iter_mut().zip(rows).filter(|(known, row)| *known != row);
        differ.for_each(|(known, _)| *known = None);
    }

    /// Requires, for onnxruntime, the sizes that a graph within a node declares for its outputs behind the first ones, as
    /// far as it holds the results to them. (If.C1) A branch is held to sizes that are all known as numbers when the
    /// model loads; (Scan.C5) a body to each that is.
    pub(super) fn expect_stated(
        &mut self,
        step: usize,
        clause: &'static str,
        graph: &GraphProto,
        (first, results): (usize, &[Value]),
    ) -> Result<(), Ended> {
        let is_on_cpu = Cx::on(&mut self.env, self.model.backend).on_cpu();
        for (at, (output, value)) in graph.output.iter().zip(results).enumerate().skip(first) {
            let Some(stated) = declared(&output.name, output.r#type.as_ref()).shape else { continue };
            let Some(tensor) = value.tensor() else { continue };
            let number = |given: &Given| if let Given::Size(size) = given { Some(*size) } else { None };
            let stated: Vec<Option<i64>> = stated.iter().map(number).collect();
            if tensor.shape.as_ref().is_some_and(|shape| shape.len() != stated.len()) {
                // What is inferred counts, if something is.
                if !tensor.is_ranked_at_load {
                    let message = "a graph within it declares another rank than it makes".to_owned();
                    self.failed(step, KernelError::Unsupported(message))?;
                }
            } else if is_on_cpu && stated.iter().any(Option::is_some) {
                let inferred = match &self.finding {
                    Some(_) => Some(row(value)),
                    None => {
                        self.at_load().results.get(&address(graph)).and_then(|rows| rows.get(at).cloned())
                    }
                };
                let held = held(&stated, inferred.as_ref(), clause == "If.C1");
                self.expect_held(step, clause, held, tensor.shape.as_deref())?;
            }
        }
        Ok(())
    }

    /// Requires the sizes to which a result is held, of which the shape is given if its rank is known.
    fn expect_held(
        &mut self,
        step: usize,
        clause: &'static str,
        held: Held,
        shape: Option<&[Expr]>,
    ) -> Result<(), Ended> {
        let unknown = |message: &str| KernelError::Unsupported(message.to_owned());
        let sizes = match (held, shape) {
            (Held::To(sizes), Some(shape)) => sizes.into_iter().zip(shape),
            (Held::To(sizes), None) if sizes.iter().all(Option::is_none) => return Ok(()),
            (Held::To(_), None) => {
                self.unknown
                    .push((step, "whether a graph within it makes the sizes that it declares".to_owned()));
                return Ok(());
            }
            (Held::Unknown, _) => {
                let message = "whether a graph within it is held to sizes that it declares is not known";
                return self.failed(step, unknown(message));
            }
        };
        for (number, &size) in sizes {
            let Some(number) = number else { continue };
            let mut cx = Cx::on(&mut self.env, self.model.backend);
            let number = cx.int(number);
            if let Err(error) = cx.require_eq(number, size, clause, "the declared size of an output") {
                self.failed(step, error)?;
            }
        }
        Ok(())
    }
}
