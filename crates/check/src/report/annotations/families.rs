//! Paths of modules that differ in one number, written as one: `layers.{0..11}.attention`.
use indexmap::IndexMap;

/// The parts of a path; none for a number.
type Template<'p> = Vec<Option<&'p str>>;
/// Paths, with the numbers in them.
type Members<'p> = Vec<(Vec<&'p str>, &'p str)>;

/// A path with its numbers taken out, and the numbers.
fn split(path: &str) -> (Template<'_>, Vec<&str>) {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = path.split('.').collect();
    let template = parts.iter().map(|part| (!is_number(part)).then_some(*part)).collect();
    (template, parts.into_iter().filter(|part| is_number(part)).collect())
}

/// The paths, in order; those that differ in one number alone are one text.
pub(super) fn families(paths: &[&str]) -> Vec<String> {
    let mut templates: IndexMap<Template, Members> = IndexMap::new();
    for path in paths {
        let (template, numbers) = split(path);
        templates.entry(template).or_default().push((numbers, path));
    }
    let mut out = Vec::new();
    for (template, members) in templates {
        let count = members[0].0.len();
        let differs = |at: &usize| members.iter().any(|(numbers, _)| numbers[*at] != members[0].0[*at]);
        match (0..count).filter(differs).collect::<Vec<usize>>()[..] {
            [at] => {
                let list: Vec<&str> = members.iter().map(|(numbers, _)| numbers[at]).collect();
                out.push(written(&template, &members[0].0, at, &list));
            }
            _ => out.extend(members.iter().map(|(_, path)| (*path).to_owned())),
        }
    }
    out
}

/// A path in which several numbers stand at one place.
fn written(template: &[Option<&str>], numbers: &[&str], at: usize, list: &[&str]) -> String {
    let mut next = 0..;
    let part = |part: &Option<&str>| match part {
        Some(text) => (*text).to_owned(),
        None => match next.next() {
            Some(place) if place == at => format!("{{{}}}", range(list)),
            Some(place) => numbers[place].to_owned(),
            None => String::new(),
        },
    };
    template.iter().map(part).collect::<Vec<_>>().join(".")
}

/// Numbers in order: `0..11` if none is left out, else `0,2,5`.
fn range(list: &[&str]) -> String {
    let numbers: Vec<Option<u64>> = list.iter().map(|text| text.parse().ok()).collect();
    let follows = |pair: &[Option<u64>]| matches!(pair, [Some(a), Some(b)] if a.checked_add(1) == Some(*b));
    match (list.first(), list.last()) {
        (Some(first), Some(last)) if list.len() > 2 && numbers.windows(2).all(follows) => {
            format!("{first}..{last}")
        }
        _ => list.join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::families;

    #[test]
    fn paths_that_differ_in_one_number_are_one() {
        for (paths, expected) in [
            (&["a"][..], &["a"][..]),
            (&["l.0.q", "l.1.q", "l.2.q"], &["l.{0..2}.q"]),
            (&["l.0.q", "l.1.q"], &["l.{0,1}.q"]),
            (&["l.0.q", "l.2.q", "l.3.q"], &["l.{0,2,3}.q"]),
            (&["l.2.q", "l.1.q", "l.0.q"], &["l.{2,1,0}.q"]),
            (&["l.0.q", "l.0.k", "l.1.q"], &["l.{0,1}.q", "l.0.k"]),
            (&["l.0.b.0", "l.0.b.1"], &["l.0.b.{0,1}"]),
            (&["l.0.b.0", "l.1.b.1"], &["l.0.b.0", "l.1.b.1"]),
            (&["l0.q", "l1.q"], &["l0.q", "l1.q"]),
            (&["0", "1", "2"], &["{0..2}"]),
            (&["99999999999999999999", "1"], &["{99999999999999999999,1}"]),
            (&[], &[]),
        ] {
            assert_eq!(families(paths), expected, "{paths:?}");
        }
    }
}
