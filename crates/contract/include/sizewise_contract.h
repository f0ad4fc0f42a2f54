/* Checks input shapes against the contract of an exported program.
 *
 * One header for C99 and C++17: no allocation, no exceptions, no RTTI, no library beyond <stdint.h>, <stddef.h> and
 * <string.h>. `sizewise guards PROGRAM --emit contract` writes contracts; docs/contract.md describes the format.
 *
 *     sizewise_input inputs[1] = {sizewise_tensor(sizes, rank)};
 *     sizewise_result result = sizewise_check(contract, length, inputs, 1);
 *     if (result.status != SIZEWISE_OK) ...
 *
 * Integers have 64 bits. Where a result does not fit, or a divisor is 0, the condition has no value and the inputs are
 * refused: nothing wraps. All that is read of a contract is bounded by its length.
 */
#ifndef SIZEWISE_CONTRACT_H
#define SIZEWISE_CONTRACT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIZEWISE_CONTRACT_VERSION 1
#define SIZEWISE_MAX_VARIABLES 64
#define SIZEWISE_MAX_STACK 32
#if defined(__GNUC__) || defined(__clang__)
#define SIZEWISE_PART static inline __attribute__((unused))
#else
#define SIZEWISE_PART static inline
#endif

typedef enum {
    SIZEWISE_OK = 0,
    SIZEWISE_WRONG_COUNT,     /* there are more or fewer inputs */
    SIZEWISE_WRONG_INPUT,     /* the input `index` has another rank, kind or constant value */
    SIZEWISE_CHECK_FAILS,     /* the check `index` does not hold */
    SIZEWISE_NO_CONTRACT      /* the bytes are damaged, or of another version */
} sizewise_status;

typedef struct {
    sizewise_status status;
    size_t index;
} sizewise_result;

typedef enum {
    SIZEWISE_TENSOR,
    SIZEWISE_INTEGER,
    SIZEWISE_BOOL,
    SIZEWISE_DOUBLE,
    SIZEWISE_STRING,
    SIZEWISE_OTHER
} sizewise_kind;

typedef struct {
    sizewise_kind kind;
    const int64_t *sizes; /* of a tensor */
    size_t count;         /* its rank, or the length of a string */
    int64_t integer;      /* an integer, or a truth value: 0 or 1 */
    double number;
    const char *text;
} sizewise_input;

SIZEWISE_PART sizewise_input sizewise_of_kind(sizewise_kind kind) {
    sizewise_input input = {kind, NULL, 0, 0, 0.0, NULL};
    return input;
}

SIZEWISE_PART sizewise_input sizewise_tensor(const int64_t *sizes, size_t rank) {
    sizewise_input input = sizewise_of_kind(SIZEWISE_TENSOR);
    input.sizes = sizes;
    input.count = rank;
    return input;
}

SIZEWISE_PART sizewise_input sizewise_integer(int64_t value) {
    sizewise_input input = sizewise_of_kind(SIZEWISE_INTEGER);
    input.integer = value;
    return input;
}

SIZEWISE_PART sizewise_input sizewise_bool(int value) {
    sizewise_input input = sizewise_of_kind(SIZEWISE_BOOL);
    input.integer = value != 0;
    return input;
}

SIZEWISE_PART sizewise_input sizewise_double(double value) {
    sizewise_input input = sizewise_of_kind(SIZEWISE_DOUBLE);
    input.number = value;
    return input;
}

SIZEWISE_PART sizewise_input sizewise_string(const char *text, size_t length) {
    sizewise_input input = sizewise_of_kind(SIZEWISE_STRING);
    input.text = text;
    input.count = length;
    return input;
}

/* What follows is not for callers, up to sizewise_check. */

