#include "bench/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "bench/preset.h"
#include "bench/summary.h"
#include "bench/where.h"
#include "options/session_options.h"
#include "results/formats.h"
#include "skipstone/skipstone_experimental.hpp"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli::bench {
namespace {

Setup setup_of(const skipstone::Engine& engine, const SweepOptions& options) {
  Setup setup;
  static_cast<Where&>(setup) = where(engine, options.model_path);
  setup.prompts_file = options.prompts_file;
  setup.max_tokens = options.max_tokens;
  setup.repeats = options.repeats;
  setup.sampling = options.sampling;
  setup.read_once = options.read_once;
  if (const skipstone_session_experiments* with = options.sampling.experiments; with != nullptr && with->synthetic_acceptance_count > 0) {
    setup.synthetic_acceptance.assign(with->synthetic_acceptance, with->synthetic_acceptance + with->synthetic_acceptance_count);
  }
  return setup;
}

std::string place_of(const Prompt& prompt) { return prompt.line == 0 ? "the text" : fmt::format("line {}", prompt.line); }

std::vector<skipstone_token> tokenize(const skipstone::Engine& engine, const Prompt& prompt, const std::string& file) {
  try {
    return engine.tokenize(prompt.text);
  } catch (const skipstone::error& error) {
    if (error.status() != SKIPSTONE_INVALID_ARGUMENT) throw;
    fail(ExitCode::usage, "{}, {}: {}", file, place_of(prompt), error.what());
  }
}

/// Makes a prompt of pseudo-random tokens, the same each time.
void make_prompt(const skipstone::Engine& engine, std::uint32_t tokens, Sweep& sweep) {
  if (tokens + sweep.setup.max_tokens > sweep.setup.context) {
    fail(ExitCode::usage, "a prompt of {} tokens leaves no room for {} more in a context of {}", tokens, sweep.setup.max_tokens,
         sweep.setup.context);
  }
  std::mt19937 random(1);
  SweepPrompt& prompt = sweep.prompts.emplace_back();
  for (std::uint32_t i = 0; i < tokens; ++i) prompt.tokens.push_back(static_cast<skipstone_token>(random() % engine.info().vocabulary));
}

/// Fills sweep.prompts with the prompts that fit the context.
void choose_prompts(const skipstone::Engine& engine, const std::vector<Prompt>& prompts, Sweep& sweep) {
  const Setup& setup = sweep.setup;
  std::vector<std::string> skipped;
  for (const Prompt& prompt : prompts) {
    std::vector<skipstone_token> tokens = tokenize(engine, prompt, setup.prompts_file);
    if (tokens.size() + setup.max_tokens <= setup.context) {
      sweep.prompts.push_back({prompt, std::move(tokens)});
    } else {
      skipped.push_back(place_of(prompt));
    }
  }
  sweep.prompts_skipped = skipped.size();
  const auto room = fmt::format("no room for {} tokens more in a context of {}", setup.max_tokens, setup.context);
  if (sweep.prompts.empty()) fail(ExitCode::usage, "every prompt of {} leaves {}", setup.prompts_file, room);
  if (skipped.empty()) return;
  constexpr std::size_t most_named = 12;
  const std::string more = skipped.size() > most_named ? fmt::format(" and {} more", skipped.size() - most_named) : "";
  skipped.resize(std::min(skipped.size(), most_named));
  note("warning: prompts of {} are skipped because they leave {}: {}{}", setup.prompts_file, room, fmt::join(skipped, ", "), more);
}

class Measurement {
 public:
  Measurement(const skipstone::Engine& engine, const SweepOptions& options, Sweep& sweep)
      : sweep_(sweep), rank_(options.rank), ranks_(options.ranks) {
    for (const Drafter& drafter : sweep.drafters) {
      skipstone_session_params params = options.sampling;
      params.draft = drafter.specification.c_str();
      sessions_.push_back(session_of(engine, params));
    }
    if (!options.read_once) return;
    skipstone_session_params params = options.sampling;
    params.draft = "none";
    reader_.emplace(make_session(engine, params));
  }

  void warm_up() {
    for (skipstone::Session& session : sessions_) {
      if (interrupt::requested()) return;
      progress_.update("warming up", 0.0);
      session.generate(sweep_.prompts.front().tokens, std::min(sweep_.setup.max_tokens, warm_up_tokens));
    }
  }

  /// Returns early if a signal comes; sweep.runs then ends with the last prompt that every drafter has continued.
  void measure() {
    const std::size_t drafters = sessions_.size(), prompts = sweep_.prompts.size();
    groups_ = prompts * sweep_.setup.repeats;
    std::size_t begun = 0;
    for (std::size_t group = 0; group < groups_; ++group) {
      if (group % prompts % ranks_ != rank_) continue;
      ++begun;
      std::vector<Run> runs;
      for (std::size_t turn = 0; turn < drafters && !interrupt::requested(); ++turn) {
        runs.push_back(run(group % prompts, static_cast<std::uint32_t>(group / prompts), (group + turn) % drafters, turn));
      }
      if (runs.size() == drafters) std::move(runs.begin(), runs.end(), std::back_inserter(sweep_.runs));
      if (interrupt::requested()) {
        sweep_.interrupted = group + ranks_ < groups_ || sweep_.runs.size() < begun * drafters;
        return;
      }
      say_fastest();
    }
  }

 private:
  /// Where one of several drafters cannot be used, the sentence says how the others are measured without it.
  skipstone::Session session_of(const skipstone::Engine& engine, const skipstone_session_params& params) const {
    try {
      return make_session(engine, params);
    } catch (const skipstone::error& error) {
      const bool of_request = error.status() == SKIPSTONE_INVALID_ARGUMENT || error.status() == SKIPSTONE_BAD_FILE;
      if (!of_request || params.draft_optional != 0 || sweep_.drafters.size() <= 2 || params.draft == std::string_view("none")) throw;
      throw skipstone::error(error.status(), fmt::format("{}; --draft-optional leaves {} out and measures the others", error.what(),
                                                         skipstone::shortened(params.draft)));
    }
  }

