//! The backends that operators run on.
use std::fmt;
use std::str::FromStr;

/// The backend whose kernels run a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Backend {
    /// PyTorch's CPU kernels, with oneDNN and MKL; of an ONNX model onnxruntime's.
    #[default]
    Cpu,
    /// PyTorch's CUDA kernels. No condition of the CPU's is required; of CUDA's own, none is known here.
    Cuda,
    /// Any backend: only what the operators' definitions require.
    Any,
}

impl Backend {
    /// Another name of [`Backend::Cpu`], for ONNX models.
    pub const ONNXRUNTIME: &str = "onnxruntime";

    /// Every backend, with the name that [`FromStr`] reads and [`fmt::Display`] writes.
    pub const ALL: [(&'static str, Backend); 3] =
        [("cpu", Backend::Cpu), ("cuda", Backend::Cuda), ("any", Backend::Any)];
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = Backend::ALL.iter().find(|(_, backend)| backend == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Backend, String> {
        if text == Backend::ONNXRUNTIME {
            return Ok(Backend::Cpu);
        }
        let found = Backend::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, backend)| *backend).ok_or_else(|| format!("expected cpu, cuda or any, not `{text}`"))
    }
}
