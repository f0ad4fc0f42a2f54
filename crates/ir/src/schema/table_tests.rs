//! The embedded table: every line is sound, and every target of an exported program is found.
use super::*;

/// TorchScript builtins with a variable number of arguments, which have no [`Schema`].
const VARIADIC: &[&str] = &[
    "aten.einsum.sublist",
    "aten.format.default",
    "aten.has_torch_function.default",
    "aten.percentFormat.default",
];

#[test]
fn every_schema_of_the_table_parses() {
    let mut refused = Vec::new();
    for overload in SchemaTable::global().overloads() {
        let name = overload.name().to_string();
        match overload.schema() {
            Ok(schema) => {
                assert_eq!(schema.qualified(), overload.name(), "{name}");
                assert_eq!(schema.mutable, overload.tags().contains(Tags::MUTABLE), "{name}");
                assert_eq!(Schema::parse(&schema.to_string()).as_ref(), Ok(schema), "{name}");
            }
            Err(_) if overload.tags().contains(Tags::HIGHER_ORDER) => {}
            Err(error) => {
                assert_eq!(error.kind, SchemaErrorKind::Variadic, "{name}");
                assert!(overload.tags().contains(Tags::TORCHSCRIPT_ONLY), "{name}");
                refused.push(name);
            }
        }
    }
    assert_eq!(refused, VARIADIC);
}

#[test]
fn a_schema_prints_as_the_registry_prints_it() {
    let mut printed = 0;
    for overload in SchemaTable::global().overloads() {
        let Ok(schema) = overload.schema() else { continue };
        // Floats and escapes have more than one spelling, a memory format has a name and a number, a default may be
        // broadcast to its list, and an annotation may stand behind a list as well as behind its elements.
        let text = overload.text();
        let is_respelled = schema.args.iter().any(|arg| match &arg.default {
            Some(DefaultValue::Float(_) | DefaultValue::Str(_) | DefaultValue::Name(_)) => true,
            Some(DefaultValue::List(_)) => matches!(arg.ty.as_list(), Some((_, Some(_)))),
            _ => false,
        });
        if is_respelled || text.contains("](") {
            continue;
        }
        printed += 1;
        let single_result = |text: &str| text.replace("-> (", "-> ").trim_end_matches(')').to_owned();
        assert_eq!(single_result(&schema.to_string()), single_result(text));
    }
    assert!(printed > 2300, "{printed}");
}

#[test]
fn the_lines_are_sorted_and_unique() {
    let names: Vec<_> = SchemaTable::global().overloads().iter().map(Overload::name).collect();
    for pair in names.windows(2) {
        assert_eq!(SchemaTable::global().find_name(pair[0]).map(Overload::name), Some(pair[0]));
        let same_operator = (pair[0].namespace, pair[0].name) == (pair[1].namespace, pair[1].name);
        let default_first = pair[0].overload == "default" && same_operator;
        assert!(pair[0] < pair[1] || default_first, "{} before {}", pair[0], pair[1]);
        assert!(pair[1].overload != "default" || !same_operator, "{} before {}", pair[0], pair[1]);
    }
}

#[test]
fn every_tag_letter_has_a_meaning() {
    for overload in SchemaTable::global().overloads() {
        let count = if overload.letters() == "-" { 0 } else { overload.letters().len() };
        assert_eq!(overload.tags().names().count(), count, "{}", overload.name());
    }
}

#[test]
fn an_overload_is_found_by_each_of_its_names() {
    let table = SchemaTable::global();
    for (target, expected) in [
        ("aten.add.Tensor", "aten.add.Tensor"),
        ("aten::add.Tensor", "aten.add.Tensor"),
        ("torch.ops.aten.add.Tensor", "aten.add.Tensor"),
        ("aten.relu", "aten.relu.default"),
        ("aten::relu", "aten.relu.default"),
        ("torch.ops.aten.relu.default", "aten.relu.default"),
        ("prims.convert_element_type.default", "prims.convert_element_type.default"),
        ("torch.ops.higher_order.cond", "higher_order.cond.default"),
    ] {
        assert_eq!(
            table.find(target).map(|found| found.name().to_string()).as_deref(),
            Some(expected),
            "{target}"
        );
    }
    for target in
        ["", "add", "aten", "aten.", "aten.add.", "aten.add.Tensor.x", "aten.nope.default", "_operator.add"]
    {
        assert!(table.find(target).is_none(), "{target}");
    }
    assert!(table.get("aten.add.Tensor").is_some());
    assert!(table.get("higher_order.cond").is_none());
    let overloads: Vec<_> =
        table.overloads_of("aten", "relu_").iter().map(|found| found.name().overload).collect();
    assert_eq!(overloads, ["default"]);
    let overloads: Vec<_> =
        table.overloads_of("aten", "pow_").iter().map(|found| found.name().overload).collect();
    assert_eq!(overloads, ["Scalar", "Tensor"]);
    assert!(table.overloads_of("aten", "nope").is_empty());
}

#[test]
fn tags_say_what_an_overload_is() {
    let tags = |target: &str| {
        SchemaTable::global().find(target).map(|found| found.tags().names().collect::<Vec<_>>())
    };
    for (target, expected) in [
        ("aten.add.Tensor", &["core", "pointwise", "composite_explicit"][..]),
        ("aten.add_.Tensor", &["pointwise", "mutable", "inplace"]),
        ("aten.detach_", &["mutable", "inplace", "inplace_view"]),
        ("aten.nonzero", &["core", "dynamic_output_shape"]),
        ("aten.Bool.int", &["torchscript_only"]),
        ("higher_order.cond", &["higher_order"]),
    ] {
        assert_eq!(tags(target).as_deref(), Some(expected), "{target}");
    }
    let core =
        SchemaTable::global().overloads().iter().filter(|found| found.tags().contains(Tags::CORE)).count();
    assert_eq!(core, 192);
}

#[test]
fn in_place_operators_write_and_return_their_first_argument() {
    let table = SchemaTable::global();
    // The mutable targets of exported programs at the training level.
    for target in [
        "add_.Tensor",
        "clamp_",
        "copy_",
        "detach_",
        "div_.Tensor",
        "dropout_",
        "fill_.Scalar",
        "fill_diagonal_",
        "hardswish_",
        "hardtanh_",
        "index_copy_",
        "index_put_",
        "leaky_relu_",
        "masked_fill_.Scalar",
        "mul_.Tensor",
        "relu_",
        "scatter_.value",
        "silu_",
        "t_",
        "zero_",
        "sub_.Tensor",
        "bernoulli_.float",
        "normal_",
        "uniform_",
        "pow_.Scalar",
        "transpose_",
        "squeeze_.dim",
        "requires_grad_",
    ] {
        let schema = table.get(&format!("aten.{target}")).unwrap_or_else(|| panic!("{target}"));
        assert!(schema.mutable && schema.args[0].is_written(), "{schema}");
        assert_eq!(schema.args[0].name, "self", "{schema}");
        assert_eq!(schema.aliased_arg(0), Some((0, true)), "{schema}");
    }
    for overload in table.overloads().iter().filter(|overload| overload.tags().contains(Tags::INPLACE)) {
        let schema = overload.schema().unwrap();
        assert!(schema.args[0].is_written(), "{schema}");
        match schema.returns.as_slice() {
            [] => assert_eq!(
                schema.args[0].ty.as_list().map(|(element, _)| element),
                Some(&Type::Tensor),
                "{schema}"
            ),
            _ => assert_eq!(schema.aliased_arg(0), Some((0, true)), "{schema}"),
        }
    }
}
