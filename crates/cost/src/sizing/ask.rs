//! Questions about sizes as JSON: what the service and Python ask.
use super::{Fit, Serving, Sizing, SizingError, memory};
use serde_json::{Map, Value as Json, json};
use sizewise_expr::Int;
use sizewise_expr::escape::abridged;

/// The alignment of a plan where none is given.
pub const ALIGNMENT: u64 = 16;

/// The fields of a question.
type Fields = Map<String, Json>;

fn wrong(message: impl Into<String>) -> SizingError {
    SizingError::Question(message.into())
}

/// Refuses a question that has other fields than these.
fn only(fields: &Fields, known: &[&str]) -> Result<(), SizingError> {
    match fields.keys().find(|key| *key != "ask" && !known.contains(&key.as_str())) {
        Some(key) => {
            Err(wrong(format!("there is no field `{}` here; there are {}", abridged(key), known.join(", "))))
        }
        None => Ok(()),
    }
}

fn text<'f>(fields: &'f Fields, key: &str) -> Result<Option<&'f str>, SizingError> {
    match fields.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(format!("`{key}`: expected a text"))),
    }
}

fn whole(fields: &Fields, key: &str) -> Result<Option<u64>, SizingError> {
    match fields.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(number) => number
            .as_u64()
            .map(Some)
            .ok_or_else(|| wrong(format!("`{key}`: expected an integer of at least 0"))),
    }
}

impl Sizing<'_> {
    /// The answer to a question: `{"ask": "bounds", "values": [...]}`, `{"ask": "plan", "align": 16}`,
    /// `{"ask": "fit", "memory": "24GB", "maximize": "x.0", "given": {"x.1": 8}, "frontier": "y.0"}`,
    /// `{"ask": "profile"}`, `{"ask": "buckets", "count": 4}` or `{"ask": "buckets", "padding": 0.25}`.
    ///
    /// # Errors
    /// When the question is malformed, or has no answer.
    pub fn answer(&mut self, fields: &Fields) -> Result<Json, SizingError> {
        match text(fields, "ask")? {
            Some("bounds") => self.answer_bounds(fields),
            Some("plan") => {
                only(fields, &["align"])?;
                Ok(self.plan(whole(fields, "align")?.unwrap_or(ALIGNMENT))?.json())
            }
            Some("fit") => self.answer_fit(fields),
            Some("profile") => {
                only(fields, &[])?;
                Ok(self.profile()?.json())
            }
            Some("buckets") => {
                only(fields, &["count", "padding"])?;
                let padding = fields.get("padding").filter(|padding| !padding.is_null());
                let serving = match (whole(fields, "count")?, padding) {
                    (Some(count), None) => Serving::Count(usize::try_from(count).unwrap_or(usize::MAX)),
                    (None, Some(padding)) => {
                        let number = padding.as_f64();
                        Serving::Padding(
                            number.ok_or_else(|| wrong("`padding`: expected a number such as 0.25"))?,
                        )
                    }
                    _ => return Err(wrong("buckets need a `count` or a `padding`, and not both")),
                };
                Ok(self.buckets(serving)?.json())
            }
            _ => Err(wrong("`ask`: expected bounds, plan, fit, profile or buckets")),
        }
    }

    fn answer_bounds(&mut self, fields: &Fields) -> Result<Json, SizingError> {
        only(fields, &["values"])?;
        let names = match fields.get("values") {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(names)) => names
                .iter()
                .map(|name| name.as_str().map(str::to_owned).ok_or_else(|| wrong("`values`: expected names")))
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(wrong("`values`: expected a list of names")),
        };
        self.keep_values(&names)?;
        let values = self.values();
        Ok(json!({"values": values.iter().map(|value| self.value_json(value)).collect::<Vec<_>>()}))
    }

    fn answer_fit(&mut self, fields: &Fields) -> Result<Json, SizingError> {
        only(fields, &["memory", "maximize", "given", "frontier"])?;
        let memory = match fields.get("memory") {
            Some(Json::String(text)) => memory(text)?,
            Some(Json::Number(number)) => {
                let bytes = number.as_i64().filter(|bytes| *bytes >= 0).ok_or_else(|| {
                    wrong(format!("`memory`: expected a number of bytes of at least 0, not {number}"))
                })?;
                Int::from(bytes)
            }
            _ => return Err(wrong("`memory`: expected an amount such as \"24GB\"")),
        };
        let maximize = text(fields, "maximize")?.map(str::to_owned);
        let given = match fields.get("given") {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Object(given)) => {
                let size = |(name, size): (&String, &Json)| {
                    let size = size.as_i64().ok_or_else(|| wrong("`given`: sizes are integers"))?;
                    Ok((name.clone(), Int::from(size)))
                };
                given.iter().map(size).collect::<Result<_, SizingError>>()?
            }
            Some(_) => return Err(wrong("`given`: expected sizes by dimension")),
        };
        let fit = Fit { memory, maximize, given };
        Ok(match text(fields, "frontier")? {
            None => self.fit(&fit)?.json(),
            Some(other) => {
                let frontier = self.frontier(&fit, other)?;
                let mut answer = frontier.json();
                answer["svg"] = Json::from(frontier.svg());
                answer
            }
        })
    }
}
