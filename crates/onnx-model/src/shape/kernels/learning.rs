//! `ai.onnx.ml`: classical machine learning.
use super::{Family, policy};
use crate::shape::Dtype;
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use crate::shape::run_time::{About, rule, within};
use crate::shape::value::{Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    ArrayFeatureExtractor::ALL,
    CastMap::ALL,
    CategoryMapper::ALL,
    FeatureVectorizer::ALL,
    Imputer::ALL,
    LabelEncoder::ALL,
    Learning::ALL,
    Classifier::ALL,
    Vectors::ALL,
    LinearRegressor::ALL,
    SVMRegressor::ALL,
    Normalizer::ALL,
    OneHotEncoder::ALL,
    Scaler::ALL,
];

pub(super) const KERNELS: Family = &[
    op("ArrayFeatureExtractor", extract).at_run(&[within(1, ArrayFeatureExtractor::C2, About::Last)]),
    op("Binarizer", same),
    op("CastMap", cast_map),
    op("CategoryMapper", categories),
    op("DictVectorizer", dictionary),
    op("FeatureVectorizer", features),
    op("Imputer", imputer),
    op("LabelEncoder", labels),
    op("LinearClassifier", linear_classifier),
    op("LinearRegressor", linear_regressor),
    op("Normalizer", normalizer),
    op("OneHotEncoder", one_hot).at_run(&[rule(
        0,
        OneHotEncoder::C1,
        About::Categories,
        "every element of {} is a category",
    )]),
    op("SVMClassifier", svm_classifier),
    op("SVMRegressor", svm_regressor),
    op("Scaler", scaler),
    op("ZipMap", zip_map),
];

fn same(_: &mut Cx, call: &Checked) -> Outcome {
    call.one(call.shape(0)?.to_vec())
}

/// The number of rows of `[features]` or `[rows, features]`.
pub(super) fn rows(call: &Checked) -> Result<(Expr, Expr), KernelError> {
    match call.shape(0)? {
        [features] => Ok((Expr::ONE, *features)),
        [rows, features] => Ok((*rows, *features)),
        sizes => Err(KernelError::invalid(
            Learning::C1,
            format!("the input has 1 or 2 dimensions, not {}", sizes.len()),
        )),
    }
}

clauses! { ArrayFeatureExtractor {
    C1 "The input is not a scalar."
    C2 "Indices are within the last dimension, and there is at least one. They are not counted from the \
        end."
} }

/// `[.., indices]`.
fn extract(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.check(!sizes.is_empty(), ArrayFeatureExtractor::C1, || "the input is a scalar".to_owned())?;
    let count = cx.product(call.shape(1)?.to_vec());
    let some = cx.ge(count, 1);
    cx.require(some, ArrayFeatureExtractor::C2, |_| "there is no index".to_owned())?;
    let last = sizes[sizes.len() - 1];
    let indices = call.given(1)?;
    super::gather::inside(cx, indices, last, ArrayFeatureExtractor::C2)?;
    super::gather::not_negative(call, 1, ArrayFeatureExtractor::C2)?;
    let mut shape = if sizes.len() == 1 { vec![Expr::ONE] } else { sizes[..sizes.len() - 1].to_vec() };
    shape.push(count);
    call.one(shape)
}

clauses! { CastMap {
    C1 "`cast_to` is `TO_FLOAT`, `TO_INT64` or `TO_STRING`."
} }

fn cast_map(cx: &mut Cx, call: &Checked) -> Outcome {
    let dtype = match call.text("cast_to", "TO_FLOAT") {
        "TO_FLOAT" => Dtype::F32,
        "TO_INT64" => Dtype::I64,
        "TO_STRING" => Dtype::Str,
        other => return Err(KernelError::invalid(CastMap::C1, format!("no type is named {other}"))),
    };
    let count = if call.text("map_form", "DENSE") == "SPARSE" {
        cx.int(call.int("max_map", 1))
    } else {
        cx.unbacked_size(0, None)
    };
    Ok(vec![Tensor::new(dtype, vec![Expr::ONE, count]).into()])
}

clauses! { CategoryMapper {
    C1 "`cats_int64s` and `cats_strings` have the same length, which is not 0."
} }

/// Strings become integers and the other way round.
fn categories(_: &mut Cx, call: &Checked) -> Outcome {
    let (strings, ints) = (call.length("cats_strings"), call.length("cats_int64s"));
    call.check(strings == ints && strings > 0, CategoryMapper::C1, || {
        format!("{strings} strings, {ints} integers")
    })?;
    let dtype = if call.given(0)?.dtype == Dtype::Str { Dtype::I64 } else { Dtype::Str };
    Ok(vec![Tensor::new(dtype, call.shape(0)?.to_vec()).into()])
}

