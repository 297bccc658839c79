// The model itself drafts, with the beginning and the end of its KV cache alone: what attention takes grows no more with the text.
// Sun et al., "TriForce", COLM 2024 (arXiv 2404.11912); Chen et al., "MagicDec", 2024 (arXiv 2408.11049); which positions: Xiao et al.,
// "Efficient Streaming Language Models with Attention Sinks", ICLR 2024 (arXiv 2309.17453).
#pragma once

#include <cstdint>
#include <memory>

#include "spec/drafter.h"
#include "spec/options.h"
#include "spec/stop_policy.h"

namespace skipstone::spec {

struct WindowParams {
  exec::KeyWindow window{4, 252};
  std::uint32_t max_drafts = 12;
  StopParams stop;
};

std::unique_ptr<Drafter> make_window(Options& options);

}  // namespace skipstone::spec
