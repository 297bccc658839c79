// skipstone inspect --cosine: what sublayers do to the residual stream.
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

/// Loads the model, measures and prints. Throws Failure, also where the plot could not be written, which it asks before anything else.
void print_cosines(const std::string& model, const EngineOptions& engine_options, const CosineOptions& options, bool json);

}  // namespace cli
