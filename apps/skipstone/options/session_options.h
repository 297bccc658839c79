// The sampling, drafting and conversation options of every command that generates.
#pragma once

#include <CLI/App.hpp>
#include <array>
#include <string>
#include <vector>

#include "options/sampling.h"
#include "skipstone/skipstone.hpp"

namespace cli {

/// Which sampling values were given.
struct SamplingOptions {
  std::array<const CLI::Option*, sampling_fields.size()> options{};  ///< null: commands have none

  /// Sets values that were not given to the model's recommendations (skipstone_session_params_recommend).
  void recommend(const skipstone::Engine& engine, skipstone_session_params& params) const;
};

/// The group of these options in commands that call SamplingOptions::recommend().
inline constexpr const char* recommended_sampling_group = "Sampling (unless the model's file recommends others)";

/// Adds --temp, --top-k, --top-p, --min-p, --repeat-penalty and --seed, with the values of `params` as defaults.
SamplingOptions add_sampling_options(CLI::App& command, skipstone_session_params& params, const char* group = recommended_sampling_group);

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
/// Their names in a sentence that says where to read on.
std::string drafters_note();

/// The options of conversations.
struct ChatOptions {
  std::string chat_template, system;
};

/// Adds --system and --chat-template, and returns both.
std::vector<CLI::Option*> add_chat_options(CLI::App& command, ChatOptions& options);

/// What users of a conversation are told where the model has no chat template (SKIPSTONE_CHAT_PLAIN).
inline constexpr const char* base_model_note =
    "note: this is a base model, which was not trained to answer: it continues a transcript in plain words, and may write both sides of "
    "it.";

/// Adds --stop.
void add_stop_option(CLI::App& command, std::vector<std::string>& stop);

/// The skipstone_chat_params value for --chat-template: a name as it is, or a file's text. Throws Failure if a file cannot be read.
std::string read_chat_template(const std::string& file_or_name);

}  // namespace cli
