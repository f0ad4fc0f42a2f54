//! Reading declarations.
use super::declaration::{Case, DeclaredStep, Definition, Fold, Operator, Require, When};
use super::formula::Formula;
use super::names::Names;
use super::read_returns::returns;
use super::shape::Each;
use super::table::{Entries, Item, Piece, Result, Source};
use rustc_hash::FxHashMap;
use sizewise_expr::Sort;
use sizewise_ir::schema::{Schema, Type};
use toml::de::DeTable;

/// The most conditions of one operator, and the most names it defines.
pub(super) const MAX_STEPS: usize = 64;
/// The keys of one way in which an operator goes.
const CASE_KEYS: [&str; 5] = ["when", "requires", "let", "fresh", "returns"];

/// Reads all declarations of a file.
pub(super) fn operators(source: &Source, is_known: &dyn Fn(&str) -> bool) -> Result<Vec<(Schema, Operator)>> {
    let document = DeTable::parse(source.text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.error(at, format!("not TOML: {}", error.message().trim()))
    })?;
    let entries = Entries::new(*source, document.get_ref(), 0, Some(&["operator"]))?;
    let mut declared = Vec::new();
    let mut lines: FxHashMap<String, u32> = FxHashMap::default();
    let Some(items) = entries.get("operator") else { return Ok(declared) };
    for item in items.list("a list of operators: `[[operator]]`")? {
        let (schema, piece) = schema(&item)?;
        let name = schema.qualified().to_string();
        if let Some(line) = lines.insert(name.clone(), piece.line()) {
            return Err(piece.error(0, format!("`{name}` is declared on line {line} already")));
        }
        if is_known(&name) {
            return Err(piece.error(0, format!("`{name}` is declared in another file already")));
        }
        let operator = operator(&item, &schema)?;
        declared.push((schema, operator));
    }
    Ok(declared)
}

fn schema<'t>(item: &Item<'t>) -> Result<(Schema, Piece<'t>)> {
    let keys = ["schema", "requires", "let", "fresh", "returns", "cases"];
    let entries = item.table("an operator: a table", &keys)?;
    let Some(text) = entries.get("schema") else {
        return Err(entries.error("the operator has no `schema`"));
    };
    let piece = text.piece("a schema, such as \"my::op(Tensor x) -> Tensor\"")?;
    let schema = Schema::parse_custom(piece.text).map_err(|error| {
        let offset = piece.text.char_indices().nth(error.column.saturating_sub(1));
        let offset = offset.map_or(piece.text.len(), |(at, _)| at);
        piece.error(offset, format!("in the schema: {}", error.kind))
    })?;
    Ok((schema, piece))
}

fn operator(item: &Item, schema: &Schema) -> Result<Operator> {
    let mut names = Names { schema, locals: Vec::new(), ranks: Vec::new() };
    let entries = item.named("an operator: a table")?;
    let mut number = 0;
    let first = steps(&entries, &mut names, &mut number)?;
    let mut cases = Vec::new();
    match entries.get("cases") {
        None => {
            let returns = returns(&entries, &mut names)?;
            cases.push(Case { when: None, steps: Vec::new(), returns });
        }
        Some(list) => {
            if entries.get("returns").is_some() {
                return Err(list.error("an operator has either `returns` or `cases`"));
            }
            let members = list.list("a list of cases")?;
            let (locals, ranks, count) = (names.locals.len(), names.ranks.len(), number);
            for (at, member) in members.iter().enumerate() {
                let fields = member.table("a case: a table", &CASE_KEYS)?;
                let when = fields.get("when").map(|when| self::when(&when, &names)).transpose()?;
                if when.is_none() && at + 1 < members.len() {
                    return Err(
                        fields.error("a case without `when` is taken always: it has to be the last one")
                    );
                }
                if let Some(When::Holds(when)) = &when {
                    note_rank(&when.text, &mut names);
                }
                number = count;
                let steps = steps(&fields, &mut names, &mut number)?;
                let returns = returns(&fields, &mut names)?;
                cases.push(Case { when, steps, returns });
                names.locals.truncate(locals);
                names.ranks.truncate(ranks);
            }
        }
    }
    Ok(Operator { file: item.source.file.into(), first, cases })
}

/// `let`, `requires` and `fresh`, in the order in which they are written.
fn steps(entries: &Entries, names: &mut Names, number: &mut usize) -> Result<Vec<DeclaredStep>> {
    let mut steps = Vec::new();
    for (key, _, item) in entries.iter() {
        match key {
            "let" => definitions(&item, names, &mut steps)?,
            "requires" => {
                for item in item.list("a list of conditions")? {
                    if *number == MAX_STEPS {
                        return Err(item.error(format!("more than {MAX_STEPS} conditions")));
                    }
                    steps.push(DeclaredStep::Require(require(&item, names, *number)?));
                    *number += 1;
                }
            }
            "fresh" => fresh(&item, names, &mut steps)?,
            _ => {}
        }
    }
    Ok(steps)
}

