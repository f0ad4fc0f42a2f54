/* Asks contracts about calls, both of the file that `contracts.rs` writes; a line for each call: 1 if it is accepted. */
#include "sizewise_contract.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t number(const uint8_t **at) {
    int64_t value;
    memcpy(&value, *at, sizeof value);
    *at += sizeof value;
    return value;
}

int main(int count, char **arguments) {
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    if (!file || fseek(file, 0, SEEK_END)) return 1;
    size_t length = (size_t)ftell(file);
    uint8_t *data = (uint8_t *)malloc(length);
    rewind(file);
    if (!data || fread(data, 1, length, file) != length) return 1;
    fclose(file);
    const uint8_t *at = data;
    int64_t contracts = number(&at), calls_length = number(&at);
    const uint8_t *contract = at + calls_length;
    int64_t sizes[64][64];
    for (int64_t i = 0; i < contracts; i++) {
        size_t bytes = (size_t)number(&at);
        int64_t calls = number(&at), inputs = number(&at);
        for (int64_t call = 0; call < calls; call++) {
            sizewise_input given[64];
            for (int64_t input = 0; input < inputs; input++) {
                int64_t rank = number(&at);
                if (rank < 0) {
                    given[input] = sizewise_integer(number(&at));
                    continue;
                }
                for (int64_t dim = 0; dim < rank; dim++) sizes[input][dim] = number(&at);
                given[input] = sizewise_tensor(sizes[input], (size_t)rank);
            }
            sizewise_result result = sizewise_check(contract, bytes, given, (size_t)inputs);
            puts(result.status == SIZEWISE_OK ? "1" : result.status == SIZEWISE_NO_CONTRACT ? "damaged" : "0");
        }
        contract += bytes;
    }
    sizewise_bool(0), sizewise_double(0.0), sizewise_string("", 0);
    free(data);
    return 0;
}