  Run run(std::size_t prompt, std::uint32_t repeat, std::size_t drafter, std::size_t turn) {
    const std::size_t group = repeat * sweep_.prompts.size() + prompt;
    const double done =
        (static_cast<double>(group) + static_cast<double>(turn) / static_cast<double>(sessions_.size())) / static_cast<double>(groups_);
    progress_.update(fmt::format("prompt {} of {}{}, {}{}", prompt + 1, sweep_.prompts.size(),
                                 repeat > 0 ? fmt::format(" (time {})", repeat + 1) : "", sweep_.drafters[drafter].specification, fastest_),
                     done);
    skipstone::Session& session = sessions_[drafter];
    session.reset();
    const std::vector<skipstone_token> tokens = reader_ ? copy_from_reader(session, prompt) : sweep_.prompts[prompt].tokens;
    Run result;
    result.prompt = prompt;
    result.repeat = repeat;
    result.drafter = drafter;
    session.generate(tokens, sweep_.setup.max_tokens, [this](const skipstone_chunk&) {
      if (interrupt::requested() && !std::exchange(told_, true)) {
        progress_.clear();
        note("interrupted: stopping after this generation; once more stops at once, without a table");
      }
      return true;
    });
    result.report = ranks_ > 1 ? session.report() : "";
    result.stats = ranks_ > 1 ? parse_statistics(result.report) : read_statistics(session);
    result.tokens = session.tokens();
    return result;
  }

  /// Copies the prompt's cache without its last token to `session`, and returns that token, since generation must process at least one.
  std::vector<skipstone_token> copy_from_reader(skipstone::Session& session, std::size_t prompt) {
    const std::vector<skipstone_token>& tokens = sweep_.prompts[prompt].tokens;
    if (read_ != prompt) {
      reader_->reset();
      reader_->prefill({tokens.begin(), tokens.end() - 1});
      read_ = prompt;
    }
    session.copy_from(*reader_);
    return {tokens.back()};
  }

  /// One drafter alone, so that the line does not outgrow the terminal.
  void say_fastest() {
    const std::vector<Summary> summaries = summarise(sweep_);
    const auto fastest = std::ranges::max_element(summaries.begin() + 1, summaries.end(), {}, &Summary::speedup_median);
    if (fastest == summaries.end() || !fastest->speedup_median) return;
    fastest_ = fmt::format("; fastest so far: {} ({:.2f} x)", fastest->drafter, *fastest->speedup_median);
  }

  Sweep& sweep_;
  std::vector<skipstone::Session> sessions_;
  std::optional<skipstone::Session> reader_;  ///< the session that reads each prompt once
  std::optional<std::size_t> read_;           ///< index of the prompt in the reader's cache
  Progress progress_;
  std::size_t groups_ = 0;  ///< prompts times repeats
  std::string fastest_;
  bool told_ = false;
  std::size_t rank_, ranks_;  ///< SweepOptions
};

/// The properties of the model that a preset needs: its layers, and if requested ASD's cosines and skip set on the first prompt.
PresetModel preset_model(const skipstone::Engine& engine, const Prompt& prompt, const PresetOptions& preset,
                         skipstone_session_params sampling) {
  const skipstone_engine_info info = engine.info();
  if (!preset_needs_layers(preset.name)) return {info.layers, info.exit_layer, preset.skip_set, {}};
  sampling.draft = "asd";
  skipstone::Session session(engine, sampling);
  session.generate(engine.tokenize(prompt.text), 1);
  const RunStatistics statistics = read_statistics(session);
  PresetModel model{info.layers, info.exit_layer, preset.skip_set, statistics.attention_cosine};
  if (model.skip_set.empty()) model.skip_set = statistics.skip_set;
  if (model.skip_set.empty()) {
    fail(ExitCode::usage, "ASD skips nothing on the first prompt, so there is no set for this preset; name one with --skip-set");
  }
  return model;
}

}  // namespace

Sweep run_sweep(const skipstone::Engine& engine, const std::vector<Prompt>& prompts, const SweepOptions& options) {
  Sweep sweep;
  sweep.setup = setup_of(engine, options);
  for (const std::string& specification : options.drafters)
    sweep.drafters.push_back({specification, skipstone_draft_is_lossless(specification.c_str()) != 0});
  if (options.made_up_tokens > 0) {
    make_prompt(engine, options.made_up_tokens, sweep);
  } else {
    choose_prompts(engine, prompts, sweep);
  }
  Measurement measurement(engine, options, sweep);
  if (!options.read_once) measurement.warm_up();  // with read_once it would read the first prompt once for each drafter
  measurement.measure();
  return sweep;
}

Sweep run_preset(const skipstone::Engine& engine, const std::vector<Prompt>& prompts, const PresetOptions& options,
                 SweepOptions sweep_options) {
  const Preset preset = make_preset(options.name, preset_model(engine, prompts.front(), options, sweep_options.sampling));
  sweep_options.drafters = {"none"};
  for (const PresetPoint& point : preset.points) sweep_options.drafters.push_back(point.drafter);
  Sweep sweep = run_sweep(engine, prompts, sweep_options);
  if (sweep.runs.empty()) return sweep;
  if (!options.plot.empty()) write_file(options.plot, svg(plot_of(preset, sweep)));
  if (const std::string best = best_point(preset, sweep); !best.empty()) note(best);
  return sweep;
}

}  // namespace cli::bench
