//! Which input a source of guard code means.

use indexmap::IndexMap;
use indexmap::map::Entry;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::input::UserInput;
use super::pytree::{PathStep, TreeKey};
use sizewise_expr::text::SourceStep;

/// Finds the inputs that sources name.
///
/// Containers of a class of their own are the difficulty: a path has the position of a part, `past[0]`, and a guard has
/// the key that the class was registered with: `past['keys']` or `past.keys`. What the registration adds mostly lists the
/// keys. Placeholders are named after them as well: `past_keys`. Where the two disagree, the source is not found.
#[derive(Debug, Clone, Default)]
pub struct SourceTable {
    /// Place among the user's inputs; `None` where a name may be either of two inputs.
    inputs: IndexMap<(String, Vec<SourceStep>), Option<usize>, FxBuildHasher>,
    /// For another step to a part of a container, by the way to it: the step that paths have.
    steps: FxHashMap<(String, Vec<SourceStep>), SourceStep>,
    /// The inputs within containers of other classes.
    inside: Vec<Inside>,
}

/// An input within a container of a class of its own.
#[derive(Debug, Clone)]
struct Inside {
    index: usize,
    placeholder: String,
    /// The ways to it.
    ways: Vec<(String, Vec<SourceStep>)>,
    /// Which steps, counted from the last one, lead to a part of such a container.
    parts: Vec<usize>,
}

impl SourceTable {
    /// The table of these inputs. An input's own path goes before any other input's alias.
    pub fn new(inputs: &[UserInput]) -> SourceTable {
        let mut table = SourceTable::default();
        table.add(inputs.iter().enumerate().map(|(index, input)| (index, &input.path)));
        let mut aliases = SourceTable::default();
        aliases.add(
            inputs
                .iter()
                .enumerate()
                .flat_map(|(index, input)| input.aliases.iter().map(move |alias| (index, alias))),
        );
        for (key, index) in aliases.inputs {
            table.inputs.entry(key).or_insert(index);
        }
        for (index, input) in inputs.iter().enumerate().filter(|(_, input)| !input.parts.is_empty()) {
            table.add_parts(index, input);
        }
        table
    }

    fn add<'a>(&mut self, paths: impl Iterator<Item = (usize, &'a Vec<PathStep>)>) {
        for (index, path) in paths {
            if let Some(key) = key(path) {
                match self.inputs.entry(key) {
                    Entry::Vacant(entry) => drop(entry.insert(Some(index))),
                    Entry::Occupied(mut entry) if *entry.get() != Some(index) => drop(entry.insert(None)),
                    Entry::Occupied(_) => {}
                }
            }
        }
    }

    /// Adds the other steps to the containers' parts that lead to an input.
    fn add_parts(&mut self, index: usize, input: &UserInput) {
        let ways: Vec<(String, Vec<SourceStep>)> =
            std::iter::once(&input.path).chain(&input.aliases).filter_map(|path| key(path)).collect();
        for (root, steps) in &ways {
            for part in &input.parts {
                // A way such as `flat_args[3]` passes no container.
                let Some(at) = steps.len().checked_sub(part.steps_after + 1) else { continue };
                let position = SourceStep::Index(i64::try_from(part.index).unwrap_or(i64::MAX));
                let named = part.name.iter().flat_map(|name| {
                    [SourceStep::Key(name.to_string()), SourceStep::Attribute(name.to_string())]
                });
                for other in named.chain([position]).filter(|other| *other != steps[at]) {
                    let way = steps[..at].iter().cloned().chain([other]).collect();
                    self.steps.insert((root.clone(), way), steps[at].clone());
                }
            }
        }
        let parts = input.parts.iter().map(|part| part.steps_after).collect();
        self.inside.push(Inside { index, placeholder: input.placeholder.to_string(), ways, parts });
    }

    /// The place of the input at these steps from `root` among the user's inputs; `None` when there is none or
    /// when it is ambiguous.
    pub fn find(&self, root: &str, steps: &[SourceStep]) -> Option<usize> {
        let mut way = (root.to_owned(), Vec::with_capacity(steps.len()));
        for step in steps {
            way.1.push(step.clone());
            if !self.steps.is_empty()
                && let Some(usual) = self.steps.get(&way)
            {
                way.1.pop();
                way.1.push(usual.clone());
            }
        }
        let by_way = self.inputs.get(&way).copied().flatten();
        if self.inside.is_empty() {
            return by_way;
        }
        match (by_way, self.by_placeholder(root, steps)) {
            (by_way, None) => by_way,
            (None, Some(named)) => Some(named),
            (Some(at), Some(named)) => (at == named).then_some(at),
        }
    }

    /// The input within a container of another class whose placeholder has the name that torch makes of these steps.
    /// Source: `placeholder_naming_pass` in `torch/_export/utils.py`; equal names are numbered.
    fn by_placeholder(&self, root: &str, steps: &[SourceStep]) -> Option<usize> {
        let whole = std::iter::once(root.to_owned()).chain(steps.iter().map(step_name));
        let whole: Vec<String> = whole.map(|name| name.to_lowercase()).collect();
        // What `**kwargs` holds is named without it.
        let names = [whole.join("_"), whole[1..].join("_")];
        let numbered = |placeholder: &str, name: &str| {
            let number = placeholder.strip_prefix(name).and_then(|rest| rest.strip_prefix('_'));
            number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
        };
        let fitting: Vec<&Inside> = self.inside.iter().filter(|inside| inside.fits(root, steps)).collect();
        let mut found = None;
        for name in names.iter().filter(|name| !name.is_empty()) {
            if fitting.iter().any(|inside| numbered(&inside.placeholder, name)) {
                return None;
            }
            found = found.or_else(|| fitting.iter().find(|inside| inside.placeholder == *name));
        }
        found.map(|inside| inside.index)
    }
}

