//! The rules, one row each: its code, where it belongs, what it says, and where it comes from.
use sizewise_ir::Dialect;
use std::fmt;

/// What a program is verified as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Profile {
    /// What `torch.export.export` gives.
    Training,
    /// Functional ATen operators.
    Aten,
    /// The core ATen operator set.
    Core,
    /// ExecuTorch's Edge dialect.
    Edge,
    /// The Edge dialect with operators of backends.
    Backend,
}

impl Profile {
    /// All of them, the most lenient first.
    pub const ALL: [Profile; 5] =
        [Profile::Training, Profile::Aten, Profile::Core, Profile::Edge, Profile::Backend];

    /// The name: `training`.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Training => "training",
            Profile::Aten => "aten",
            Profile::Core => "core",
            Profile::Edge => "edge",
            Profile::Backend => "backend",
        }
    }

    /// Whether a section's rules are among this dialect's.
    pub fn has(self, section: Section) -> bool {
        match section {
            Section::Structure
            | Section::Signature
            | Section::Metadata
            | Section::Training
            | Section::HigherOrder => true,
            Section::Provenance => self < Profile::Edge,
            Section::Aten => self >= Profile::Aten,
            Section::Core => self >= Profile::Core,
            Section::Edge | Section::Backend => self >= Profile::Edge,
        }
    }
}

impl From<Dialect> for Profile {
    fn from(dialect: Dialect) -> Profile {
        match dialect {
            Dialect::Training => Profile::Training,
            Dialect::Aten => Profile::Aten,
            Dialect::Edge => Profile::Edge,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The verifier that a rule belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// Graphs are well formed.
    Structure,
    /// The signature fits the graph and the state.
    Signature,
    /// What nodes record of where they come from can be read, and their values are what operators give.
    Metadata,
    /// Nodes record where they come from.
    Provenance,
    /// What is called exists and is called rightly.
    Training,
    /// Graphs are called rightly.
    HigherOrder,
    /// Operators are functional.
    Aten,
    /// Operators are of the core set.
    Core,
    /// Operators are wrapped and take the dtypes they are given.
    Edge,
    /// Parts are handed to backends.
    Backend,
}

impl Section {
    /// The heading in tables.
    pub fn title(self) -> &'static str {
        match self {
            Section::Structure => "Structure",
            Section::Signature => "Signature",
            Section::Metadata => "Metadata",
            Section::Provenance => "Provenance",
            Section::Training => "Training",
            Section::HigherOrder => "Higher-order operators",
            Section::Aten => "ATen",
            Section::Core => "Core ATen",
            Section::Edge => "Edge",
            Section::Backend => "Backend",
        }
    }
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// The program breaks the rule.
    Error,
    /// Whether the program breaks the rule cannot be told from what is known here.
    Undecided,
    /// The program can be used as it is, but something is missing or unusual.
    Warning,
}

impl Level {
    /// The name: `error`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Undecided => "undecided",
            Level::Warning => "warning",
        }
    }
}

macro_rules! rules {
    ($($section:ident { $($variant:ident $code:literal $level:ident $statement:literal $source:literal;)+ })+) => {
        /// A rule that programs keep.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[doc = $statement] $variant,)+)+
        }

        impl Rule {
            /// Every rule, in the order of the verifiers.
            pub const ALL: &'static [Rule] = &[$($(Rule::$variant),+),+];

            /// The stable code: `edge-dtype`.
            pub fn code(self) -> &'static str {
                match self { $($(Rule::$variant => $code),+),+ }
            }

            /// The verifier it belongs to.
            pub fn section(self) -> Section {
                match self { $($(Rule::$variant => Section::$section),+),+ }
            }

            /// How sure its findings are.
            pub fn level(self) -> Level {
                match self { $($(Rule::$variant => Level::$level),+),+ }
            }

            /// What it says.
            pub fn statement(self) -> &'static str {
                match self { $($(Rule::$variant => $statement),+),+ }
            }

            /// Where it comes from.
            pub fn source(self) -> &'static str {
                match self { $($(Rule::$variant => $source),+),+ }
            }
        }
    };
}

