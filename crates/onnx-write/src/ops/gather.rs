//! Elements chosen by tensors of places.

use super::super::attribute;
use super::super::call::Call;
use super::super::value::{Made, Val, one};
use sizewise_ir::{Argument, Dtype};

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if overload.contains("out") {
        return None;
    }
    match op {
        "embedding" => {
            let (table, places) = (call.tensor("weight")?, call.tensor("indices")?);
            let rank = table.rank + places.rank - 1;
            one(call.put("Gather", &[&table, &places], vec![attribute::int("axis", 0)], (table.dtype, rank)))
        }
        "index_select" => {
            let (x, places) = (call.tensor("self")?, call.tensor("index")?);
            let dim = call.int("dim", 0)?;
            one(call.put("Gather", &[&x, &places], vec![attribute::int("axis", dim)], (x.dtype, x.rank)))
        }
        "gather" => {
            let (x, places) = (call.tensor("self")?, call.tensor("index")?);
            if x.rank == 0 || places.rank != x.rank {
                return None;
            }
            let axis = vec![attribute::int("axis", call.int("dim", 0)?)];
            one(call.put("GatherElements", &[&x, &places], axis, (x.dtype, places.rank)))
        }
        "take" => {
            let (x, places) = (call.tensor("self")?, call.tensor("index")?);
            let flat = call.flat(&x);
            let axis = vec![attribute::int("axis", 0)];
            one(call.put("Gather", &[&flat, &places], axis, (x.dtype, places.rank)))
        }
        "index" | "_unsafe_index" if overload == "Tensor" => {
            let x = call.tensor("self")?;
            let places = call.places(x.rank)?;
            index(call, &x, &places)
        }
        "masked_select" => {
            let (x, mask) = (call.tensor("self")?, call.tensor("mask")?);
            let (sizes, other) = (call.shape(&x), call.shape(&mask));
            let x = call.put("Expand", &[&x, &other], Vec::new(), (x.dtype, x.rank.max(mask.rank)));
            let mask = call.put("Expand", &[&mask, &sizes], Vec::new(), (Dtype::Bool, x.rank));
            let (x, mask) = (call.flat(&x), call.flat(&mask));
            one(call.put("Compress", &[&x, &mask], vec![attribute::int("axis", 0)], (x.dtype, 1)))
        }
        "nonzero" | "argwhere" => {
            let x = call.tensor("self")?;
            let truth = call.cast(&x, Dtype::Bool);
            let places = call.put("NonZero", &[&truth], Vec::new(), (Dtype::Int64, 2));
            one(call.permute(&places, &[1, 0]))
        }
        "one_hot" => {
            let classes = call.int("num_classes", -1).filter(|classes| *classes > 0)?;
            let x = call.tensor("self")?;
            let classes = call.constant_vector(&[classes]);
            let values = call.constant_vector(&[0, 1]);
            let axis = vec![attribute::int("axis", -1)];
            one(call.put("OneHot", &[&x, &classes, &values], axis, (Dtype::Int64, x.rank + 1)))
        }
        _ => None,
    }
}

/// `x[places]`, in which a place that is absent stands for a whole dimension.
fn index(call: &mut Call<'_, '_, '_>, x: &Val, places: &[Option<Val>]) -> Made {
    let named: Vec<usize> = (0..places.len()).filter(|&dim| places[dim].is_some()).collect();
    if let ([dim], Some(place)) = (named.as_slice(), places.iter().flatten().next()) {
        let axis = vec![attribute::int("axis", i64::try_from(*dim).ok()?)];
        return one(call.put("Gather", &[x, place], axis, (x.dtype, x.rank + place.rank - 1)));
    }
    let (order, points) = call.points(x.rank, places)?;
    let x = call.permute(x, &order);
    let rank = points.rank - 1 + x.rank - named.len();
    let value = call.put("GatherND", &[&x, &points], Vec::new(), (x.dtype, rank));
    one(call.back(&value, &named, points.rank - 1))
}

impl Call<'_, '_, '_> {
    /// The tensors of `indices`, a dimension each; masks become the places where they are true.
    pub fn places(&mut self, rank: usize) -> Option<Vec<Option<Val>>> {
        let given: Vec<Option<Val>> = match self.arg("indices")? {
            Argument::Tensors(ids) => ids.iter().map(|&id| self.body.value(id)).collect(),
            Argument::OptionalTensors(ids) => {
                ids.iter().map(|id| id.and_then(|id| self.body.value(id))).collect()
            }
            _ => return None,
        };
        let mut places = Vec::new();
        for place in given {
            match place {
                Some(mask) if mask.dtype.is_bool() || mask.dtype == Dtype::Uint8 => {
                    let mask = self.cast(&mask, Dtype::Bool);
                    let found = self.put("NonZero", &[&mask], Vec::new(), (Dtype::Int64, 2));
                    for dim in 0..mask.rank {
                        let dim = self.integer(i64::try_from(dim).ok()?, Dtype::Int64);
                        let axis = vec![attribute::int("axis", 0)];
                        places.push(Some(self.put("Gather", &[&found, &dim], axis, (Dtype::Int64, 1))));
                    }
                }
                Some(place) => places.push(Some(self.cast(&place, Dtype::Int64))),
                None => places.push(None),
            }
        }
        (places.len() <= rank && places.iter().any(Option::is_some)).then_some(places)
    }

    /// The order in which dimensions that are indexed come first, and the points in them.
    pub fn points(&mut self, rank: usize, places: &[Option<Val>]) -> Option<(Vec<usize>, Val)> {
        let named: Vec<usize> = (0..places.len()).filter(|&dim| places[dim].is_some()).collect();
        let rest = (0..rank).filter(|dim| !named.contains(dim));
        let order: Vec<usize> = named.iter().copied().chain(rest).collect();
        let given: Vec<&Val> = places.iter().flatten().collect();
        // Zeros of the shape that all have together.
        let mut together = (*given.first()?).clone();
        for place in given.iter().skip(1) {
            together = self.map("Add", &[&together, place]);
        }
        let zeros = self.map("Sub", &[&together, &together]);
        let mut columns = Vec::new();
        for place in given {
            let column = self.map("Add", &[&zeros, place]);
            columns.push(self.unsqueeze(&column, &[-1]));
        }
        let columns: Vec<&Val> = columns.iter().collect();
        let shape = (Dtype::Int64, zeros.rank + 1);
        let points = self.put("Concat", &columns, vec![attribute::int("axis", -1)], shape);
        Some((order, points))
    }

    /// The dimensions of what was chosen at their place: where the indexed ones were if these were side by side, else
    /// first.
    pub fn back(&mut self, value: &Val, named: &[usize], chosen: usize) -> Val {
        let first = named.first().copied().unwrap_or(0);
        let adjacent = named.iter().enumerate().all(|(index, &dim)| dim == first + index);
        if !adjacent || first == 0 {
            return value.clone();
        }
        let order: Vec<usize> =
            (chosen..chosen + first).chain(0..chosen).chain(chosen + first..value.rank).collect();
        self.permute(value, &order)
    }
}
