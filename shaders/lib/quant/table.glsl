// A format's table of codes: the TABLE_WORDS words at the beginning of plane 1 (gguf::BlockCode::table). It is read there, or with
// SHARED_TABLE from a copy in shared memory, which prepare_table() makes.
#define HAS_TABLE
const uint COPIED_WORDS = SHARED_TABLE != 0u ? TABLE_WORDS : 1u;
shared uint table_copy[COPIED_WORDS];

void prepare_table() {
  if (SHARED_TABLE != 0u) {
    for (uint i = gl_LocalInvocationID.x; i < TABLE_WORDS; i += LANES) table_copy[i] = scale_word(i);
    barrier();
  }
}

uint table_word(uint index) {
  if (SHARED_TABLE != 0u) return table_copy[index];
  return scale_word(index);
}

uvec2 table_pair(uint index) {
  if (SHARED_TABLE != 0u) return uvec2(table_copy[2u * index], table_copy[2u * index + 1u]);
  return scale_pair(index);
}
