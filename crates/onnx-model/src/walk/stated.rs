//! The sizes that graphs within nodes declare for what they make, as onnxruntime holds results to them.
use super::clauses::{If, Scan};
use super::control::place;
use super::loading::address;
use super::{Ended, Given, Walk, declared};
use crate::read::Row;
use crate::read::message::{GraphProto, NodeProto, ValueInfoProto};
use crate::shape::{Known, Tensor, Value};
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The sizes to which a result is held.
enum Held {
    /// These, where there is a number.
    To(Vec<Option<i64>>),
    /// It is not known whether it is held to any: at most to these and to sizes that are inferred, which it has.
    Perhaps(Vec<Option<i64>>),
}

/// Whether two rows may be those of one value: they have one rank, and no numbers differ.
fn agree(a: &[Option<i64>], b: &[Option<i64>]) -> bool {
    a.len() == b.len() && !a.iter().zip(b).any(|(a, b)| a.zip(*b).is_some_and(|(a, b)| a != b))
}

/// The numbers of two rows that agree.
fn united(a: &[Option<i64>], b: &[Option<i64>]) -> Vec<Option<i64>> {
    a.iter().zip(b).map(|(a, b)| a.or(*b)).collect()
}

/// What onnxruntime has of an output of a graph when it merges branches, and whether that is sure.
fn merged(output: &ValueInfoProto, value: &Value) -> (Row, bool) {
    let stated = stated_row(output);
    let Some(Tensor { shape: Some(shape), .. }) = value.tensor() else {
        let is_inferred = match value {
            // A node that refuses the sizes of the example makes nothing here; it may at other sizes.
            Value::Unknown => Known::Maybe,
            value => value.tensor().map_or(Known::No, |tensor| tensor.at_load.rank),
        };
        return (stated, is_inferred == Known::No);
    };
    let made: Vec<Option<i64>> = shape.iter().map(|size| size.as_inline()).collect();
    (declared_and_made(stated, made), value.is_ranked_at_load())
}

/// The sizes that onnxruntime has of what is declared and what is inferred: where they disagree, only those on which
/// both agree are left, and none if the ranks differ.
pub(super) fn declared_and_made(stated: Row, made: Vec<Option<i64>>) -> Row {
    match stated {
        None => Some(made),
        Some(stated) if agree(&made, &stated) => Some(united(&made, &stated)),
        Some(stated) if made.len() == stated.len() => {
            Some(made.iter().zip(stated).map(|(made, stated)| made.filter(|_| *made == stated)).collect())
        }
        Some(_) => None,
    }
}

/// What onnxruntime has of an output of a graph when the model loads: what is declared and what is inferred. Where
/// these disagree, it has none of what is declared. `needs_all`: a result is held to all sizes or to none.
fn held(stated: &[Option<i64>], inferred: Option<&Row>, needs_all: bool) -> Held {
    let merged = match inferred {
        Some(Some(row)) if row.len() == stated.len() && agree(row, stated) => united(row, stated),
        Some(Some(row)) if row.len() == stated.len() => row.clone(),
        Some(None) if needs_all && stated.contains(&None) => return Held::Perhaps(stated.to_vec()),
        _ => stated.to_vec(),
    };
    if needs_all && merged.contains(&None) { Held::To(vec![None; merged.len()]) } else { Held::To(merged) }
}

/// The sizes of a value that are numbers when the model loads, if its rank is sure to be known then or none is.
pub(super) fn row(value: &Value) -> Row {
    let tensor = value.tensor()?;
    let sizes: Vec<Option<i64>> = tensor.shape.as_ref()?.iter().map(|size| size.as_inline()).collect();
    let is_sure = value.is_ranked_at_load() || sizes.iter().all(Option::is_none);
    is_sure.then_some(sizes)
}

