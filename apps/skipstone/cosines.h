// skipstone inspect --cosine: the effect of sublayers on the residual stream.
#pragma once

#include <cstdint>
#include <string>

#include "engine_options.h"

namespace cli {

struct CosineOptions {
  std::string prompts;     ///< bench::read_prompts' files
  std::int64_t limit = 0;  ///< prompts; 0: all
  std::string plot;        ///< an SVG file; "": none
};

/// Loads the model, measures and prints. Throws Failure, also if the plot cannot be written, which is checked first.
void print_cosines(const std::string& model, const EngineOptions& engine_options, const CosineOptions& options, bool json);

}  // namespace cli
