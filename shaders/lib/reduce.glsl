// Sums over a workgroup in a fixed order: through shared memory, added lane by lane, so that no driver's subgroup reduction order
// can make two variants differ. Define LANES first. Every lane gets the sum.
shared float reduce_slots[LANES];

float workgroup_sum(float value) {
  barrier();   // a second use must not overwrite slots that are still read
  reduce_slots[gl_LocalInvocationID.x] = value;
  barrier();
  precise float total = 0.0;
  for (uint i = 0; i < LANES; ++i) total += reduce_slots[i];
  return total;
}
