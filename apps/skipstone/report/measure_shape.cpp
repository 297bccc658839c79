#include "report/measure_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/hash.h"
#include "base/stopwatch.h"
#include "bench/samples.h"
#include "report/turns.h"
#include "skipstone/skipstone_experimental.hpp"

namespace cli::report {
namespace {

constexpr std::array<std::uint32_t, 6> row_counts = {1, 2, 4, 8, 16, 32};
constexpr std::array<double, 3> acceptances = {0.5, 0.8, 1.0};
constexpr std::uint32_t drafts = 4;
// Shares of the time: of prompts and decoding, of passes; the rest is for drafts.
constexpr double speed_share = 0.35, passes_share = 0.25;

class ShapeMeasurement {
 public:
  ShapeMeasurement(const skipstone::Engine& engine, const ShapeOptions& options, std::vector<LeftOut>& left_out)
      : engine_(engine), options_(options), left_out_(left_out), plain_(make_session(engine, "none", nullptr)) {
    const skipstone_engine_info info = engine.info();
    shape_.model = options.model;
    shape_.parameters = info.parameters;
    shape_.tensor_bytes = info.tensor_bytes;
  }

  Shape measure() {
    find_sizes();
    measure_speed();
    measure_passes();
    measure_speculation();
    return shape_;
  }

 private:
  static skipstone::Session make_session(const skipstone::Engine& engine, const std::string& draft, const double* acceptance) {
    skipstone_session_experiments experiments{};
    skipstone_session_experiments_init(&experiments, sizeof experiments);
    experiments.synthetic_acceptance = acceptance;
    experiments.synthetic_acceptance_count = acceptance == nullptr ? 0 : 1;
    skipstone_session_params params = skipstone::session_params();
    params.draft = draft.c_str();
    params.ignore_end = 1;
    params.experiments = &experiments;
    return skipstone::Session(engine, params);
  }

  static skipstone_work work_of(std::uint32_t prompt, std::uint32_t generate, std::uint32_t rows) {
    skipstone_work work = skipstone::work();
    work.prompt = prompt;
    work.generate = generate;
    work.rows = rows;
    return work;
  }

  double run(const skipstone_work& work) {
    check_interrupt();
    return skipstone::measure(plain_, work);
  }

  void check_interrupt() const {
    if (options_.interrupted()) throw skipstone::error(SKIPSTONE_CANCELLED, "interrupted");
  }

  Limits limits(double until) const {
    const double seconds = std::max(0.0, options_.seconds * until - watch_.seconds());
    return {options_.repetitions, seconds, [this] { return watch_.seconds(); }};
  }

  /// `stage` is for progress.
  Runner runner(const std::string& stage, const std::string& what, std::function<double()> work) {
    return {fmt::format("{}: {}", options_.model, what), [this, stage, work = std::move(work)] {
              options_.say(stage, std::min(1.0, watch_.seconds() / options_.seconds));
              return work();
            }};
  }

  /// How many tokens the device manages: the second run of each says, the first one records.
  void find_sizes() {
    constexpr std::uint32_t probe = 32;
    constexpr std::array<std::uint32_t, 4> cpu_prompts = {128, 64, 32, 16}, gpu_prompts = {512, 128, 64, 32}, texts = {64, 32, 16, 8};
    options_.say("first passes", 0);
    double prompt = 0, token = 0;
    for (int i = 0; i < 2; ++i) prompt = run(work_of(probe, 0, 0)) / probe;
    for (int i = 0; i < 2; ++i) token = run(work_of(0, 1, 0));
    // An uncounted run and three that count are to fit.
    const double limit = options_.seconds * speed_share / 8;
    prompt_tokens_ = size_that_fits(options_.cpu ? std::span<const std::uint32_t>(cpu_prompts) : gpu_prompts, prompt, limit);
    text_tokens_ = size_that_fits(texts, token, limit);
  }

