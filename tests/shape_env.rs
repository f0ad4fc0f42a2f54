//! The shape environment, fact by fact. Each behaviour was compared with torch 2.15's ShapeEnv; where sizewise
//! differs on purpose, the test says so.
use sizewise::env::{
    Artefact, Clause, DimDynamic, EnvError, Policies, Policy, Required, ShapeEnv, SymbolInfo,
};
use sizewise::expr::{Expr, Int, Value};
use sizewise::range::ValueRange;

const X0: &str = "L['x'].size()[0]";
const Y0: &str = "L['y'].size()[0]";
const Z0: &str = "L['z'].size()[0]";

fn size(env: &mut ShapeEnv, source: &str, hint: i64) -> Expr {
    env.create(source, hint, DimDynamic::Duck, None).expect("a size")
}

fn between(low: i64, high: i64) -> Option<ValueRange> {
    ValueRange::between_options(Some(Int::from(low)), Some(Int::from(high)))
}

fn unbacked(env: &mut ShapeEnv) -> Expr {
    env.fresh_unbacked(ValueRange::all())
}

/// A condition in the names of the environment's symbols.
fn condition(env: &mut ShapeEnv, text: &str) -> Expr {
    sizewise::expr::text::read::closed(&mut env.pool, text).expect("a condition").expr
}

fn check(env: &mut ShapeEnv, text: &str) -> Result<(), String> {
    let condition = condition(env, text);
    env.check(condition).map_err(|error| error.to_string())
}

fn evaluate(env: &mut ShapeEnv, text: &str) -> Result<bool, String> {
    let condition = condition(env, text);
    env.evaluate(condition).map_err(|error| error.to_string())
}

fn guards(env: &ShapeEnv) -> Vec<String> {
    env.guards().iter().map(|guard| env.text(guard.condition)).collect()
}

fn asserts(env: &ShapeEnv) -> Vec<String> {
    env.runtime_asserts().iter().map(|assert| env.text(assert.condition)).collect()
}

#[test]
fn symbols_are_named_as_torch_names_them() {
    let mut env = ShapeEnv::new();
    for (source, name) in [(X0, "s77"), (Y0, "s17"), ("L['x'].size()[1]", "s27"), (Z0, "s68")] {
        let e = size(&mut env, source, 6);
        assert_eq!(env.text(e), name, "{source}");
    }
    let f = env.create_float("L['f']", 2.5);
    assert_eq!(env.text(f), "zf57");
    let made: Vec<Expr> = vec![unbacked(&mut env), unbacked(&mut env), env.fresh_unbacked_float()];
    let names: Vec<String> = made.into_iter().map(|e| env.text(e)).collect();
    assert_eq!(names, ["u0", "u1", "zuf0"]);
    // An unbacked truth value counts with the integers.
    let truth = env.fresh_unbacked_bool();
    assert_eq!(env.text(truth), "u2 == 1");
}

#[test]
fn policies_can_be_switched_off() {
    // (policies, x and y share a symbol, a size of 1 is constant, the least size)
    let neither = Policies { zero_one_specialization: false, ..Policies::EXPORT };
    for (policies, shared, constant, least) in
        [(Policies::COMPILE, true, true, 2), (Policies::EXPORT, false, true, 2), (neither, false, false, 0)]
    {
        let mut env = ShapeEnv::with_policies(policies);
        let (x, y) = (size(&mut env, X0, 5), size(&mut env, Y0, 5));
        let one = size(&mut env, Z0, 1);
        assert_eq!(x == y, shared, "{policies:?}");
        assert_eq!(env.pool.as_int(one).is_some(), constant, "{policies:?}");
        assert_eq!(env.bounds(x).0, Some(Int::from(least)), "{policies:?}");
        let marked = env.artefacts().iter().map(Artefact::policy).collect::<Vec<_>>();
        assert_eq!(marked.contains(&Policy::DuckSizing), shared);
        assert_eq!(marked.contains(&Policy::ZeroOneSpecialization), constant);
    }
}

