//! Questions on expressions that are given as arguments: one question, and an answer for people.
use super::args::Reasoning;
use super::failure::{Failure, Result};
use super::files;
use crate::escape;
use crate::query::{Fields, Refusal};
use clap::Args;
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::fmt::Write;
use std::process::ExitCode;

/// The exit statuses of answers.
const VIOLATED: u8 = 1;
const CONTRADICTORY: u8 = 2;
const UNDECIDED: u8 = 4;

const CONTRADICTION: &str = "the assumptions contradict each other";

/// A question about one expression.
#[derive(Args, Debug)]
pub struct ExpressionOptions {
    /// The expression; without one, JSON lines are read from standard input.
    #[arg(value_name = "EXPRESSION")]
    pub expression: Option<String>,
    /// Conditions that are assumed, such as 's0 >= 2'.
    #[arg(value_name = "CONDITION", requires = "expression")]
    pub assumed: Vec<String>,
    /// A condition that is assumed, the same as one behind the expression; may be repeated.
    #[arg(long, value_name = "CONDITION", requires = "expression")]
    pub given: Vec<String>,
    /// Options for reasoning and JSON lines.
    #[command(flatten)]
    pub reasoning: Reasoning,
}

/// A question about guards.
#[derive(Args, Debug)]
pub struct GuardSetOptions {
    /// The guards; without any, JSON lines are read from standard input.
    #[arg(value_name = "GUARD")]
    pub guards: Vec<String>,
    /// Options for reasoning and JSON lines.
    #[command(flatten)]
    pub reasoning: Reasoning,
}

/// An answer for people, and the exit status.
struct Shown {
    text: String,
    status: u8,
}

impl Shown {
    fn print(self) -> Result<ExitCode> {
        files::write(None, &escape::lines(&self.text))?;
        Ok(ExitCode::from(self.status))
    }
}

/// What the fields of requests are to people who write arguments.
const FIELDS: [(&str, &str); 4] =
    [("given", "assumption"), ("expr", "expression"), ("goal", "goal"), ("guards", "guard")];

fn refused(refusal: Refusal) -> Failure {
    let named = FIELDS.iter().find_map(|(field, what)| {
        let rest = refusal.message.strip_prefix(&format!("`{field}`: "))?;
        Some(format!("the {what} cannot be read: {rest}"))
    });
    Failure::usage(format!("{}{}", named.unwrap_or(refusal.message), refusal.excerpt))
}

/// `entail 's0 % 8 == 0' '=> s0 >= 8'`.
///
/// # Errors
/// When there is no goal or more than one, or an expression cannot be read.
pub fn entails(
    question: &[String],
    answer: &dyn Fn(&Fields) -> std::result::Result<Fields, Refusal>,
) -> Result<ExitCode> {
    let reply = answer(&entailment(question)?).map_err(refused)?;
    entailed(&reply, question).print()
}

/// The request of a question in words: conditions, and one goal behind `=>`.
fn entailment(words: &[String]) -> Result<Fields> {
    let (mut given, mut goal): (Vec<&str>, Option<&str>) = (Vec::new(), None);
    for word in words {
        let (before, after) = match word.split_once("=>") {
            Some((before, after)) => (before.trim(), Some(after.trim())),
            None => (word.trim(), None),
        };
        if goal.is_some() {
            let message = format!("`{before}` stands behind the goal: the goal is the last argument");
            return Err(Failure::usage(message));
        }
        if !before.is_empty() {
            given.push(before);
        }
        goal = after;
    }
    match goal {
        Some(goal) if goal.contains("=>") => Err(Failure::usage("a second `=>`: a question has one goal")),
        Some("") => Err(Failure::usage("the goal is missing behind `=>`")),
        Some(goal) => Ok(object(json!({"given": given, "goal": goal}))),
        None => {
            let message = "the goal is missing: write it last, behind `=>`, as in \
                           `sizewise entail 's0 % 8 == 0' '=> s0 >= 8'`";
            Err(Failure::usage(message))
        }
    }
}

fn object(json: Json) -> Fields {
    match json {
        Json::Object(fields) => fields,
        _ => Fields::new(),
    }
}

fn strings(json: Option<&Json>) -> Vec<&str> {
    json.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect()
}

