// Passes that leave the model early (spec::EarlyExitRequest), and the holes in the cache that some of them leave.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/committed_text.h"
#include "engine/row_chooser.h"
#include "exec/executor.h"
#include "spec/early_exit.h"

namespace skipstone::engine {

/// Of one sequence. A hole is a committed token without keys and values in the layers that it did not run; holes are the latest tokens.
class EarlyExits {
 public:
  EarlyExits(exec::Executor& passes, std::uint32_t layers) : passes_(passes), layers_(layers) {}

  /// The token after `pending`, which stands behind `text`.
  spec::EarlyExit run(const spec::EarlyExitRequest& request, spec::Token pending, const CommittedText& text, RowChooser& chooser);
  /// Runs the whole model over the holes; before any pass that reads the cache.
  void fill(const CommittedText& text) { fill(text, -1); }

  /// The pending token of the last run() is committed, or will not be.
  void commit() {
    if (pending_hole_) ++holes_;
    pending_hole_ = false;
  }
  void drop() { pending_hole_ = false; }
  /// The last `tokens` tokens of the text are gone.
  void take_back(std::uint32_t tokens) { holes_ -= std::min(holes_, tokens); }
  /// Another text; `left_layers_out`: behind some of it.
  void reset(bool left_layers_out) {
    holes_ = 0;
    pending_hole_ = false;
    left_layers_out_ = left_layers_out;
  }
  /// Whether layers were left out behind some of the text.
  bool left_layers_out() const { return left_layers_out_; }

 private:
  /// run(), with the kept rows.
  spec::EarlyExit leave(const spec::EarlyExitRequest& request, spec::Token pending, const CommittedText& text, RowChooser& chooser);
  /// Also over `pending`, where there is one (-1: none); the logits are result(0)'s.
  void fill(const CommittedText& text, spec::Token pending);
  /// Runs the layers from `begin` to `end` over the pending token; it stays in the kept rows. The logits are result(0)'s.
  void run_segment(spec::Token pending, std::uint32_t base, std::uint32_t begin, std::uint32_t end);
  /// K and V of the layers from `begin` on, made of the kept row: the pending token's where it left.
  void propagate(spec::Token pending, std::uint32_t base, std::uint32_t begin);

  exec::Executor& passes_;
  std::uint32_t layers_;
  std::uint32_t holes_ = 0;
  bool pending_hole_ = false;  ///< the pending token becomes one when it is committed
  bool left_layers_out_ = false;
};

}  // namespace skipstone::engine
