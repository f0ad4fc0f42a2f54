//! Parameters of the address.
use crate::problem::{Code, Problem};
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use serde::Deserialize;
use std::time::Duration;
use utoipa::IntoParams;

/// How much work an answer may take. A request can ask for less than the service allows, never for more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// The share of the service's budget of counted work, in hundredths.
    #[param(minimum = 1, maximum = 100)]
    pub budget: Option<u32>,
    /// Milliseconds after which the request is answered with 504; the service's own limit holds where it is shorter.
    #[param(minimum = 1, maximum = 3_600_000)]
    pub timeout_ms: Option<u64>,
}

/// Parameters of `entail`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct EntailParams {
    /// The share of the service's budget of counted work, in hundredths.
    #[param(minimum = 1, maximum = 100)]
    pub budget: Option<u32>,
    /// Milliseconds after which the request is answered with 504; the service's own limit holds where it is shorter.
    #[param(minimum = 1, maximum = 3_600_000)]
    pub timeout_ms: Option<u64>,
    /// Adds the steps of a proof.
    #[serde(default)]
    #[param(required = false)]
    pub proof: bool,
    /// Adds what each rung of the ladder came to.
    #[serde(default)]
    #[param(required = false)]
    pub explain: bool,
}

impl EntailParams {
    /// The effort among them.
    pub fn effort(self) -> Effort {
        Effort { budget: self.budget, timeout_ms: self.timeout_ms }
    }
}

/// The forms of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReportForm {
    /// The report as JSON.
    #[default]
    Json,
    /// The report with the graph, for pages.
    View,
    /// A page.
    Html,
    /// SARIF 2.1.0.
    Sarif,
    /// GitHub workflow commands.
    Github,
    /// As torch words constraint violations.
    Torch,
    /// For people.
    Text,
}

/// Parameters of `check`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CheckParams {
    /// The share of the service's budget of counted work, in hundredths.
    #[param(minimum = 1, maximum = 100)]
    pub budget: Option<u32>,
    /// Milliseconds after which the request is answered with 504; the service's own limit holds where it is shorter.
    #[param(minimum = 1, maximum = 3_600_000)]
    pub timeout_ms: Option<u64>,
    /// The form of the report.
    #[serde(default)]
    #[param(required = false, inline)]
    pub format: ReportForm,
    /// The program's name in the report. No file of that name is looked for.
    #[param(max_length = 255)]
    pub name: Option<String>,
}

impl CheckParams {
    /// The effort among them.
    pub fn effort(&self) -> Effort {
        Effort { budget: self.budget, timeout_ms: self.timeout_ms }
    }
}

impl Effort {
    /// The share of the budget in hundredths.
    ///
    /// # Errors
    /// When it is none, or more than the whole.
    pub fn share(self) -> Result<u32, Problem> {
        match self.budget {
            None => Ok(100),
            Some(share @ 1..=100) => Ok(share),
            Some(other) => Err(Problem::new(Code::InvalidParameter, format!("a budget of {other}"))
                .at("parameter", "budget")
                .expecting("an integer from 1 to 100: hundredths of the service's budget")),
        }
    }

    /// The time that an answer may take, if the request says so.
    ///
    /// # Errors
    /// When it is no time, or too long.
    pub fn deadline(self) -> Result<Option<Duration>, Problem> {
        match self.timeout_ms {
            None => Ok(None),
            Some(ms @ 1..=3_600_000) => Ok(Some(Duration::from_millis(ms))),
            Some(other) => Err(Problem::new(Code::InvalidParameter, format!("a timeout of {other} ms"))
                .at("parameter", "timeout_ms")
                .expecting("an integer from 1 to 3600000")),
        }
    }
}

/// The parameters, if they can be understood.
///
/// # Errors
/// [`Code::InvalidParameter`].
pub fn read<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Problem> {
    query
        .map(|Query(params)| params)
        .map_err(|rejection| Problem::new(Code::InvalidParameter, rejection.body_text()).at("in", "query"))
}
