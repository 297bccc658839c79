// Four weights of which the two in `kept` are there, at the places in the lowest four bits of `places`; the others are 0. The places are in
// order (gguf::check_places), so the first one is never 3 and the second never 0.
vec4 spread(vec2 kept, uint places) {
  const uint first = places & 3u, second = places >> 2 & 3u;
  return vec4(first == 0u ? kept.x : 0.0,
              first == 1u ? kept.x : second == 1u ? kept.y : 0.0,
              second == 2u ? kept.y : first == 2u ? kept.x : 0.0,
              second == 3u ? kept.y : 0.0);
}
