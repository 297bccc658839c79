// The order in which candidates win: larger logit, then lower index; NaN never wins.
const uint NO_INDEX = 0xffffffffu;
#define LOWEST uintBitsToFloat(0xff800000u)   // -infinity

struct Best {
  uint index;
  float largest, second;
};

void offer(inout Best best, uint index, float logit) {
  if ((floatBitsToUint(logit) & 0x7fffffffu) > 0x7f800000u) return;   // NaN, by bits: isnan() may be optimised away
  if (best.index == NO_INDEX || logit > best.largest || (logit == best.largest && index < best.index)) {
    best.second = best.largest;
    best.largest = logit;
    best.index = index;
  } else if (logit > best.second) {
    best.second = logit;
  }
}

void join(inout Best best, Best other) {
  if (other.index == NO_INDEX) return;
  offer(best, other.index, other.largest);
  if (other.second > best.second) best.second = other.second;
}
