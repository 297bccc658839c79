// The options of `skipstone bench`.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/lists.h"
#include "options/engine_options.h"
#include "options/grammar_options.h"
#include "options/session_options.h"
#include "skipstone/skipstone_experimental.hpp"

namespace cli::bench {

/// Of the bundled prompts, where no option says how many.
inline constexpr std::int64_t bundled_prompts_read = 8;

struct BenchOptions {
  std::vector<std::string> models, synthetic, drafters, generate;
  TestLists tests;  ///< `generate` goes to tests.generate if there are no prompts
  std::string prompts, output, format, save_tokens, preset, plot, skip_set;
  CLI::Option *format_option = nullptr, *synthetic_option = nullptr, *generate_option = nullptr;
  std::vector<CLI::Option*> test_options;  ///< of `tests`, --n-prompt first
  std::int64_t limit = 0, max_tokens = 128;
  std::uint32_t made_up_tokens = 128;  ///< of the prompt if there are no texts
  std::optional<std::int64_t> repeats;
  std::vector<double> acceptance;  ///< --synthetic-acceptance
  skipstone_session_experiments experiments{sizeof(skipstone_session_experiments), nullptr, 0};
  bool no_warm_up = false, read_once = false, json = false;
  EngineOptions engine;
  DraftOptions drafting;
  GrammarOptions fitting;
  skipstone_session_params sampling = skipstone::session_params();

  /// Whether drafters are measured, and whether on a prompt of made-up tokens.
  bool sweeps() const { return !prompts.empty() || made_up(); }
  bool made_up() const { return prompts.empty() && !acceptance.empty(); }
  /// Whether any test is named, or a model that has no texts.
  bool tests_speed() const {
    return !synthetic.empty() || !tests.prompt.empty() || !tests.pairs.empty() || !tests.rows.empty() || !tests.depth.empty() ||
           !preset.empty();
  }
};

/// Adds all options and the text after them in --help.
void add_options(CLI::App& command, BenchOptions& options);

}  // namespace cli::bench