rules! {
    Structure {
        PlaceholdersFirst "placeholders-first" Error
            "Inputs stand before all other nodes" "torch.export IR specification";
        OutputLast "output-last" Error
            "A graph has one output node, and it is the last" "torch.fx: Graph.lint";
        NodeKind "node-kind" Error
            "Nodes take inputs, call functions, fetch graphs or return; no method or module is called and no tensor is \
             fetched"
            "torch.export IR specification";
        UniqueNames "unique-names" Error
            "No two nodes and no two values of a graph have one name" "torch.fx: Graph.lint";
        DefinedBeforeUse "defined-before-use" Error
            "What a node uses is an input or made by an earlier node of the same graph" "torch.fx: Graph.lint";
        MetadataRecorded "metadata-recorded" Error
            "Of every value its metadata is recorded" "torch Verifier: `val` of every call";
        MetadataKind "metadata-kind" Error
            "What is recorded of a value is of the kind that its node makes"
            "export schema: tensor_values, sym_*_values";
        MetadataVersion "metadata-version" Error
            "From schema version 8.16 on every node records its name" "export schema: Node.name";
        MetadataStrides "metadata-strides" Error
            "A strided tensor has as many strides as sizes" "export schema: TensorMeta";
        MetadataSizes "metadata-sizes" Error
            "Sizes, strides and offsets are not negative" "export schema: TensorMeta";
        MetadataExpressions "metadata-expressions" Error
            "Recorded expressions can be read" "export schema: SymExpr";
    }
    Signature {
        InputCount "input-count" Error
            "The signature has as many inputs as the graph" "torch Verifier: signature";
        InputName "input-name" Error
            "Each input of the signature names the graph's input at its place" "torch Verifier: signature";
        InputKind "input-kind" Error
            "Parameters, buffers and constant tensors are tensors, custom objects are objects, constants have no value \
             in the graph"
            "torch Verifier: signature";
        OutputCount "output-count" Error
            "The signature has as many outputs as the graph" "torch Verifier: signature";
        OutputName "output-name" Error
            "Each output of the signature names the graph's output at its place" "torch Verifier: signature";
        OutputOrder "output-order" Error
            "Tokens come first among the outputs, then new values of state and inputs, then what the user gets"
            "torch Verifier: signature";
        MutationTarget "mutation-target" Error
            "What an output changes is an input of that kind, and is changed once" "torch Verifier: signature";
        StateRecorded "state-recorded" Error
            "Parameters and persistent buffers are among the archive's weights, parameters as such; other buffers and \
             constants are among its constants"
            "torch Verifier: signature";
        ModuleCallValues "module-call-values" Error
            "The values that the calls of modules name exist in the graph" "torch Verifier: module_call_graph";
        CallStructure "call-structure" Error
            "The structures of arguments and result have as many values as the user's inputs and outputs"
            "torch.export: in_spec and out_spec";
        RangeOrder "range-order" Error
            "No range constraint has a minimum above its maximum" "torch.export: range_constraints";
        StateSizes "state-sizes" Error
            "Parameters, buffers and constant tensors have sizes, strides and offsets that are numbers"
            "torch.export: state is static";
        ParameterMutation "parameter-mutation" Warning
            "Parameters are not written, neither by operators nor as outputs"
            "torch.export IR specification: parameters";
    }
    Metadata {
        StackTraceForm "stack-trace-form" Warning
            "A stack trace names lines of source: `File \"model.py\", line 8, in forward`"
            "torch.export IR specification: stack_trace";
        ModuleStackForm "module-stack-form" Error
            "`nn_module_stack` lists modules as key, path and class" "torch.export: _verify_nn_module_stack";
        SourceFunctionForm "source-function-form" Error
            "`source_fn_stack` lists names with targets, `torch_fn` is a name and a function"
            "torch.export IR specification: source_fn_stack, torch_fn";
        RecordedValue "recorded-value" Error
            "What is recorded of a value is what its operator gives: dtype, rank and sizes"
            "torch Verifier: `val` of every call";
    }
    Provenance {
        StackTraceRecorded "stack-trace-recorded" Warning
            "Calls record the lines of source they come from" "torch.export IR specification: stack_trace";
        ModuleStackRecorded "module-stack-recorded" Warning
            "Every call of the program's own graph records the modules around it"
            "torch.export: _verify_nn_module_stack";
    }
    Training {
        CallTarget "call-target" Error
            "A call's target is an operator overload, a higher-order operator or a function on numbers that the IR \
             allows"
            "torch Verifier: check_valid_op";
        HigherOrderKnown "higher-order-known" Error
            "Higher-order operators are registered ones" "torch Verifier: check_valid_op";
        OperatorDeclared "operator-declared" Undecided
            "An operator has a schema: torch's own, or one that is declared" "torch Verifier: check_valid_op";
        OperatorArguments "operator-arguments" Error
            "A call gives the arguments that the schema asks for, each once and of its type" "operator schema";
        OperatorResults "operator-results" Error
            "A call has the results of the schema" "operator schema";
        SubgraphArguments "subgraph-arguments" Error
            "Only higher-order operators take graphs" "torch Verifier: get_attr";
    }
    HigherOrder {
        GraphCount "graph-count" Error
            "A higher-order operator is given as many graphs as it is defined on" "torch: _higher_order_ops";
        GraphOperands "graph-operands" Error
            "A graph is given as many values as it takes, of the kinds, dtypes and sizes recorded in it; loops over \
             slices give it slices"
            "torch: _higher_order_ops";
        GraphResults "graph-results" Error
            "A call of a graph makes as many values as the graph returns, of their kinds, dtypes and ranks"
            "torch: _higher_order_ops";
        BranchResults "branch-results" Error
            "All branches return equally many values, of the same kinds, dtypes and ranks" "torch: cond._merge_output";
        LoopCondition "loop-condition" Error
            "The condition of a loop returns one truth value" "torch: while_loop";
        LoopCarried "loop-carried" Error
            "What a loop carries comes out of each turn as many, and of the kinds, dtypes and sizes that went in"
            "torch: check_meta_consistency";
    }
    Aten {
        Functional "functional" Error
            "Operators write none of their arguments" "torch Verifier: functional operators";
        FakeKernel "fake-kernel" Undecided
            "An operator has a fake kernel or is a declared custom operator" "torch.export IR specification";
        ContiguousState "contiguous-state" Error
            "Parameters, buffers and constant tensors are contiguous" "ExecuTorch: _check_tensors_are_contiguous";
        MutationMetadata "mutation-metadata" Error
            "The new value of a parameter, buffer or input has its dtype and sizes" "torch.export: graph signature";
    }
    Core {
        CoreOperator "core-operator" Error
            "ATen operators are tagged `core` or `view_copy`, or among ExecuTorch's exceptions"
            "ExecuTorch: EXIRATenDialectVerifier";
    }
    Edge {
        EdgeOperator "edge-operator" Error
            "Operators are wrapped as Edge operators" "ExecuTorch: EXIREdgeDialectVerifier";
        EdgeFunction "edge-function" Error
            "Beside operators and functions on numbers only `alloc` is called" "ExecuTorch: EXIREdgeDialectVerifier";
        EdgeTensor "edge-tensor" Error
            "Where an operator takes a tensor it is given one, and no number" "ExecuTorch: EdgeOpArgValidator";
        EdgeDtype "edge-dtype" Error
            "The dtypes of an operator's tensors are one of its combinations in edge.yaml, or any that ExecuTorch has \
             where the operator is not listed"
            "ExecuTorch: EdgeDialectFunctionSchema";
        ScalarInput "scalar-input" Error
            "No input of the program is a number" "ExecuTorch IR specification: Edge dialect";
        ScalarOutput "scalar-output" Error
            "No output of the program is a number" "ExecuTorch IR specification: Edge dialect";
        StateRead "state-read" Warning
            "Parameters, buffers and constant tensors are read by a call or returned"
            "ExecuTorch: what a program holds takes memory on the device";
        DimOrder "dim-order" Error
            "Dimension orders are given by `dim_order_ops` and not by memory formats, or the other way round where \
             that is asked for"
            "ExecuTorch: _check_valid_dim_order_ops";
    }
    Backend {
        DelegateModule "delegate-module" Error
            "A delegate's first argument is a lowered module: its name with the backend's, or its record with backend, \
             processed bytes in base64, compile specs and original module"
            "torch Verifier: LoweredBackendModule";
        DelegateArguments "delegate-arguments" Error
            "A delegate takes tensors, numbers and nothing else: those that its lowered module takes"
            "ExecuTorch: executorch_call_delegate";
        DelegateOutputs "delegate-outputs" Error
            "A delegate gives tensors, of which shapes are recorded, as its lowered module does"
            "ExecuTorch: executorch_call_delegate";
        BackendOperator "backend-operator" Error
            "Operators of backends stand in programs of the Backend dialect only"
            "ExecuTorch IR specification: Backend dialect";
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