#[test]
fn a_dynamic_size_shares_no_symbol() {
    let mut env = ShapeEnv::with_policies(Policies::COMPILE);
    let x = size(&mut env, X0, 5);
    let y = env.create(Y0, 5, DimDynamic::Dynamic, None).expect("a size");
    assert_ne!(x, y);
}

#[test]
fn a_policy_says_which_sizes_it_costs() {
    let mut env = ShapeEnv::with_policies(Policies::COMPILE);
    size(&mut env, X0, 5);
    size(&mut env, Y0, 5);
    size(&mut env, Z0, 1);
    let costs: Vec<(String, String)> = env.artefacts().iter().map(|a| (a.to_string(), a.cost())).collect();
    let expected = [
        ("L['x'].size()[0] >= 2", "L['x'].size()[0] of 0 and 1"),
        (
            "L['y'].size()[0] == L['x'].size()[0]",
            "inputs for which L['y'].size()[0] and L['x'].size()[0] differ",
        ),
        ("L['z'].size()[0] == 1", "every L['z'].size()[0] but 1"),
    ];
    assert_eq!(costs, expected.map(|(a, b)| (a.to_string(), b.to_string())));
}

#[test]
fn a_bound_of_a_policy_is_told_apart_from_one_that_is_needed() {
    let mut env = ShapeEnv::new();
    let x = size(&mut env, X0, 6);
    let symbol = env.pool.as_symbol(x).expect("a symbol");
    // This holds for 0 and 1 too; nothing rests on the policy.
    assert_eq!(evaluate(&mut env, "s77 >= 0"), Ok(true));
    assert_eq!(env.resting_on_two(symbol), []);
    // This does not.
    assert_eq!(evaluate(&mut env, "Eq(s77, 1)"), Ok(false));
    let resting = env.resting_on_two(symbol);
    assert_eq!(resting.iter().map(|&e| env.text(e)).collect::<Vec<_>>(), ["s77 != 1"]);
    assert_eq!(guards(&env), [""; 0]);
}

#[test]
fn a_declared_range_is_kept_and_has_to_hold_the_example() {
    let mut env = ShapeEnv::new();
    let x = env.create(X0, 6, DimDynamic::Duck, between(4, 64)).expect("a size");
    assert_eq!(env.bounds(x), (Some(4.into()), Some(64.into())));
    let fixed = env.create(Z0, 7, DimDynamic::Dynamic, between(7, 7)).expect("a size");
    assert_eq!(env.pool.as_int(fixed), Some(7.into()));
    let error = env.create(Y0, 2, DimDynamic::Duck, between(4, 64)).map_err(|e| e.to_string());
    assert_eq!(error, Err("L['y'].size()[0] is 2, which is not in 4..64".to_string()));
    let error = env.create(Y0, -1, DimDynamic::Duck, None).map_err(|e| e.to_string());
    assert_eq!(error, Err("L['y'].size()[0] is -1, which is not in 0..…".to_string()));
}

#[test]
fn a_question_follows_the_example_and_is_recorded_once() {
    let mut env = ShapeEnv::new();
    size(&mut env, X0, 6);
    for (question, answer) in [
        ("Eq(Mod(s77, 2), 0)", true),
        // Torch records a second guard here, although the first one implies it.
        ("Eq(Mod(s77, 2), 1)", false),
        ("s77 > 1", true),
        ("s77 > 10", false),
        ("s77 > 12", false),
    ] {
        assert_eq!(evaluate(&mut env, question), Ok(answer), "{question}");
    }
    assert_eq!(guards(&env), ["s77 % 2 == 0", "s77 <= 10"]);
}

