// Results of passes, copied from where the host reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/loaded_model.h"
#include "exec/pass_buffers.h"
#include "exec/runner.h"

namespace skipstone::exec {

/// Reads what the last submission of one runner has left, once it has ended.
class Readback {
 public:
  Readback(const LoadedModel& model, const PassBuffers& buffers) : model_(model), buffers_(buffers) {}

  /// The output of `count` rows of a pass of `spec`, from row `first` on.
  void output(const PassSpec& spec, std::uint32_t first, std::uint32_t count, PassResults& results) const;
  /// The experts that a pass over `plan` has read in local layers.
  ExpertUse experts(const LayerPlan& plan) const;
  /// The numbers of a round, its drafts and the choices of its verification.
  void round(PassResults& results) const;
  /// The logits of row `row` of a pass with Output::candidates: `vocabulary` floats.
  std::vector<float> logits(std::uint32_t row) const;
  /// The residual stream of the first `count` rows of a pass without layers: `width` floats each.
  std::vector<float> embeddings(std::size_t count) const;
  /// The residual stream of `count` rows after the local layers, for the next device: `padded(width)` floats each.
  std::vector<float> rows_out(std::size_t count) const;

 private:
  std::vector<float> download(const vk::Slice& rows, std::size_t count) const;

  const LoadedModel& model_;
  const PassBuffers& buffers_;
};

}  // namespace skipstone::exec
