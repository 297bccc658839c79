#ifndef SKIPSTONE_ABI_RANDOM_FILL_H
#define SKIPSTONE_ABI_RANDOM_FILL_H
#define RANDOM_FILL_BUFFERS 1
#define RANDOM_FILL_TARGET 0
// The format of a number.
#define RANDOM_F16 0
#define RANDOM_F32 1
#define RANDOM_BF16 2
// Two bytes of scales in a half, as plane 1 of MXFP4 and NVFP4 has them.
#define RANDOM_E8M0 3
#define RANDOM_E4M3 4
#define RANDOM_FILL_SPEC(CONSTANT) CONSTANT(0, LANES, 32) CONSTANT(1, NUMBER, 0)
// words: of the target. period, numbers: of every `period` 16-bit halves, those whose bit is set in `numbers` are numbers in [low, high),
// the rest random bits; period is 1 to 32. F32 numbers take whole words; the bit of their first half counts. minima, minimum: numbers whose
// bit is set here too are multiplied by `minimum`. key_low, key_high: the generator's key.
#define RANDOM_FILL_PUSH(FIELD)                                                                                             \
  FIELD(uint, words)                                                                                                        \
  FIELD(uint, period) FIELD(uint, numbers) FIELD(uint, minima) FIELD(uint, key_low) FIELD(uint, key_high) FIELD(float, low) \
      FIELD(float, high) FIELD(float, minimum)
#endif
