//! The program that was traced.
use super::{Given, Kind, Proxy, Traced, Tracer};
use indexmap::IndexMap;
use sizewise_expr::text::print;
use sizewise_ir::outline::ValueKind;
use sizewise_ir::{
    Bounds, CallValue, Dialect, InputSpec, ModuleCall, ModuleSignature, OutputSpec, Program, Signature,
    TreeKind, TreeSpec,
};
use std::sync::Arc;

impl Kind {
    fn outlined(self) -> ValueKind {
        match self {
            Kind::Tensor => ValueKind::Tensor,
            Kind::Int => ValueKind::SymInt,
            Kind::Float => ValueKind::SymFloat,
            Kind::Bool => ValueKind::SymBool,
        }
    }
}

impl Tracer<'_> {
    /// Ends the program with what it returns.
    pub fn finish(self, outputs: &[Proxy]) -> Traced {
        let pool = &self.env.pool;
        let guards = self.env.guards().iter().map(|guard| print::expression(pool, guard.condition)).collect();
        let choices = self.env.layout_choices().iter();
        let layout_choices = choices.map(|&(condition, _)| print::expression(pool, condition)).collect();
        let mut ranges = self.ranges;
        for &symbol in self.env.unbacked() {
            ranges.entry(pool.symbol_name(symbol).into()).or_insert(Bounds { min: Some(0), max: None });
        }
        let graph = self.builder.finish(outputs.iter().map(|&proxy| proxy.into()).collect(), false);
        let signature = Signature {
            inputs: self.inputs.iter().map(|given| given.spec.clone()).collect(),
            outputs: vec![OutputSpec::User; outputs.len()],
        };
        let leaf = || TreeSpec { kind: TreeKind::Leaf, children: Vec::new(), written: None };
        let tuple = |count: usize| TreeSpec {
            kind: TreeKind::Tuple,
            children: std::iter::repeat_with(leaf).take(count).collect(),
            written: None,
        };
        let keywords = TreeSpec { kind: TreeKind::Dict(Vec::new()), children: Vec::new(), written: None };
        let named = |name: &Arc<str>, kind| CallValue::Named { name: name.clone(), kind };
        let passed: Vec<&Given> = self.inputs.iter().filter(|given| given.spec.is_user_input()).collect();
        let input = |given: &&Given| match (&given.spec, given.kind) {
            (InputSpec::Constant { value, .. }, _) => CallValue::Constant(value.clone()),
            (_, kind) => named(&given.name, kind.map_or(ValueKind::Tensor, Kind::outlined)),
        };
        let call = ModuleSignature {
            in_spec: TreeSpec {
                kind: TreeKind::Tuple,
                children: vec![tuple(passed.len()), keywords],
                written: None,
            },
            out_spec: tuple(outputs.len()),
            inputs: passed.iter().map(input).collect(),
            outputs: outputs
                .iter()
                .map(|proxy| named(graph.name(proxy.value), proxy.kind.outlined()))
                .collect(),
            forward_arg_names: Some(passed.iter().map(|given| given.name.clone()).collect()),
        };
        let program = Program {
            graph,
            signature,
            exprs: self.exprs,
            range_constraints: ranges,
            guards_code: Vec::new(),
            asked: Vec::new(),
            dialect: if self.writes { Dialect::Training } else { Dialect::Aten },
            torch_version: "".into(),
            schema_version: (8, 20),
            opset_version: IndexMap::new(),
            module_calls: vec![ModuleCall { fqn: "".into(), signature: Some(call) }],
            scalars: IndexMap::new(),
            metadata: IndexMap::new(),
            warnings: Vec::new(),
        };
        Traced { program, guards, layout_choices }
    }
}
