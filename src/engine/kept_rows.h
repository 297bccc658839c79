// Rows of a round whose residual stream behind the first layers is kept on the device: a verification goes on from there (LayerSkip,
// arXiv 2404.16710, section 4.3).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "spec/sequence.h"

namespace skipstone::engine {

class KeptRows {
 public:
  /// A round begins whose drafts may keep rows behind `layers` layers; 0: none.
  void begin(std::uint32_t layers) {
    layers_ = layers;
    rows_.clear();
  }
  /// Whether the draft pass over `input`, which runs `whole_prefix` leading whole layers, is to keep its row; then it counts as kept.
  bool take(std::uint32_t whole_prefix, std::uint32_t offset, spec::Token input) {
    if (layers_ == 0 || layers_ != whole_prefix || rows_.size() != offset) return false;
    rows_.push_back(input);
    return true;
  }
  std::uint32_t layers() const { return layers_; }
  /// Leading rows of `rows` that are kept.
  std::uint32_t known(std::span<const spec::Token> rows) const {
    return static_cast<std::uint32_t>(std::ranges::mismatch(rows_, rows).in1 - rows_.begin());
  }

 private:
  std::uint32_t layers_ = 0;
  std::vector<spec::Token> rows_;
};

}  // namespace skipstone::engine