/* The operations of checks, in the order of their numbers; docs/contract.md says what each does. */
enum {
    SIZEWISE_INT_ = 0,
    SIZEWISE_VARIABLE_,
    SIZEWISE_SIZE_,
    SIZEWISE_DOUBLE_,
    SIZEWISE_ADD_,
    SIZEWISE_MUL_,
    SIZEWISE_FLOOR_DIV_,
    SIZEWISE_MOD_,
    SIZEWISE_POW_,
    SIZEWISE_MIN_,
    SIZEWISE_MAX_,
    SIZEWISE_BIT_AND_,
    SIZEWISE_BIT_OR_,
    SIZEWISE_BIT_XOR_,
    SIZEWISE_ABS_,
    SIZEWISE_EQUAL_,
    SIZEWISE_IS_ZERO_,
    SIZEWISE_NOT_POSITIVE_,
    SIZEWISE_NOT_,
    SIZEWISE_AND_,
    SIZEWISE_OR_,
    SIZEWISE_IF_,
    SIZEWISE_TO_DOUBLE_,
    SIZEWISE_DOUBLE_ADD_,
    SIZEWISE_DOUBLE_MUL_,
    SIZEWISE_DOUBLE_DIV_,
    SIZEWISE_DOUBLE_ABS_,
    SIZEWISE_TRUNC_,
    SIZEWISE_FLOOR_,
    SIZEWISE_CEIL_,
    SIZEWISE_ROUND_,
    SIZEWISE_DOUBLE_EQ_,
    SIZEWISE_DOUBLE_LT_,
    SIZEWISE_DOUBLE_LE_,
    SIZEWISE_OPERATIONS_
};

/* What is left of a contract; `failed` once it is damaged. */
typedef struct {
    const uint8_t *at, *end;
    int failed;
} sizewise_reader_;

/* A value on the stack: a double by its bits. */
typedef struct {
    int64_t bits;
    int known;
} sizewise_value_;

typedef struct {
    const sizewise_input *inputs;
    size_t input_count, variable_count, used;
    sizewise_value_ variables[SIZEWISE_MAX_VARIABLES], stack[SIZEWISE_MAX_STACK];
} sizewise_machine_;

SIZEWISE_PART const uint8_t *sizewise_take_(sizewise_reader_ *reader, uint64_t count) {
    const uint8_t *taken = reader->at;
    if (count > (uint64_t)(reader->end - reader->at)) {
        reader->failed = 1;
        return NULL;
    }
    reader->at += count;
    return taken;
}

SIZEWISE_PART uint8_t sizewise_byte_(sizewise_reader_ *reader) {
    const uint8_t *taken = sizewise_take_(reader, 1);
    return taken ? *taken : 0;
}

SIZEWISE_PART uint64_t sizewise_unsigned_(sizewise_reader_ *reader) {
    uint64_t value = 0;
    unsigned shift = 0;
    for (;;) {
        uint8_t byte = sizewise_byte_(reader);
        uint64_t bits = byte & 0x7f;
        if (reader->failed || shift >= 64 || (shift == 63 && bits > 1)) {
            reader->failed = 1;
            return 0;
        }
        value |= bits << shift;
        if (!(byte & 0x80)) return value;
        shift += 7;
    }
}

