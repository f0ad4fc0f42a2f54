//! Which tensors share memory: memories, the views of them, and the tensors of the program, each of which is a view.
//!
//! A write to a view makes a new value of the memory, through every view between; other views are made anew when they
//! are next read. This is how torch functionalizes (`aten/src/ATen/FunctionalStorageImpl.h`).
use super::emitter::Emitter;
use super::inverse;
use super::step::ViewStep;
use crate::error::PassError;
use rustc_hash::FxHashMap;
use sizewise_ir::ValueId;
use std::rc::Rc;

/// A memory that tensors share.
struct Memory {
    /// The value of all of it.
    now: ValueId,
    /// How often it has been written.
    writes: u32,
}

/// A way to see a memory.
struct View {
    memory: usize,
    /// The view that it is a view of, and how.
    of: Option<(ViewId, Rc<ViewStep>)>,
    /// Which result of the step it is.
    item: usize,
    /// Its value after so many writes.
    known: Option<(u32, ValueId)>,
}

/// A view, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ViewId(usize);

/// A tensor of the program, by number: what changes its sizes changes which view it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorId(usize);

/// All memories of a graph.
#[derive(Default)]
pub struct Aliases {
    memories: Vec<Memory>,
    views: Vec<View>,
    tensors: Vec<ViewId>,
    /// The results of steps that were made anew, after so many writes.
    remade: FxHashMap<(*const ViewStep, ViewId), (u32, Vec<ValueId>)>,
}

impl Aliases {
    /// A tensor with a memory of its own.
    pub fn own(&mut self, value: ValueId) -> TensorId {
        let memory = self.memories.len();
        self.memories.push(Memory { now: value, writes: 0 });
        self.view(View { memory, of: None, item: 0, known: Some((0, value)) })
    }

    fn view(&mut self, view: View) -> TensorId {
        let id = ViewId(self.views.len());
        self.views.push(view);
        self.tensors.push(id);
        TensorId(self.tensors.len() - 1)
    }

    /// The tensor that is result `item` of a step, with its value if that was made.
    pub fn viewed(
        &mut self,
        of: TensorId,
        step: &Rc<ViewStep>,
        item: usize,
        value: Option<ValueId>,
    ) -> TensorId {
        let parent = self.tensors[of.0];
        let memory = self.views[parent.0].memory;
        let known = value.map(|value| (self.memories[memory].writes, value));
        self.view(View { memory, of: Some((parent, Rc::clone(step))), item, known })
    }

    /// Lets a tensor be another view from now on.
    pub fn becomes(&mut self, tensor: TensorId, other: TensorId) {
        self.tensors[tensor.0] = self.tensors[other.0];
    }

    /// The memory of a tensor, by number.
    pub fn memory(&self, tensor: TensorId) -> usize {
        self.views[self.tensors[tensor.0].0].memory
    }

    /// How often the memory of a tensor has been written.
    pub fn writes(&self, tensor: TensorId) -> u32 {
        self.memories[self.memory(tensor)].writes
    }

    /// The value of a tensor now.
    pub fn value(&mut self, tensor: TensorId, emitter: &mut Emitter<'_, '_>) -> Result<ValueId, PassError> {
        self.value_of(self.tensors[tensor.0], emitter)
    }

    fn known(&self, view: ViewId) -> Option<ValueId> {
        let view = &self.views[view.0];
        let memory = &self.memories[view.memory];
        match view.known {
            _ if view.of.is_none() => Some(memory.now),
            Some((writes, value)) if writes == memory.writes => Some(value),
            _ => None,
        }
    }

    fn value_of(&mut self, view: ViewId, emitter: &mut Emitter<'_, '_>) -> Result<ValueId, PassError> {
        let mut stale = Vec::new();
        let mut at = view;
        let mut value = loop {
            if let Some(value) = self.known(at) {
                break value;
            }
            stale.push(at);
            match &self.views[at.0].of {
                Some((parent, _)) => at = *parent,
                None => break self.memories[self.views[at.0].memory].now,
            }
        };
        for view in stale.into_iter().rev() {
            let View { memory, of, item, .. } = &self.views[view.0];
            let (memory, item) = (*memory, *item);
            let Some((parent, step)) = of.as_ref().map(|(parent, step)| (*parent, Rc::clone(step))) else {
                continue;
            };
            let writes = self.memories[memory].writes;
            let key = (Rc::as_ptr(&step), parent);
            let made = match self.remade.get(&key) {
                Some((made_after, values)) if *made_after == writes => values.clone(),
                _ => step.again(value, emitter)?,
            };
            value = made.get(item).copied().unwrap_or(value);
            self.remade.insert(key, (writes, made));
            self.views[view.0].known = Some((writes, value));
        }
        Ok(value)
    }

    /// Writes a tensor: its memory gets a new value, through the views between.
    pub fn write(
        &mut self,
        tensor: TensorId,
        value: ValueId,
        emitter: &mut Emitter<'_, '_>,
    ) -> Result<(), PassError> {
        let target = self.tensors[tensor.0];
        let mut chain = vec![(target, value)];
        let mut at = target;
        let mut new = value;
        while let Some((parent, step)) = self.views[at.0].of.clone() {
            let item = self.views[at.0].item;
            let whole = self.value_of(parent, emitter)?;
            new = inverse::written(&step, item, whole, new, emitter)?;
            chain.push((parent, new));
            at = parent;
        }
        let memory = &mut self.memories[self.views[at.0].memory];
        memory.now = new;
        memory.writes = memory.writes.saturating_add(1);
        let writes = memory.writes;
        for (view, value) in chain {
            self.views[view.0].known = Some((writes, value));
        }
        Ok(())
    }
}
