// The names of tensors in files: the role's, but where a family has its own.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "model/config.h"
#include "model/tensor_roles.h"

namespace skipstone::model {

namespace {

std::string full_name(Role role, std::string_view name, std::uint32_t layer, std::string_view suffix) {
  const std::string_view dot = suffix.empty() ? "" : ".";
  return role < first_layer_role ? fmt::format("{}{}{}", name, dot, suffix) : fmt::format("blk.{}.{}{}{}", layer, name, dot, suffix);
}

std::string_view suffix_of(Role role, bool bias) { return bias ? std::string_view("bias") : tensor_role(role).suffix; }

}  // namespace

std::string_view name_of(const Architecture& family, Role role, bool predicts) {
  if (predicts) {
    const auto of_head = std::ranges::find(family.head_names, role, &RoleName::role);
    if (of_head != family.head_names.end()) return of_head->name;
  }
  const auto own = std::ranges::find(family.tensor_names, role, &RoleName::role);
  return own != family.tensor_names.end() ? own->name : tensor_role(role).name;
}

std::string tensor_name(Role role, std::uint32_t layer, bool bias) {
  return full_name(role, tensor_role(role).name, layer, suffix_of(role, bias));
}

std::string tensor_name(const Architecture& family, Role role, std::uint32_t layer, bool bias) {
  return full_name(role, name_of(family, role), layer, suffix_of(role, bias));
}

std::string tensor_name(const Config& config, Role role, std::uint32_t layer, bool bias) {
  const bool predicts = role >= first_layer_role && config.block(layer).predicts;
  return full_name(role, name_of(*config.family, role, predicts), layer, suffix_of(role, bias));
}

std::string scale_name(const Config& config, Role role, std::uint32_t layer, bool of_input) {
  const bool predicts = role >= first_layer_role && config.block(layer).predicts;
  return full_name(role, name_of(*config.family, role, predicts), layer, of_input ? "input_scale" : "scale");
}

}  // namespace skipstone::model
