const uint UNIT = 8;
struct Block {
  uvec2 words;
  vec2 scale, offset;   // of weights 0..15 and 16..31
};

// Plane 1: d and dmin, then 16 bytes of {scale, minimum} in halves.
Block load_block(uint unit, uint block) {
  const uint b = block & 7u;
  const vec2 d = unpackHalf2x16(scale_word(unit * 5u));
  const uint pair = scale_word(unit * 5u + 1u + (b >> 1)) >> (16u * (b & 1u));
  const uvec4 four = weight_words(unit * 4u + (b >> 1));
  Block raw;
  raw.words = (b & 1u) == 0u ? four.xy : four.zw;
  raw.scale = d.x * vec2(pair & 15u, (pair >> 8) & 15u);
  raw.offset = -d.y * vec2((pair >> 4) & 15u, (pair >> 12) & 15u);
  return raw;
}

void expand(Block block, uint part, out vec4 a, out vec4 b) {
  const vec4 scale = vec4(part < 2u ? block.scale.x : block.scale.y), offset = vec4(part < 2u ? block.offset.x : block.offset.y);
  a = fma(codes(pairs(block.words, 2u * part), 0.0), scale, offset);
  b = fma(codes(pairs(block.words, 2u * part + 1u), 0.0), scale, offset);
}