/// The sizes that a value of a graph is declared to have as numbers, if its rank is declared.
pub(super) fn stated_row(value: &ValueInfoProto) -> Row {
    let number = |given: &Given| if let Given::Size(size) = given { Some(*size) } else { None };
    let shape = declared(&value.name, value.r#type.as_ref()).shape?;
    Some(shape.iter().map(number).collect())
}

/// The sizes of a row as a message shows them.
pub(super) fn shown(row: &[Option<i64>]) -> String {
    let size = |size: &Option<i64>| size.map_or_else(|| "?".to_owned(), |size| size.to_string());
    format!("[{}]", row.iter().map(size).collect::<Vec<_>>().join(", "))
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
    /// far as it holds the results to them.
    pub(super) fn expect_stated(
        &mut self,
        step: usize,
        clause: &'static OpClause,
        graph: &GraphProto,
        (first, results): (usize, &[Value]),
    ) -> Result<(), Ended> {
        let is_on_cpu = Cx::on(&mut self.env, self.model.backend).on_cpu();
        for (at, (output, value)) in graph.output.iter().zip(results).enumerate().skip(first) {
            let (Some(stated), Some(tensor)) = (stated_row(output), value.tensor()) else { continue };
            if tensor.shape.as_ref().is_some_and(|shape| shape.len() != stated.len()) {
                // What is inferred counts, if something is.
                if !value.is_ranked_at_load() {
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
                let held = held(&stated, inferred.as_ref(), clause == If::C1);
                self.expect_held(step, clause, held, tensor.shape.as_deref())?;
            }
        }
        Ok(())
    }

    /// Notes whether the branches of a node `If` make sizes that disagree when the model loads.
    pub(super) fn note_merge(&mut self, node: &NodeProto, branches: [(&GraphProto, &[Value]); 2]) {
        for at in 0..node.output.len() {
            let has = |(graph, results): (&GraphProto, &[Value])| {
                Some(merged(graph.output.get(at)?, results.get(at)?))
            };
            let [Some((a, is_sure)), Some((b, is_other_sure))] = branches.map(has) else { continue };
            let error = match (&a, &b) {
                (None, None) => continue,
                (None, Some(_)) if is_sure => continue,
                (Some(_), None) if is_other_sure => continue,
                (Some(a), Some(b)) if agree(a, b) => continue,
                (Some(a), Some(b)) => {
                    let message =
                        format!("If: one of its branches makes {}, the other {}", shown(a), shown(b));
                    if is_sure && is_other_sure {
                        KernelError::invalid(If::C3, message)
                    } else {
                        KernelError::Unsupported(format!(
                            "{message}; whether onnxruntime infers that is not known"
                        ))
                    }
                }
                _ => KernelError::Unsupported(
                    "If: what onnxruntime infers of one of its branches when it loads the model is not known"
                        .to_owned(),
                ),
            };
            if let Some(found) = &mut self.finding {
                found.merges.insert(place(node), error.clone());
            }
            // It is a refusal of the graphs around as well; the walk goes on.
            let _ = self.failed(self.steps.len() - 1, error);
        }
    }

    pub(super) fn expect_merged(&mut self, node: &NodeProto) -> Result<(), Ended> {
        if !Cx::on(&mut self.env, self.model.backend).on_cpu() {
            return Ok(());
        }
        match self.at_load().merges.get(&place(node)) {
            Some(error) => self.failed(self.steps.len() - 1, error.clone()),
            None => Ok(()),
        }
    }

    pub(super) fn expect_slices(
        &mut self,
        node: &NodeProto,
        graph: &GraphProto,
        slices: &[Value],
        states: usize,
    ) -> Result<(), Ended> {
        if !Cx::on(&mut self.env, self.model.backend).on_cpu() {
            return Ok(());
        }
        let own: Vec<Row> = slices.iter().map(row).collect();
        let inferred = match &mut self.finding {
            Some(found) => {
                // Calls of one function may differ.
                let known = found.rows.entry(place(node)).or_insert_with(|| own.clone());
                let differ = known.iter_mut().zip(&own).filter(|(known, row)| known != row);
                differ.for_each(|(known, _)| *known = None);
                own
            }
            None => self.at_load().rows.get(&place(node)).cloned().unwrap_or_default(),
        };
        for (at, (input, slice)) in graph.input.iter().skip(states).zip(slices).enumerate() {
            let Some(tensor) = slice.tensor().filter(|tensor| tensor.at_load.rank != Known::No) else {
                continue;
            };
            let Some(stated) = stated_row(input) else { continue };
            let agrees = |row: &[Option<i64>]| agree(row, &stated);
            let error = match inferred.get(at).and_then(Option::as_ref) {
                Some(row) if agrees(row) => continue,
                Some(row) => {
                    let [a, b] = [row, &stated].map(|row| shown(row));
                    let message = format!("Scan: a slice is {a}, where the body declares {b}");
                    KernelError::invalid(Scan::C6, message)
                }
                None => {
                    let made = tensor.shape.as_ref().map(|shape| shape.iter().map(|size| size.as_inline()));
                    if made.is_none_or(|made| agrees(&made.collect::<Vec<_>>())) {
                        continue;
                    }
                    let message = "Scan: whether onnxruntime infers a slice of other sizes than the body declares is not known";
                    KernelError::Unsupported(message.to_owned())
                }
            };
            self.failed(self.steps.len() - 1, error)?;
        }
        Ok(())
    }

    /// Whether a shape is sure to have the sizes that are numbers.
    fn surely_has(&mut self, shape: &[Expr], sizes: &[Option<i64>]) -> bool {
        let mut cx = Cx::on(&mut self.env, self.model.backend);
        sizes.iter().zip(shape).all(|(number, &size)| {
            number.is_none_or(|number| {
                let number = cx.int(number);
                let holds = cx.eq(number, size);
                cx.surely(holds)
            })
        })
    }

    /// Requires the sizes to which a result is held, of which the shape is given if its rank is known.
    fn expect_held(
        &mut self,
        step: usize,
        clause: &'static OpClause,
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
            (Held::Perhaps(sizes), Some(shape)) if self.surely_has(shape, &sizes) => return Ok(()),
            (Held::Perhaps(_), _) => {
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
