// The best of a workgroup's lanes, joined in lane order. Define LANES first; after argmax.glsl. Every lane gets it. Once in a kernel.
shared uint slot_index[LANES];
shared float slot_largest[LANES];
shared float slot_second[LANES];

Best workgroup_best(Best mine) {
  const uint lane = gl_LocalInvocationID.x;
  slot_index[lane] = mine.index;
  slot_largest[lane] = mine.largest;
  slot_second[lane] = mine.second;
  barrier();
  Best best = Best(NO_INDEX, LOWEST, LOWEST);
  for (uint i = 0; i < LANES; ++i) join(best, Best(slot_index[i], slot_largest[i], slot_second[i]));
  return best;
}
