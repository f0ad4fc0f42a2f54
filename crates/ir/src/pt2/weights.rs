//! The values of parameters, buffers and constants that an archive holds, for writers that need them.
//!
//! Only the raw form is read; what was saved as a pickle is left out.

use indexmap::IndexMap;
use serde::Deserialize;

use super::archive::{self, Archive, read_entry};
use super::{Limits, ReadOptions, json};
use crate::dtype::Dtype;
use crate::error::{ReadError, ReadErrorKind, ReadResult};

/// The most bytes that one value takes.
const MAX_BYTES: u64 = 16 << 30;

/// A tensor's value.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// The element type.
    pub dtype: Dtype,
    /// The sizes.
    pub sizes: Vec<i64>,
    /// The elements in row-major order, little-endian.
    pub bytes: Vec<u8>,
}

/// The values that an archive holds, by qualified name.
#[derive(Debug, Clone, Default)]
pub struct Weights {
    values: IndexMap<String, Weight>,
}

impl Weights {
    /// The value of this qualified name.
    pub fn get(&self, fqn: &str) -> Option<&Weight> {
        self.values.get(fqn)
    }

    /// Adds a value.
    pub fn insert(&mut self, fqn: &str, weight: Weight) {
        self.values.insert(fqn.to_owned(), weight);
    }

    /// The bytes of all values.
    pub fn total_bytes(&self) -> usize {
        self.values.values().map(|weight| weight.bytes.len()).sum()
    }
}

#[derive(Deserialize)]
struct Config {
    config: IndexMap<String, Payload>,
}

#[derive(Deserialize)]
struct Payload {
    path_name: String,
    #[serde(default)]
    use_pickle: bool,
    tensor_meta: Option<Layout>,
}

#[derive(Deserialize)]
struct Layout {
    dtype: i64,
    sizes: Vec<Number>,
    strides: Vec<Number>,
    storage_offset: Number,
}

#[derive(Deserialize)]
struct Number {
    as_int: i64,
}

/// Reads the values that the archive of a program holds; none where the bytes are no archive of the newer layout.
///
/// # Errors
/// When the archive is damaged, or a value is not of the size that is recorded of it.
pub fn read_weights(bytes: &[u8], options: &ReadOptions) -> ReadResult<Weights> {
    let mut weights = Weights::default();
    if !bytes.starts_with(b"PK") {
        return Ok(weights);
    }
    let model = archive::read_model(bytes, &options.limits, options.model)?.name;
    let Some((root, name)) = model.rsplit_once("models/") else { return Ok(weights) };
    let name = name.strip_suffix(".json").unwrap_or(name);
    let mut archive = archive::open(bytes)?;
    let order = entry(&mut archive, &format!("{root}byteorder"), 16, &options.limits)?;
    if order.is_some_and(|order| order.trim_ascii() != b"little") {
        return Ok(weights);
    }
    for kind in ["weights", "constants"] {
        let path = format!("{root}data/{kind}/{name}_{kind}_config.json");
        let Some(config) = entry(&mut archive, &path, options.limits.model_bytes, &options.limits)? else {
            continue;
        };
        let config: Config = json::parse(&config).map_err(|error| error.in_entry(&path))?;
        for (fqn, payload) in config.config {
            let (Some(layout), false) = (&payload.tensor_meta, payload.use_pickle) else { continue };
            let path = format!("{root}data/{kind}/{}", payload.path_name);
            let Some(raw) = entry(&mut archive, &path, MAX_BYTES, &options.limits)? else { continue };
            let Some(dtype) = Dtype::from_export_number(layout.dtype) else { continue };
            let sizes: Vec<i64> = layout.sizes.iter().map(|size| size.as_int).collect();
            let bytes = row_major(raw, dtype, layout).ok_or_else(|| {
                let message = format!("`{fqn}` does not have the bytes that its sizes and strides need");
                ReadError::new(ReadErrorKind::DamagedArchive, message).in_entry(&path)
            })?;
            weights.insert(&fqn, Weight { dtype, sizes, bytes });
        }
    }
    Ok(weights)
}

