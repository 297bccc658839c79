// The order of candidates. Define `request`, the row's CANDIDATE_REQUEST, first.

// Numbers as integers in the same order, 0 for NaN. Both zeros are one number.
uint key_of(float number) {
  const uint bits = floatBitsToUint(number);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0u;
  if ((bits & 0x7fffffffu) == 0u) return 0x80000000u;
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}
float number_of(uint key) { return uintBitsToFloat((key & 0x80000000u) != 0u ? key & 0x7fffffffu : ~key); }
const uint LOWEST_KEY = 0x007fffffu;   // of -infinity

// exp(number - largest), 0 for NaN and -infinity.
float weight_of(float number, float largest, float factor) {
  return key_of(number) <= LOWEST_KEY ? 0.0 : exp((number - largest) * factor);
}

// Word `token % 4` of Philox4x32-10 (base/philox.h), as the host's sampler counts.
uint random_word(uint token) {
  uvec4 c = uvec4(request.position[0], request.position[1], token / 4u, 0u);
  uvec2 key = uvec2(request.seed[0], request.seed[1]);
  for (uint round = 0; round < 10u; ++round) {
    uint a_high, a_low, b_high, b_low;
    umulExtended(0xD2511F53u, c.x, a_high, a_low);
    umulExtended(0xCD9E8D57u, c.z, b_high, b_low);
    c = uvec4(b_high ^ c.y ^ key.x, b_low, a_high ^ c.w ^ key.y, a_low);
    key += uvec2(0x9E3779B9u, 0xBB67AE85u);
  }
  return c[token % 4u];
}

// -ln(-ln u) for u = (word + 0.5) / 2^32, within 1e-4: the host calculates again for those that count. Near 1, where the largest noise is,
// -ln u is the series of 1 - u; log() would leave nothing of it.
float noise_of(uint word) {
  const float left = (float(~word) + 0.5) * (1.0 / 4294967296.0);   // 1 - u
  const float u = (float(word) + 0.5) * (1.0 / 4294967296.0);
  const float minus_log = left < 0.015625 ? left * (1.0 + left * (0.5 + left * (1.0 / 3.0 + left * 0.25))) : -log(u);
  return -log(minus_log);
}

uint noisy_key(float logit, uint token) {
  return key_of(logit) == 0u ? 0u : key_of(logit * request.inverse_temperature + noise_of(random_word(token)));
}
