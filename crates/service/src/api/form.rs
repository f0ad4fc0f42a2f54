//! Requests with a program: as the body, or as a part of a form.
use crate::app::App;
use crate::intake::{self, Held, Media};
use crate::problem::{Code, Problem};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use indexmap::IndexMap;
use sizewise_expr::escape::is_hidden;
use sizewise_ir::pt2::{Limits as ReadLimits, ReadOptions};
use sizewise_kernels::Backend;
use sizewise_onnx::subject::Subject;

/// The name of a program without a name.
const NAMELESS: &str = "program.pt2";
/// The longest name; longer ones are cut.
const MAX_NAME: usize = 255;

/// A part of a form.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of the file, if the client gives one.
    pub file: Option<String>,
    /// The content.
    pub bytes: Bytes,
}

/// A program and the other parts of its request.
pub struct Upload<'a> {
    /// The name in reports.
    pub name: String,
    /// The program's bytes.
    pub program: Bytes,
    /// The other parts, by name.
    pub parts: IndexMap<String, Part>,
    _held: Held<'a>,
}

/// The name of a file for reports: without folders and invisible characters.
fn plain(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|c| !is_hidden(*c)).take(MAX_NAME).collect();
    (!name.trim().is_empty()).then_some(name)
}

/// Reads a request with a program: the body if `bare` allows, or the part `program` of a form with no other parts than
/// `others`.
///
/// # Errors
/// When the body is too large, malformed, or has other parts.
pub async fn take<'a>(
    app: &'a App,
    headers: &HeaderMap,
    body: Body,
    name: Option<&str>,
    others: &[&str],
    bare: bool,
) -> Result<Upload<'a>, Problem> {
    let taken: &[Media] = if bare { &[Media::Bytes, Media::Form] } else { &[Media::Form] };
    let media = intake::media(headers, taken)?;
    let held = intake::whole(app, headers, body, app.config.limits.body).await?;
    let given = name.and_then(plain);
    if media == Media::Bytes {
        let name = given.unwrap_or_else(|| NAMELESS.to_string());
        return Ok(Upload { name, program: held.bytes.clone(), parts: IndexMap::new(), _held: held });
    }
    let mut parts = parts(headers, held.bytes.clone(), others).await?;
    let Some(program) = parts.shift_remove("program") else {
        return Err(Problem::new(Code::Invalid, "the form has no part `program`")
            .at("part", "program")
            .expecting("a .pt2 or .onnx file"));
    };
    let name = given.or_else(|| plain(program.file.as_deref()?)).unwrap_or_else(|| NAMELESS.to_string());
    Ok(Upload { name, program: program.bytes, parts, _held: held })
}

async fn parts(headers: &HeaderMap, body: Bytes, others: &[&str]) -> Result<IndexMap<String, Part>, Problem> {
    let broken = |error: String| Problem::new(Code::BrokenBody, format!("the form is malformed: {error}"));
    let boundary = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let boundary = boundary.ok_or(multer::Error::NoBoundary).and_then(multer::parse_boundary);
    let boundary = boundary.map_err(|error| broken(error.to_string()))?;
    let stream = futures_util::stream::iter([Ok::<_, std::convert::Infallible>(body)]);
    let mut form = multer::Multipart::new(stream, boundary);
    let mut parts = IndexMap::new();
    while let Some(field) = form.next_field().await.map_err(|error| broken(error.to_string()))? {
        let name = field.name().unwrap_or_default().to_string();
        if name != "program" && !others.contains(&name.as_str()) {
            let known = std::iter::once(&"program").chain(others).map(|name| format!("`{name}`"));
            let expected = known.collect::<Vec<_>>().join(", ");
            return Err(Problem::new(Code::Invalid, "the form has an unknown part")
                .at("part", name)
                .expecting(expected));
        }
        let file = field.file_name().map(str::to_string);
        let bytes = field.bytes().await.map_err(|error| broken(error.to_string()))?;
        if parts.insert(name.clone(), Part { file, bytes }).is_some() {
            return Err(Problem::new(Code::Invalid, "the form has a part twice").at("part", name));
        }
    }
    Ok(parts)
}

/// Reads a program or a model within the service's limits, to be run by a backend. Blocks.
///
/// # Errors
/// When it cannot be read, or is too large.
pub fn read(app: &App, name: &str, program: &Bytes, backend: Backend) -> Result<Subject, Problem> {
    let limits = &app.config.limits;
    let reading = ReadLimits { model_bytes: limits.unpacked, ..ReadLimits::default() };
    let options = ReadOptions { limits: reading, ..ReadOptions::default() };
    let subject = Subject::read(name, program.clone(), &options)?.on(backend)?;
    let nodes = subject.nodes();
    if nodes > limits.nodes {
        return Err(Problem::new(Code::TooManyNodes, format!("the program has {nodes} nodes"))
            .expecting(format!("at most {} nodes", limits.nodes)));
    }
    Ok(subject)
}
