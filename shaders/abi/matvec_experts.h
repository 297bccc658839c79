// The skinny kernels over stacks of matrices (lib/experts.glsl): one of each expert.
#ifndef SKIPSTONE_ABI_MATVEC_EXPERTS_H
#define SKIPSTONE_ABI_MATVEC_EXPERTS_H
#include "matvec.h"
#define MATVEC_EXPERTS_BUFFERS 9
#define MATVEC_GROUPS 8   // of abi/experts.h
#define MATVEC_EXPERTS_SPEC(CONSTANT) MATVEC_SPEC(CONSTANT)
// n: rows of one expert's matrix. begin, end: the experts of this part. row_slots: slots that read one row of x. list: where the list of
// slots begins in the groups. Rows of y are by slot.
#define MATVEC_EXPERTS_PUSH(FIELD) \
  MATVEC_PUSH(FIELD) FIELD(uint, begin) FIELD(uint, end) FIELD(uint, row_slots) FIELD(uint, list)
#endif