/// `s0 = 8, s1 = 3`.
fn assignment(json: &Json) -> String {
    let fields = json.as_object().into_iter().flatten();
    fields.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// `Ne(a, 0)` as `a != 0`, and `Eq(a, 0)` as `a == 0`: people read operators. Other text stays as it is.
fn infix(text: &str) -> Cow<'_, str> {
    for (call, operator) in [("Ne(", "!="), ("Eq(", "==")] {
        let Some(inside) = text.strip_prefix(call).and_then(|rest| rest.strip_suffix(')')) else { continue };
        let (mut depth, mut comma) = (0_i32, None);
        for (at, c) in inside.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => comma = comma.or(Some(at)),
                _ => {}
            }
            // The call ends before the text does.
            if depth < 0 {
                return text.into();
            }
        }
        if let Some((left, right)) = comma.map(|at| inside.split_at(at)) {
            return format!("{} {operator} {}", left.trim(), right.trim_start_matches(',').trim()).into();
        }
    }
    text.into()
}

/// The premises of an answer, in one line.
fn premises(reply: &Fields) -> String {
    strings(reply.get("because")).into_iter().map(infix).collect::<Vec<_>>().join(", ")
}

/// What is said where the assumptions contradict each other.
fn contradictory(reply: &Fields, what: &str) -> Option<Shown> {
    reply.get("inconsistent").and_then(Json::as_bool).filter(|&found| found)?;
    let mut text = format!("{what}: {CONTRADICTION}\n");
    let because = premises(reply);
    if !because.is_empty() {
        let _ = writeln!(text, "  because     {because}");
    }
    steps(&mut text, reply);
    Some(Shown { text, status: CONTRADICTORY })
}

fn entailed(reply: &Fields, words: &[String]) -> Shown {
    let goal = words.join(" ");
    let goal = goal.rsplit("=>").next().unwrap_or_default().trim();
    let because = premises(reply);
    let (first, status) = match reply.get("verdict").and_then(Json::as_str) {
        Some("implied") => (format!("implied: {goal}"), 0),
        Some("inconsistent") => (format!("nothing to decide: {CONTRADICTION}"), CONTRADICTORY),
        Some("refuted") => {
            let at = reply.get("witness").map(assignment).filter(|at| !at.is_empty());
            let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
            (format!("not implied: {goal} is false{at}"), VIOLATED)
        }
        _ => (format!("undecided: {goal}"), UNDECIDED),
    };
    let mut text = format!("{first}\n");
    // Writing to a string cannot fail.
    if !because.is_empty() {
        let _ = writeln!(text, "  because     {because}");
    }
    if let Some(rung) = reply.get("decided_by").and_then(Json::as_str) {
        let _ = writeln!(text, "  decided by  {rung}");
    }
    if let Some(reason) = reply.get("reason").and_then(Json::as_str) {
        let _ = writeln!(text, "  reason      {reason}");
    }
    if status == UNDECIDED {
        text.push_str("  a larger budget may decide it: --budget 10\n");
    }
    steps(&mut text, reply);
    settling(&mut text, reply);
    if let Some(certificate) = reply.get("certificate").and_then(Json::as_str) {
        text.push_str(certificate);
    }
    Shown { text, status }
}

/// The steps of a proof, and the attempts of the rungs.
fn steps(text: &mut String, reply: &Fields) {
    for (field, name, says, width) in [("proof", "rule", "says", 13), ("explain", "rung", "outcome", 12)] {
        let Some(steps) = reply.get(field).and_then(Json::as_array).filter(|steps| !steps.is_empty()) else {
            continue;
        };
        let _ = writeln!(text, "  {field}");
        for step in steps {
            let part = |key: &str| step.get(key).and_then(Json::as_str).unwrap_or_default();
            let depth = step.get("depth").and_then(Json::as_u64).map_or(0, |depth| depth.min(40) as usize);
            let _ = writeln!(
                text,
                "{:indent$}{:<width$}  {}",
                "",
                part(name),
                part(says),
                indent = 4 + 2 * depth
            );
        }
    }
}

