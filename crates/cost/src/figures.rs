//! The figures as texts and numbers.
use super::{Cost, Share};
use indexmap::IndexMap;
use serde_json::{Map, Value as Json, json};
use sizewise_expr::{Evaluator, Expr, Int, Symbol, Value, print};

/// Sizes of inputs, by name.
pub type Sizes = IndexMap<String, Vec<i64>>;

/// Figures of a program at one choice of sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Floating point operations.
    pub flops: Int,
    /// The bytes of all that is made.
    pub activation_bytes: Int,
    /// The most bytes that are live together, of what is made.
    pub peak_bytes: Int,
}

impl Cost {
    /// Whether the figures leave out and guess nothing.
    pub fn is_exact(&self) -> bool {
        self.reasons.is_empty()
    }

    /// An expression in the program's symbols: `2*s0*s1`.
    pub fn text(&self, e: Expr) -> String {
        print::expression(&self.env.pool, e)
    }

    /// An expression in the sizes of inputs: `2*x.shape[0]*y.shape[1]`.
    pub fn shown(&self, e: Expr) -> String {
        let pool = &self.env.pool;
        print::python(pool, e, &|symbol| match self.symbols.iter().find(|(known, _)| *known == symbol) {
            Some((_, source)) => source.clone(),
            None => pool.symbol_name(symbol).to_string(),
        })
    }

    /// Whether some size of an input, by its placeholder, is one of the symbols.
    pub fn varies(&self, input: &str) -> bool {
        self.places.iter().any(|(_, source)| place(source).is_some_and(|(known, _)| known == input))
    }

    /// The figures at sizes of inputs.
    ///
    /// # Errors
    /// When a size that they depend on is not given, or an input has no such dimension.
    pub fn at(&self, sizes: &Sizes) -> Result<Numbers, String> {
        let mut values: IndexMap<Symbol, Int> = IndexMap::new();
        for (symbol, source) in &self.places {
            let Some((input, dim)) = place(source) else { continue };
            let Some(given) = sizes.get(input) else { continue };
            let size = given
                .get(dim)
                .ok_or_else(|| format!("`{input}` has more than the {} sizes that are given", given.len()))?;
            if let Some(other) =
                values.insert(*symbol, Int::from(*size)).filter(|other| *other != Int::from(*size))
            {
                return Err(format!("{source} is {size} and {other}"));
            }
        }
        let value = |symbol: Symbol| values.get(&symbol).cloned().map(Value::Int);
        let number = |e: Expr| {
            Evaluator::new(&self.env.pool, value).int(e).map_err(|_| {
                let missing = self.env.pool.free_symbols(&[e]).into_iter().find(|s| !values.contains_key(s));
                match missing.and_then(|missing| self.symbols.iter().find(|(s, _)| *s == missing)) {
                    Some((_, source)) => format!("give {source}, on which the figures depend"),
                    None => "the figures depend on sizes that data decide".to_owned(),
                }
            })
        };
        let peaks = self.peak_bytes.iter().map(|&e| number(e)).collect::<Result<Vec<Int>, _>>()?;
        Ok(Numbers {
            flops: number(self.flops)?,
            activation_bytes: number(self.activation_bytes)?,
            peak_bytes: peaks.into_iter().max().unwrap_or_default(),
        })
    }

    /// All figures as JSON; those at `sizes` too, if they are given.
    ///
    /// # Errors
    /// As [`Cost::at`].
    pub fn json(&self, sizes: Option<&Sizes>) -> Result<Json, String> {
        let symbols: Map<String, Json> = self
            .symbols
            .iter()
            .map(|(symbol, source)| {
                (self.env.pool.symbol_name(*symbol).to_string(), json!({ "source": source }))
            })
            .collect();
        let shares = |shares: &IndexMap<String, Share>| {
            let share =
                |share: &Share| json!({"flops": self.text(share.flops), "bytes": self.text(share.bytes)});
            Json::Object(shares.iter().map(|(key, of)| (key.clone(), share(of))).collect())
        };
        let peak = match self.peak_bytes.as_slice() {
            [one] => Json::from(self.text(*one)),
            several => json!({"max": several.iter().map(|&e| self.text(e)).collect::<Vec<_>>()}),
        };
        let mut answer = json!({
            "symbols": symbols,
            "flops": self.text(self.flops),
            "activation_bytes": self.text(self.activation_bytes),
            "peak_bytes": peak,
            "input_bytes": self.text(self.input_bytes),
            "parameter_bytes": self.text(self.parameter_bytes),
            "buffer_bytes": self.text(self.buffer_bytes),
            "constant_bytes": self.text(self.constant_bytes),
            "output_bytes": self.text(self.output_bytes),
            "exact": self.is_exact(),
            "reasons": self.reasons,
            "by_op": shares(&self.by_op),
            "by_module": shares(&self.by_module),
            "by_line": shares(&self.by_line),
        });
        if let Some(sizes) = sizes {
            let Numbers { flops, activation_bytes, peak_bytes } = self.at(sizes)?;
            answer["at"] = json!({
                "flops": number(&flops),
                "activation_bytes": number(&activation_bytes),
                "peak_bytes": number(&peak_bytes),
            });
        }
        Ok(answer)
    }
}

/// The input and the dimension that a source names: `x.shape[0]`.
fn place(source: &str) -> Option<(&str, usize)> {
    let (input, dim) = source.strip_suffix(']')?.rsplit_once(".shape[")?;
    Some((input, dim.parse().ok()?))
}

/// As a number where JSON has it, else as text.
fn number(value: &Int) -> Json {
    value.to_i64().map_or_else(|| Json::from(value.to_string()), Json::from)
}