impl Inside {
    /// Whether a source may mean this input: it goes the same way, but to parts of containers of other classes.
    fn fits(&self, root: &str, steps: &[SourceStep]) -> bool {
        self.ways.iter().any(|(own_root, way)| {
            let same = |(at, (own, step)): (usize, (&SourceStep, &SourceStep))| {
                own == step || self.parts.contains(&(way.len() - 1 - at))
            };
            own_root == root && way.len() == steps.len() && way.iter().zip(steps).enumerate().all(same)
        })
    }
}

/// What a source must say to follow a path.
fn key(path: &[PathStep]) -> Option<(String, Vec<SourceStep>)> {
    let (PathStep::Parameter(root), rest) = path.split_first()? else { return None };
    let step = |step: &PathStep| match step {
        PathStep::Parameter(name) | PathStep::Key(TreeKey::Str(name)) => SourceStep::Key(name.to_string()),
        PathStep::Index(index) => SourceStep::Index(i64::try_from(*index).unwrap_or(i64::MAX)),
        PathStep::Key(TreeKey::Int(key)) => SourceStep::Index(*key),
        PathStep::Key(other) => SourceStep::Literal(other.to_string()),
        PathStep::Field(name) => SourceStep::Attribute(name.to_string()),
    };
    Some((root.to_string(), rest.iter().map(step).collect()))
}

/// What a placeholder's name has for a step.
fn step_name(step: &SourceStep) -> String {
    let plain = |text: &str| text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match step {
        SourceStep::Key(text) | SourceStep::Literal(text) => plain(text),
        SourceStep::Index(index) => plain(&index.to_string()),
        SourceStep::Attribute(name) => name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pytree::Part;

    fn input(placeholder: &str, path: Vec<PathStep>, aliases: &[&str], parts: Vec<Part>) -> UserInput {
        let alias = |alias: &&str| vec![PathStep::Parameter((*alias).into())];
        UserInput {
            placeholder: placeholder.into(),
            index: 0,
            path,
            aliases: aliases.iter().map(alias).collect(),
            parts,
            call_path: String::new(),
            keyword: None,
        }
    }

    #[test]
    fn a_name_that_may_be_either_of_two_inputs_is_neither() {
        let named = |name: &str, aliases: &[&str]| {
            input(name, vec![PathStep::Parameter(name.into())], aliases, Vec::new())
        };
        let table = SourceTable::new(&[named("x", &["both", "y"]), named("y", &["both", "z"])]);
        for (root, index) in [("x", Some(0)), ("y", Some(1)), ("z", Some(1)), ("both", None), ("w", None)] {
            assert_eq!(table.find(root, &[]), index, "{root}");
        }
    }

    /// The two parts of a container `c`, each a list of one, by the names of their placeholders and their recorded names.
    fn parts(placeholders: [&str; 2], names: Option<[&str; 2]>) -> SourceTable {
        let part = |index: usize| {
            let path = vec![PathStep::Parameter("c".into()), PathStep::Index(index), PathStep::Index(0)];
            let name = names.map(|names| names[index].into());
            input(placeholders[index], path, &[], vec![Part { steps_after: 1, index, name }])
        };
        SourceTable::new(&[part(0), part(1)])
    }

    #[test]
    fn parts_of_other_classes_are_found_by_their_keys() {
        let (key, attribute) =
            (|k: &str| SourceStep::Key(k.into()), |k: &str| SourceStep::Attribute(k.into()));
        let recorded = Some(["k.k", "v"]);
        for (placeholders, names, step, index) in [
            (["c_k_k_0", "c_v_0"], recorded, key("k.k"), Some(0)),
            (["c_k_k_0", "c_v_0"], recorded, attribute("v"), Some(1)),
            (["c_k_k_0", "c_v_0"], recorded, SourceStep::Index(1), Some(1)),
            (["c_k_k_0", "c_v_0"], recorded, key("w"), None),
            // The names of placeholders do not say.
            (["a", "b"], recorded, key("v"), Some(1)),
            (["a", "b"], None, key("v"), None),
            (["a", "b"], None, SourceStep::Index(1), Some(1)),
            // The registration does not say.
            (["c_k_k_0", "c_v_0"], None, key("k.k"), Some(0)),
            (["c_k_k_0", "c_v_0"], None, attribute("v"), Some(1)),
            (["c_9_0", "c_8_0"], None, SourceStep::Index(8), Some(1)),
            // The two disagree: another list than that of the keys, or keys that are numbers in another order.
            (["c_v_0", "c_k_k_0"], recorded, key("v"), None),
            (["c_1_0", "c_0_0"], None, SourceStep::Index(1), None),
            // Names that were numbered because they were equal.
            (["c_k_0", "c_k_0_1"], None, key("k"), None),
            (["c_k_0", "c_k_0_1"], None, key("K"), None),
        ] {
            let table = parts(placeholders, names);
            assert_eq!(
                table.find("c", &[step.clone(), SourceStep::Index(0)]),
                index,
                "{placeholders:?} {step:?}"
            );
            assert_eq!(table.find("c", std::slice::from_ref(&step)), None, "{step:?}");
            assert_eq!(table.find("d", &[step.clone(), SourceStep::Index(0)]), None, "{step:?}");
        }
    }
}
