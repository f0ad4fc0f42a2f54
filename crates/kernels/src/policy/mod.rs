//! What holds for one backend only, apart from the laws of shapes: which dtypes its kernels compute in, and where one
//! of its libraries asks for more or for less than the operator's definition. Each fact names its source in PyTorch.
//!
//! A kernel states its law and asks this module for the rest. On another backend than the one that a fact is about,
//! the fact requires nothing and the law stands alone.
mod cpu;
mod cpu_attention;
mod cpu_convolution;
mod one_dnn_lstm;

pub use one_dnn_lstm::one_dnn_lstm;

use super::context::Cx;
use sizewise_ir::dtype::Device;
use std::fmt;
use std::str::FromStr;

/// The backend whose kernels run a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Backend {
    /// PyTorch's CPU kernels, with oneDNN and MKL.
    #[default]
    Cpu,
    /// PyTorch's CUDA kernels. No condition of the CPU's is required; of CUDA's own, none is known here.
    Cuda,
    /// Any backend: only what the operators' definitions require.
    Any,
}

impl Backend {
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
        let found = Backend::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, backend)| *backend).ok_or_else(|| format!("expected cpu, cuda or any, not `{text}`"))
    }
}

impl Cx<'_> {
    /// Whether the CPU's kernels run the program, so that their facts hold.
    pub fn on_cpu(&self) -> bool {
        self.backend == Backend::Cpu
    }

    /// Whether the CPU's kernels compute on a tensor of this device.
    pub fn cpu_computes(&self, device: &Device) -> bool {
        self.on_cpu() && &*device.kind == "cpu"
    }
}
