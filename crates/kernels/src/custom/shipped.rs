//! Operators of well-known libraries, declared in files that come with the crate.
use super::declaration::Operator;
use super::error::DeclarationError;
use super::read;
use super::table::Source;
use crate::kernel::FakeKernel;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use sizewise_ir::schema::Schema;
use std::sync::OnceLock;

type Declared = IndexMap<String, (Schema, Operator), FxBuildHasher>;

/// A library whose operators are known without a declaration of the user's.
pub struct Library {
    /// The library, as its package is called.
    pub name: &'static str,
    /// The version of it whose own kernels the declarations were compared with.
    pub version: &'static str,
    /// The namespaces of its operators.
    namespaces: &'static [&'static str],
    /// The file that declares them, for messages.
    file: &'static str,
    text: &'static str,
    declared: OnceLock<Declared>,
}

macro_rules! library {
    ($name:literal, $version:literal, $namespaces:expr, $file:literal) => {
        Library {
            name: $name,
            version: $version,
            namespaces: &$namespaces,
            file: concat!("operators/", $file),
            text: include_str!(concat!("../../operators/", $file)),
            declared: OnceLock::new(),
        }
    };
}

static LIBRARIES: [Library; 7] = [
    library!("torchvision", "0.29.2", ["torchvision"], "torchvision.toml"),
    library!("torchaudio", "2.11.0", ["torchaudio"], "torchaudio.toml"),
    library!("torch.ao", "2.15.0", ["quantized_decomposed"], "quantized_decomposed.toml"),
    library!("torchao", "0.18.0", ["torchao"], "torchao.toml"),
    library!("transformers", "5.23.0", ["transformers"], "transformers.toml"),
    library!("fbgemm-gpu-cpu", "1.9.0", ["fbgemm"], "fbgemm.toml"),
    library!("executorch", "1.5.1", ["llama", "dim_order_ops", "et_copy", "executorch"], "executorch.toml"),
];

/// The libraries whose operators are known without a declaration of the user's.
pub fn libraries() -> &'static [Library] {
    &LIBRARIES
}

impl Library {
    /// What the file declares.
    fn read(&self) -> Result<Declared, DeclarationError> {
        let source = Source { file: self.file, text: self.text };
        let declared = read::operators(&source, &|_| false)?;
        let named =
            |(schema, operator): (Schema, Operator)| (schema.qualified().to_string(), (schema, operator));
        Ok(declared.into_iter().map(named).collect())
    }

    fn declared(&self) -> &Declared {
        // A test reads every file, so none is wrong in a released program.
        self.declared.get_or_init(|| self.read().unwrap_or_default())
    }

    /// The overloads that are declared, named as in `torchvision.nms.default`, in the order of the file.
    pub fn overloads(&self) -> impl Iterator<Item = &str> {
        self.declared().keys().map(String::as_str)
    }
}

/// The schema and kernel of a library's overload. A file is read when one of its operators is first asked for.
pub(crate) fn find(op: &str) -> Option<(&'static Schema, &'static dyn FakeKernel)> {
    let (namespace, _) = op.split_once('.')?;
    let library = LIBRARIES.iter().find(|library| library.namespaces.contains(&namespace))?;
    let (schema, kernel) = library.declared().get(op)?;
    Some((schema, kernel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_declares_operators_of_its_namespaces() {
        for library in libraries() {
            let declared = library.read().unwrap_or_else(|error| panic!("{error}"));
            assert!(!declared.is_empty(), "{} declares nothing", library.file);
            for op in declared.keys() {
                let namespace = op.split('.').next().unwrap_or_default();
                assert!(library.namespaces.contains(&namespace), "{op} in {}", library.file);
                assert!(find(op).is_some(), "{op}");
            }
        }
        assert!(find("torchvision.no_such.default").is_none() && find("nowhere.nms.default").is_none());
    }

    #[test]
    fn an_operator_belongs_to_one_library() {
        let mut namespaces: Vec<&str> =
            libraries().iter().flat_map(|library| library.namespaces).copied().collect();
        let count = namespaces.len();
        namespaces.sort_unstable();
        namespaces.dedup();
        assert_eq!(namespaces.len(), count);
    }
}
