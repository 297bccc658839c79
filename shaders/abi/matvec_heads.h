// The skinny kernels over a stack of matrices that has one for each head of attention: workgroup z multiplies a head's part of the rows.
#ifndef SKIPSTONE_ABI_MATVEC_HEADS_H
#define SKIPSTONE_ABI_MATVEC_HEADS_H
#include "matvec.h"
#define MATVEC_HEADS_BUFFERS MATVEC_BUFFERS
#define MATVEC_HEADS_SPEC(CONSTANT) MATVEC_SPEC(CONSTANT)
// n: rows of one head's matrix. x_first: where the first head's part of a row of x begins; its outputs begin at y_first. x_step, y_step:
// floats from a head's part to the next one.
#define MATVEC_HEADS_PUSH(FIELD) MATVEC_PUSH(FIELD) FIELD(uint, x_first) FIELD(uint, x_step) FIELD(uint, y_step)
#endif
