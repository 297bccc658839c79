#include "sample/top_k.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace skipstone::sample {

void top_k(std::span<const float> logits, std::span<Token> out) {
  constexpr std::size_t block = 64;
  const std::size_t wanted = out.size();
  if (wanted == 0) return;
  std::vector<float> values;  // of the tokens in `out`, in their order
  values.reserve(wanted + 1);
  float bar = -std::numeric_limits<float>::infinity();
  for (std::size_t start = 0; start < logits.size(); start += block) {
    const std::span<const float> some = logits.subspan(start, std::min(block, logits.size() - start));
    // Most blocks have nothing above the bar, which vectors see at once; a tie with it is a higher id and loses.
    if (values.size() == wanted) {
      int above = 0;
      for (const float value : some) above |= value > bar ? 1 : 0;
      if (above == 0) continue;
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      const float value = some[i];
      if (value != value || (values.size() == wanted && !(value > bar))) continue;
      const auto place = std::upper_bound(values.begin(), values.end(), value, std::greater<>()) - values.begin();
      const auto last = static_cast<std::ptrdiff_t>(std::min(values.size(), wanted - 1));
      std::copy_backward(out.begin() + place, out.begin() + last, out.begin() + last + 1);
      out[static_cast<std::size_t>(place)] = static_cast<Token>(start + i);
      values.insert(values.begin() + place, value);
      if (values.size() > wanted) values.pop_back();
      if (values.size() == wanted) bar = values.back();
    }
  }
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(values.size()), out.end(), -1);
}

}  // namespace skipstone::sample
