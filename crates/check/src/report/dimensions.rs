//! The table that the report of a violated program begins with: a row a dimension that the first fix changes.
use super::change::{Changed, DimensionReport};
use super::errors::own_and_follow;
use super::model::{GuardReport, Report};
use super::words::has_word;
use crate::spec::range_in_words;
use serde_json::Value as Json;

/// The rows, in the order of the fix.
pub fn dimensions(report: &Report) -> Vec<DimensionReport> {
    let Some(fix) = report.fixes.first() else { return Vec::new() };
    let (errors, _) = own_and_follow(report);
    let rows = fix.changes.iter().map(|change| row(report, &errors, change));
    // One that only got a name, for another to be equal to it, is as it was.
    rows.filter(|row| row.allows != row.needs).collect()
}

fn row(report: &Report, errors: &[&GuardReport], change: &Changed) -> DimensionReport {
    let dim = &change.dim;
    let speaks = |symbol: &super::model::SymbolReport| {
        let is_there = change.source.is_some() && symbol.source == change.source;
        symbol.dim.as_ref() == Some(dim) || symbol.source.as_ref() == Some(dim) || is_there
    };
    let found = report.symbols.iter().find(|(_, symbol)| speaks(symbol));
    let is_left_static = |guard: &&&GuardReport| {
        let related = guard.relation.as_ref().map(|relation| &relation.size);
        guard.left_static.as_ref() == Some(dim) || related == Some(dim)
    };
    let (allows, source) = match found {
        Some((_, symbol)) => {
            let end = |bound: &Option<Json>| bound.as_ref().and_then(Json::as_i64);
            (range_in_words(end(&symbol.min).unwrap_or(0), end(&symbol.max)), symbol.source.clone())
        }
        None => (given(report, dim), None),
    };
    let about = errors
        .iter()
        .filter(|guard| is_left_static(guard) || found.is_some_and(|(name, _)| has_word(&guard.expr, name)));
    let mut from: Vec<String> = Vec::new();
    for guard in about {
        let place = guard.location.as_ref().or(guard.node.as_ref()).cloned();
        from.extend(place.filter(|place| !from.contains(place)));
    }
    DimensionReport {
        dim: dim.clone(),
        source: change.source.clone().or(source),
        allows,
        needs: change.needs.clone(),
        from,
    }
}

/// What an input's size is as the report gives it: `x.shape[1]` of an input `x` of `[b, 10]` is `10 only`.
fn given(report: &Report, path: &str) -> String {
    let size = path.strip_suffix(']').and_then(|path| {
        let (input, dim) = path.rsplit_once(".shape[")?;
        let input = report.inputs.iter().find(|known| known.name == input)?;
        input.shape.as_ref()?.get(dim.parse::<usize>().ok()?)
    });
    match size {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Number(size)) => format!("{size} only"),
        _ => String::new(),
    }
}
