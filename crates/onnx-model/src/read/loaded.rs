//! What onnxruntime finds when it loads a model, as a walk finds it once.
use rustc_hash::FxHashMap;
use sizewise_kernels::KernelError;
use std::sync::OnceLock;

/// The sizes of a value that are numbers when the model loads; `None` where that is not sure.
pub type Row = Option<Vec<Option<i64>>>;

/// What is found when a model loads, by the addresses of nodes and graphs.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The slices of scans.
    pub rows: FxHashMap<usize, Vec<Row>>,
    /// The results of branches and bodies, by the address of the graph.
    pub results: FxHashMap<usize, Vec<Row>>,
    /// The values of the main graph by number, with the sizes that are numbers whatever the inputs are.
    pub values: Vec<Row>,
    /// The nodes `If` of which the branches make other sizes, with the refusal of versions that merge them.
    pub merges: FxHashMap<usize, KernelError>,
    /// Which results of a node `If` have a rank that is inferred.
    pub ranks: FxHashMap<usize, Vec<bool>>,
    /// Whether the model may state another rank than is inferred of some value: then none is known.
    pub is_misstated: bool,
    /// The graphs within nodes, with the first refusal that sizes of inputs do not change.
    pub graphs: FxHashMap<usize, Option<KernelError>>,
    /// Whether numbers that are computed of sizes are followed.
    pub follows: bool,
}

impl Loaded {
    /// Leaves open what another walk finds otherwise.
    pub fn agree_with(&mut self, other: &Loaded) {
        for (own, others) in [(&mut self.rows, &other.rows), (&mut self.results, &other.results)] {
            for (place, rows) in own {
                let others = others.get(place).map(Vec::as_slice).unwrap_or_default();
                let pairs = rows.iter_mut().enumerate();
                let differ = pairs.filter(|(at, row)| others.get(*at) != Some(&**row));
                differ.for_each(|(_, row)| *row = None);
            }
        }
        for (_, error) in self.merges.iter_mut().filter(|(place, _)| !other.merges.contains_key(place)) {
            let message = "If: its branches make other sizes, if onnxruntime follows their numbers";
            *error = KernelError::Unsupported(message.to_owned());
        }
    }
}

/// What is found when a model loads, once that was asked. A copy of the model has its nodes elsewhere, so it asks anew.
#[derive(Debug, Default)]
pub struct Loading(OnceLock<Loaded>);

impl Clone for Loading {
    fn clone(&self) -> Loading {
        Loading::default()
    }
}

impl Loading {
    /// What was found, or what is found now.
    pub fn get_or_find(&self, find: impl FnOnce() -> Loaded) -> &Loaded {
        self.0.get_or_init(find)
    }
}
