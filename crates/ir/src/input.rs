//! The user's inputs: where each placeholder stands in the call, and the names that refer to it.

use std::sync::Arc;

use super::error::{ReadError, ReadErrorKind, ReadResult};
use super::graph::GraphInput;
use super::program::{ModuleSignature, Program};
use super::pytree::{Container, Part, PathStep, TreeKey, TreeKind, TreeSpec};
use super::signature::InputSpec;

/// An input that the user passes.
#[derive(Debug, Clone, PartialEq)]
pub struct UserInput {
    /// The placeholder's name: `inp_a`.
    pub placeholder: Arc<str>,
    /// The place among the graph's inputs.
    pub index: usize,
    /// The way from the call to the value, beginning with the parameter's name: `inp`, `['a']`.
    pub path: Vec<PathStep>,
    /// Other ways that programs and specifications may take: a parameter `args_0` may be the first of `*args`,
    /// a keyword argument may belong to `**kwargs`, and strict mode calls all inputs `flat_args`.
    pub aliases: Vec<Vec<PathStep>>,
    /// The parts of containers of other classes on the way, to which guards may go by other steps.
    pub parts: Vec<Part>,
    /// The place in the call: `args[0]['a']`, `kwargs['k']`.
    pub call_path: String,
    /// The name, when it is passed by keyword.
    pub keyword: Option<Arc<str>>,
}

/// Python text for a path into the inputs, as guards write it: `L['x'][0]`.
pub fn source_text(path: &[PathStep]) -> String {
    let step = |step: &PathStep| match step {
        PathStep::Parameter(name) => PathStep::Key(TreeKey::Str(Arc::clone(name))).to_string(),
        other => other.to_string(),
    };
    std::iter::once("L".to_owned()).chain(path.iter().map(step)).collect()
}

impl UserInput {
    /// Every text by which guards may refer to this input, the likeliest first: `L['inp']['a']`.
    pub fn sources(&self) -> impl Iterator<Item = String> {
        std::iter::once(&self.path).chain(&self.aliases).map(|path| source_text(path))
    }

    /// The position among the values that `*args` takes, and the way from there, where it may be one of them.
    pub fn of_varargs(&self) -> Option<(usize, &[PathStep])> {
        let paths = || std::iter::once(&self.path).chain(&self.aliases);
        let numbered = |name: &str, nth: usize| {
            let full = format!("{name}_{nth}");
            paths().any(|path| matches!(path.first(), Some(PathStep::Parameter(first)) if **first == full))
        };
        paths().find_map(|path| match path.as_slice() {
            [PathStep::Parameter(name), PathStep::Index(nth), rest @ ..] if numbered(name, *nth) => {
                Some((*nth, rest))
            }
            _ => None,
        })
    }
}

impl Program {
    /// The inputs that the user passes, constants among them, in the graph's order.
    ///
    /// # Errors
    /// When the recorded structure of the arguments does not fit the graph's inputs.
    pub fn user_inputs(&self) -> ReadResult<Vec<UserInput>> {
        let specs = self.signature.inputs.iter().zip(self.graph.inputs()).enumerate();
        let placeholders: Vec<(usize, Arc<str>)> = specs
            .filter(|(_, (spec, _))| spec.is_user_input())
            .map(|(index, (spec, input))| {
                let name = match (spec, input) {
                    (InputSpec::Constant { name, .. }, _) => Arc::clone(name),
                    (_, GraphInput::Value(value)) => Arc::clone(self.graph.name(*value)),
                    (_, GraphInput::Constant(_)) => format!("input_{index}").into(),
                };
                (index, name)
            })
            .collect();
        let Some(signature) = self.call_signature() else {
            return Ok(placeholders.into_iter().enumerate().map(plain).collect());
        };
        let leaves = leaves(signature, &GuardSources::find(&self.guards_code))?;
        if leaves.len() != placeholders.len() {
            let message = format!(
                "the call's structure has {} values but the graph {} user inputs; expected as many",
                leaves.len(),
                placeholders.len()
            );
            return Err(pytree_error(message));
        }
        let flat_args: Arc<str> = FLAT_ARGS.into();
        let unnamed = signature.forward_arg_names.is_none();
        let inputs = placeholders.into_iter().zip(leaves).enumerate().map(
            |(flat, ((index, placeholder), mut leaf))| {
                // Programs before torch 2.6 and those of ExecuTorch record no names of parameters, but name
                // placeholders after them.
                if unnamed && leaf.keyword.is_none() && leaf.path.len() == 1 {
                    let parameter = vec![PathStep::Parameter(Arc::clone(&placeholder))];
                    leaf.aliases.push(std::mem::replace(&mut leaf.path, parameter));
                }
                leaf.aliases.push(vec![PathStep::Parameter(Arc::clone(&flat_args)), PathStep::Index(flat)]);
                let Leaf { path, aliases, parts, call_path, keyword } = leaf;
                UserInput { placeholder, index, path, aliases, parts, call_path, keyword }
            },
        );
        Ok(inputs.collect())
    }
}

