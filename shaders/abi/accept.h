#ifndef SKIPSTONE_ABI_ACCEPT_H
#define SKIPSTONE_ABI_ACCEPT_H
#define ACCEPT_BUFFERS 4
#define ACCEPT_RESULT 0
#define ACCEPT_ROUND 1
#define ACCEPT_DRAFTS 2
#define ACCEPT_ROUND_RESULT 3
#define ACCEPT_SPEC(CONSTANT) CONSTANT(0, LANES, 1)
#define ACCEPT_PUSH(FIELD) FIELD(uint, rows)  // rows of the verification's bucket
#endif
