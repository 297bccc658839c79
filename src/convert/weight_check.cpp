#include "convert/weight_check.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::convert {
void check_weights(std::span<const float> weights, gguf::Type type, std::string_view path, std::string_view tensor, std::uint64_t row) {
  const float most = gguf::traits(type).largest;
  const auto bad = std::ranges::find_if_not(weights, [most](float weight) { return std::fabs(weight) <= most; });  // finds a NaN too
  if (bad == weights.end()) return;
  if (!std::isfinite(*bad)) {
    fail(Code::bad_file, "{}: tensor '{}' has a weight in row {} that is not finite ({}); the file is damaged, or its training failed",
         path, gguf::escaped(tensor), row, *bad);
  }
  fail(Code::unsupported, "{}: tensor '{}' has a weight in row {} ({}) that is too large for {}; choose BF16 or F32", path,
       gguf::escaped(tensor), row, *bad, gguf::traits(type).name);
}

}  // namespace skipstone::convert