#[test]
fn what_is_not_known_statically_is_not_guarded() {
    let mut env = ShapeEnv::new();
    size(&mut env, X0, 6);
    size(&mut env, Y0, 7);
    for (question, known) in
        [("s77 >= 2", true), ("s77 > s17", false), ("s77 + s17 >= 4", true), ("s77 < 2", false)]
    {
        let e = condition(&mut env, question);
        assert_eq!(env.statically_known_true(e), known, "{question}");
    }
    assert_eq!(guards(&env), [""; 0]);
    // A question with a default is a question like any other where hints answer it.
    let e = condition(&mut env, "s77 > s17");
    assert_eq!((env.guard_or_false(e), env.guard_or_true(e)), (Ok(false), Ok(false)));
    assert_eq!(guards(&env), ["s17 >= s77"]);
}

#[test]
fn equalities_rewrite_later_expressions() {
    let mut env = ShapeEnv::new();
    size(&mut env, X0, 6);
    size(&mut env, Y0, 6);
    unbacked(&mut env);
    assert_eq!(evaluate(&mut env, "Eq(s77, s17)"), Ok(true));
    assert_eq!(check(&mut env, "Eq(u0, s77 + 1)"), Ok(()));
    for (before, after) in [("2*s17", "2*s77"), ("u0 + s17", "2*s77 + 1")] {
        let e = condition(&mut env, before);
        let replaced = env.replace(e);
        assert_eq!(env.text(replaced), after);
    }
    // What is known of one is known of all.
    assert_eq!(evaluate(&mut env, "u0 >= 3"), Ok(true));
    assert_eq!(evaluate(&mut env, "Eq(s77, 6)"), Ok(true));
    let e = condition(&mut env, "u0 + s17");
    let replaced = env.replace(e);
    assert_eq!(env.text(replaced), "13");
}

#[test]
fn a_constant_is_asked_for_with_a_guard() {
    let mut env = ShapeEnv::new();
    let x = size(&mut env, X0, 6);
    assert_eq!(env.evaluate_int(x), Ok(Int::from(6)));
    assert_eq!(guards(&env), ["s77 == 6"]);
    let u = unbacked(&mut env);
    let error = "`u0` depends on data (u0); `torch._check(u0 == n)` before it settles it";
    assert_eq!(env.evaluate_int(u).map_err(|e| e.to_string()), Err(error.to_string()));
}

#[test]
fn what_depends_on_data_is_an_error_that_says_what_settles_it() {
    let mut env = ShapeEnv::new();
    size(&mut env, X0, 6);
    unbacked(&mut env);
    let error = "`s77 <= u0` depends on data (u0); \
        `torch._check(s77 <= u0)` or `torch._check(s77 > u0)` before it settles it";
    assert_eq!(evaluate(&mut env, "u0 >= s77"), Err(error.to_string()));
    let e = condition(&mut env, "u0 >= s77");
    assert_eq!((env.guard_or_false(e), env.guard_or_true(e)), (Ok(false), Ok(true)));
    assert!(!env.statically_known_true(e));
    assert_eq!((guards(&env), asserts(&env)), (vec![], vec![]));
    // Either of the two settles it.
    let mut other = env.clone();
    assert_eq!(check(&mut env, "u0 >= s77"), Ok(()));
    assert_eq!(evaluate(&mut env, "u0 >= s77"), Ok(true));
    assert_eq!(check(&mut other, "u0 < s77"), Ok(()));
    assert_eq!(evaluate(&mut other, "u0 >= s77"), Ok(false));
}

#[test]
fn a_check_narrows_what_follows() {
    let mut env = ShapeEnv::new();
    let u = unbacked(&mut env);
    check(&mut env, "u0 >= 2").expect("a check");
    check(&mut env, "u0 <= 100").expect("a check");
    assert_eq!(env.bounds(u), (Some(2.into()), Some(100.into())));
    for (question, answer) in
        [("u0 > 1", true), ("u0 > 100", false), ("Eq(u0, 0)", false), ("2*u0 > 3", true)]
    {
        assert_eq!(evaluate(&mut env, question), Ok(answer), "{question}");
    }
    // What is known already leaves no trace.
    assert_eq!(check(&mut env, "u0 > 0"), Ok(()));
    assert_eq!(asserts(&env), ["u0 >= 2", "u0 <= 100"]);
}

