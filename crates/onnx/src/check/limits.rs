//! What a spec allows of the inputs of a model.
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use sizewise_check::spec::{DimSpec, Entry, FlatInput, Hint, Spec, SpecError, sum_of};
use sizewise_expr::Int;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::walk::{Given, Input, inputs};

/// The least size, where no other is written: an empty tensor is seldom meant.
pub(super) const LEAST: i64 = 1;

/// The least and the greatest size.
pub(super) type Bounds = (Int, Option<Int>);

/// A spec that fits a model.
///
/// A dimension of which it says nothing, or that it calls static, is as the model declares it. Where it gives a name,
/// that name takes the place of the one that the model has; equal names are equal sizes. Sizes are at least 1 unless
/// another minimum is written.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The inputs, each with what the spec says of its dimensions.
    pub(super) inputs: Vec<(Input, Vec<Allowed>)>,
    /// The named dimensions.
    pub(super) dims: IndexMap<String, Named>,
    /// The ranges of sizes that keep the names which the model gives them.
    pub(super) names: FxHashMap<String, Bounds>,
}

/// A named dimension.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// Its range.
    pub bounds: Bounds,
    /// The number that the model declares for it somewhere.
    pub number: Option<i64>,
}

/// What a spec says of a dimension, beside what the model declares.
#[derive(Debug, Clone)]
pub(super) enum Allowed {
    /// It is as the model declares it; within a range, if that is no number.
    AsDeclared(Option<Bounds>),
    /// It varies within a range, where the model declares a number.
    Varies(Bounds),
    /// It is the sum of named dimensions, each times its factor, and of a number: also one of them alone.
    Sum(Vec<(String, Int)>, Int),
}

impl Limits {
    /// Binds a spec to a model.
    ///
    /// # Errors
    /// When the spec does not fit: an input that does not exist, another rank, contradictory ranges of one name, a size
    /// that is not the number which the model declares.
    pub fn new(model: &Model, spec: &Spec) -> Result<Limits, SpecError> {
        let mut declared = inputs(model);
        let flat: Vec<FlatInput> = declared
            .iter()
            .map(|input| FlatInput {
                name: &input.name,
                rank: input.shape.as_ref().map(Vec::len),
                is_tensor: input.is_tensor,
            })
            .collect();
        let entries = spec.of_flat(&flat, LEAST)?;
        for (input, entries) in declared.iter_mut().zip(&entries) {
            if let (None, Some(entries)) = (&input.shape, entries) {
                input.shape = Some(vec![Given::Open; entries.len()]);
            }
        }
        let mut limits = Limits { inputs: Vec::new(), dims: IndexMap::new(), names: FxHashMap::default() };
        for (input, entries) in declared.into_iter().zip(entries) {
            let mut allowed = Vec::new();
            let sizes = input.shape.iter().flatten();
            for (at, (entry, given)) in entries.into_iter().flatten().zip(sizes).enumerate() {
                let of_entry = limits.allowed(entry, given);
                let place = || format!("{}.shape[{at}]", input.name);
                allowed.push(of_entry.map_err(|message| SpecError::new(&place(), message))?);
            }
            limits.inputs.push((input, allowed));
        }
        Ok(limits)
    }

    /// What an entry says of a dimension that the model declares as `given`.
    fn allowed(&mut self, entry: Entry, given: &Given) -> Result<Allowed, String> {
        let number = match given {
            Given::Size(size) => Some(Int::from(*size)),
            _ => None,
        };
        Ok(match entry {
            // A ShapesSpec was refused before.
            Entry::Static | Entry::Formula(_) => Allowed::AsDeclared(None),
            Entry::Size(size) => match number {
                Some(number) if number != size => {
                    return Err(format!("the spec says {size}, the model declares {number}"));
                }
                Some(_) => Allowed::AsDeclared(None),
                None => Allowed::Sum(Vec::new(), size),
            },
            Entry::Inferred { hint, min, max } => {
                let bounds = (min.unwrap_or(Int::from(LEAST)), max);
                within(number.as_ref(), &bounds)?;
                match given {
                    Given::Size(_) if hint == Hint::Auto => Allowed::AsDeclared(None),
                    Given::Size(_) => Allowed::Varies(bounds),
                    Given::Open => Allowed::AsDeclared(Some(bounds)),
                    Given::Name(name) => {
                        self.narrow(name, &bounds)?;
                        Allowed::AsDeclared(Some(bounds))
                    }
                }
            }
            Entry::Dim(dim) => {
                within(number.as_ref(), &(dim.min.clone(), dim.max.clone()))?;
                self.add(&dim)?;
                if let (Given::Size(size), Some(named)) = (given, self.dims.get_mut(&dim.name)) {
                    named.number = Some(*size);
                }
                Allowed::Sum(vec![(dim.name, Int::ONE)], Int::ZERO)
            }
            Entry::Derived { expression, root } => self.computed(&expression, &[root])?,
            Entry::Sum { expression, roots } => self.computed(&expression, &roots)?,
        })
    }

    /// A size that is computed from named dimensions.
    fn computed(&mut self, expression: &str, roots: &[DimSpec]) -> Result<Allowed, String> {
        roots.iter().try_for_each(|root| self.add(root))?;
        let names: Vec<&str> = roots.iter().map(|root| root.name.as_str()).collect();
        let (terms, offset) = sum_of(expression, &names)?;
        Ok(Allowed::Sum(terms, offset))
    }

    fn add(&mut self, dim: &DimSpec) -> Result<(), String> {
        let new = || Named { bounds: (dim.min.clone(), dim.max.clone()), number: None };
        let (min, max) = &self.dims.entry(dim.name.clone()).or_insert_with(new).bounds;
        dim.agrees(Some(min), max.as_ref())
    }

    /// Narrows the range of the sizes that the model gives a name.
    fn narrow(&mut self, name: &str, (min, max): &Bounds) -> Result<(), String> {
        let known = self.names.entry(name.to_owned()).or_insert_with(|| (min.clone(), max.clone()));
        if *min > known.0 {
            known.0 = min.clone();
        }
        if max.is_some() && (known.1.is_none() || *max < known.1) {
            known.1 = max.clone();
        }
        match &known.1 {
            Some(max) if *max < known.0 => Err(format!("the ranges of {name} have no size in common")),
            _ => Ok(()),
        }
    }
}

/// Refuses a number that the model declares outside the range that the spec gives.
fn within(number: Option<&Int>, (min, max): &Bounds) -> Result<(), String> {
    match number {
        Some(number) if number < min || max.as_ref().is_some_and(|max| number > max) => {
            Err(format!("the model declares {number}, which is outside the range"))
        }
        _ => Ok(()),
    }
}
