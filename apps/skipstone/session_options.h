// The sampling and drafting options of every command that generates.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "skipstone/skipstone.hpp"

namespace cli {

/// Which sampling values were given.
struct SamplingOptions {
  const CLI::Option *temperature = nullptr, *top_k = nullptr, *top_p = nullptr, *min_p = nullptr, *repeat_penalty = nullptr;

  /// Sets values that were not given to the model's recommendations (skipstone_session_params_recommend).
  void recommend(const skipstone::Engine& engine, skipstone_session_params& params) const;
};

/// Adds --temp, --top-k, --top-p, --min-p, --repeat-penalty and --seed.
SamplingOptions add_sampling_options(CLI::App& command, skipstone_session_params& params);

/// Adds --rounds.
void add_rounds_option(CLI::App& command, skipstone_session_params& params);

/// Adds --verify.
void add_verify_option(CLI::App& command, skipstone_session_params& params);

/// Inputs of drafters besides their names.
struct DraftOptions {
  std::vector<std::string> corpus;
  bool optional = false;

  /// `params` then points into this object.
  void give_to(skipstone_session_params& params);

 private:
  std::vector<const char*> files_;
};

/// Adds --draft-corpus and --draft-optional.
void add_draft_options(CLI::App& command, DraftOptions& options);

/// Shows progress on standard error while a large corpus is read; throws Failure if a signal comes.
skipstone::Session make_session(const skipstone::Engine& engine, const skipstone_session_params& params);

/// The list of --draft values, for the end of a --help.
std::string drafters_help();

}  // namespace cli
