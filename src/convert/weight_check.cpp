#include "convert/weight_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::convert {
namespace {

/// The largest magnitude that the type holds. Blocks store a binary16 scale: the largest magnitude over the largest code.
float largest_weight(gguf::Type type) {
  constexpr float half = 65504.0f;
  switch (type) {
    case gguf::Type::f16:
      return half;
    case gguf::Type::bf16:
      return 0x1.FEp127f;
    case gguf::Type::q8_0:
      return 127.0f * half;
    case gguf::Type::q4_0:
      return 8.0f * half;
    case gguf::Type::f32:
      break;
  }
  return std::numeric_limits<float>::max();
}

}  // namespace

void check_weights(std::span<const float> weights, gguf::Type type, std::string_view path, std::string_view tensor, std::uint64_t row) {
  const float most = largest_weight(type);
  const auto bad = std::ranges::find_if_not(weights, [most](float weight) { return std::fabs(weight) <= most; });  // finds a NaN too
  if (bad == weights.end()) return;
  if (!std::isfinite(*bad)) {
    fail(Code::bad_file, "{}: tensor '{}' has a weight in row {} that is not finite ({}); the file is damaged, or its training failed", path,
         gguf::escaped(tensor), row, *bad);
  }
  fail(Code::unsupported, "{}: tensor '{}' has a weight in row {} ({}) that is too large for {}; choose BF16 or F32", path,
       gguf::escaped(tensor), row, *bad, gguf::traits(type).name);
}

}  // namespace skipstone::convert
