// The options that say how tokens are chosen, for every command that generates.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "skipstone/skipstone.h"

namespace cli {

/// Adds --temp, --top-k, --top-p, --min-p, --repeat-penalty and --seed.
void add_sampling_options(CLI::App& command, skipstone_session_params& params);

/// Adds --rounds.
void add_rounds_option(CLI::App& command, skipstone_session_params& params);

/// Adds --verify.
void add_verify_option(CLI::App& command, skipstone_session_params& params);

/// What there is for --draft, for the end of a --help.
std::string drafters_help();

}  // namespace cli