fn dictionary(cx: &mut Cx, call: &Checked) -> Outcome {
    let count = call.length("string_vocabulary").max(call.length("int64_vocabulary"));
    let shape = vec![Expr::ONE, cx.int(count as i64)];
    call.one(shape)
}

clauses! { FeatureVectorizer {
    C1 "`inputdimensions` has an entry for each input, none of them negative."
    C2 "The inputs have the same number of rows."
} }

/// `[rows, sum of inputdimensions]`.
fn features(cx: &mut Cx, call: &Checked) -> Outcome {
    let widths = call.ints("inputdimensions").unwrap_or_default();
    call.check(widths.len() == call.count(), FeatureVectorizer::C1, || {
        format!("there are {} widths for {} inputs", widths.len(), call.count())
    })?;
    call.check(widths.iter().all(|&width| width >= 0), FeatureVectorizer::C1, || {
        "a width is negative".to_owned()
    })?;
    let first = call.shape(0)?;
    let rows = if first.len() <= 1 { Expr::ONE } else { first[0] };
    for at in 1..call.count() {
        let other = call.shape(at)?;
        let other = if other.len() <= 1 { Expr::ONE } else { other[0] };
        cx.require_eq(rows, other, FeatureVectorizer::C2, "rows")?;
    }
    let width = widths.iter().fold(0i64, |sum, &width| sum.saturating_add(width));
    let shape = vec![rows, cx.int(width)];
    Ok(vec![Tensor::new(Dtype::F32, shape).into()])
}

clauses! { Imputer {
    C1 "Imputed values are of the input's type, one for all features or one for each. The input is not a \
        scalar."
} }

fn imputer(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let integers = call.given(0)?.dtype == Dtype::I64;
    let (ints, floats) = (call.length("imputed_value_int64s"), call.length("imputed_value_floats"));
    policy::onnxruntime_checks(cx, ints == 0 || floats == 0, Imputer::C1, || {
        "there are values of two types".to_owned()
    })?;
    let count = if integers { ints } else { floats };
    call.check(count > 0, Imputer::C1, || "there is no value for the input's type".to_owned())?;
    call.check(!sizes.is_empty(), Imputer::C1, || "the input is a scalar".to_owned())?;
    // onnxruntime takes the first of values that are not one for each feature.
    if count > 1 && !cx.on_cpu() {
        let features = if sizes.len() == 1 { sizes[0] } else { sizes[1] };
        let count = cx.int(count as i64);
        cx.require_eq(features, count, Imputer::C1, "features and values")?;
    }
    call.one(sizes)
}

clauses! { LabelEncoder {
    C1 "There is one list of keys and one of values, of the same length. Keys have the input's type."
} }

/// Keys become values.
fn labels(_: &mut Cx, call: &Checked) -> Outcome {
    let shape = call.shape(0)?.to_vec();
    let input = call.given(0)?.dtype;
    if call.since() < 2 {
        let dtype = if input == Dtype::Str { Dtype::I64 } else { Dtype::Str };
        return Ok(vec![Tensor::new(dtype, shape).into()]);
    }
    let list = |side: &str| -> Vec<(Dtype, usize)> {
        let of = |dtype: Dtype, suffix: &str| {
            let name = format!("{side}_{suffix}");
            match call.attribute(&name) {
                Some(crate::shape::Attribute::Tensor(tensor)) => {
                    Some((tensor.dtype, tensor.count().unwrap_or(0) as usize))
                }
                Some(_) => Some((dtype, call.length(&name))),
                None => None,
            }
        };
        let kinds =
            [(Dtype::Str, "strings"), (Dtype::I64, "int64s"), (Dtype::F32, "floats"), (Dtype::F64, "tensor")];
        kinds.into_iter().filter_map(|(dtype, suffix)| of(dtype, suffix)).collect()
    };
    let (keys, values) = (list("keys"), list("values"));
    let key = keys.iter().find(|(dtype, _)| *dtype == input);
    let ([value], Some(key)) = (values.as_slice(), key) else {
        return Err(KernelError::invalid(
            LabelEncoder::C1,
            "keys of the input's type and values are to be given",
        ));
    };
    call.check(key.1 == value.1, LabelEncoder::C1, || format!("{} keys and {} values", key.1, value.1))?;
    Ok(vec![Tensor::new(value.0, shape).into()])
}

clauses! { Learning {
    C1 "The input has 1 or 2 dimensions."
    C3 "`post_transform` is known."
    C4 "`kernel_type` is known, and `kernel_params` has 3 entries or none."
} }