  std::optional<Rate> rate_of(std::uint32_t tokens, const std::vector<double>& seconds) const {
    const auto middle = bench::median(seconds);
    if (!middle || !(*middle > 0)) return std::nullopt;
    return Rate{tokens, tokens / *middle, static_cast<std::uint32_t>(seconds.size())};
  }

  void measure_speed() {
    const std::vector<Runner> runners = {runner("prompt and decoding", "prompt", [this] { return run(work_of(prompt_tokens_, 0, 0)); }),
                                         runner("prompt and decoding", "decoding", [this] { return run(work_of(0, text_tokens_, 0)); })};
    const auto seconds = take_turns(runners, limits(speed_share), left_out_);
    shape_.prompt = rate_of(prompt_tokens_, seconds[0]);
    shape_.decode = rate_of(text_tokens_, seconds[1]);
  }

  void measure_passes() {
    std::vector<Runner> runners;
    std::vector<std::uint32_t> counts;
    for (const std::uint32_t rows : row_counts) {
      if (rows > engine_.info().max_rows) continue;
      counts.push_back(rows);
      runners.push_back(runner("passes", fmt::format("a pass of {} row{}", rows, rows == 1 ? "" : "s"),
                               [this, rows] { return run(work_of(0, 0, rows)); }));
    }
    const auto seconds = take_turns(runners, limits(speed_share + passes_share), left_out_);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (const auto middle = bench::median(seconds[i]))
        shape_.passes.push_back({counts[i], 1e3 * *middle, static_cast<std::uint32_t>(seconds[i].size())});
    }
  }

  /// Plain decoding and each acceptance take turns; a speed-up is the median of the turns' ratios.
  void measure_speculation() {
    const std::string draft = fmt::format("exit:{},k={}", std::max(1u, engine_.info().layers / 4), drafts);
    std::vector<skipstone::Session> sessions;
    sessions.push_back(make_session(engine_, "none", nullptr));
    for (const double& acceptance : acceptances) sessions.push_back(make_session(engine_, draft, &acceptance));
    std::vector<Runner> runners;
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      const std::string what = i == 0 ? "plain decoding" : fmt::format("drafts accepted at {:g}", acceptances[i - 1]);
      runners.push_back(runner("drafts", what, [this, &session = sessions[i]] { return generate(session); }));
    }
    const auto seconds = take_turns(runners, limits(1.0), left_out_);
    Speculation speculation{draft, text_tokens_, {}};
    for (std::size_t i = 1; i < seconds.size(); ++i) {
      std::vector<double> ratios;
      for (std::size_t turn = 0; turn < std::min(seconds[0].size(), seconds[i].size()); ++turn) {
        if (const auto ratio = bench::quotient(seconds[0][turn], seconds[i][turn])) ratios.push_back(*ratio);
      }
      if (const auto middle = bench::median(ratios))
        speculation.speedups.push_back({acceptances[i - 1], *middle, static_cast<std::uint32_t>(ratios.size())});
    }
    if (!speculation.speedups.empty()) shape_.speculation = std::move(speculation);
  }

  double generate(skipstone::Session& session) {
    check_interrupt();
    std::vector<skipstone_token> prompt;
    const std::uint32_t vocabulary = engine_.info().vocabulary;
    for (std::uint64_t i = 0; i < 16; ++i) prompt.push_back(static_cast<skipstone_token>(skipstone::split_mix(i) % vocabulary));
    session.reset();
    return session.generate(prompt, text_tokens_).generation_seconds;
  }

  const skipstone::Engine& engine_;
  const ShapeOptions& options_;
  std::vector<LeftOut>& left_out_;
  skipstone::Session plain_;
  skipstone::Stopwatch watch_;
  Shape shape_;
  std::uint32_t prompt_tokens_ = 0, text_tokens_ = 0;
};

}  // namespace

Shape measure_shape(const skipstone::Engine& engine, const ShapeOptions& options, std::vector<LeftOut>& left_out) {
  return ShapeMeasurement(engine, options, left_out).measure();
}

}  // namespace cli::report
