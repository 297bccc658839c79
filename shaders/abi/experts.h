// What the kernels of a mixture of experts hand to each other. A slot is a choice of a row: slot row * used + i is the i-th expert of the
// row, the best first.
#ifndef SKIPSTONE_ABI_EXPERTS_H
#define SKIPSTONE_ABI_EXPERTS_H
#define EXPERTS_MOST 1024       // experts of a layer
#define EXPERTS_MOST_USED 32    // of a row
#define EXPERTS_NONE 0xffffffffu
// Choices: two words of a slot, its expert (EXPERTS_NONE for padding rows) and its weight.
// Groups: the number of experts that have rows; by expert, in their order, three words each: the expert, its first entry of the list, and
// how many it has there; from word EXPERTS_LIST on the list: the slots of these experts, one expert's after the other's.
// Use, by layer: how many experts had rows in the last pass over it, and how many slots these had.
#define EXPERT_USE(FIELD) FIELD(uint, distinct) FIELD(uint, slots)
#define EXPERTS_LIST(experts) (1u + 3u * (experts))
#endif
