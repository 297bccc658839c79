#include "exec/cost_table.h"

#include <algorithm>

namespace skipstone::exec {

CostTable::CostTable(std::uint32_t layers, std::uint32_t position, std::string clock, std::uint32_t local)
    : layers_(layers), position_(position), local_(local), clock_(std::move(clock)) {}

void CostTable::add(std::uint32_t bucket, const MeasuredPasses& measured) { measured_[bucket] = measured; }

std::optional<CostTable::Parts> CostTable::parts(std::uint32_t rows) const {
  const auto found = measured_.lower_bound(rows);
  if (found == measured_.end() || rows == 0 || layers_ == 0) return std::nullopt;
  const MeasuredPasses& m = found->second;
  Parts parts;
  const double count = layers_;
  parts.attention = std::max(0.0, m.no_output - m.no_attention) / count;
  parts.mlp = std::max(0.0, m.no_output - m.no_mlp) / count;
  // Measured one after the other, the sublayers may sum to more than the full pass: then they share its time.
  const double sublayers = count * (parts.attention + parts.mlp);
  if (sublayers > m.no_output) {
    parts.attention *= m.no_output / sublayers;
    parts.mlp *= m.no_output / sublayers;
  }
  parts.fixed = std::max(0.0, m.no_output - sublayers);
  parts.output = std::max(0.0, m.full - m.no_output);
  parts.host = std::max(0.0, m.round_trip - m.full);
  if (m.local > 0) {  // the part of the full pass that the local layers, the output and the host do not explain
    const double remote = (count - local_) * (parts.attention + parts.mlp);
    parts.transfer = std::clamp(m.round_trip - m.local - remote, 0.0, parts.fixed);
    parts.fixed -= parts.transfer;
  }
  return parts;
}

std::optional<double> CostTable::microseconds(PassSpec spec, std::uint32_t rows) const {
  const auto p = parts(rows);
  if (!p || spec.output == Output::logits || spec.output == Output::candidates || spec.output == Output::hidden || spec.last_row_only || spec.cosines != Cosines::none ||
      spec.layers.end > layers_)
    return std::nullopt;
  double total = p->fixed + (spec.output == Output::argmax ? p->output : 0.0);
  for (std::uint32_t layer = spec.layers.begin; layer < spec.layers.end; ++layer) {
    if (spec.layers.runs_attention(layer)) total += p->attention;
    if (spec.layers.runs_mlp(layer)) total += p->mlp;
  }
  if (spec.layers.end > local_) total += p->transfer;
  return total;
}

std::optional<double> CostTable::verify(std::uint32_t rows) const {
  if (empty()) return std::nullopt;
  return microseconds({.layers = LayerPlan::full(layers_)}, rows);
}

std::optional<double> CostTable::draft(const LayerPlan& plan) const { return microseconds({.layers = plan}, 1); }

}  // namespace skipstone::exec