#[test]
fn a_check_of_inputs_is_a_guard() {
    let mut env = ShapeEnv::new();
    size(&mut env, X0, 6);
    assert_eq!(check(&mut env, "s77 > 3"), Ok(()));
    // Torch leaves the guard `s77 <= 7` behind when this raises.
    let error = "`s77 >= 8` is checked and false in the example (s77 = 6)";
    assert_eq!(check(&mut env, "s77 > 7"), Err(error.to_string()));
    assert_eq!(guards(&env), ["s77 >= 4"]);
}

#[test]
fn assertions_may_be_preferred_over_guards() {
    let mut env = ShapeEnv::with_policies(Policies { prefer_deferred_asserts: true, ..Policies::EXPORT });
    size(&mut env, X0, 6);
    assert_eq!(check(&mut env, "s77 > 3"), Ok(()));
    assert_eq!(evaluate(&mut env, "Eq(Mod(s77, 2), 0)"), Ok(true));
    assert_eq!((guards(&env).len(), asserts(&env)), (0, vec!["s77 >= 4".into(), "s77 % 2 == 0".into()]));
    // They need no unbacked symbol, so they are checked before anything runs.
    assert_eq!(env.deferred_after(None).count(), 2);
}

#[test]
fn an_assertion_belongs_after_the_last_symbol_that_it_needs() {
    let mut env = ShapeEnv::new();
    let (u, v) = (unbacked(&mut env), unbacked(&mut env));
    check(&mut env, "u0 >= 2").expect("a check");
    check(&mut env, "u1 < u0").expect("a check");
    let after = |e: Expr| -> Vec<String> {
        let symbol = env.pool.as_symbol(e);
        env.deferred_after(symbol).map(|assert| env.text(assert.condition)).collect()
    };
    assert_eq!(after(u), ["u0 >= 2"]);
    assert_eq!(after(v), ["u0 > u1"]);
}

#[test]
fn sizes_and_ranges_of_unbacked_symbols() {
    let mut env = ShapeEnv::new();
    let (u, v) = (unbacked(&mut env), unbacked(&mut env));
    assert_eq!(env.check_is_size(u), Ok(()));
    assert_eq!(asserts(&env), ["u0 >= 0"]);
    assert_eq!(evaluate(&mut env, "u0 < 0"), Ok(false));
    assert!(evaluate(&mut env, "Eq(u0, 0)").is_err());
    // The operator that constrains a range checks it itself.
    assert_eq!(env.constrain_range(v, Some(3.into()), Some(9.into())), Ok(()));
    assert_eq!((env.bounds(v), asserts(&env).len()), ((Some(3.into()), Some(9.into())), 1));
    let error = env.constrain_range(v, Some(10.into()), Some(20.into())).map_err(|e| e.to_string());
    assert_eq!(error, Err("u1 is 3..9, which is not in 10..20".to_string()));
    // Of inputs it is a guard; of what is no symbol, a check.
    let x = size(&mut env, X0, 6);
    assert_eq!(env.constrain_range(x, Some(4.into()), None), Ok(()));
    assert_eq!(guards(&env), ["s77 >= 4"]);
}

