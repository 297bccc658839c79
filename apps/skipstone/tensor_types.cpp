#include "tensor_types.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace cli {

std::string tensor_types_text(const nlohmann::ordered_json& types) {
  std::string text;
  for (const auto& type : types) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", type["type"].get<std::string>(), type["tensors"].get<std::uint64_t>());
  }
  return text;
}

}  // namespace cli