SIZEWISE_PART int64_t sizewise_as_signed_(uint64_t bits) {
    int64_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

SIZEWISE_PART int64_t sizewise_signed_(sizewise_reader_ *reader) {
    uint64_t value = sizewise_unsigned_(reader);
    return sizewise_as_signed_((value >> 1) ^ (0 - (value & 1)));
}

SIZEWISE_PART double sizewise_as_double_(int64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

SIZEWISE_PART int64_t sizewise_double_(sizewise_reader_ *reader) {
    const uint8_t *taken = sizewise_take_(reader, 8);
    uint64_t bits = 0;
    for (int i = 7; taken && i >= 0; i--) bits = bits << 8 | taken[i];
    return sizewise_as_signed_(bits);
}

SIZEWISE_PART sizewise_value_ sizewise_known_(int64_t bits) {
    sizewise_value_ value = {bits, 1};
    return value;
}

SIZEWISE_PART sizewise_value_ sizewise_none_(void) {
    sizewise_value_ value = {0, 0};
    return value;
}

SIZEWISE_PART sizewise_value_ sizewise_of_double_(double number) {
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return sizewise_known_(bits);
}

SIZEWISE_PART sizewise_value_ sizewise_add_(int64_t a, int64_t b) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return sizewise_none_();
    return sizewise_known_(a + b);
}

SIZEWISE_PART sizewise_value_ sizewise_mul_(int64_t a, int64_t b) {
    if (a != 0 && b != 0) {
        if (a > 0 && b > 0 && a > INT64_MAX / b) return sizewise_none_();
        if (a > 0 && b < 0 && b < INT64_MIN / a) return sizewise_none_();
        if (a < 0 && b > 0 && a < INT64_MIN / b) return sizewise_none_();
        if (a < 0 && b < 0 && b < INT64_MAX / a) return sizewise_none_();
    }
    return sizewise_known_(a * b);
}

SIZEWISE_PART sizewise_value_ sizewise_floor_div_(int64_t a, int64_t b) {
    if (b == 0 || (b == -1 && a == INT64_MIN)) return sizewise_none_();
    return sizewise_known_(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

SIZEWISE_PART sizewise_value_ sizewise_mod_(int64_t a, int64_t b) {
    if (b == 0) return sizewise_none_();
    if (b == -1) return sizewise_known_(0);
    int64_t rest = a % b;
    return sizewise_known_(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

SIZEWISE_PART sizewise_value_ sizewise_pow_(int64_t base, int64_t exponent) {
    sizewise_value_ result = sizewise_known_(1), square = sizewise_known_(base);
    if (exponent < 0) return sizewise_none_();
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) {
            if (!square.known) return square;
            result = sizewise_mul_(result.bits, square.bits);
            if (!result.known) return result;
        }
        if (square.known) square = sizewise_mul_(square.bits, square.bits);
    }
    return result;
}

/* A double as an integer. */
SIZEWISE_PART sizewise_value_ sizewise_rounded_(uint8_t op, double a) {
    if (!(a > -4611686018427387904.0 && a < 4611686018427387904.0)) return sizewise_none_();
    int64_t towards_zero = (int64_t)a;
    int64_t down = towards_zero - ((double)towards_zero > a);
    double rest = a - (double)down;
    switch (op) {
        case SIZEWISE_TRUNC_: return sizewise_known_(towards_zero);
        case SIZEWISE_FLOOR_: return sizewise_known_(down);
        case SIZEWISE_CEIL_: return sizewise_known_(down + (rest > 0.0));
        default: return sizewise_known_(down + (rest > 0.5 || (rest == 0.5 && (down & 1))));
    }
}

SIZEWISE_PART sizewise_value_ sizewise_of_one_(uint8_t op, int64_t a) {
    switch (op) {
        case SIZEWISE_ABS_: return a == INT64_MIN ? sizewise_none_() : sizewise_known_(a < 0 ? -a : a);
        case SIZEWISE_IS_ZERO_: return sizewise_known_(a == 0);
        case SIZEWISE_NOT_POSITIVE_: return sizewise_known_(a <= 0);
        case SIZEWISE_NOT_: return sizewise_known_(a == 0);
        case SIZEWISE_TO_DOUBLE_:
            if (a < -9007199254740992 || a > 9007199254740992) return sizewise_none_();
            return sizewise_of_double_((double)a);
        case SIZEWISE_DOUBLE_ABS_: return sizewise_known_(a & INT64_MAX);
        default: return sizewise_rounded_(op, sizewise_as_double_(a));
    }
}

SIZEWISE_PART sizewise_value_ sizewise_of_two_(uint8_t op, int64_t a, int64_t b) {
    double x = sizewise_as_double_(a), y = sizewise_as_double_(b);
    switch (op) {
        case SIZEWISE_ADD_: return sizewise_add_(a, b);
        case SIZEWISE_MUL_: return sizewise_mul_(a, b);
        case SIZEWISE_FLOOR_DIV_: return sizewise_floor_div_(a, b);
        case SIZEWISE_MOD_: return sizewise_mod_(a, b);
        case SIZEWISE_POW_: return sizewise_pow_(a, b);
        case SIZEWISE_MIN_: return sizewise_known_(a < b ? a : b);
        case SIZEWISE_MAX_: return sizewise_known_(a > b ? a : b);
        case SIZEWISE_BIT_AND_: return sizewise_known_(a & b);
        case SIZEWISE_BIT_OR_: return sizewise_known_(a | b);
        case SIZEWISE_BIT_XOR_: return sizewise_known_(a ^ b);
        case SIZEWISE_EQUAL_: return sizewise_known_(a == b);
        case SIZEWISE_DOUBLE_ADD_: return sizewise_of_double_(x + y);
        case SIZEWISE_DOUBLE_MUL_: return sizewise_of_double_(x * y);
        case SIZEWISE_DOUBLE_DIV_: return y == 0.0 ? sizewise_none_() : sizewise_of_double_(x / y);
        case SIZEWISE_DOUBLE_EQ_: return sizewise_known_(x == y);
        case SIZEWISE_DOUBLE_LT_: return sizewise_known_(x < y);
        default: return sizewise_known_(x <= y);
    }
}

SIZEWISE_PART sizewise_value_ sizewise_size_(const sizewise_machine_ *machine, sizewise_reader_ *reader) {
    uint64_t input = sizewise_unsigned_(reader), dim = sizewise_unsigned_(reader);
    if (!reader->failed && input < machine->input_count) {
        const sizewise_input *given = &machine->inputs[input];
        if (dim == 0 && given->kind == SIZEWISE_INTEGER) return sizewise_known_(given->integer);
        if (dim > 0 && given->kind == SIZEWISE_TENSOR && dim <= given->count) {
            return sizewise_known_(given->sizes[dim - 1]);
        }
    }
    reader->failed = 1;
    return sizewise_none_();
}

SIZEWISE_PART sizewise_value_ sizewise_pop_(sizewise_machine_ *machine, sizewise_reader_ *reader) {
    if (machine->used == 0) {
        reader->failed = 1;
        return sizewise_none_();
    }
    return machine->stack[--machine->used];
}

/* What an operation leaves on the stack. */
SIZEWISE_PART sizewise_value_ sizewise_step_(sizewise_machine_ *machine, sizewise_reader_ *reader) {
    uint8_t op = sizewise_byte_(reader);
    if (op == SIZEWISE_INT_) return sizewise_known_(sizewise_signed_(reader));
    if (op == SIZEWISE_VARIABLE_) {
        uint64_t at = sizewise_unsigned_(reader);
        if (at < machine->variable_count) return machine->variables[at];
        reader->failed = 1;
        return sizewise_none_();
    }
    if (op == SIZEWISE_SIZE_) return sizewise_size_(machine, reader);
    if (op == SIZEWISE_DOUBLE_) return sizewise_known_(sizewise_double_(reader));
    if (op >= SIZEWISE_OPERATIONS_) reader->failed = 1;
    sizewise_value_ last = sizewise_pop_(machine, reader);
    if (op == SIZEWISE_ABS_ || (op >= SIZEWISE_IS_ZERO_ && op <= SIZEWISE_NOT_) || op == SIZEWISE_TO_DOUBLE_ ||
        (op >= SIZEWISE_DOUBLE_ABS_ && op <= SIZEWISE_ROUND_)) {
        return last.known ? sizewise_of_one_(op, last.bits) : last;
    }
    sizewise_value_ before = sizewise_pop_(machine, reader);
    if (op == SIZEWISE_IF_) {
        sizewise_value_ condition = sizewise_pop_(machine, reader);
        return !condition.known ? condition : condition.bits ? before : last;
    }
    if (op == SIZEWISE_AND_ || op == SIZEWISE_OR_) {
        int64_t decides = op == SIZEWISE_OR_;
        if (last.known && last.bits == decides) return last;
        if (before.known && before.bits == decides) return before;
        return last.known && before.known ? sizewise_known_(!decides) : sizewise_none_();
    }
    return before.known && last.known ? sizewise_of_two_(op, before.bits, last.bits) : sizewise_none_();
}

SIZEWISE_PART int sizewise_holds_(sizewise_machine_ *machine, sizewise_reader_ *code) {
    machine->used = 0;
    while (!code->failed && code->at < code->end) {
        sizewise_value_ value = sizewise_step_(machine, code);
        if (machine->used == SIZEWISE_MAX_STACK) code->failed = 1;
        if (!code->failed) machine->stack[machine->used++] = value;
    }
    if (machine->used != 1) code->failed = 1;
    return !code->failed && machine->stack[0].known && machine->stack[0].bits == 1;
}

SIZEWISE_PART int sizewise_accepts_(sizewise_reader_ *reader, const sizewise_input *input) {
    uint8_t kind = sizewise_byte_(reader);
    if (kind == 0) {
        uint64_t rank = sizewise_unsigned_(reader);
        sizewise_byte_(reader); /* the dtype is for readers */
        if (input->kind != SIZEWISE_TENSOR || input->count != rank) return 0;
        for (size_t dim = 0; dim < input->count; dim++) {
            if (input->sizes[dim] < 0) return 0;
        }
        return 1;
    }
    if (kind == 1) return input->kind == SIZEWISE_INTEGER;
    if (kind == 2) {
        int64_t value = sizewise_signed_(reader);
        return input->kind == SIZEWISE_INTEGER && input->integer == value;
    }
    if (kind == 3) {
        int64_t value = sizewise_byte_(reader) != 0;
        return input->kind == SIZEWISE_BOOL && input->integer == value;
    }
    if (kind == 4) {
        double value = sizewise_as_double_(sizewise_double_(reader));
        if (input->kind != SIZEWISE_DOUBLE) return 0;
        return input->number == value || (input->number != input->number && value != value);
    }
    if (kind == 5) {
        uint64_t length = sizewise_unsigned_(reader);
        const uint8_t *text = sizewise_take_(reader, length);
        if (input->kind != SIZEWISE_STRING || !text || input->count != length) return 0;
        return length == 0 || memcmp(input->text, text, (size_t)length) == 0;
    }
    if (kind != 6) reader->failed = 1;
    return 1;
}

SIZEWISE_PART sizewise_result sizewise_answer_(sizewise_status status, size_t index) {
    sizewise_result result = {status, index};
    return result;
}

/* Whether the program serves these inputs. */
SIZEWISE_PART sizewise_result sizewise_check(const uint8_t *contract, size_t length, const sizewise_input *inputs,
                                             size_t count) {
    sizewise_reader_ reader = {contract, contract + length, 0};
    const uint8_t *head = sizewise_take_(&reader, 5);
    if (!head || memcmp(head, "SZC", 3) != 0 || head[3] != SIZEWISE_CONTRACT_VERSION) {
        return sizewise_answer_(SIZEWISE_NO_CONTRACT, 0);
    }
    uint64_t expected = sizewise_unsigned_(&reader);
    if (!reader.failed && expected != count) return sizewise_answer_(SIZEWISE_WRONG_COUNT, 0);
    for (size_t at = 0; at < count && !reader.failed; at++) {
        int accepted = sizewise_accepts_(&reader, &inputs[at]);
        if (!reader.failed && !accepted) return sizewise_answer_(SIZEWISE_WRONG_INPUT, at);
    }
    sizewise_machine_ machine;
    machine.inputs = inputs;
    machine.input_count = count;
    uint64_t variables = sizewise_unsigned_(&reader);
    if (variables > SIZEWISE_MAX_VARIABLES) reader.failed = 1;
    for (machine.variable_count = 0; !reader.failed && machine.variable_count < variables; machine.variable_count++) {
        sizewise_value_ size = sizewise_size_(&machine, &reader), value = sizewise_none_();
        int64_t factor = sizewise_signed_(&reader), offset = sizewise_signed_(&reader);
        if (size.known && (offset >= 0 ? size.bits >= INT64_MIN + offset : size.bits <= INT64_MAX + offset)) {
            value = sizewise_floor_div_(size.bits - offset, factor);
        }
        machine.variables[machine.variable_count] = value;
    }
    uint64_t checks = sizewise_unsigned_(&reader);
    for (uint64_t at = 0; at < checks && !reader.failed; at++) {
        uint64_t bytes = sizewise_unsigned_(&reader);
        const uint8_t *code = sizewise_take_(&reader, bytes);
        if (!code) break;
        sizewise_reader_ inner = {code, code + bytes, 0};
        int holds = sizewise_holds_(&machine, &inner);
        if (inner.failed) return sizewise_answer_(SIZEWISE_NO_CONTRACT, 0);
        if (!holds) return sizewise_answer_(SIZEWISE_CHECK_FAILS, (size_t)at);
    }
    return sizewise_answer_(reader.failed ? SIZEWISE_NO_CONTRACT : SIZEWISE_OK, 0);
}

#ifdef __cplusplus
}
#endif

#endif
