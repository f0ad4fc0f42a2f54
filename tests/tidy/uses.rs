//! Which files of a crate use which, as their texts say.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A file of a crate as the path of its module.
pub type Module = Vec<String>;

/// A source text without tests and comments.
pub fn without_tests(source: &str) -> String {
    let mut lines = source.lines();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept += line.split("//").next().unwrap_or_default();
            kept.push('\n');
            continue;
        }
        // An item goes on to a semicolon, or to the brace that stands as far to the right as the attribute.
        let end = line.replace("#[cfg(test)]", "}");
        let mut is_block = false;
        for line in lines.by_ref() {
            is_block |= line.ends_with('{');
            if if is_block { line == end } else { line.ends_with([';', ',', '}']) } {
                break;
            }
        }
    }
    kept
}

/// The paths of a tree of `use`, each with the name that it brings.
fn paths(tree: &str) -> Vec<(Vec<String>, String)> {
    let tree = tree.trim();
    let split = |path: &str| path.split("::").map(|part| part.trim().to_owned()).collect::<Vec<_>>();
    let Some((prefix, group)) = tree.strip_suffix('}').and_then(|tree| tree.split_once('{')) else {
        let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path = split(path);
        let name = if alias.is_empty() { path.last().cloned().unwrap_or_default() } else { alias.to_owned() };
        return vec![(path, name)];
    };
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = &group[start..at];
                if !part.trim().is_empty() {
                    found.extend(paths(&format!("{}{}", prefix.trim(), part.trim())));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// A part of a text that names modules.
struct Statement<'s> {
    /// Whether it is a `use` that others can use.
    is_public: bool,
    /// The paths, each with the name that it brings.
    paths: Vec<(Vec<String>, String)>,
    /// What follows.
    rest: &'s str,
}

/// The next `use` of a text, and what stands before it.
fn next_use(text: &str) -> Option<(&str, Statement<'_>)> {
    let is_start = |at: &usize| {
        text[..*at].rsplit('\n').next().is_some_and(|before| {
            let before = before.trim();
            before.is_empty() || before == "pub" || before.starts_with("pub(") && before.ends_with(')')
        })
    };
    let at = text.match_indices("use ").map(|(at, _)| at).find(is_start)?;
    let (tree, rest) = text[at + 4..].split_once(';')?;
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let is_public = !text[line..at].trim().is_empty();
    Some((&text[..line], Statement { is_public, paths: paths(tree), rest }))
}

/// The paths in code outside of `use`: `crate::a::b`, `super::c`, `child::ITEM`.
fn paths_in_code(code: &str) -> Vec<Vec<String>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c: char| !is_word(c)).filter(|word| word.contains("::"));
    let parts = words.map(|word| word.split("::").map(str::to_owned).collect::<Vec<_>>());
    parts.filter(|path| path.iter().all(|part| !part.is_empty() && !part.contains(':'))).collect()
}

/// The files of a crate, with what they declare and use.
pub struct Files {
    texts: BTreeMap<Module, String>,
    /// What modules hand on under a name of their own.
    handed_on: BTreeMap<(Module, String), Module>,
    named: Vec<(Module, Module)>,
}

