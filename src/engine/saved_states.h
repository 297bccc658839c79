// Rows of a round whose hidden state (the residual stream after the first layers) is saved on the device: a verification continues from
// there (LayerSkip, arXiv 2404.16710, section 4.3).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "speculation/sequence.h"

namespace skipstone::engine {

class SavedStates {
 public:
  /// Begins a round whose drafts may save hidden states after `layers` layers; 0: none.
  void begin(std::uint32_t layers) {
    layers_ = layers;
    rows_.clear();
  }
  /// Whether the draft pass over `input`, which runs `whole_prefix` leading complete layers, is to save its row's hidden state; if so, it
  /// counts as saved.
  bool take(std::uint32_t whole_prefix, std::uint32_t offset, speculation::Token input) {
    if (layers_ == 0 || layers_ != whole_prefix || rows_.size() != offset) return false;
    rows_.push_back(input);
    return true;
  }
  /// Whether the saved hidden states of predicted drafts are valid for the next round.
  void keep_predicted(bool keep) { predicted_ = keep; }
  bool predicted() const { return predicted_; }
  std::uint32_t layers() const { return layers_; }
  /// Number of leading rows of `rows` whose hidden states are saved.
  std::uint32_t known(std::span<const speculation::Token> rows) const {
    return static_cast<std::uint32_t>(std::ranges::mismatch(rows_, rows).in1 - rows_.begin());
  }

 private:
  std::uint32_t layers_ = 0;
  std::vector<speculation::Token> rows_;
  bool predicted_ = false;
};

}  // namespace skipstone::engine
