#ifndef SKIPSTONE_ABI_HALF_ROWS_H
#define SKIPSTONE_ABI_HALF_ROWS_H
#define HALF_ROWS_BUFFERS 2
#define HALF_ROWS_X 0
#define HALF_ROWS_OUT 1
// A row of the output is 4 16-byte words of halves per block of 32, then one word whose first component is the row's scale.
#define HALF_ROWS_WORDS(blocks) ((blocks) * 4u + 1u)
#define HALF_ROWS_SPEC(CONSTANT) CONSTANT(0, LANES, 32)
// blocks: of 32 floats in a row of x.
#define HALF_ROWS_PUSH(FIELD) FIELD(uint, blocks)
#endif
