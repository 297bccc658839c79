#include "exec/layer_plan.h"

#include <fmt/format.h>

#include <iterator>

#include "base/number.h"
#include "base/status.h"

namespace skipstone::exec {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Calls `visit` for every piece of `text` between separators; an empty text is one empty piece.
template <typename Visit>
void for_each_piece(std::string_view text, char separator, Visit visit) {
  for (;;) {
    const auto at = text.find(separator);
    visit(trim(text.substr(0, at)));
    if (at == std::string_view::npos) return;
    text.remove_prefix(at + 1);
  }
}

std::uint32_t parse_layer(std::string_view digits, std::string_view part, std::uint32_t layers) {
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    fail(Code::invalid_argument, "layer plan: '{}' in '{}' is not a layer number; write layers as 3 or 5-7", digits, part);
  }
  const auto layer = parse_number<std::uint32_t>(digits);
  if (!layer || *layer >= layers) {
    fail(Code::invalid_argument, "layer plan: layer {} in '{}' does not exist; the model's layers are 0 to {}", digits, part, layers - 1);
  }
  return *layer;
}

struct Range {
  std::uint32_t first, last;
};

Range parse_range(std::string_view piece, std::string_view part, std::uint32_t layers) {
  const auto dash = piece.find('-');
  const std::uint32_t first = parse_layer(trim(piece.substr(0, dash)), part, layers);
  if (dash == std::string_view::npos) return {first, first};
  const std::uint32_t last = parse_layer(trim(piece.substr(dash + 1)), part, layers);
  if (last < first)
    fail(Code::invalid_argument, "layer plan: the range '{}' in '{}' runs backwards; write {}-{}", piece, part, last, first);
  return {first, last};
}

void parse_skips(std::string_view list, std::string_view part, std::uint32_t layers, std::bitset<LayerPlan::max_layers>& skips) {
  if (skips.any()) fail(Code::invalid_argument, "layer plan: '{}' names its kind of sublayer a second time; give one list for each", part);
  for_each_piece(list, ',', [&](std::string_view piece) {
    const Range range = parse_range(piece, part, layers);
    for (std::uint32_t layer = range.first; layer <= range.last; ++layer) skips.set(layer);
  });
}

std::uint32_t parse_experts(std::string_view number, std::string_view part) {
  const auto experts = parse_number<std::uint32_t>(number);
  if (!experts || *experts == 0) {
    fail(Code::invalid_argument, "layer plan: '{}' in '{}' is not a number of experts above 0; write experts:2", number, part);
  }
  return *experts;
}

void print_skips(std::string& out, std::string_view kind, const std::bitset<LayerPlan::max_layers>& skips, std::uint32_t layers) {
  bool first = true;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    if (!skips[layer]) continue;
    std::uint32_t last = layer;
    while (last + 1 < layers && skips[last + 1]) ++last;
    out += first ? fmt::format("{}{}:", out.empty() ? "" : ";", kind) : ",";
    out += last == layer ? fmt::format("{}", layer) : fmt::format("{}-{}", layer, last);
    first = false;
    layer = last;
  }
}

void check_layers(std::uint32_t layers) {
  if (layers == 0 || layers > LayerPlan::max_layers) {
    fail(Code::invalid_argument, "layer plan: a model of {} layers is outside what is supported, 1 to {}", layers, LayerPlan::max_layers);
  }
}

}  // namespace

LayerPlan LayerPlan::full(std::uint32_t layers) {
  check_layers(layers);
  LayerPlan plan;
  plan.end = layers;
  return plan;
}

LayerPlan LayerPlan::parse(std::string_view text, std::uint32_t layers) {
  LayerPlan plan = full(layers);
  text = trim(text);
  if (text.empty() || text == "full") return plan;
  bool range_given = false;
  for_each_piece(text, ';', [&](std::string_view part) {
    const auto colon = part.find(':');
    const std::string_view kind = trim(part.substr(0, colon));
    const std::string_view list = colon == std::string_view::npos ? std::string_view{} : trim(part.substr(colon + 1));
    if (colon == std::string_view::npos || (kind != "attn" && kind != "mlp" && kind != "layers" && kind != "experts")) {
      fail(Code::invalid_argument,
           "layer plan: '{}' is not understood; write attn:LAYERS, mlp:LAYERS, layers:FIRST-LAST or experts:NUMBER, separated by ';'",
           part);
    }
    if (kind == "experts") {
      if (plan.experts != 0) fail(Code::invalid_argument, "layer plan: '{}' gives the number of experts a second time", part);
      plan.experts = parse_experts(list, part);
      return;
    }
    if (kind == "attn") return parse_skips(list, part, layers, plan.skip_attention);
    if (kind == "mlp") return parse_skips(list, part, layers, plan.skip_mlp);
    if (range_given) fail(Code::invalid_argument, "layer plan: '{}' gives the range of layers a second time", part);
    range_given = true;
    if (list == "none") {
      plan.end = 0;
      return;
    }
    const Range range = parse_range(list, part, layers);
    plan.begin = range.first;
    plan.end = range.last + 1;
  });
  return plan;
}

std::string LayerPlan::print(std::uint32_t layers) const {
  std::string out;
  if (begin >= end) {
    out = "layers:none";
  } else if (begin != 0 || end != layers) {
    out = begin + 1 == end ? fmt::format("layers:{}", begin) : fmt::format("layers:{}-{}", begin, end - 1);
  }
  print_skips(out, "attn", skip_attention, layers);
  print_skips(out, "mlp", skip_mlp, layers);
  if (experts != 0) out += fmt::format("{}experts:{}", out.empty() ? "" : ";", experts);
  return out.empty() ? "full" : out;
}

std::uint32_t LayerPlan::whole_prefix() const {
  std::uint32_t layer = 0;
  while (experts == 0 && runs_attention(layer) && runs_mlp(layer)) ++layer;
  return layer;
}

std::uint32_t LayerPlan::skipped_sublayers(std::uint32_t layers) const {
  std::uint32_t skipped = 0;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    skipped += static_cast<std::uint32_t>(!runs_attention(layer)) + static_cast<std::uint32_t>(!runs_mlp(layer));
  }
  return skipped;
}

}  // namespace skipstone::exec