/// What the method that settled a question came to: the last of those that were tried.
fn settling(text: &mut String, reply: &Fields) {
    let Some(tried) = reply.get("explain").and_then(Json::as_array) else { return };
    let outcome = match reply.get("verdict").and_then(Json::as_str) {
        Some("implied") => "a proof",
        Some("refuted") => "a counterexample",
        Some("inconsistent") => "the assumptions contradict each other",
        _ => return,
    };
    if let Some(rung) = reply.get("decided_by").and_then(Json::as_str) {
        if tried.is_empty() {
            text.push_str("  explain\n");
        }
        let _ = writeln!(text, "    {rung:<12}  {outcome}");
    }
}

/// The request of a question about one expression.
pub(super) fn about(options: &ExpressionOptions) -> Option<Fields> {
    let expression = options.expression.as_ref()?;
    let given: Vec<&String> = options.assumed.iter().chain(&options.given).collect();
    Some(object(json!({"given": given, "expr": expression})))
}

/// Prints the simplified expression.
///
/// # Errors
/// When an expression cannot be read.
pub(super) fn simplified(reply: std::result::Result<Fields, Refusal>) -> Result<ExitCode> {
    let reply = reply.map_err(refused)?;
    if let Some(shown) = contradictory(&reply, "nothing to simplify") {
        return shown.print();
    }
    let expr = reply.get("expr").and_then(Json::as_str).unwrap_or_default();
    let mut text = format!("{}\n", infix(expr));
    steps(&mut text, &reply);
    Shown { text, status: 0 }.print()
}

/// Prints the least and the greatest value.
///
/// # Errors
/// When an expression cannot be read.
pub(super) fn bounded(reply: std::result::Result<Fields, Refusal>) -> Result<ExitCode> {
    let reply = reply.map_err(refused)?;
    if let Some(shown) = contradictory(&reply, "no value") {
        return shown.print();
    }
    let exact = reply.get("exact").and_then(Json::as_bool).unwrap_or(false);
    let mut text = String::new();
    for (end, word, at) in [("min", "least", "min_at"), ("max", "greatest", "max_at")] {
        let at = reply.get(at).map(assignment).filter(|at| !at.is_empty());
        let at = at.map(|at| format!(", at {at}")).unwrap_or_default();
        let _ = match reply.get(end) {
            None | Some(Json::Null) if exact => writeln!(text, "{word:<9} none: there is no bound"),
            None | Some(Json::Null) => writeln!(text, "{word:<9} not found"),
            Some(value) => writeln!(text, "{word:<9} {value}{at}"),
        };
    }
    if !exact {
        text.push_str(
            "these are bounds; whether each is a value was not decided (--budget 10 tries longer)\n",
        );
    }
    steps(&mut text, &reply);
    Shown { text, status: 0 }.print()
}

/// The request of a question about guards.
pub(super) fn among(options: &GuardSetOptions) -> Option<Fields> {
    (!options.guards.is_empty()).then(|| object(json!({"guards": options.guards})))
}

/// Prints the guards that are needed, and why the others are not.
///
/// # Errors
/// When a guard cannot be read.
pub(super) fn minimized(reply: std::result::Result<Fields, Refusal>) -> Result<ExitCode> {
    let reply = reply.map_err(refused)?;
    let mut text = String::new();
    for guard in strings(reply.get("guards")) {
        let _ = writeln!(text, "{}", infix(guard));
    }
    for dropped in reply.get("dropped").and_then(Json::as_array).into_iter().flatten() {
        let guard = dropped.get("guard").and_then(Json::as_str).unwrap_or_default();
        let because = strings(dropped.get("because"));
        let because = match because.as_slice() {
            [] => "always holds".to_owned(),
            facts => {
                let facts: Vec<_> = facts.iter().map(|fact| infix(fact)).collect();
                format!("follows from {}", facts.join(", "))
            }
        };
        let _ = writeln!(text, "  redundant: {guard} ({because})");
    }
    steps(&mut text, &reply);
    Shown { text, status: 0 }.print()
}

