#include "exec/plan.h"

#include <fmt/format.h>

#include <iterator>

#include "base/hash.h"
#include "kernels/kernel_table.h"

namespace skipstone::exec {
namespace {

std::string operand_text(const kernels::Operand& operand, const std::function<std::string(std::uint32_t)>& tensor_name) {
  const char* mark = operand.access == vk::Access::read ? "<" : operand.access == vk::Access::write ? ">" : "=";
  std::string text = kernels::to_string(operand.resource);
  if (operand.resource.kind == kernels::ResourceKind::weight) {
    text = tensor_name(operand.resource.index);
    if (operand.resource.part != 0) text += fmt::format(".part{}", operand.resource.part);
    if (operand.resource.plane != 0) text += ".scales";
  }
  return fmt::format("{}{}", mark, text);
}

}  // namespace

const char* to_string(Output output) {
  switch (output) {
    case Output::none:
      return "none";
    case Output::argmax:
      return "argmax";
    case Output::logits:
      return "logits";
    case Output::candidates:
      return "candidates";
    case Output::hidden:
      return "hidden";
  }
  return "?";
}

const char* to_string(RoundStep step) {
  switch (step) {
    case RoundStep::none:
      return "none";
    case RoundStep::draft:
      return "draft";
    case RoundStep::kept_row:
      return "kept-row";
    case RoundStep::verify:
      return "verify";
  }
  return "?";
}

std::size_t PassSpecHash::operator()(const PassSpec& spec) const noexcept {
  const std::hash<std::bitset<LayerPlan::max_layers>> bits;
  Fnv1a hash;
  hash.add_word(bits(spec.layers.skip_attention));
  hash.add_word(bits(spec.layers.skip_mlp));
  for (const std::size_t part :
       {static_cast<std::size_t>(spec.layers.begin), static_cast<std::size_t>(spec.layers.end),
        static_cast<std::size_t>(spec.layers.experts), static_cast<std::size_t>(spec.bucket), static_cast<std::size_t>(spec.output),
        static_cast<std::size_t>(spec.last_row_only), static_cast<std::size_t>(spec.keep_after), static_cast<std::size_t>(spec.cosines),
        static_cast<std::size_t>(spec.tree), static_cast<std::size_t>(spec.window), static_cast<std::size_t>(spec.kv_only),
        static_cast<std::size_t>(spec.predicts), static_cast<std::size_t>(spec.prompt), static_cast<std::size_t>(spec.step),
        static_cast<std::size_t>(spec.direction)}) {
    hash.add_word(part);
  }
  return hash.value();
}

std::string Plan::print(std::uint32_t model_layers, const std::function<std::string(std::uint32_t)>& tensor_name) const {
  std::string text = fmt::format("pass layers={} rows={} output={}{}{}\n", spec.layers.print(model_layers), spec.bucket,
                                 to_string(spec.output), spec.last_row_only ? " last-row" : "",
                                 spec.cosines == Cosines::none  ? ""
                                 : spec.cosines == Cosines::all ? " cosines"
                                                                : " cosine");
  if (spec.keep_after > 0) text.insert(text.size() - 1, fmt::format(" keep-after={}", spec.keep_after));
  if (spec.kv_only) text.insert(text.size() - 1, " kv-only");
  if (spec.prompt) text.insert(text.size() - 1, " prompt");
  if (spec.tree) text.insert(text.size() - 1, " tree");
  if (spec.window) text.insert(text.size() - 1, " window");
  if (spec.predicts) text.insert(text.size() - 1, " predicts");
  if (spec.step != RoundStep::none) text.insert(text.size() - 1, fmt::format(" step={}", to_string(spec.step)));
  if (spec.direction == Direction::returning) text.insert(text.size() - 1, " back");
  for (const kernels::Dispatch& d : dispatches) {
    std::string operands;
    for (const kernels::Operand& operand : d.operands) operands.append(1, ' ').append(operand_text(operand, tensor_name));
    fmt::format_to(std::back_inserter(text), "{:<24} {}({}){} [{} {} {}]{}\n", d.label, kernels::info(d.kernel).name,
                   fmt::join(d.constants, ","), operands, d.groups[0], d.groups[1], d.groups[2], d.indirect_offset ? " indirect" : "");
  }
  return text;
}

}  // namespace skipstone::exec
