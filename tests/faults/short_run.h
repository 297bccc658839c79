// What a program does at least: load a model, make a session, generate, free everything. Through the C API.
#pragma once

#include <string>
#include <vector>

#include "skipstone/skipstone.h"

namespace skipstone::faults {

struct Outcome {
  skipstone_status status = SKIPSTONE_OK;
  std::string sentence;                 ///< of the call that failed
  std::vector<skipstone_token> tokens;  ///< of a run that did not fail
};

struct RunOptions {
  float temperature = 0.0f;
  const char* draft = "asd";
  int32_t rounds = SKIPSTONE_ROUNDS_AUTOMATIC;
};

/// Five tokens of prompt, eight more. `done` is called when the library has been left for good: before that, nothing but the library asks
/// for memory.
Outcome short_run(const char* model, const RunOptions& options = {}, void (*done)() = nullptr);

}  // namespace skipstone::faults
