// Passes that leave the model early (speculation::EarlyExitRequest), and the holes in the cache that some of them leave.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/verifier.h"
#include "exec/executor.h"
#include "speculation/sequence.h"

namespace skipstone::engine {

/// Early exits of one sequence. A hole is a committed token without keys and values in the layers that it did not run; holes are the latest
/// tokens.
class EarlyExits {
 public:
  EarlyExits(exec::Executor& passes, std::uint32_t layers) : passes_(passes), layers_(layers) {}

  /// Computes the token after `pending`, which follows `text`.
  speculation::EarlyExit run(const speculation::EarlyExitRequest& request, speculation::Token pending, speculation::TokenHistory& text,
                             Verifier& verifier);
  /// Runs the full model over the holes; required before any pass that reads the cache.
  void fill(speculation::TokenHistory& text) { fill(text, -1); }

  /// commit(): the pending token of the last run() is committed; drop(): it will not be.
  void commit() {
    if (pending_hole_) ++holes_;
    pending_hole_ = false;
  }
  void drop() { pending_hole_ = false; }
  /// The last `tokens` tokens of the text were rolled back.
  void rollback(std::uint32_t tokens) { holes_ -= std::min(holes_, tokens); }
  /// Starts another text; `left_layers_out`: layers were left out for some of it.
  void reset(bool left_layers_out) {
    holes_ = 0;
    pending_hole_ = false;
    left_layers_out_ = left_layers_out;
  }
  /// Whether layers were left out for some of the text.
  bool left_layers_out() const { return left_layers_out_; }

 private:
  /// run(), with the saved hidden states.
  speculation::EarlyExit leave(const speculation::EarlyExitRequest& request, speculation::Token pending, speculation::TokenHistory& text,
                               Verifier& verifier);
  /// Runs also over `pending`, if there is one (-1: none); the logits are result(0)'s.
  void fill(speculation::TokenHistory& text, speculation::Token pending);
  /// Runs the layers from `begin` to `end` over the pending token and saves its hidden state. The logits are result(0)'s.
  void run_segment(speculation::Token pending, std::uint32_t base, std::uint32_t begin, std::uint32_t end);
  /// Computes K and V of the layers from `begin` on from the saved hidden state of the pending token at its exit.
  void propagate(speculation::Token pending, std::uint32_t base, std::uint32_t begin);

  exec::Executor& passes_;
  std::uint32_t layers_;
  std::uint32_t holes_ = 0;
  bool pending_hole_ = false;  ///< the pending token becomes one when it is committed
  bool left_layers_out_ = false;
};

}  // namespace skipstone::engine