fn entry(archive: &mut Archive<'_>, path: &str, max: u64, limits: &Limits) -> ReadResult<Option<Vec<u8>>> {
    match archive.index_for_name(path) {
        Some(_) => read_entry(archive, path, max, limits).map(Some),
        None => Ok(None),
    }
}

/// The elements in row-major order; `None` when the bytes are too few, or sizes and strides do not fit each other.
fn row_major(raw: Vec<u8>, dtype: Dtype, layout: &Layout) -> Option<Vec<u8>> {
    let item = dtype.item_size() as usize;
    let natural = |number: &Number| usize::try_from(number.as_int).ok();
    let sizes: Vec<usize> = layout.sizes.iter().map(natural).collect::<Option<_>>()?;
    let strides: Vec<usize> = layout.strides.iter().map(natural).collect::<Option<_>>()?;
    let offset = natural(&layout.storage_offset)?;
    if sizes.len() != strides.len() {
        return None;
    }
    let count = sizes.iter().try_fold(1_usize, |count, &size| count.checked_mul(size))?;
    let bytes = count.checked_mul(item)?;
    if count == 0 {
        return Some(Vec::new());
    }
    let mut dense = 1_usize;
    let mut is_dense = offset == 0;
    for (&size, &stride) in sizes.iter().zip(&strides).rev() {
        is_dense &= size == 1 || stride == dense;
        dense = dense.checked_mul(size)?;
    }
    if is_dense && raw.len() >= bytes {
        let mut raw = raw;
        raw.truncate(bytes);
        return Some(raw);
    }
    // What is expanded can name far more elements than there are bytes.
    if bytes > raw.len().checked_mul(64)? {
        return None;
    }
    let mut out = Vec::with_capacity(bytes);
    let mut index = vec![0_usize; sizes.len()];
    for _ in 0..count {
        let mut at = offset;
        for (&i, &stride) in index.iter().zip(&strides) {
            at = at.checked_add(i.checked_mul(stride)?)?;
        }
        let begin = at.checked_mul(item)?;
        out.extend_from_slice(raw.get(begin..begin.checked_add(item)?)?);
        for (i, &size) in index.iter_mut().zip(&sizes).rev() {
            *i += 1;
            if *i < size {
                break;
            }
            *i = 0;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(sizes: &[i64], strides: &[i64], offset: i64) -> Layout {
        let numbers = |list: &[i64]| list.iter().map(|&as_int| Number { as_int }).collect();
        Layout {
            dtype: 1,
            sizes: numbers(sizes),
            strides: numbers(strides),
            storage_offset: Number { as_int: offset },
        }
    }

    #[test]
    fn elements_are_put_in_row_major_order() {
        let raw: Vec<u8> = (0..6).collect();
        for (sizes, strides, offset, expected) in [
            (vec![2, 3], vec![3, 1], 0, Some(vec![0, 1, 2, 3, 4, 5])),
            (vec![3, 2], vec![1, 3], 0, Some(vec![0, 3, 1, 4, 2, 5])),
            (vec![2], vec![2], 1, Some(vec![1, 3])),
            (vec![], vec![], 5, Some(vec![5])),
            (vec![2, 2], vec![0, 1], 0, Some(vec![0, 1, 0, 1])),
            (vec![0, 9], vec![9, 1], 0, Some(vec![])),
            (vec![7], vec![1], 0, None),
            (vec![2], vec![1], 5, None),
            (vec![2], vec![-1], 0, None),
            (vec![2, 2], vec![1], 0, None),
            (vec![1 << 40], vec![0], 0, None),
            (vec![i64::MAX, i64::MAX], vec![0, 0], 0, None),
        ] {
            let found = row_major(raw.clone(), Dtype::Uint8, &layout(&sizes, &strides, offset));
            assert_eq!(found, expected, "{sizes:?} {strides:?} {offset}");
        }
    }

    #[test]
    fn what_is_no_archive_holds_no_values() {
        let options = ReadOptions::default();
        assert!(read_weights(b"{}", &options).is_ok_and(|weights| weights.values.is_empty()));
        assert!(read_weights(b"PK\x03\x04", &options).is_err());
    }
}
