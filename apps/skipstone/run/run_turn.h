// skipstone run --chat: the answer to one message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options/session_options.h"
#include "skipstone/grammar.hpp"
#include "skipstone/skipstone.hpp"
#include "terminal/exit_code.h"

namespace cli {

struct TurnOptions {
  ChatOptions chat;
  std::vector<std::string> stop;
  std::uint32_t max_tokens = 0;
  bool json = false, statistics = false;
  std::string colour;
  std::optional<skipstone::Grammar> grammar = {};
};

/// Writes the answer, or with `json` an object with it.
ExitCode run_turn(const skipstone::Engine& engine, const skipstone_session_params& params, const TurnOptions& options,
                  const std::string& message);

/// Warns once if a model with a chat template gets text without it.
void warn_of_raw_text(const skipstone::Engine& engine);

}  // namespace cli