impl Program {
    /// The containers that the call has. What `*args` takes is a tuple.
    ///
    /// # Errors
    /// As [`Program::user_inputs`].
    pub fn containers(&self) -> ReadResult<Vec<Container>> {
        let Some(signature) = self.call_signature() else { return Ok(Vec::new()) };
        let (arguments, varargs) = arguments(signature, &GuardSources::find(&self.guards_code))?;
        let mut found = Vec::new();
        for (position, argument) in arguments.into_iter().enumerate() {
            let mut heads = argument.heads;
            if argument.keyword.is_none() {
                heads.push(vec![PathStep::Index(position)]);
            }
            for head in heads {
                argument.structure.containers(&mut head.clone(), &mut found);
            }
        }
        if let Some(varargs) = varargs {
            let len = signature.in_spec.children.first().map_or(0, |all| all.children.len()) - varargs.start;
            for path in [PathStep::Parameter(varargs.name), PathStep::Index(varargs.start)] {
                found.push(Container { path: vec![path], kind: TreeKind::Tuple, len });
            }
        }
        Ok(found)
    }
}

/// An input of a program that does not record how it is called: a positional parameter.
fn plain((position, (index, placeholder)): (usize, (usize, Arc<str>))) -> UserInput {
    UserInput {
        path: vec![PathStep::Parameter(Arc::clone(&placeholder))],
        placeholder,
        index,
        aliases: Vec::new(),
        parts: Vec::new(),
        call_path: format!("args[{position}]"),
        keyword: None,
    }
}

/// What strict mode calls the list of all inputs.
const FLAT_ARGS: &str = "flat_args";

/// A value of the call.
struct Leaf {
    path: Vec<PathStep>,
    aliases: Vec<Vec<PathStep>>,
    parts: Vec<Part>,
    call_path: String,
    keyword: Option<Arc<str>>,
}

fn pytree_error(message: String) -> ReadError {
    ReadError::new(ReadErrorKind::Pytree, message)
}

/// An argument of the call: its structure, and the paths that lead to it.
struct Argument<'a> {
    structure: &'a TreeSpec,
    /// The likeliest first.
    heads: Vec<Vec<PathStep>>,
    /// The place in the call: `args[0]`, `kwargs['k']`.
    call_path: String,
    keyword: Option<Arc<str>>,
}

fn leaves(signature: &ModuleSignature, guards: &GuardSources<'_>) -> ReadResult<Vec<Leaf>> {
    let mut leaves = Vec::new();
    for argument in arguments(signature, guards)?.0 {
        for (inner, parts) in argument.structure.leaves() {
            let call_path = format!("{}{}", argument.call_path, text(&inner));
            let mut paths = argument.heads.iter().map(|head| [head.as_slice(), &inner].concat());
            let path = paths.next().unwrap_or_default();
            let keyword = argument.keyword.clone();
            leaves.push(Leaf { path, aliases: paths.collect(), parts, call_path, keyword });
        }
    }
    Ok(leaves)
}

/// The arguments of the call in order, and the parameter `*args` if there may be one.
fn arguments<'a>(
    signature: &'a ModuleSignature,
    guards: &GuardSources<'_>,
) -> ReadResult<(Vec<Argument<'a>>, Option<VarArgs>)> {
    let (positional, keyword) = match signature.in_spec.children.as_slice() {
        [positional, keyword] if matches!(keyword.kind, TreeKind::Dict(_)) => (positional, keyword),
        _ => {
            let message =
                "the call's structure is no pair of positional arguments and a dictionary of others";
            return Err(pytree_error(message.to_owned()));
        }
    };
    let names = signature.forward_arg_names.as_deref().unwrap_or_default();
    let names = &names[..names.len().min(positional.children.len())];
    let varargs = VarArgs::find(names, guards);
    let mut arguments = Vec::new();
    for (position, structure) in positional.children.iter().enumerate() {
        let name = names.get(position).cloned().unwrap_or_else(|| format!("arg_{position}").into());
        let mut heads = vec![vec![PathStep::Parameter(name)]];
        if let Some((varargs, nth)) =
            varargs.as_ref().and_then(|varargs| Some((varargs, varargs.nth(position)?)))
        {
            heads.push(vec![PathStep::Parameter(Arc::clone(&varargs.name)), PathStep::Index(nth)]);
            if varargs.certain {
                heads.swap(0, 1);
            }
        }
        arguments.push(Argument { structure, heads, call_path: format!("args[{position}]"), keyword: None });
    }
    let TreeKind::Dict(keys) = &keyword.kind else { return Ok((arguments, varargs)) };
    let keyword_names: Vec<Arc<str>> = keys.iter().map(key_name).collect();
    for (index, (structure, name)) in keyword.children.iter().zip(&keyword_names).enumerate() {
        let mut heads = vec![vec![PathStep::Parameter(Arc::clone(name))]];
        // The name of `**kwargs` is recorded nowhere but in guards; a name there that is no argument's is it.
        let known = |root: &str| {
            names.iter().chain(&keyword_names).any(|name| **name == *root)
                || varargs.as_ref().is_some_and(|varargs| *varargs.name == *root)
                || root == FLAT_ARGS
        };
        for root in guards.roots.iter().filter(|root| !known(root)) {
            let head = vec![PathStep::Parameter((*root).into()), keyword.step(index)];
            // torch.export takes keyword arguments beside the dictionary of `**kwargs` only if all are there.
            let is_alone = guards.roots.contains(name.as_ref());
            heads.insert(if is_alone { heads.len() } else { 0 }, head);
        }
        let call_path = format!("kwargs{}", keyword.step(index));
        arguments.push(Argument { structure, heads, call_path, keyword: Some(Arc::clone(name)) });
    }
    Ok((arguments, varargs))
}

