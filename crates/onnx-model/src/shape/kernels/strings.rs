//! Strings.
use super::{Family, policy};
use crate::shape::call::{Attribute, Checked, Outcome};
use crate::shape::op::{free, op};
use crate::shape::value::{Element, Tensor};
use crate::shape::{Dtype, at_load};
use rustc_hash::FxHashSet;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};
use std::hash::Hash;
use std::ops::RangeInclusive;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[Tokenizer::ALL, RegexFullMatch::ALL, StringNormalizer::ALL, TfIdfVectorizer::ALL];

pub(super) const KERNELS: Family = &free([
    op("RegexFullMatch", matches_all).infers(at_load::rank),
    op("StringNormalizer", normalizer).infers(at_load::rank),
    op("StringSplit", split),
    op("TfIdfVectorizer", tf_idf).infers(at_load::rank),
]);

pub(super) const CONTRIB: Family = &free([op("Tokenizer", tokenizer)]);

clauses! { Tokenizer {
    C1 "The input is `[c]` or `[n, c]`, and has a string unless it is known to be empty."
    C2 "Either `separators` or `tokenexp` is given, and there is at least one separator."
    C3 "`mincharnum` is positive."
} }

/// The parts of each string in a new dimension, padded.
fn tokenizer(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut shape = call.shape(0)?.to_vec();
    call.check(matches!(shape.len(), 1 | 2), Tokenizer::C1, || format!("strings have rank {}", shape.len()))?;
    let (separators, expression) = (call.attribute("separators"), call.attribute("tokenexp"));
    let fine = separators.is_some() != expression.is_some();
    let some = separators.is_none() || call.length("separators") > 0;
    call.check(fine && some, Tokenizer::C2, || "separators or an expression are to be given".to_owned())?;
    call.check(call.int("mincharnum", 0) > 0, Tokenizer::C3, || {
        "the least length is not positive".to_owned()
    })?;
    let count = cx.product(shape.clone());
    let none = cx.eq(count, 0);
    if cx.surely(none) {
        if let [_, strings] = shape.as_mut_slice() {
            *strings = Expr::ZERO;
        }
        return call.one(shape);
    }
    let some = cx.gt(count, 0);
    cx.require(some, Tokenizer::C1, |_| "there is no string".to_owned())?;
    let marks = if call.int("mark", 0) != 0 { 2 } else { 0 };
    shape.push(cx.unbacked_size(marks, None));
    call.one(shape)
}

clauses! { RegexFullMatch {
    C1 "`pattern` is given."
} }

fn matches_all(_: &mut Cx, call: &Checked) -> Outcome {
    call.check(call.attribute("pattern").is_some(), RegexFullMatch::C1, || "there is no pattern".to_owned())?;
    call.one(call.shape(0)?.to_vec())
}

/// The parts of each string, in a new dimension as long as the longest, and their numbers.
fn split(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let (delimiter, most) = (call.text("delimiter", ""), call.int("maxsplit", i64::MAX));
    let parts = |text: &str| -> usize {
        let count = if delimiter.is_empty() {
            text.split_whitespace().count()
        } else if text.is_empty() {
            0
        } else {
            text.split(delimiter).count()
        };
        count.min(usize::try_from(most.saturating_add(1)).unwrap_or(usize::MAX))
    };
    let x = call.given(0)?;
    let count = |element: &Element| match element {
        Element::Text(text) => Some(parts(text)),
        _ => None,
    };
    let longest = match (&x.elements, x.list()) {
        (Some(crate::shape::Elements::Fill(element)), None) => {
            // As many as in each text, where there is one.
            let (each, numel) = (count(element), cx.product(sizes.clone()));
            let some = cx.min(numel, 1);
            let longest = each.map(|each| cx.mul(some, each as i32));
            return split_into(cx, sizes, longest);
        }
        (_, Some(list)) => {
            list.iter().map(count).collect::<Option<Vec<_>>>().map(|l| l.into_iter().max().unwrap_or(0))
        }
        _ => None,
    };
    let longest = longest.map(|longest| cx.int(longest as i64));
    split_into(cx, sizes, longest)
}

fn split_into(cx: &mut Cx, sizes: Vec<Expr>, longest: Option<Expr>) -> Outcome {
    let longest = longest.unwrap_or_else(|| cx.unbacked_size(0, None));
    let shape = [sizes.as_slice(), &[longest]].concat();
    Ok(vec![Tensor::new(Dtype::Str, shape).into(), Tensor::new(Dtype::I64, sizes).into()])
}

clauses! { StringNormalizer {
    C1 "The input is `[c]` or `[1, c]`."
    C2 "`case_change_action` is `NONE`, `LOWER` or `UPPER`."
    C3 "For onnxruntime, the input has at least one string. How many strings stop words leave depends on \
        data."
} }

