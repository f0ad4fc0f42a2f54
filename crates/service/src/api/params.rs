//! Query parameters.
use crate::problem::{Code, Problem};
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use serde::{Deserialize, Deserializer, de};
use sizewise_check::report::ReportForm;
use sizewise_kernels::Backend;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// How much work an answer may take. A request can ask for less than the service allows, never for more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// The share of the service's work budget that a question may use, in percent.
    pub budget: Option<u32>,
    /// Milliseconds after which the answer is 504; the service's own limit applies if it is shorter.
    pub timeout_ms: Option<u64>,
}

/// Parameters of `entail`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntailParams {
    /// The share of the service's work budget that a question may use, in percent.
    pub budget: Option<u32>,
    /// Milliseconds after which the answer is 504; the service's own limit applies if it is shorter.
    pub timeout_ms: Option<u64>,
    /// Adds the steps of a proof.
    #[serde(default)]
    pub proof: bool,
    /// Adds a certificate.
    #[serde(default)]
    pub certificate: bool,
    /// Adds what each rung of the ladder came to.
    #[serde(default)]
    pub explain: bool,
}

impl EntailParams {
    /// The effort among them.
    pub fn effort(self) -> Effort {
        Effort { budget: self.budget, timeout_ms: self.timeout_ms }
    }
}

/// Parameters of `eval` and `infer`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorParams {
    /// The share of the service's work budget that a question may use, in percent.
    pub budget: Option<u32>,
    /// Milliseconds after which the answer is 504; the service's own limit applies if it is shorter.
    pub timeout_ms: Option<u64>,
    /// The backend whose kernels run the operators.
    #[serde(default, deserialize_with = "named")]
    pub backend: Backend,
}

impl OperatorParams {
    /// The effort among them.
    pub fn effort(self) -> Effort {
        Effort { budget: self.budget, timeout_ms: self.timeout_ms }
    }
}

/// Reads what has a name: a backend, a form of reports.
fn named<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

/// Parameters of `check`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckParams {
    /// The share of the service's work budget that a question may use, in percent.
    pub budget: Option<u32>,
    /// Milliseconds after which the answer is 504; the service's own limit applies if it is shorter.
    pub timeout_ms: Option<u64>,
    /// The format of the report.
    #[serde(default, deserialize_with = "named")]
    pub format: ReportForm,
    /// The backend whose kernels run the program.
    #[serde(default, deserialize_with = "named")]
    pub backend: Backend,
    /// The program's name in the report. No file of that name is looked for.
    pub name: Option<String>,
}

impl CheckParams {
    /// The effort among them.
    pub fn effort(&self) -> Effort {
        Effort { budget: self.budget, timeout_ms: self.timeout_ms }
    }
}

/// A number between 1 and `most`, if the request says one.
fn within<T: Copy + Display + PartialOrd + From<u8>>(
    name: &str,
    given: Option<T>,
    most: T,
    expected: &str,
) -> Result<Option<T>, Problem> {
    match given {
        Some(number) if number < T::from(1) || number > most => {
            let detail = format!("`{name}` is {number}");
            Err(Problem::new(Code::InvalidParameter, detail).at("parameter", name).expecting(expected))
        }
        given => Ok(given),
    }
}

impl Effort {
    /// The share of the budget in percent, and the time that an answer may take if the request says so.
    ///
    /// # Errors
    /// When one of them is out of range.
    pub fn limits(self) -> Result<(u32, Option<Duration>), Problem> {
        let expected = "an integer from 1 to 100: percent of the service's budget";
        let share = within("budget", self.budget, 100, expected)?;
        let time = within("timeout_ms", self.timeout_ms, 3_600_000, "an integer from 1 to 3600000")?;
        Ok((share.unwrap_or(100), time.map(Duration::from_millis)))
    }
}

/// Parameters, or why they cannot be read.
pub type Read<T> = Result<Query<T>, QueryRejection>;

/// The parameters.
///
/// # Errors
/// [`Code::InvalidParameter`].
pub fn read<T>(query: Read<T>) -> Result<T, Problem> {
    query
        .map(|Query(params)| params)
        .map_err(|rejection| Problem::new(Code::InvalidParameter, rejection.body_text()).at("in", "query"))
}