fn key_name(key: &TreeKey) -> Arc<str> {
    match key {
        TreeKey::Str(name) => Arc::clone(name),
        other => other.to_string().into(),
    }
}

fn text(path: &[PathStep]) -> String {
    path.iter().map(PathStep::to_string).collect()
}

/// The name that `*args` has nearly everywhere.
const USUAL_NAME: &str = "args";

/// The parameter `*args`, if there may be one: programs record its elements as `args_0`, `args_1`, ..
struct VarArgs {
    name: Arc<str>,
    /// The position of its first element.
    start: usize,
    /// Whether a guard names it, or it has the usual name: other numbered names may be those of parameters.
    certain: bool,
}

impl VarArgs {
    fn find(names: &[Arc<str>], guards: &GuardSources<'_>) -> Option<VarArgs> {
        let (name, last) = names.last()?.rsplit_once('_')?;
        let start = (names.len() - 1).checked_sub(last.parse().ok()?)?;
        let numbered = |(nth, full): (usize, &Arc<str>)| **full == format!("{name}_{nth}");
        if !names[start..].iter().enumerate().all(numbered) {
            return None;
        }
        let certain = name == USUAL_NAME || guards.roots.contains(name);
        Some(VarArgs { name: name.into(), start, certain })
    }

    fn nth(&self, position: usize) -> Option<usize> {
        position.checked_sub(self.start)
    }
}

/// What guards look up in `L`.
#[derive(Default)]
struct GuardSources<'a> {
    /// The names: `kw` of `L['kw']['k']`, in order of appearance.
    roots: FxIndexSet<&'a str>,
}

type FxIndexSet<T> = indexmap::IndexSet<T, rustc_hash::FxBuildHasher>;

impl<'a> GuardSources<'a> {
    fn find(guards: &'a [Arc<str>]) -> GuardSources<'a> {
        let mut sources = GuardSources::default();
        for guard in guards {
            for (start, opening) in guard.match_indices("L['") {
                let name = &guard[start + opening.len()..];
                let Some((name, _)) = name.split_once("']") else { continue };
                sources.roots.insert(name);
            }
        }
        sources
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_written_as_guards_write_them() {
        let name = |name: &str| PathStep::Parameter(name.into());
        for (path, text) in [
            (vec![name("x")], "L['x']"),
            (vec![name("d"), PathStep::Key(TreeKey::Str("k".into())), PathStep::Index(0)], "L['d']['k'][0]"),
            (vec![name("n"), PathStep::Field("p".into())], "L['n'].p"),
            (vec![name("d"), PathStep::Key(TreeKey::Int(3))], "L['d'][3]"),
        ] {
            assert_eq!(source_text(&path), text);
        }
    }

    #[test]
    fn numbered_names_at_the_end_may_be_varargs() {
        let names = |list: &[&str]| list.iter().map(|&name| name.into()).collect::<Vec<Arc<str>>>();
        for (list, expected) in [
            (names(&["x", "args_0", "args_1"]), Some(("args", 1))),
            (names(&["args_0"]), Some(("args", 0))),
            (names(&["x", "args_1"]), None),
            (names(&["args_0", "x"]), None),
            (names(&["a_9999999999999999999999"]), None),
            (names(&["x"]), None),
            (names(&[]), None),
        ] {
            let found = VarArgs::find(&list, &GuardSources::default());
            assert_eq!(found.as_ref().map(|found| (&*found.name, found.start)), expected, "{list:?}");
        }
        for (name, expected) in [("args_0", true), ("xs_0", false)] {
            assert_eq!(
                VarArgs::find(&names(&[name]), &GuardSources::default()).unwrap().certain,
                expected,
                "{name}"
            );
        }
        let guards = ["L['xs'][0].size()[0] == 2".into()];
        assert!(VarArgs::find(&names(&["xs_0"]), &GuardSources::find(&guards)).unwrap().certain);
    }
}
