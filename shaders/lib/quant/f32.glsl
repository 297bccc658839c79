const uint UNIT = 1;
struct Block { uint first_word; };

// Words are read where they are used: all 32 of each of a lane's rows at once do not fit a GPU's registers beside the sums.
Block load_block(uint unit, uint block) { return Block(unit * 8u); }

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  a = uintBitsToFloat(weight_words(block.first_word + 2u * part));
  b = uintBitsToFloat(weight_words(block.first_word + 2u * part + 1u));
}
