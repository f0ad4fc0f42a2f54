//! Reading what an operator returns.
use super::declaration::{Made, Return, Returns, Strides};
use super::formula::Formula;
use super::invocation::Invocation;
use super::names::Names;
use super::shape::{DtypeRule, Each, Element, TensorRef};
use super::table::{Entries, Item, Piece, Result, listed};
use sizewise_expr::Sort;
use sizewise_ir::schema::Type;

/// The keys of a tensor that is made.
const MADE_KEYS: [&str; 5] = ["like", "shape", "dtype", "strides", "device"];
/// The keys that say what kind of result this is.
const KINDS: [&str; 8] = ["same", "call", "tensors", "each", "int", "float", "bool", "none"];

/// Reads `returns`; without it, results that share an argument's memory are that argument.
pub(super) fn returns(entries: &Entries, names: &mut Names) -> Result<Returns> {
    let schema = names.schema;
    let wanted = schema.returns.len();
    let Some(item) = entries.get("returns") else {
        let mut same = Vec::with_capacity(wanted);
        for at in 0..wanted {
            match schema.aliased_arg(at) {
                Some((arg, _)) => same.push(Return::Same(schema.args[arg].name.as_str().into())),
                None => return Err(entries.error("`returns` is missing: what does the operator return?")),
            }
        }
        return Ok(Returns::Listed(same));
    };
    if item.is_text() {
        let piece = item.piece("a call")?;
        let call = Invocation::new(piece, names)?;
        let given = call.schema.returns.len();
        if given != wanted {
            return Err(
                piece.error(0, format!("{} returns {given} results, the schema says {wanted}", call.op))
            );
        }
        return Ok(Returns::All(call));
    }
    let items = item.list("a list of results")?;
    if items.len() != wanted {
        return Err(item.error(format!("{} results; the schema says {wanted}", items.len())));
    }
    let mut results = Vec::with_capacity(wanted);
    for (result, spec) in items.iter().zip(&schema.returns) {
        results.push(one(result, &spec.ty, names)?);
    }
    Ok(Returns::Listed(results))
}

fn one(item: &Item, ty: &Type, names: &mut Names) -> Result<Return> {
    let wrong = |found: &str| item.error(format!("the schema says {ty} here, this is {found}"));
    let (inner, optional) = ty.strip_optional();
    let is_list = matches!(inner, Type::List(element, _) if *element.strip_optional().0 == Type::Tensor);
    if item.is_text() {
        let piece = item.piece("a call")?;
        let call = Invocation::new(piece, names)?;
        let first = call.schema.returns.first().map(|spec| spec.ty.strip_optional().0);
        return if first == Some(inner) { Ok(Return::Call(call)) } else { Err(wrong("another type")) };
    }
    let mut keys = MADE_KEYS.to_vec();
    keys.extend(KINDS);
    let fields = item.table("a result: a table", &keys)?;
    let mut kinds =
        KINDS.iter().filter(|key| **key != "each").filter_map(|key| Some((*key, fields.get(key)?)));
    let kind = kinds.next();
    if let Some((other, _)) = kinds.next() {
        return Err(fields.error(format!("a result has one kind only: `{other}` is a second one")));
    }
    drop(kinds);
    let made_key = MADE_KEYS.iter().find(|key| fields.get(key).is_some());
    if let (Some((kind, _)), Some(key)) = (kind, made_key) {
        return Err(fields.error(format!("`{key}` does not go with `{kind}`")));
    }
    let number = |value: Item, sort| Formula::new(value.piece("a formula")?, names, sort);
    Ok(match (kind, inner) {
        (None, Type::Tensor) if fields.get("each").is_none() => Return::Tensor(made(&fields, names)?),
        (None, _) if is_list => {
            let Some(over) = fields.get("each") else {
                return Err(fields.error("expected `tensors = [...]` or `each = \"x in xs\"`"));
            };
            let over = Each::read(&over, names)?;
            let tensor = names.with_also(&over.variables, |names| made(&fields, names))?;
            Return::Each(over, tensor)
        }
        (None, _) => return Err(wrong("a tensor")),
        (Some(("same", value)), _) => {
            let piece = value.piece("the name of an argument")?;
            match names.get(piece.text) {
                Some(given) if given.strip_optional().0 == inner => Return::Same(piece.text.into()),
                Some(given) => return Err(piece.error(0, format!("the schema says {ty}, this is {given}"))),
                None => return Err(piece.error(0, names.unknown(piece.text))),
            }
        }
        (Some(("call", value)), _) => return one(&value, ty, names),
        (Some(("tensors", value)), _) if is_list => {
            let mut tensors = Vec::new();
            for tensor in value.list("a list of tensors")? {
                let fields = tensor.table("a tensor: a table", &MADE_KEYS)?;
                tensors.push(made(&fields, names)?);
            }
            Return::Tensors(tensors)
        }
        (Some(("int", value)), Type::Int { .. }) => Return::Int(number(value, Sort::Int)?),
        (Some(("float", value)), Type::Float { .. }) => Return::Float(number(value, Sort::Float)?),
        (Some(("bool", value)), Type::Bool { .. }) => Return::Bool(number(value, Sort::Bool)?),
        (Some(("none", value)), _) => {
            if !value.truth("`none = true`")? {
                return Err(value.error("expected `none = true`"));
            }
            // A kernel of a backward pass may leave any of its tensors undefined.
            if !optional && *inner != Type::Tensor {
                return Err(wrong("absent"));
            }
            Return::None
        }
        (Some((kind, _)), _) => return Err(wrong(&format!("`{kind}`"))),
    })
}

