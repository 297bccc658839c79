#include "convert/tensor_type.h"

#include <algorithm>
#include <cctype>

#include "base/status.h"
#include "gguf/gguf.h"

namespace skipstone::convert {
namespace {

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](char x, char y) { return std::toupper(static_cast<unsigned char>(x)) == std::toupper(static_cast<unsigned char>(y)); });
}

/// What a product with an activation reads row by row. llama.cpp quantises the same ones (llama_model_quantize_impl in llama-quant.cpp).
bool is_weight_matrix(std::string_view name, std::size_t dimensions) {
  return dimensions >= 2 && name.ends_with(".weight") && !name.ends_with("_norm.weight") && !name.ends_with("ffn_gate_inp.weight");
}

}  // namespace

gguf::Type tensor_type(std::string_view name, std::span<const std::uint64_t> shape, gguf::Type wanted) {
  if (!is_weight_matrix(name, shape.size())) return gguf::Type::f32;
  const bool outermost = name == "token_embd.weight" || name == "output.weight";
  const gguf::Type type = wanted == gguf::Type::q4_0 && outermost ? gguf::Type::q8_0 : wanted;
  return shape[0] % gguf::traits(type).block == 0 ? type : gguf::Type::f16;
}

std::uint32_t file_type(gguf::Type type) {
  switch (type) {
    case gguf::Type::f32:
      return 0;
    case gguf::Type::f16:
      return 1;
    case gguf::Type::q4_0:
      return 2;
    case gguf::Type::q8_0:
      return 7;
    case gguf::Type::bf16:
      return 32;
  }
  fail(Code::internal, "there is no file type for tensors of type {}", gguf::traits(type).name);
}

gguf::Type parse_type(std::string_view name) {
  std::string known;
  for (const gguf::Traits& traits : gguf::all_traits()) {
    if (!traits.runnable) continue;
    if (equal_but_for_case(name, traits.name)) return traits.type;
    known.append(known.empty() ? "" : ", ").append(traits.name);
  }
  constexpr std::size_t shown = 40;
  fail(Code::invalid_argument, "there is no type '{}' to convert to; there are {}", gguf::escaped(name.substr(0, shown)), known);
}

}  // namespace skipstone::convert
