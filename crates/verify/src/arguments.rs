//! Whether an argument is of a schema's type.
use sizewise_ir::Argument;
use sizewise_ir::schema::Type;

/// Whether an argument may stand for a parameter of this type. A number may stand for a tensor, an integer for a float,
/// and one element for a list of fixed length.
pub(super) fn fits(ty: &Type, argument: &Argument) -> bool {
    match (ty, argument) {
        (Type::Optional(_), Argument::None | Argument::OptionalTensor(None)) => true,
        (Type::Optional(inner), argument) => fits(inner, argument),
        (Type::Tensor, Argument::Tensor(_) | Argument::OptionalTensor(Some(_))) => true,
        (Type::Tensor | Type::Scalar, argument) => argument.is_number(),
        (Type::Int { .. }, Argument::Int(_) | Argument::Bool(_)) => true,
        (Type::Int { .. }, Argument::SymInt(_)) => true,
        (Type::Float { .. }, Argument::Float(_) | Argument::Int(_)) => true,
        (Type::Float { .. }, Argument::SymFloat(_) | Argument::SymInt(_)) => true,
        (Type::Bool { .. }, Argument::Bool(_) | Argument::SymBool(_) | Argument::Int(_)) => true,
        (Type::Str, Argument::Str(_)) => true,
        (Type::Complex, Argument::Complex(..) | Argument::Float(_) | Argument::Int(_)) => true,
        (Type::ScalarType, Argument::Dtype(_)) => true,
        (Type::Layout, Argument::Layout(_)) => true,
        (Type::Device, Argument::Device(_)) => true,
        (Type::MemoryFormat, Argument::MemoryFormat(_)) => true,
        (Type::Generator, Argument::CustomObj(_)) => true,
        (Type::List(element, length), argument) => {
            is_empty_list(argument)
                || list_fits(element, argument)
                || (length.is_some() && fits(element, argument))
        }
        (Type::Dict(_), Argument::Map(_)) => true,
        // Types of which nothing is known here.
        (Type::Tuple(_) | Type::Other(_), _) => true,
        _ => false,
    }
}

fn list_fits(element: &Type, argument: &Argument) -> bool {
    let (inner, optional) = element.strip_optional();
    match (inner, argument) {
        (Type::Tensor, Argument::Tensors(_)) => true,
        (Type::Tensor, Argument::OptionalTensors(items)) => optional || items.iter().all(Option::is_some),
        (Type::Int { .. }, Argument::Ints(_) | Argument::SymInts(_) | Argument::Bools(_)) => true,
        (Type::Float { .. }, Argument::Floats(_) | Argument::SymFloats(_) | Argument::Ints(_)) => true,
        (Type::Bool { .. }, Argument::Bools(_) | Argument::SymBools(_)) => true,
        (Type::Scalar, Argument::Ints(_) | Argument::SymInts(_) | Argument::Floats(_)) => true,
        (Type::Scalar, Argument::SymFloats(_) | Argument::Bools(_) | Argument::SymBools(_)) => true,
        (Type::Str, Argument::Strs(_)) => true,
        (Type::List(inner, _), Argument::NestedTensors(_)) => **inner == Type::Tensor,
        (Type::List(inner, _), Argument::IntLists(_)) => matches!(**inner, Type::Int { .. }),
        (Type::List(inner, _), Argument::FloatLists(_)) => matches!(**inner, Type::Float { .. }),
        (Type::Tuple(_) | Type::Other(_), _) => true,
        _ => false,
    }
}

/// Whether an argument is a list without elements, of whatever type it was written as.
fn is_empty_list(argument: &Argument) -> bool {
    match argument {
        Argument::Tensors(list) => list.is_empty(),
        Argument::OptionalTensors(list) => list.is_empty(),
        Argument::NestedTensors(list) => list.is_empty(),
        Argument::Ints(list) => list.is_empty(),
        Argument::IntLists(list) => list.is_empty(),
        Argument::Floats(list) => list.is_empty(),
        Argument::FloatLists(list) => list.is_empty(),
        Argument::Strs(list) => list.is_empty(),
        Argument::Bools(list) => list.is_empty(),
        Argument::SymInts(list) => list.is_empty(),
        Argument::SymFloats(list) => list.is_empty(),
        Argument::SymBools(list) => list.is_empty(),
        _ => false,
    }
}

/// What an argument is, in a few words.
pub(super) fn describe(argument: &Argument) -> &'static str {
    match argument {
        Argument::None => "None",
        Argument::Tensor(_) | Argument::OptionalTensor(Some(_)) => "a tensor",
        Argument::OptionalTensor(None) => "no tensor",
        Argument::Tensors(_) | Argument::OptionalTensors(_) => "a list of tensors",
        Argument::NestedTensors(_) => "lists of tensors",
        Argument::Int(_) | Argument::SymInt(_) => "an integer",
        Argument::Ints(_) | Argument::SymInts(_) => "a list of integers",
        Argument::IntLists(_) => "lists of integers",
        Argument::Float(_) | Argument::SymFloat(_) => "a float",
        Argument::Floats(_) | Argument::SymFloats(_) => "a list of floats",
        Argument::FloatLists(_) => "lists of floats",
        Argument::Str(_) => "a string",
        Argument::Strs(_) => "a list of strings",
        Argument::Bool(_) | Argument::SymBool(_) => "a truth value",
        Argument::Bools(_) | Argument::SymBools(_) => "a list of truth values",
        Argument::Complex(..) => "a complex number",
        Argument::Dtype(_) => "a dtype",
        Argument::MemoryFormat(_) => "a memory format",
        Argument::Layout(_) => "a layout",
        Argument::Device(_) => "a device",
        Argument::Graph(_) => "a graph",
        Argument::CustomObj(_) => "an object",
        Argument::Operator(_) => "an operator",
        Argument::List(_) => "a list of different things",
        Argument::Map(_) => "a dictionary",
    }
}
