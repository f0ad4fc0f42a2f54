//! Schemas that parse, text that does not, and the table as a whole.
use super::*;

fn parse(text: &str) -> Schema {
    Schema::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn int() -> Type {
    Type::Int { symbolic: false }
}

fn sym_int() -> Type {
    Type::Int { symbolic: true }
}

fn optional(ty: Type) -> Type {
    Type::Optional(Box::new(ty))
}

fn list(ty: Type) -> Type {
    Type::List(Box::new(ty), None)
}

fn list_of(length: u32, ty: Type) -> Type {
    Type::List(Box::new(ty), Some(length))
}

fn alias(set: &[&str], write: bool, after: Option<&[&str]>) -> Alias {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Alias { set: owned(set), write, after: after.map(owned) }
}

#[test]
fn a_schema_has_a_name_arguments_and_results() {
    let schema = parse("index_add.default_(Tensor self, int dim, *, Scalar alpha=1) -> Tensor");
    let arg =
        |name: &str, ty, default, kw_only| ArgSpec { name: name.into(), ty, default, kw_only, alias: None };
    assert_eq!(
        schema,
        Schema {
            namespace: "aten".into(),
            name: "index_add".into(),
            overload: "default_".into(),
            args: vec![
                arg("self", Type::Tensor, None, false),
                arg("dim", int(), None, false),
                arg("alpha", Type::Scalar, Some(DefaultValue::Int(1)), true),
            ],
            returns: vec![RetSpec { name: None, ty: Type::Tensor, alias: None }],
            mutable: false,
        }
    );
    assert_eq!(schema.positional().len(), 2);
    assert_eq!(schema.arg_index("alpha"), Some(2));
    assert_eq!(schema.arg_index("beta"), None);
    assert!(schema.args[1].is_required() && !schema.args[2].is_required());
}

#[test]
fn names_split_into_namespace_operator_and_overload() {
    for (text, expected) in [
        ("relu(Tensor self) -> Tensor", "aten.relu.default"),
        ("relu.default(Tensor self) -> Tensor", "aten.relu.default"),
        ("add_.Tensor(Tensor(a!) self) -> Tensor(a!)", "aten.add_.Tensor"),
        ("prims::abs(Tensor self) -> Tensor", "prims.abs.default"),
        ("my_lib::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "my_lib.f.out"),
    ] {
        assert_eq!(parse(text).qualified().to_string(), expected, "{text}");
    }
}

#[test]
fn types_nest_as_their_suffixes_do() {
    let table = [
        ("Tensor", Type::Tensor),
        ("Tensor?", optional(Type::Tensor)),
        ("Tensor?[]", list(optional(Type::Tensor))),
        ("Tensor[]?", optional(list(Type::Tensor))),
        ("Tensor?[]?", optional(list(optional(Type::Tensor)))),
        ("int", int()),
        ("SymInt", sym_int()),
        ("int[2]", list_of(2, int())),
        ("SymInt[1]?", optional(list_of(1, sym_int()))),
        ("int[][]", list(list(int()))),
        ("SymFloat", Type::Float { symbolic: true }),
        ("SymBool?", optional(Type::Bool { symbolic: true })),
        ("bool[3]", list_of(3, Type::Bool { symbolic: false })),
        ("ScalarType?", optional(Type::ScalarType)),
        ("Dict(str, Tensor[])", Type::Dict(Box::new((Type::Str, list(Type::Tensor))))),
        ("(Tensor, t)[]", list(Type::Tuple(vec![Type::Tensor, Type::Other("t".into())]))),
        ("Future(t)", Type::Other("Future(t)".into())),
        ("Dimname[]?", optional(list(Type::Other("Dimname".into())))),
        ("__torch__.torch.classes.rnn.CellParamsBase[]", {
            list(Type::Other("__torch__.torch.classes.rnn.CellParamsBase".into()))
        }),
    ];
    for (text, ty) in table {
        let schema = parse(&format!("f({text} x) -> ()"));
        assert_eq!(schema.args[0].ty, ty, "{text}");
        assert_eq!(ty.to_string(), text);
    }
}

#[test]
fn defaults_have_the_type_of_their_argument() {
    use DefaultValue::*;
    let name = |name: &str| Name(name.to_owned());
    let string = |text: &str| Str(text.to_owned());
    let table = [
        ("Tensor? x=None", None),
        ("bool x=True", Bool(true)),
        ("bool[2] x=[True,False]", List(vec![Bool(true), Bool(false)])),
        ("int x=-100", Int(-100)),
        ("int x=9223372036854775807", Int(i64::MAX)),
        ("int x=Mean", Int(1)),
        ("int x=Sum", Int(2)),
        ("int[2] x=1", List(vec![Int(1), Int(1)])),
        ("int[2] x=[0,1]", List(vec![Int(0), Int(1)])),
        ("int[2] x=[]", List(vec![])),
        ("SymInt[1]? x=None", None),
        ("SymInt[1]? x=0", List(vec![Int(0)])),
        ("float x=1e-05", Float(1e-5)),
        ("float x=1.0000000000000001e-05", Float(1e-5)),
        ("float x=60.", Float(60.0)),
        ("float x=.5", Float(0.5)),
        ("float x=0", Float(0.0)),
        ("float? x=-1E+3", Float(-1000.0)),
        ("float x=inf", Float(f64::INFINITY)),
        ("Scalar x=-inf", Float(f64::NEG_INFINITY)),
        ("Scalar x=2", Int(2)),
        ("Scalar x=0.5", Float(0.5)),
        ("Scalar x=False", Bool(false)),
        ("ScalarType x=long", name("long")),
        ("ScalarType? x=None", None),
        ("MemoryFormat x=contiguous_format", name("contiguous_format")),
        ("MemoryFormat x=0", name("contiguous_format")),
        ("MemoryFormat? x=2", name("channels_last")),
        ("Layout x=strided", name("strided")),
        ("Device x=\"cuda:0\"", name("cuda:0")),
        ("str x=\"reflect\"", string("reflect")),
        ("str x='reflect'", string("reflect")),
        ("str x=\", ) =\"", string(", ) =")),
        (r#"str x=" \n\t\f\v\\\x41\"""#, string(" \n\t\x0c\x0b\\A\"")),
        ("str x=\"größe\"", string("größe")),
        ("int[][] x=[[1], []]", List(vec![List(vec![Int(1)]), List(vec![])])),
    ];
    for (text, default) in table {
        let schema = parse(&format!("f({text}) -> ()"));
        assert_eq!(schema.args[0].default.as_ref(), Some(&default), "{text}");
        let printed = schema.to_string();
        assert_eq!(parse(&printed), schema, "{text}: {printed}");
    }
    let nan = parse("f(float x=nan) -> ()").args.remove(0).default;
    assert!(matches!(nan, Some(Float(x)) if x.is_nan()));
}

#[test]
fn alias_annotations_say_what_is_shared_and_what_is_written() {
    let table = [
        ("Tensor(a)", alias(&["a"], false, Option::None)),
        ("Tensor(a!)", alias(&["a"], true, Option::None)),
        ("Tensor(a!)?", alias(&["a"], true, Option::None)),
        ("Tensor(b!)[]", alias(&["b"], true, Option::None)),
        ("Tensor[](a)", alias(&["a"], false, Option::None)),
        ("Tensor(b|a)", alias(&["b", "a"], false, Option::None)),
        ("Tensor(a -> *)", alias(&["a"], false, Some(&["*"]))),
        ("Tensor(a! -> a|b)", alias(&["a"], true, Some(&["a", "b"]))),
        ("t(*)?", alias(&["*"], false, Option::None)),
        ("Dict(str, t)(a)", alias(&["a"], false, Option::None)),
    ];
    for (text, expected) in table {
        let schema = parse(&format!("f({text} x) -> {text} y"));
        assert_eq!(schema.args[0].alias.as_ref(), Some(&expected), "{text}");
        assert_eq!(schema.returns[0].alias.as_ref(), Some(&expected), "{text}");
        assert_eq!(schema.mutable, expected.write, "{text}");
    }
}

#[test]
fn a_result_may_share_the_memory_of_an_argument() {
    for (text, expected) in [
        ("relu(Tensor self) -> Tensor", None),
        ("relu_(Tensor(a!) self) -> Tensor(a!)", Some((0, true))),
        ("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", Some((0, false))),
        ("f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", Some((1, true))),
        ("split(Tensor(a -> *) self, int n) -> Tensor(a)[]", Some((0, false))),
        ("f(Tensor(a) x, Tensor(a) y) -> Tensor(a)", None),
        ("f(t[](a) list) -> t(*)", None),
        ("f(Tensor(a!) x) -> ()", None),
    ] {
        assert_eq!(parse(text).aliased_arg(0), expected, "{text}");
    }
}

#[test]
fn results_may_be_none_one_or_many() {
    for (returns, count, names) in [
        ("()", 0, ""),
        ("Tensor", 1, ""),
        ("(Tensor)", 1, ""),
        ("Tensor[] out", 1, "out"),
        ("(Tensor, int)", 2, ""),
        ("(Tensor values, Tensor indices)", 2, "values indices"),
        ("((Tensor, t)[])", 1, ""),
    ] {
        let schema = parse(&format!("f() -> {returns}"));
        let given: Vec<&str> = schema.returns.iter().filter_map(|result| result.name.as_deref()).collect();
        assert_eq!((schema.returns.len(), given.join(" ").as_str()), (count, names), "{returns}");
        assert_eq!(parse(&schema.to_string()), schema, "{returns}");
    }
}

#[test]
fn spaces_are_free_between_tokens() {
    let spread = " aten :: f . o ( Tensor ( a ! ) [ ] ? x = None ,\t* , int [ 2 ] y = [ 1 , - 1 ] ) -> ( ) ";
    // A sign belongs to its number.
    assert_eq!(Schema::parse(spread).unwrap_err().to_string(), "column 74: expected a number, found `-`");
    let spread = spread.replace("- 1", "-1");
    assert_eq!(parse(&spread).to_string(), "aten::f.o(Tensor(a!)[]? x=None, *, int[2] y=[1, -1]) -> ()");
}

#[test]
fn text_that_is_no_schema_is_refused_at_its_column() {
    let long_name = format!("f(Tensor {}) -> ()", "x".repeat(MAX_LENGTH));
    let deep_type = format!("f(Tensor{} x) -> ()", "[]".repeat(MAX_DEPTH + 1));
    let deep_tuple = format!("f({}Tensor", "(".repeat(5000));
    let deep_dict = format!("f({}Tensor", "Dict(str, ".repeat(1000));
    let deep_default = format!("f(int x={}", "[".repeat(5000));
    let many_items = format!("f(int[] x=[{}]) -> ()", vec!["1"; MAX_LIST + 1].join(","));
    let names: Vec<String> = (0..=MAX_ARGUMENTS).map(|index| format!("int x{index}")).collect();
    let many_arguments = format!("f({}) -> ()", names.join(", "));
    let many_results = format!("f() -> ({})", vec!["int"; MAX_ARGUMENTS + 1].join(","));
    let many_members = format!("f(({}) x) -> ()", vec!["int"; MAX_ARGUMENTS + 1].join(","));
    let huge_lists = "f(int[32][32][32][32] x=1) -> ()";
    for (text, expected) in [
        ("", "column 1: expected the name of an operator, found the end"),
        ("1f() -> ()", "column 1: expected the name of an operator, found `1f`"),
        ("f", "column 2: expected `(`, found the end"),
        ("a::b::c() -> ()", "column 5: expected `(`, found `:`"),
        ("a::() -> ()", "column 4: expected the name of an operator, found `(`"),
        ("f.() -> ()", "column 3: expected the name of an overload, found `(`"),
        ("f(", "column 3: expected the type of an argument, found the end"),
        ("f(Tensor", "column 9: expected the name of the argument, found the end"),
        ("f(Tensor x", "column 11: expected `,`, `)` or `=`, found the end"),
        ("f(Tensor x y) -> ()", "column 12: expected `,`, `)` or `=`, found `y`"),
        ("f(Tensor x,) -> ()", "column 12: expected the type of an argument, found `)`"),
        ("f(Tensor x, *) -> ()", "column 14: expected `,` and a keyword-only argument, found `)`"),
        ("f(*, int a, *, int b) -> ()", "column 13: a second `*`: keyword-only arguments have begun"),
        ("f(int a, Tensor a) -> ()", "column 17: a second argument is called `a`"),
        ("f(tensor x) -> ()", "column 3: unknown type `tensor`"),
        ("f(List[int] x) -> ()", "column 3: unknown type `List`"),
        ("f(Tensor größe) -> ()", "column 12: expected `,`, `)` or `=`, found `ö`"),
        ("f(str ü='ä', Tensr x) -> ()", "column 7: expected the name of the argument, found `ü`"),
        ("f(str x='ä', Tensr y) -> ()", "column 14: unknown type `Tensr`"),
        ("f(Tensor?? x) -> ()", "column 10: expected the name of the argument, found `?`"),
        ("f(int[ x) -> ()", "column 8: expected a length or `]`, found `x`"),
        ("f(int[2 x) -> ()", "column 9: expected `]`, found `x`"),
        ("f(int[0] x) -> ()", "column 7: expected a length of at least 1, found `0`"),
        ("f(int[33] x) -> ()", "column 7: a list of more than 32 elements"),
        ("f(int[99999999999] x) -> ()", "column 7: a list of more than 32 elements"),
        ("f(Tensor(a x) -> ()", "column 12: expected `)` after the alias set, found `x`"),
        ("f(Tensor() x) -> ()", "column 10: expected an alias set, found `)`"),
        ("f(Tensor(a|) x) -> ()", "column 12: expected an alias set, found `)`"),
        ("f(Tensor(a)[](b) x) -> ()", "column 14: a second alias annotation in one type"),
        ("f(Dict(str) x) -> ()", "column 11: expected `,`, found `)`"),
        ("f(Dict x) -> ()", "column 8: expected `(` after `Dict`, found `x`"),
        ("f(Dict(str, Tensor(a)) x) -> ()", "column 19: expected `)`, found `(`"),
        ("f(__torch__. x) -> ()", "column 14: expected the rest of the name of a class, found `x`"),
        ("f(...) -> ()", "column 3: a variable number of arguments or results (`...`) is not supported"),
        ("f() -> ...", "column 8: a variable number of arguments or results (`...`) is not supported"),
        ("f()", "column 4: expected `->`, found the end"),
        ("f() ->", "column 7: expected the type of a result, found the end"),
        ("f() -> (Tensor", "column 15: expected `,` or `)`, found the end"),
        ("f() -> Tensor, Tensor", "column 14: expected the end, found `,`"),
        ("f() -> Tensor -> Tensor", "column 15: expected the end, found `->`"),
        ("f(int x=) -> ()", "column 9: expected a default, found `)`"),
        ("f(int x==1) -> ()", "column 9: expected a default, found `=`"),
        ("f(int x=1=2) -> ()", "column 10: expected `,`, `)` or `=`, found `=`"),
        ("f(int x=1x) -> ()", "column 9: expected a number, found `1x`"),
        ("f(int x=-) -> ()", "column 9: expected a number, found `-`"),
        ("f(int x=-y) -> ()", "column 10: expected a number, found `y`"),
        ("f(float x=1.2.3) -> ()", "column 11: expected a number, found `1`"),
        ("f(float x=1e) -> ()", "column 11: expected a number, found `1e`"),
        ("f(float x=1e-) -> ()", "column 11: expected a number, found `1e`"),
        (
            "f(int x=9223372036854775808) -> ()",
            "column 9: the number 9223372036854775808 does not fit 64 bits",
        ),
        ("f(float x=1e999) -> ()", "column 11: the number 1e999 does not fit 64 bits"),
        ("f(int[] x=[1) -> ()", "column 13: expected `,` or `]`, found `)`"),
        ("f(str x=\"abc) -> ()", "column 20: expected a closing quote, found the end"),
        (r#"f(str x="\q") -> ()"#, "column 10: unknown escape in a string"),
        (r#"f(str x="\xff") -> ()"#, "column 10: unknown escape in a string"),
        ("f(Tensor x=None) -> ()", "column 12: the default None does not fit the type `Tensor`"),
        ("f(int x=1.5) -> ()", "column 9: the default 1.5 does not fit the type `int`"),
        ("f(int x=True) -> ()", "column 9: the default True does not fit the type `int`"),
        ("f(int x=Median) -> ()", "column 9: the default Median does not fit the type `int`"),
        ("f(bool x=1) -> ()", "column 10: the default 1 does not fit the type `bool`"),
        ("f(str x=abc) -> ()", "column 9: the default abc does not fit the type `str`"),
        ("f(int[] x=1) -> ()", "column 11: the default 1 does not fit the type `int[]`"),
        ("f(int[2] x=[1, None]) -> ()", "column 12: the default [1, None] does not fit the type `int[2]`"),
        ("f(MemoryFormat x=7) -> ()", "column 18: the default 7 does not fit the type `MemoryFormat`"),
        ("f(Stream x=3) -> ()", "column 12: the default 3 does not fit the type `Stream`"),
        ("f(int[2][] x=[1]) -> ()", "column 14: the default [1] does not fit the type `int[2][]`"),
        (huge_lists, "column 25: the default 1 does not fit the type `int[32][32][32][32]`"),
        (&long_name, "column 1: longer than 16384 bytes"),
        (&deep_type, "column 41: nested deeper than 16 levels"),
        (&deep_tuple, "column 20: nested deeper than 16 levels"),
        (&deep_dict, "column 168: nested deeper than 16 levels"),
        (&deep_default, "column 26: nested deeper than 16 levels"),
        (&many_items, "column 76: a list of more than 32 elements"),
        (&many_arguments, "column 2453: more than 256 arguments or results"),
        (&many_results, "column 1033: more than 256 arguments or results"),
        (&many_members, "column 3: more than 256 arguments or results"),
    ] {
        let shown: String = text.chars().take(80).collect();
        match Schema::parse(text) {
            Ok(schema) => panic!("{shown}: parsed as {schema}"),
            Err(error) => assert_eq!(error.to_string(), expected, "{shown}"),
        }
    }
}

#[test]
fn every_prefix_of_a_schema_is_refused_without_a_panic() {
    let text = r#"lib::f.o(Tensor(a! -> *)[]? x=None, *, Dict(str, t)[2] é="\x41", int[2] y=[1,-1e5]) -> (Tensor z, int)"#;
    for (end, _) in text.char_indices() {
        assert!(Schema::parse(&text[..end]).is_err(), "{}", &text[..end]);
    }
}

#[test]
fn a_custom_schema_names_its_namespace() {
    let name = |text| Schema::parse_custom(text).map(|schema| schema.qualified().to_string());
    assert_eq!(name("lib::half(Tensor x) -> Tensor").as_deref(), Ok("lib.half.default"));
    let error = "column 5: expected `::` after the namespace, found `(`";
    assert_eq!(name("half(Tensor x) -> Tensor").map_err(|e| e.to_string()), Err(error.to_string()));
    let long_line = "x".repeat(MAX_LENGTH + 1);
    assert_eq!(Schema::parse_custom(&long_line).unwrap_err().kind, SchemaErrorKind::TooLong);
}