fn named_right(call: &Checked) -> Result<(), KernelError> {
    let post = call.text("post_transform", "NONE");
    let known = matches!(post, "NONE" | "SOFTMAX" | "LOGISTIC" | "SOFTMAX_ZERO" | "PROBIT");
    call.check(known, Learning::C3, || format!("no function on scores is named {post}"))?;
    let kernel = call.text("kernel_type", "LINEAR");
    call.check(matches!(kernel, "LINEAR" | "POLY" | "RBF" | "SIGMOID"), Learning::C4, || {
        format!("no kernel is named {kernel}")
    })?;
    let parameters = call.length("kernel_params");
    call.check(matches!(parameters, 0 | 3), Learning::C4, || format!("a kernel has {parameters} parameters"))
}

/// The type of classes and their number.
pub(super) fn classes(call: &Checked, ints: &str, strings: &str) -> (Dtype, usize) {
    match call.length(strings) {
        0 => (Dtype::I64, call.length(ints)),
        count => (Dtype::Str, count),
    }
}

pub(super) fn classified(cx: &mut Cx, call: &Checked, dtype: Dtype, count: usize, rows: Expr) -> Outcome {
    call.check(count > 0, Classifier::C2, || "there is no class".to_owned())?;
    let scores = vec![rows, cx.int(count as i64)];
    Ok(vec![Tensor::new(dtype, vec![rows]).into(), Tensor::new(Dtype::F32, scores).into()])
}

clauses! { Classifier {
    C2 "The numbers of classes, coefficients and intercepts agree. There is a class for each intercept \
        (two for one), in one list, and a coefficient for each class and feature."
} }

fn linear_classifier(cx: &mut Cx, call: &Checked) -> Outcome {
    let (rows, features) = rows(call)?;
    named_right(call)?;
    let (ints, strings) = (call.length("classlabels_ints"), call.length("classlabels_strings"));
    let (coefficients, intercepts) = (call.length("coefficients"), call.length("intercepts"));
    let (dtype, labels) = classes(call, "classlabels_ints", "classlabels_strings");
    call.check(intercepts > 0 && coefficients.is_multiple_of(intercepts), Classifier::C2, || {
        format!("{coefficients} coefficients and {intercepts} intercepts")
    })?;
    call.check(ints == 0 || strings == 0, Classifier::C2, || "there are two lists of classes".to_owned())?;
    call.check(labels == 0 || labels >= intercepts, Classifier::C2, || {
        format!("{labels} classes and {intercepts} intercepts")
    })?;
    let needed = cx.mul(features, intercepts as i32);
    let given = cx.int(coefficients as i64);
    let enough = if cx.on_cpu() { cx.ge(given, needed) } else { cx.eq(given, needed) };
    cx.require(enough, Classifier::C2, |cx| {
        format!("{coefficients} coefficients, {} features of all classes", cx.show(needed))
    })?;
    let count = if intercepts == 1 && labels <= 2 { 2 } else { intercepts };
    classified(cx, call, dtype, count, rows)
}

fn has_features(cx: &mut Cx, features: Expr, count: usize) -> Result<(), KernelError> {
    let count = cx.int(count as i64);
    cx.require_eq(features, count, Vectors::C5, "the features of the input and those of the vectors")
}

clauses! { Vectors {
    C1 "There are classes, and `vectors_per_class` has an entry for each, or none."
    C2 "There are enough coefficients for the support vectors of all pairs of classes."
    C3 "`prob_a` and `prob_b` have the same length."
    C5 "The input has as many features as a support vector, or as each class has coefficients if there are \
        none."
} }

fn svm_classifier(cx: &mut Cx, call: &Checked) -> Outcome {
    let (rows, features) = rows(call)?;
    named_right(call)?;
    let (dtype, count) = classes(call, "classlabels_ints", "classlabels_strings");
    let (coefficients, vectors) = (call.length("coefficients"), call.length("support_vectors"));
    let counts = call.ints("vectors_per_class").unwrap_or_default();
    call.check(count > 0 && (counts.is_empty() || counts.len() == count), Vectors::C1, || {
        format!("{} counts of vectors for {count} classes", counts.len())
    })?;
    call.check(call.length("prob_a") == call.length("prob_b"), Vectors::C3, || {
        "probabilities do not come in pairs".to_owned()
    })?;
    call.check(coefficients > 0, Vectors::C2, || "there are no coefficients".to_owned())?;
    let total = counts.iter().fold(0i64, |sum, &n| sum.saturating_add(n));
    let total = usize::try_from(total).unwrap_or(0);
    call.check(coefficients >= total.saturating_mul(count.saturating_sub(1)), Vectors::C2, || {
        format!("{coefficients} coefficients for {total} vectors")
    })?;
    has_features(
        cx,
        features,
        vectors.checked_div(total).or_else(|| coefficients.checked_div(count)).unwrap_or(0),
    )?;
    let columns = if call.length("prob_a") > 0 || counts.is_empty() || count <= 2 {
        count
    } else {
        count * (count - 1) / 2
    };
    classified(cx, call, dtype, columns, rows)
}

