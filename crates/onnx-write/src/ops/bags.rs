//! Bags of rows of a table: their sums, means and largest elements.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    let known = matches!(op, "embedding_bag" | "_embedding_bag" | "_embedding_bag_forward_only");
    // What else it gives serves its gradient.
    if !known || overload.contains("out") || (1..4).any(|result| call.is_used(result)) {
        return None;
    }
    let bags = Bags::of(call)?;
    let dtype = work(call.out_dtype()?);
    dtype.is_float().then_some(())?;
    let table = call.operand("weight", dtype)?;
    let along_rows = vec![attribute::int("axis", 0)];
    let mut rows = call.put("Gather", &[&table, &bags.places], along_rows, (dtype, 2));
    let mode = call.int("mode", 0)?;
    if call.has("per_sample_weights") {
        (mode == 0).then_some(())?;
        let weights = call.operand("per_sample_weights", dtype)?;
        let weights = call.unsqueeze(&weights, &[1]);
        rows = call.map("Mul", &[&rows, &weights]);
    }
    let counts = match mode {
        0 => None,
        _ => Some(bags.counts(call, dtype)),
    };
    let made = match (mode, counts) {
        (0, _) => bags.joined(call, &rows, (0.0, "add"), &table),
        (1, Some(counts)) => {
            let sums = bags.joined(call, &rows, (0.0, "add"), &table);
            let least = call.float(1.0, dtype);
            let counts = call.map("Max", &[&counts, &least]);
            call.map("Div", &[&sums, &counts])
        }
        (2, Some(counts)) => {
            let most = bags.joined(call, &rows, (f64::NEG_INFINITY, "max"), &table);
            let zero = call.float(0.0, dtype);
            let empty = call.test("Equal", &[&counts, &zero]);
            call.map("Where", &[&empty, &zero, &most])
        }
        _ => return None,
    };
    let made = if bags.has_end { bags.without_last(call, &made) } else { made };
    Some(vec![Some(made), None, None, None])
}

/// The rows that are chosen, and the bag of each.
struct Bags {
    places: Val,
    /// The bag of each row, as points.
    points: Val,
    /// How many there are, as a vector of one.
    count: Val,
    /// Whether each row counts, where a row of the table stands for none.
    counted: Option<Val>,
    /// Whether the last bag is only where the one before it ends.
    has_end: bool,
}

impl Bags {
    fn of(call: &mut Call<'_, '_, '_>) -> Option<Bags> {
        let places = call.operand("indices", Dtype::Int64)?;
        let begins = call.operand("offsets", Dtype::Int64)?;
        if (places.rank, begins.rank) != (1, 1) {
            return None;
        }
        let has_end = call.flag("include_last_offset", false)?;
        let padding = call.int("padding_idx", -1)?;
        let (rows, count) = (call.size(&places, 0), call.size(&begins, 0));
        let numbers = call.counted(&rows);
        let (numbers, lines) = (call.unsqueeze(&numbers, &[1]), call.unsqueeze(&begins, &[0]));
        let reached = call.test("GreaterOrEqual", &[&numbers, &lines]);
        let reached = Val { rank: 2, ..reached };
        let reached = call.cast(&reached, Dtype::Int64);
        let reached = call.reduce("ReduceSum", &reached, &[1], false);
        let first = call.integer(1, Dtype::Int64);
        let bag = call.map("Sub", &[&reached, &first]);
        let points = call.unsqueeze(&bag, &[1]);
        let counted = (padding >= 0).then(|| {
            let padding = call.integer(padding, Dtype::Int64);
            let is_padding = call.test("Equal", &[&places, &padding]);
            call.map("Not", &[&is_padding])
        });
        Some(Bags { places, points, count, counted, has_end })
    }

    /// A tensor of a row a bag, into which rows are joined.
    fn joined(
        &self,
        call: &mut Call<'_, '_, '_>,
        rows: &Val,
        (nothing, kind): (f64, &str),
        table: &Val,
    ) -> Val {
        let nothing = call.float(nothing, rows.dtype);
        let rows = match &self.counted {
            Some(counted) => {
                let counted = call.unsqueeze(counted, &[1]);
                call.map("Where", &[&counted, rows, &nothing])
            }
            None => rows.clone(),
        };
        let rows = Val { rank: 2, ..rows };
        let width = call.size(table, 1);
        let sizes = call.chained(&[&self.count, &width]);
        self.put(call, &nothing, &sizes, &rows, kind)
    }

    /// How many rows of each bag count, beside each other's row.
    fn counts(&self, call: &mut Call<'_, '_, '_>, dtype: Dtype) -> Val {
        let rows = match &self.counted {
            Some(counted) => call.cast(counted, dtype),
            None => {
                let (one, sizes) = (call.float(1.0, dtype), call.shape(&self.places));
                call.put("Expand", &[&one, &sizes], Vec::new(), (dtype, 1))
            }
        };
        let rows = call.unsqueeze(&rows, &[1]);
        let (zero, width) = (call.float(0.0, dtype), call.constant_vector(&[1]));
        let sizes = call.chained(&[&self.count, &width]);
        self.put(call, &zero, &sizes, &rows, "add")
    }

    fn put(&self, call: &mut Call<'_, '_, '_>, nothing: &Val, sizes: &Val, rows: &Val, kind: &str) -> Val {
        let empty = call.put("Expand", &[nothing, sizes], Vec::new(), (rows.dtype, 2));
        let kind = vec![attribute::string("reduction", kind)];
        call.put("ScatterND", &[&empty, &self.points, rows], kind, (rows.dtype, 2))
    }

    fn without_last(&self, call: &mut Call<'_, '_, '_>, made: &Val) -> Val {
        let [begin, end, axis, step] = [0, -1, 0, 1].map(|value| call.constant_vector(&[value]));
        call.slice(made, [&begin, &end, &axis, &step])
    }
}
