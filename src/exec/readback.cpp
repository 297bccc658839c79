#include "exec/readback.h"

#include <algorithm>
#include <variant>

#include "vk/recorder.h"

namespace skipstone::exec {

using Kind = kernels::ResourceKind;

void Readback::output(const PassSpec& spec, std::uint32_t first, std::uint32_t count, PassResults& results) const {
  results.candidates.clear();
  switch (spec.output) {
    case Output::none:
      break;
    case Output::argmax:
      results.rows.assign(buffers_.results() + first, buffers_.results() + first + count);
      break;
    case Output::logits: {
      results.logits_stride = kernels::padded(model_.config.vocabulary);
      const auto* all = buffers_.logits();
      results.logits.assign(all + first * results.logits_stride, all + (first + count) * results.logits_stride);
      break;
    }
    case Output::candidates:
      results.candidates.assign(buffers_.candidates() + first, buffers_.candidates() + first + count);
      break;
    case Output::hidden: {
      const std::uint64_t bytes = kernels::padded(model_.config.width) * sizeof(float);
      results.hidden = download(buffers_.slice({Kind::normed}).part(first * bytes, count * bytes), count);
    }
  }
}

ExpertUse Readback::experts(const LayerPlan& plan) const {
  ExpertUse use;
  for (std::uint32_t layer = model_.builder->begin(); layer < model_.builder->end(); ++layer) {
    if (!plan.runs_mlp(layer) || !std::holds_alternative<model::Experts>(model_.config.layers[layer].feedforward)) continue;
    const abi::ExpertUse& own = buffers_.expert_use()[layer];
    use += {1, own.distinct, own.slots};
  }
  return use;
}

void Readback::round(PassResults& results) const {
  results.round = buffers_.round_result();
  results.drafts.assign(buffers_.drafts(), buffers_.drafts() + results.round.drafted);
  results.rows.assign(buffers_.results(), buffers_.results() + results.round.drafted + 1);
}

std::vector<float> Readback::logits(std::uint32_t row) const {
  const std::uint64_t bytes = kernels::padded(model_.config.vocabulary) * sizeof(float);
  std::vector<float> logits(model_.config.vocabulary);
  vk::Uploader(model_.device).download(buffers_.slice({Kind::logits}).part(row * bytes, bytes), std::as_writable_bytes(std::span(logits)));
  return logits;
}

std::vector<float> Readback::embeddings(std::size_t count) const { return download(buffers_.slice({Kind::residual, 0}), count); }

std::vector<float> Readback::rows_out(std::size_t count) const {
  const float* rows = buffers_.rows_out();
  return {rows, rows + count * kernels::padded(model_.config.width)};
}

/// The first `count` rows of an activation, without the padding after each.
std::vector<float> Readback::download(const vk::Slice& from, std::size_t count) const {
  const std::size_t stride = kernels::padded(model_.config.width);
  std::vector<float> rows(count * stride);
  vk::Uploader downloader(model_.device);
  downloader.download(from.part(0, rows.size() * sizeof(float)), std::as_writable_bytes(std::span(rows)));
  for (std::size_t row = 1; row < count; ++row) {
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(row * stride), model_.config.width,
                rows.begin() + static_cast<std::ptrdiff_t>(row * model_.config.width));
  }
  rows.resize(count * model_.config.width);
  return rows;
}

}  // namespace skipstone::exec