fn normalizer(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut shape = call.shape(0)?.to_vec();
    let change = call.text("case_change_action", "NONE");
    call.check(matches!(change, "NONE" | "LOWER" | "UPPER"), StringNormalizer::C2, || {
        format!("no change of case is named {change}")
    })?;
    match shape.len() {
        1 => {}
        2 => {
            // The inference of shapes refuses a size that it does not know.
            let known = call.size_at_load(0, 0);
            policy::known_at_load(cx, call, known, StringNormalizer::C1, "the first size is not known")?;
            cx.require_eq(shape[0], Expr::ONE, StringNormalizer::C1, "the first size")?;
        }
        rank => {
            call.check(false, StringNormalizer::C1, || format!("it takes 1 or 2 dimensions, not {rank}"))?
        }
    }
    let last = shape.len() - 1;
    if cx.on_cpu() || shape.len() == 2 {
        let some = cx.ge(shape[last], 1);
        cx.require(some, StringNormalizer::C3, |_| "there is no string".to_owned())?;
    }
    if call.length("stopwords") > 0 {
        // An empty result has one empty string.
        let most = cx.at_least_one(shape[last]);
        shape[last] = cx.unbacked_size(1, Some(most));
    } else {
        shape[last] = cx.at_least_one(shape[last]);
    }
    call.one(shape)
}

clauses! { TfIdfVectorizer {
    C1 "The input is `[c]` or `[n, c]`, and the batch is not empty."
    C2 "`mode`, n-gram lengths, counts, indexes and weights are valid and fit each other."
    C3 "The pool has whole n-grams of each length. Those that are counted are distinct."
} }

/// A count for each n-gram.
fn tf_idf(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut sizes = call.shape(0)?.to_vec();
    if sizes.is_empty() && cx.on_cpu() && !call.infers_rank(0)? {
        sizes.push(Expr::ONE);
    }
    let indexes = call.ints("ngram_indexes").unwrap_or_default();
    let mode = call.text("mode", "");
    call.check(matches!(mode, "TF" | "IDF" | "TFIDF"), TfIdfVectorizer::C2, || {
        format!("no mode is named {mode}")
    })?;
    let (least, most, skip) =
        (call.int("min_gram_length", 0), call.int("max_gram_length", 0), call.int("max_skip_count", 0));
    call.check(least > 0 && most >= least && skip >= 0, TfIdfVectorizer::C2, || {
        format!("n-grams from {least} to {most} with {skip} skips")
    })?;
    let counts = call.ints("ngram_counts").unwrap_or_default();
    call.check(counts.len() as i64 >= most && !indexes.is_empty(), TfIdfVectorizer::C2, || {
        "there are too few counts or indexes".to_owned()
    })?;
    let weights = call.length("weights");
    call.check(weights == 0 || weights == indexes.len(), TfIdfVectorizer::C2, || {
        format!("{weights} weights for {} indexes", indexes.len())
    })?;
    call.check(indexes.iter().all(|&index| index >= 0), TfIdfVectorizer::C2, || {
        "an index is negative".to_owned()
    })?;
    call.check((1..=2).contains(&sizes.len()), TfIdfVectorizer::C1, || {
        format!("it takes 1 or 2 dimensions, not {}", sizes.len())
    })?;
    whole_grams(call, counts, least..=most)?;
    if let [batch, _] = sizes[..] {
        let some = cx.gt(batch, 0);
        cx.require(some, TfIdfVectorizer::C1, |_| "the batch is empty".to_owned())?;
    }
    let width = indexes.iter().max().map_or(0, |most| most.saturating_add(1));
    let width = cx.int(width);
    let shape = if sizes.len() == 2 { vec![sizes[0], width] } else { vec![width] };
    call.one(shape)
}

fn whole_grams(call: &Checked, counts: &[i64], counted: RangeInclusive<i64>) -> Result<(), KernelError> {
    let items = call.length("pool_int64s").max(call.length("pool_strings")) as i64;
    for (at, &start) in counts.iter().enumerate() {
        let end = counts.get(at + 1).copied().unwrap_or(items);
        let whole = 0 <= start && start <= end && end <= items && (end - start) % (at as i64 + 1) == 0;
        call.check(whole, TfIdfVectorizer::C3, || {
            format!("from {start} to {end} are no whole {}-grams", at + 1)
        })?;
        let differ = match call.attribute("pool_strings") {
            Some(Attribute::Texts(pool)) => {
                differ(pool.get(start as usize..end as usize).unwrap_or_default(), at + 1)
            }
            _ => {
                let pool = call.ints("pool_int64s").unwrap_or_default();
                differ(pool.get(start as usize..end as usize).unwrap_or_default(), at + 1)
            }
        };
        call.check(differ || !counted.contains(&(at as i64 + 1)), TfIdfVectorizer::C3, || {
            format!("a {}-gram is there twice", at + 1)
        })?;
    }
    Ok(())
}

/// Whether no n-gram of a list is there twice.
fn differ<T: Eq + Hash>(list: &[T], length: usize) -> bool {
    let mut seen = FxHashSet::default();
    list.chunks(length).all(|gram| seen.insert(gram))
}