impl Files {
    /// Reads the texts of a crate by their paths below its source folder.
    pub fn new<'s>(sources: impl Iterator<Item = (&'s Path, String)>) -> Files {
        let mut texts = BTreeMap::new();
        for (path, source) in sources {
            let path = path.with_extension("");
            let mut module: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                module.pop();
            }
            if !module.last().is_some_and(|last| last.ends_with("tests")) {
                texts.insert(module, without_tests(&source));
            }
        }
        let mut files = Files { texts, handed_on: BTreeMap::new(), named: Vec::new() };
        for (module, text) in files.texts.clone() {
            files.read(&module, &text);
        }
        files
    }

    fn read(&mut self, module: &Module, text: &str) {
        let mut rest = text;
        let mut code = String::new();
        while let Some((before, found)) = next_use(rest) {
            code += before;
            for (path, name) in found.paths {
                let Some(path) = self.absolute(module, &path) else { continue };
                match found.is_public {
                    true => drop(self.handed_on.insert((module.clone(), name), path)),
                    false => self.named.push((module.clone(), path)),
                }
            }
            rest = found.rest;
        }
        code += rest;
        for path in paths_in_code(&code) {
            self.named.extend(self.absolute(module, &path).map(|path| (module.clone(), path)));
        }
    }

    /// A path from the root of the crate; `None` if it begins elsewhere.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let child = || [module.as_slice(), std::slice::from_ref(first)].concat();
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                let levels = module.len().checked_sub(up)?;
                Some([&module[..levels], &path[up..]].concat())
            }
            _ => self.texts.contains_key(&child()).then(|| [&child(), rest].concat()),
        }
    }

    /// The file that declares what a path names, behind modules that hand it on.
    fn declares(&self, path: &Module, steps: usize) -> Option<Module> {
        let end = (0..=path.len()).rev().find(|end| self.texts.contains_key(&path[..*end]))?;
        let module = path[..end].to_vec();
        let Some(name) = path.get(end).filter(|_| steps > 0) else { return Some(module) };
        let handed_on = |name: &str| self.handed_on.get(&(module.clone(), name.to_owned()));
        if let Some(further) = handed_on(name) {
            return self.declares(&[further, &path[end + 1..]].concat(), steps - 1);
        }
        Some(module)
    }

    /// Which files use which others. What a file takes of the modules around it counts for nothing: a module and the files
    /// below it are one thing.
    pub fn uses(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        const MOST_STEPS: usize = 8;
        let mut uses: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, path) in &self.named {
            let Some(used) = self.declares(path, MOST_STEPS) else { continue };
            if !module.is_empty() && !used.is_empty() && !module.starts_with(&used) {
                uses.entry(module.clone()).or_default().insert(used);
            }
        }
        uses
    }
}

/// The members of circles, and what leads to them.
pub fn circles<T: Ord + Clone>(uses: &BTreeMap<T, BTreeSet<T>>) -> Vec<T> {
    let mut left = uses.clone();
    // What uses none of those left is in no circle.
    loop {
        let open: BTreeSet<T> = left.keys().cloned().collect();
        left.retain(|_, used| used.iter().any(|used| open.contains(used)));
        if left.len() == open.len() {
            return left.into_keys().collect();
        }
    }
}

#[test]
fn every_form_of_use_is_seen() {
    let sources = [
        ("lib.rs", "mod a;\nmod b;\n"),
        (
            "a/mod.rs",
            "#[cfg(test)]\nmod tests;\nmod child;\nmod handed;\npub use handed::Thing;\nuse crate::b::{self, c::{D as E, F}};\n\
             fn f() { child::CONSTANT; }\n#[cfg(test)]\nmod more {\n    use crate::never;\n}\nuse crate::late::G;\n",
        ),
        ("a/child.rs", "use super::Thing;\nuse super::super::late::H; // crate::commented::out\n"),
        ("a/handed.rs", "pub struct Thing;\n"),
        ("a/tests.rs", "use crate::never;\n"),
        ("b/mod.rs", "pub(crate) use crate::late::Passed as Other;\n"),
        ("b/c.rs", "let x = crate::a::Thing;\nuse crate::b::Other;\n"),
        ("late.rs", ""),
        ("never.rs", ""),
        ("commented.rs", ""),
    ];
    let files = Files::new(sources.iter().map(|(path, text)| (Path::new(*path), (*text).to_owned())));
    let uses = files.uses();
    let of = |module: &str| -> Vec<String> {
        let module: Module = module.split('/').map(str::to_owned).collect();
        uses.get(&module).into_iter().flatten().map(|used| used.join("/")).collect()
    };
    for (module, used) in [
        ("a", &["a/child", "b", "b/c", "late"][..]),
        ("a/child", &["a/handed", "late"]),
        ("a/handed", &[]),
        ("b", &[]),
        ("b/c", &["a/handed", "late"]),
    ] {
        assert_eq!(of(module), used, "{module}");
    }
}

#[test]
fn circles_are_found() {
    let uses = |pairs: &[(u8, u8)]| {
        let mut uses: BTreeMap<u8, BTreeSet<u8>> = BTreeMap::new();
        for (user, used) in pairs {
            uses.entry(*user).or_default().insert(*used);
        }
        uses
    };
    assert_eq!(circles(&uses(&[(1, 2), (2, 3), (1, 3)])), Vec::<u8>::new());
    assert_eq!(circles(&uses(&[(1, 2), (2, 3), (3, 2), (4, 5)])), [1, 2, 3]);
}