fn made(fields: &Entries, names: &Names) -> Result<Made> {
    let tensor = |key: &str| match fields.get(key) {
        Some(item) => TensorRef::new(item.piece("a tensor by name")?, names, false).map(Some),
        None => Ok(None),
    };
    let like = tensor("like")?;
    let shape = fields.get("shape").map(|item| elements(&item, names)).transpose()?;
    let dtype = match fields.get("dtype") {
        Some(item) => Some(DtypeRule::new(item.piece("a dtype")?, names)?),
        None => None,
    };
    if like.is_none() {
        for (key, missing) in [("shape", shape.is_none()), ("dtype", dtype.is_none())] {
            if missing {
                return Err(
                    fields.error(format!("a tensor needs a `{key}`, or another tensor that it is `like`"))
                );
            }
        }
    }
    let strides = match fields.get("strides") {
        None => match &like {
            Some(like) => Strides::Like(like.clone()),
            None => Strides::Contiguous,
        },
        Some(item) if item.is_text() => {
            let piece = item.piece("strides")?;
            match piece.text {
                "contiguous" => Strides::Contiguous,
                "channels_last" => Strides::ChannelsLast,
                text => match (text.strip_prefix("like "), text.strip_prefix("order ")) {
                    (Some(name), _) => Strides::Like(TensorRef::new(piece.part(name), names, false)?),
                    (None, Some(name)) => Strides::Order(order(piece.part(name), names)?),
                    (None, None) => {
                        let known = listed(&["contiguous", "channels_last", "like x", "order dims"]);
                        return Err(piece.error(0, format!("unknown strides; expected {known}, or a list")));
                    }
                },
            }
        }
        Some(item) => Strides::Listed(elements(&item, names)?),
    };
    Ok(Made { like, shape, dtype, strides, device: tensor("device")?, line: fields.line() })
}

fn elements(item: &Item, names: &Names) -> Result<Vec<Element>> {
    let items = item.list("a list of sizes")?;
    items.iter().map(|size| Element::new(size.piece("a size")?, names)).collect()
}

/// The name of a list of integers that says in which order dimensions lie.
fn order(piece: Piece, names: &Names) -> Result<Box<str>> {
    match names.get(piece.text).map(|ty| ty.strip_optional().0) {
        Some(Type::List(element, _)) if matches!(**element, Type::Int { .. }) => Ok(piece.text.into()),
        Some(ty) => Err(piece.error(0, format!("expected a list of dimensions; found one of type {ty}"))),
        None => Err(piece.error(0, names.unknown(piece.text))),
    }
}
