#ifndef SKIPSTONE_ABI_EMBED_H
#define SKIPSTONE_ABI_EMBED_H
#define EMBED_BUFFERS 4
#define EMBED_WEIGHTS 0
#define EMBED_SCALES 1
#define EMBED_STATE 2
#define EMBED_OUT 3
#define EMBED_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, INTERLEAVE, 1)
// blocks: 32-weight blocks of a row. first, count: the rows of the table that this part holds. stride: floats per output row. scale: of the
// numbers.
#define EMBED_PUSH(FIELD) FIELD(uint, blocks) FIELD(uint, first) FIELD(uint, count) FIELD(uint, stride) FIELD(float, scale)
#endif
