//! Inputs: tensors that the user passes, parameters, buffers, numbers and constants.
use super::{Given, Proxy, TraceError, Tracer};
use sizewise_expr::text::read;
use sizewise_expr::{Expr, Sort};
use sizewise_ir::{Constant, Device, Dtype, InputSpec, Layout, ValueId};
use sizewise_kernels::{Cx, Sizes, Tensor, Value};
use std::sync::Arc;

impl Tracer<'_> {
    /// An input: a contiguous tensor on the CPU, whose sizes are expressions over declared ones.
    ///
    /// # Errors
    /// When a size cannot be read, or names what is not declared, or when there is an input of this name.
    pub fn tensor(&mut self, name: &str, dtype: Dtype, sizes: &[&str]) -> Result<Proxy, TraceError> {
        self.tensor_as(name, dtype, sizes, |value| InputSpec::User { value: Some(value) })
    }

    /// A parameter of the module, by its qualified name.
    ///
    /// ```
    /// use sizewise_kernels::Operators;
    /// use sizewise_ir::Dtype;
    /// use sizewise_pass::Tracer;
    ///
    /// let operators = Operators::new();
    /// let mut tracer = Tracer::new(&operators);
    /// tracer.size("s0", 2, None, 8)?;
    /// let weight = tracer.parameter("p_weight", "layer.weight", Dtype::Float32, &["4", "3"])?;
    /// let count = tracer.buffer("b_count", "layer.count", Dtype::Int64, &[], true)?;
    /// let x = tracer.tensor("x", Dtype::Float32, &["s0", "3"])?;
    /// let n = tracer.int("n", "s0")?;
    /// let y = tracer.call("aten.linear.default", [("input", x.into()), ("weight", weight.into())])?[0];
    /// let twice = tracer.call("_operator.mul", [("a", n.into()), ("b", n.into())])?[0];
    /// assert_eq!(tracer.shape(twice), "s0**2");
    /// let program = tracer.finish(&[y, twice, count]).program;
    /// assert_eq!(program.signature.inputs.len(), 4);
    /// # Ok::<(), sizewise_pass::TraceError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tracer::tensor`].
    pub fn parameter(
        &mut self,
        name: &str,
        fqn: &str,
        dtype: Dtype,
        sizes: &[&str],
    ) -> Result<Proxy, TraceError> {
        let fqn = fqn.into();
        self.tensor_as(name, dtype, sizes, |value| InputSpec::Parameter { value, fqn })
    }

    /// A buffer of the module, by its qualified name.
    ///
    /// # Errors
    /// As [`Tracer::tensor`].
    pub fn buffer(
        &mut self,
        name: &str,
        fqn: &str,
        dtype: Dtype,
        sizes: &[&str],
        persistent: bool,
    ) -> Result<Proxy, TraceError> {
        let fqn = fqn.into();
        self.tensor_as(name, dtype, sizes, |value| InputSpec::Buffer { value, fqn, persistent })
    }

    /// An integer that the user passes, an expression over declared sizes.
    ///
    /// # Errors
    /// As [`Tracer::tensor`].
    pub fn int(&mut self, name: &str, value: &str) -> Result<Proxy, TraceError> {
        let e = self.declared(value)?;
        self.input_as(name, Value::Int(e), |value| InputSpec::User { value: Some(value) })
    }

    /// A number, text or `None` that the user passes, and only this one: no call can use it.
    ///
    /// # Errors
    /// When there is an input of this name.
    pub fn constant(&mut self, name: &str, value: Constant) -> Result<(), TraceError> {
        let name: Arc<str> = name.into();
        if !self.names.insert(name.clone()) {
            return Err(TraceError::Malformed(format!("a second input is called `{name}`")));
        }
        self.builder.constant_input(value.clone());
        self.inputs.push(Given { name: name.clone(), spec: InputSpec::Constant { name, value }, kind: None });
        Ok(())
    }

    fn declared(&mut self, text: &str) -> Result<Expr, TraceError> {
        let e = read::closed(&mut self.env.pool, text)
            .map_err(|error| TraceError::Malformed(format!("`{text}` is no size: {error}")))?
            .expr;
        if self.env.pool.sort(e) != Sort::Int {
            return Err(TraceError::Malformed(format!("`{text}` is no integer")));
        }
        let unknown = self.env.pool.free_symbols(&[e]).into_iter().find(|&s| self.env.symbol(s).is_none());
        match unknown {
            Some(symbol) => {
                let name = self.env.pool.symbol_name(symbol);
                Err(TraceError::Malformed(format!("the size `{name}` is not declared")))
            }
            None => Ok(e),
        }
    }

    fn tensor_as(
        &mut self,
        name: &str,
        dtype: Dtype,
        sizes: &[&str],
        spec: impl FnOnce(ValueId) -> InputSpec,
    ) -> Result<Proxy, TraceError> {
        let sizes: Sizes = sizes.iter().map(|text| self.declared(text)).collect::<Result<_, _>>()?;
        let strides = Cx::new(&mut self.env).contiguous_strides(&sizes);
        let tensor = Tensor {
            sizes,
            strides,
            offset: Expr::ZERO,
            dtype,
            device: Device::cpu(),
            layout: Layout::Strided,
            wrapped: false,
            span: None,
        };
        self.input_as(name, tensor.into(), spec)
    }

    fn input_as(
        &mut self,
        name: &str,
        value: Value,
        spec: impl FnOnce(ValueId) -> InputSpec,
    ) -> Result<Proxy, TraceError> {
        let Some((meta, kind)) = self.meta(&value) else {
            return Err(TraceError::Malformed(format!("`{name}` is neither a tensor nor a number")));
        };
        let name: Arc<str> = name.into();
        let id = self.builder.input(name.clone(), meta)?;
        self.names.insert(name.clone());
        self.values.push(value);
        self.inputs.push(Given { name, spec: spec(id), kind: Some(kind) });
        Ok(Proxy { value: id, kind })
    }
}