clauses! { LinearRegressor {
    C2 "`targets` is positive, and there is a coefficient for each target and feature."
} }

/// `[rows, targets]`.
fn linear_regressor(cx: &mut Cx, call: &Checked) -> Outcome {
    let (rows, features) = rows(call)?;
    let targets = call.int("targets", 1);
    call.check(targets > 0, LinearRegressor::C2, || format!("there are {targets} targets"))?;
    let targets = cx.int(targets);
    let product = cx.mul(features, targets);
    let length = cx.int(call.length("coefficients") as i64);
    let enough = cx.ge(length, product);
    cx.require(enough, LinearRegressor::C2, |cx| {
        format!("{} coefficients, {} features of all targets", cx.show(length), cx.show(product))
    })?;
    Ok(vec![Tensor::new(Dtype::F32, vec![rows, targets]).into()])
}

clauses! { SVMRegressor {
    C1 "`n_supports` divides the support vectors, with a coefficient for each. `rho` and `coefficients` \
        are given."
} }

fn svm_regressor(cx: &mut Cx, call: &Checked) -> Outcome {
    let (rows, features) = rows(call)?;
    named_right(call)?;
    let (coefficients, vectors) = (call.length("coefficients"), call.length("support_vectors"));
    let count = usize::try_from(call.int("n_supports", 0)).unwrap_or(0);
    call.check(coefficients > 0 && call.length("rho") > 0, SVMRegressor::C1, || {
        "coefficients and rho are to be given".to_owned()
    })?;
    let fits = count == 0 || vectors > 0 && vectors.is_multiple_of(count) && coefficients >= count;
    call.check(fits, SVMRegressor::C1, || {
        format!("{vectors} numbers and {coefficients} coefficients of {count} vectors")
    })?;
    has_features(cx, features, vectors.checked_div(count).unwrap_or(coefficients))?;
    Ok(vec![Tensor::new(Dtype::F32, vec![rows, Expr::ONE]).into()])
}

clauses! { Normalizer {
    C2 "`norm` is `MAX`, `L1` or `L2`."
} }

fn normalizer(_: &mut Cx, call: &Checked) -> Outcome {
    let norm = call.text("norm", "MAX");
    call.check(matches!(norm, "MAX" | "L1" | "L2"), Normalizer::C2, || format!("no norm is named {norm}"))?;
    rows(call)?;
    Ok(vec![Tensor::new(Dtype::F32, call.shape(0)?.to_vec()).into()])
}

clauses! { OneHotEncoder {
    C1 "Exactly one of `cats_int64s` and `cats_strings` is given."
    C2 "The categories are of the input's type, unless `zeros` is set."
} }

/// `[.., categories]`.
fn one_hot(cx: &mut Cx, call: &Checked) -> Outcome {
    let (ints, strings) = (call.length("cats_int64s"), call.length("cats_strings"));
    call.check((ints > 0) != (strings > 0), OneHotEncoder::C1, || {
        "one list of categories is to be given".to_owned()
    })?;
    let text = call.given(0)?.dtype == Dtype::Str;
    let zeros = call.int("zeros", 1) != 0;
    call.check(zeros || text == (strings > 0), OneHotEncoder::C2, || {
        "the categories are of another type".to_owned()
    })?;
    let count = cx.int(ints.max(strings) as i64);
    let shape = [call.shape(0)?, &[count]].concat();
    Ok(vec![Tensor::new(Dtype::F32, shape).into()])
}

clauses! { Scaler {
    C1 "`offset` and `scale` have the same length: 1, or the number of features. The input is not a scalar."
} }

fn scaler(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let (offset, scale) = (call.length("offset"), call.length("scale"));
    call.check(offset == scale && scale > 0, Scaler::C1, || format!("{offset} offsets and {scale} scales"))?;
    call.check(!sizes.is_empty(), Scaler::C1, || "the input is a scalar".to_owned())?;
    if scale > 1 {
        let features = if sizes.len() == 1 { sizes[0] } else { sizes[1] };
        let scale = cx.int(scale as i64);
        cx.require_eq(features, scale, Scaler::C1, "features and scales")?;
    }
    Ok(vec![Tensor::new(Dtype::F32, sizes).into()])
}

fn zip_map(_: &mut Cx, call: &Checked) -> Outcome {
    let key = if call.length("classlabels_strings") > 0 { "str" } else { "i64" };
    Ok(vec![Value::Other(format!("seq(map({key},f32))").into())])
}
