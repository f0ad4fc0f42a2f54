//! The calls that `torch.vmap` leaves in a graph: inside, the mapped dimension is hidden.
use super::super::interpreter::{CallError, Interpreter};
use crate::fake::{Cx, Sizes, Value};

impl<'p> Interpreter<'p> {
    /// A call of `torch._functorch.predispatch`; `None` when `function` is none that is known.
    pub(in super::super) fn call_vmap(
        &mut self,
        function: &str,
        args: &[Value],
    ) -> Option<Result<Vec<Value>, CallError>> {
        Some(match (function, args) {
            ("lazy_load_decompositions" | "_vmap_increment_nesting" | "_vmap_decrement_nesting", _) => {
                Ok(vec![Value::None])
            }
            // _add_batch_dim(x, dim, level)
            ("_add_batch_dim", [Value::Tensor(x), Value::Int(dim), ..]) => {
                let at = Cx::new(&mut self.env).dim(*dim, x.rank(), "vmap.C1");
                self.returned(at).and_then(|at| {
                    if at >= x.rank() {
                        return Err(CallError::Unsupported("vmap over a 0-dimensional tensor".into()));
                    }
                    let (mut sizes, mut strides) = (x.sizes.clone(), x.strides.clone());
                    sizes.remove(at);
                    strides.remove(at);
                    Ok(vec![x.viewed(sizes, strides).into()])
                })
            }
            // _remove_batch_dim(x, level, batch_size, out_dim)
            ("_remove_batch_dim", [Value::Tensor(x), _, Value::Int(size), Value::Int(dim)]) => {
                let at = Cx::new(&mut self.env).dim(*dim, x.rank() + 1, "vmap.C2");
                self.returned(at).map(|at| {
                    let mut sizes: Sizes = x.sizes.clone();
                    sizes.insert(at, *size);
                    let strides = Cx::new(&mut self.env).contiguous_strides(&sizes);
                    vec![x.viewed(sizes, strides).into()]
                })
            }
            _ => return None,
        })
    }
}
