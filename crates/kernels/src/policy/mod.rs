//! What holds for one backend only, apart from the laws of shapes: which dtypes its kernels compute in, and where one
//! of its libraries asks for more or for less than the operator's definition. Each fact names its source in PyTorch.
//!
//! A kernel states its law and asks this module for the rest. On another backend than the one that a fact is about,
//! the fact requires nothing and the law stands alone.
mod cpu;
mod cpu_attention;
mod cpu_convolution;
mod one_dnn_lstm;

pub use cpu::Branch;
pub use one_dnn_lstm::one_dnn_lstm;

use super::backend::Backend;
use super::context::Cx;
pub(crate) use one_dnn_lstm::CLAUSES;
use sizewise_ir::dtype::Device;

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
