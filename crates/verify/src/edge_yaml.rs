//! Reads an edge.yaml of one's own: a list of operators with sets of dtypes (`type_alias`) and combinations
//! (`type_constraint`).
use super::edge_dtypes::{Combinations, DTYPES, EdgeDtypes};
use rustc_hash::FxHashMap;
use saphyr::{LoadableYamlNode, Yaml};
use sizewise_ir::Dtype;

/// The longest line, in bytes, and the deepest nesting of brackets; such files have short lines and lists of names.
/// Both bound how deep the document nests.
const LONGEST_LINE: usize = 1000;
const DEEPEST: usize = 16;

impl EdgeDtypes {
    /// What another edge.yaml says.
    ///
    /// # Errors
    /// When the text is not of that form; the message says where.
    pub fn from_yaml(text: &str) -> Result<EdgeDtypes, String> {
        read(text).map(|operators| EdgeDtypes { operators })
    }
}

/// Reads the operators of a file.
fn read(text: &str) -> Result<FxHashMap<String, Combinations>, String> {
    bounded(text)?;
    let documents = Yaml::load_from_str(text).map_err(|error| format!("no YAML: {error}"))?;
    let [document] = documents.as_slice() else {
        return Err(format!("the file has {} documents; expected one", documents.len()));
    };
    let list = document.as_sequence().ok_or("the file is no list of operators")?;
    let mut operators = FxHashMap::default();
    for (index, entry) in list.iter().enumerate() {
        let name = entry.as_mapping_get("inherits").and_then(Yaml::as_str);
        let name = name.ok_or_else(|| format!("entry {index} has no `inherits`, the operator's name"))?;
        let combinations = combinations(entry).map_err(|error| format!("{name}: {error}"))?;
        if operators.insert(name.to_owned(), combinations).is_some() {
            return Err(format!("{name} is listed twice"));
        }
    }
    Ok(operators)
}

/// Refuses what could nest without bound.
fn bounded(text: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let content = line.split(" #").next().filter(|content| !content.starts_with('#')).unwrap_or_default();
        if line.len() > LONGEST_LINE {
            return Err(format!("line {number} is longer than {LONGEST_LINE} bytes"));
        }
        if content.contains(['&', '*']) {
            return Err(format!("line {number} has an anchor or an alias, which are not taken"));
        }
        for character in content.bytes() {
            match character {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth > DEEPEST {
            return Err(format!("line {number} opens more than {DEEPEST} brackets"));
        }
    }
    Ok(())
}

fn combinations(entry: &Yaml<'_>) -> Result<Combinations, String> {
    let aliases = entry.as_mapping_get("type_alias").and_then(Yaml::as_mapping);
    let mut letters: Vec<&str> = Vec::new();
    let mut made = Combinations::default();
    for (alias, dtypes) in aliases.ok_or("no `type_alias`")? {
        let alias = alias.as_str().ok_or("a key of `type_alias` is no name")?;
        let dtypes = dtypes.as_sequence().ok_or_else(|| format!("`{alias}` is no list of dtypes"))?;
        letters.push(alias);
        made.sets.push(dtypes.iter().map(dtype).collect::<Result<_, String>>()?);
    }
    let rows = entry.as_mapping_get("type_constraint").and_then(Yaml::as_sequence);
    for row in rows.ok_or("no `type_constraint`")? {
        let row = row.as_mapping().ok_or("a combination is no table of tensors")?;
        let mut columns: FxHashMap<&str, usize> = FxHashMap::default();
        for (tensor, alias) in row {
            let tensor = tensor.as_str().ok_or("a key of a combination is no name")?;
            let set = alias.as_str().and_then(|alias| letters.iter().position(|known| *known == alias));
            columns.insert(tensor, set.ok_or_else(|| format!("`{tensor}` has no alias of `type_alias`"))?);
        }
        if made.tensors.is_empty() {
            made.tensors = row.iter().filter_map(|(tensor, _)| tensor.as_str()).map(str::to_owned).collect();
        }
        let sets: Option<Vec<usize>> =
            made.tensors.iter().map(|name| columns.get(name.as_str()).copied()).collect();
        match sets {
            Some(sets) if columns.len() == made.tensors.len() => made.rows.push(sets),
            _ => return Err("the combinations are not of the same tensors".to_owned()),
        }
    }
    if made.rows.is_empty() { Err("no combination".to_owned()) } else { Ok(made) }
}

fn dtype(name: &Yaml<'_>) -> Result<Dtype, String> {
    let text = name.as_str().ok_or("a dtype is no name")?;
    let known = DTYPES.iter().find(|entry| entry.1 == text).map(|entry| entry.2);
    known.ok_or_else(|| {
        let names: Vec<&str> = DTYPES.iter().map(|entry| entry.1).collect();
        format!("`{text}` is no dtype of ExecuTorch; there are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABS: &str = "- func: aten::abs\n  namespace: edge\n  inherits: aten::abs\n  \
                       type_alias:\n    T0: [Float, Half]\n  type_constraint:\n  - self: T0\n    __ret_0: T0\n";

    #[test]
    fn a_file_is_read_as_executorch_reads_it() {
        let made = read(ABS).expect("a table");
        let abs = &made["aten::abs"];
        assert_eq!(abs.tensors, ["self", "__ret_0"]);
        assert_eq!(abs.sets, [[Dtype::Float32, Dtype::Float16]]);
        assert_eq!(abs.rows, [[0, 0]]);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let deep = format!("- {}", "[".repeat(40));
        for (text, message) in [
            ("a: 1", "no list of operators"),
            ("- [", "no YAML"),
            ("- func: x", "has no `inherits`"),
            ("- inherits: x", "x: no `type_alias`"),
            (&ABS.replace("Half", "Quarter"), "`Quarter` is no dtype of ExecuTorch"),
            (&ABS.replace("self: T0", "self: T1"), "`self` has no alias"),
            (&ABS.replace("\n  - self: T0\n    __ret_0: T0\n", " []\n"), "no combination"),
            (&format!("{ABS}  - self: T0\n"), "not of the same tensors"),
            (&format!("{ABS}{ABS}"), "listed twice"),
            ("- &a [x]", "anchor"),
            (&deep, "brackets"),
            (&format!("- {}", "- ".repeat(600)), "longer than"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