/// The request of `x=3,8 y=4`; `is_tensor` says what an input is, if there is one of this name.
///
/// # Errors
/// When an argument is no input with its sizes.
pub(super) fn shapes(words: &[String], is_tensor: &dyn Fn(&str) -> Option<bool>) -> Result<Fields> {
    let (mut shapes, mut scalars) = (Fields::new(), Fields::new());
    for word in words {
        let wrong = || {
            Failure::usage(format!(
                "`{word}`: expected an input and its sizes, such as `x=3,8` (`x=[]` for a tensor without dimensions), or \
                 the value of an input that is a number"
            ))
        };
        let (name, value) = word.split_once('=').ok_or_else(wrong)?;
        let (name, value) = (name.trim(), value.trim());
        if is_tensor(name) == Some(false) && value != "[]" {
            let value = match value {
                "True" | "true" => Json::from(true),
                "False" | "false" => Json::from(false),
                "None" => Json::Null,
                other => {
                    serde_json::from_str::<serde_json::Number>(other).map_or(Json::from(other), Json::from)
                }
            };
            scalars.insert(name.to_owned(), value);
            continue;
        }
        // A sequence of a model, by the sizes of its tensors; an optional value that holds nothing.
        if value.starts_with("[[") || value == "None" {
            let json = if value == "None" {
                Json::Null
            } else {
                serde_json::from_str(value).map_err(|_| wrong())?
            };
            shapes.insert(name.to_owned(), json);
            continue;
        }
        let sizes = value.strip_prefix('[').and_then(|inside| inside.strip_suffix(']')).unwrap_or(value);
        // As in Python, a comma may stand behind the last size.
        let sizes = sizes.strip_suffix(',').unwrap_or(sizes);
        let sizes = sizes.split(',').map(str::trim).filter(|_| !sizes.is_empty());
        let sizes: Option<Vec<u64>> = sizes.map(|size| size.parse().ok()).collect();
        if shapes.insert(name.to_owned(), sizes.ok_or_else(wrong)?.into()).is_some() {
            return Err(Failure::usage(format!("`{word}`: the input `{name}` is given twice")));
        }
    }
    Ok(object(json!({"shapes": shapes, "scalars": scalars})))
}

/// Prints what happens to inputs; `outputs` are the names of the outputs, if they have any.
///
/// # Errors
/// When the shapes do not fit the program.
pub(super) fn evaluated(reply: std::result::Result<Fields, Refusal>) -> Result<ExitCode> {
    let reply = reply.map_err(refused)?;
    if reply.get("ok").and_then(Json::as_bool) == Some(true) {
        let mut text = String::from("accepted\n");
        let values = reply.get("values").and_then(Json::as_array);
        for (at, output) in reply.get("outputs").and_then(Json::as_array).into_iter().flatten().enumerate() {
            let shape = match output.as_array() {
                Some(sizes) => {
                    let sizes = sizes.iter().map(|s| s.as_str().map_or_else(|| s.to_string(), str::to_owned));
                    format!("[{}]", sizes.collect::<Vec<_>>().join(", "))
                }
                None => match values.and_then(|values| values.get(at)).filter(|value| !value.is_null()) {
                    Some(Json::String(value)) => value.clone(),
                    Some(value) => value.to_string(),
                    None => "no tensor".to_owned(),
                },
            };
            let _ = writeln!(text, "  output {at}   {shape}");
        }
        let asserted = strings(reply.get("runtime_asserts"));
        if !asserted.is_empty() {
            let _ = writeln!(text, "  if, at run time: {}", asserted.join(", "));
        }
        let traced = strings(reply.get("as_traced"));
        if !traced.is_empty() {
            let _ = writeln!(text, "  not given, so as it was traced: {}", traced.join(", "));
        }
        return Shown { text, status: 0 }.print();
    }
    let part = |key: &str| reply.get(key).and_then(Json::as_str).map(str::to_owned);
    let is_unknown = part("error_kind").as_deref() == Some("unsupported");
    let (word, status) = if is_unknown { ("not known", UNDECIDED) } else { ("refused", VIOLATED) };
    let error = part("error").unwrap_or_default();
    let mut text = format!("{word}: {error}\n");
    // The guard as the file has it says the same at length.
    let is_said = |field: &str| field == "expr" && error.starts_with("guard failed: ");
    for (field, label) in [("node", "at node"), ("expr", "condition")] {
        if let Some(value) = part(field).filter(|_| !is_said(field)) {
            let _ = writeln!(text, "  {label:<12} {value}");
        }
    }
    Shown { text, status }.print()
}