fn definitions(item: &Item, names: &mut Names, steps: &mut Vec<DeclaredStep>) -> Result<()> {
    for (name, at, item) in item.named("a table of names")?.iter() {
        new_name(&item.source, at, name, names)?;
        let value = definition(&item, names)?;
        names.locals.push((name.into(), Type::Int { symbolic: true }));
        steps.push(DeclaredStep::Let { name: name.into(), value });
    }
    Ok(())
}

fn fresh(item: &Item, names: &mut Names, steps: &mut Vec<DeclaredStep>) -> Result<()> {
    for (name, at, item) in item.named("a table of sizes known at run time")?.iter() {
        new_name(&item.source, at, name, names)?;
        let range = item.table("a range: { min = 0, max = \"x.shape[0]\" }", &["min", "max"])?;
        let bound = |key: &str| range.get(key).map(|bound| size(&bound, names)).transpose();
        let (min, max) = (bound("min")?, bound("max")?);
        names.locals.push((name.into(), Type::Int { symbolic: true }));
        steps.push(DeclaredStep::Fresh { name: name.into(), min, max });
    }
    Ok(())
}

fn new_name(source: &Source, at: usize, name: &str, names: &Names) -> Result<()> {
    names.is_new(name).map_err(|message| source.error(at, message))?;
    if names.locals.len() >= MAX_STEPS {
        return Err(source.error(at, format!("more than {MAX_STEPS} names")));
    }
    Ok(())
}

/// A condition.
fn condition(item: &Item, names: &Names) -> Result<Formula> {
    Formula::new(item.piece("a condition, such as \"x.rank == 2\"")?, names, Sort::Bool)
}

/// When a case applies: a condition, or `{ text = "mode", is = "mean" }`.
fn when(item: &Item, names: &Names) -> Result<When> {
    if !item.is_table() {
        return condition(item, names).map(When::Holds);
    }
    let entries = item.table("a condition", &["text", "is"])?;
    let (Some(text), Some(is)) = (entries.get("text"), entries.get("is")) else {
        return Err(entries.error("expected `{ text = \"mode\", is = \"mean\" }`"));
    };
    let argument = text.piece("the name of an argument")?;
    match names.get(argument.text).map(|ty| ty.strip_optional().0) {
        Some(Type::Str) => {}
        Some(ty) => {
            return Err(argument.error(0, format!("expected a text; `{}` is of type {ty}", argument.text)));
        }
        None => return Err(argument.error(0, names.unknown(argument.text))),
    }
    Ok(When::Text { argument: argument.text.into(), is: is.piece("a text")?.text.into() })
}

fn require(item: &Item, names: &mut Names, number: usize) -> Result<Require> {
    if !item.is_table() {
        let holds = condition(item, names)?;
        note_rank(&holds.text, names);
        return Ok(Require { when: None, each: None, holds, message: None, number });
    }
    let entries = item.table("a condition", &["holds", "when", "each", "message"])?;
    let when = entries.get("when").map(|when| condition(&when, names)).transpose()?;
    let each = entries.get("each").map(|each| Each::read(&each, names)).transpose()?;
    let Some(holds) = entries.get("holds") else { return Err(entries.error("a condition has no `holds`")) };
    let holds = names
        .with_also(each.as_ref().map_or(&[], |each| &each.variables), |names| condition(&holds, names))?;
    if when.is_none() && each.is_none() {
        note_rank(&holds.text, names);
    }
    let message = entries.get("message").map(|text| text.piece("a text")).transpose()?;
    Ok(Require { when, each, holds, message: message.map(|m| m.text.into()), number })
}

/// Remembers that `x.rank == 2` holds from here on.
fn note_rank(text: &str, names: &mut Names) {
    if let Some((left, right)) = text.split_once("==")
        && let Some(name) = left.trim().strip_suffix(".rank").or_else(|| left.trim().strip_suffix(".ndim"))
        && let Ok(rank) = right.trim().parse::<usize>()
        && names.get(name).is_some()
    {
        names.ranks.push((name.into(), rank));
    }
}

fn definition(item: &Item, names: &mut Names) -> Result<Definition> {
    if !item.is_table() {
        return Ok(Definition::Formula(size(item, names)?));
    }
    let folds = [("sum", Fold::Sum), ("product", Fold::Product), ("min", Fold::Min), ("max", Fold::Max)];
    let entries = item.table("a value", &["sum", "product", "min", "max", "each"])?;
    let mut found = folds.iter().filter_map(|(key, fold)| Some((*fold, entries.get(key)?)));
    let ((fold, formula), None) = (
        found.next().ok_or_else(|| entries.error("expected `sum`, `product`, `min` or `max`"))?,
        found.next(),
    ) else {
        return Err(entries.error("expected one of `sum`, `product`, `min` and `max`"));
    };
    let Some(each) = entries.get("each") else {
        return Err(entries.error("expected `each = \"x in xs\"`"));
    };
    let each = Each::read(&each, names)?;
    let formula = names.with_also(&each.variables, |names| size(&formula, names))?;
    Ok(Definition::Fold { fold, formula, each })
}

fn size(item: &Item, names: &Names) -> Result<Formula> {
    let piece = item.piece("a size, such as \"2*x.shape[0]\"")?;
    Formula::new(piece, names, Sort::Int)
}