#[test]
fn an_unbacked_symbol_that_no_result_tells_is_an_error() {
    let mut env = ShapeEnv::new();
    let three = env.pool.int(3);
    let u = unbacked(&mut env);
    assert_eq!(env.pending().len(), 1);
    let double = env.pool.add(u, u);
    assert_eq!(env.bind_outputs(&[three, double]).map(|bound| bound[0].1), Ok(1));
    assert_eq!(env.pending().len(), 0);
    unbacked(&mut env);
    unbacked(&mut env);
    let lost = EnvError::Unbound { symbols: vec!["u1".to_string(), "u2".to_string()] };
    assert_eq!(env.bind_outputs(&[three]), Err(lost));
    // Results that are thrown away need not tell.
    env.ignoring_fresh(|env| env.fresh_unbacked(ValueRange::all()));
    assert_eq!(env.bind_outputs(&[three]), Ok(vec![]));
    // A truth value tells the integer that stands for it.
    let truth = env.fresh_unbacked_bool();
    assert_eq!(env.bind_outputs(&[truth]).map(|bound| bound.len()), Ok(1));
}

#[test]
fn a_frozen_environment_names_the_guard_that_it_does_not_take() {
    let mut env = ShapeEnv::new();
    let x = size(&mut env, X0, 6);
    unbacked(&mut env);
    assert_eq!(evaluate(&mut env, "s77 > 4"), Ok(true));
    env.freeze();
    env.freeze_runtime_asserts();
    assert_eq!(evaluate(&mut env, "s77 > 3"), Ok(true));
    // Torch goes on by the hint here and only logs that the result may be wrong.
    let error = "the environment is frozen: `s77 >= 6` would be a new guard";
    assert_eq!(evaluate(&mut env, "s77 > 5"), Err(error.to_string()));
    let error = "the environment is frozen: `u0 >= 6` would be a new runtime assertion";
    assert_eq!(check(&mut env, "u0 > 5"), Err(error.to_string()));
    assert_eq!((guards(&env).len(), asserts(&env).len()), (1, 0));
    // Operators go on by the hints; what they called for is listed.
    let seven = env.pool.int(7);
    let less = env.pool.lt(x, seven);
    assert_eq!(env.branch(less, Clause::Evaluate), Some(true));
    assert_eq!((guards(&env).len(), env.refused_guards().len()), (1, 1));
}

#[test]
fn a_contradiction_names_the_smallest_set_that_clashes() {
    // What was checked before, what contradicts it, and what it clashes with. Torch 2.15 takes the second and the
    // third without a word.
    let table: [(&[&str], &str, &str); 4] = [
        (&["u0 > 5", "u1 > 0"], "u0 < 3", "`u0 <= 2` contradicts what is known: u0 >= 6"),
        (
            &["Eq(Mod(u0, 2), 0)", "u0 > u1"],
            "Eq(Mod(u0, 2), 1)",
            "`u0 % 2 == 1` contradicts what is known: u0 % 2 == 0",
        ),
        (
            &["u0 > u1", "u0 < 100", "u1 > u2"],
            "u2 > u0",
            "`u0 < u2` contradicts what is known: u0 > u1, u1 > u2",
        ),
        (&["u0 >= 2"], "u0*u0 < 4", "`u0**2 <= 3` contradicts what is known: u0 >= 2"),
    ];
    for (known, told, message) in table {
        let mut env = ShapeEnv::new();
        for _ in 0..3 {
            unbacked(&mut env);
        }
        for text in known {
            assert_eq!(check(&mut env, text), Ok(()), "{text}");
        }
        assert_eq!(check(&mut env, told), Err(message.to_string()));
        assert_eq!(asserts(&env).len(), known.len());
        assert!(env.unsat_core().is_none());
    }
}

#[test]
fn a_choice_of_layout_proves_nothing_that_is_required_later() {
    let mut env = ShapeEnv::new();
    let any = ValueRange::at_least(Int::ZERO);
    let of = |hint: i64| SymbolInfo { hint: Some(Value::Int(Int::from(hint))), source: None };
    let (a, b) = (env.declare("s0", any.clone(), of(2)), env.declare("s1", any, of(5)));
    let less = env.pool.lt(a, b);
    assert!(env.layout_choice(less));
    assert_eq!(env.statically(less), None);
    assert_eq!(env.require(less, Clause::Check), Required::Guarded);
    assert_eq!(env.guards().len(), 1);
}
