// The speed of a synthetic model, by measurements that take turns.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/hash.h"
#include "base/stopwatch.h"
#include "report/measure.h"
#include "results/statistics.h"
#include "skipstone/skipstone_experimental.hpp"

namespace cli::report {
namespace {

constexpr std::array<std::uint32_t, 6> row_counts = {1, 2, 4, 8, 16, 32};
constexpr std::array<double, 3> acceptances = {0.5, 0.8, 1.0};
constexpr std::uint32_t drafts = 4;
// Shares of the time: of prompts and decoding, of passes, of drafts.
constexpr double speed_share = 0.3, passes_share = 0.2, drafts_share = 0.5;
constexpr double turns_that_fit = 4;

class ShapeMeasurement {
 public:
  ShapeMeasurement(const skipstone::Engine& engine, const ShapeOptions& options, std::vector<LeftOut>& left_out)
      : engine_(engine), options_(options), left_out_(left_out), plain_(make_session("none", nullptr)) {
    const skipstone_engine_info info = engine.info();
    shape_.model = options.model;
    shape_.parameters = info.parameters;
    shape_.tensor_bytes = info.tensor_bytes;
  }

  std::optional<Shape> measure() {
    if (!prepare()) return std::nullopt;
    measure_speed();
    measure_passes();
    measure_speculation();
    return shape_;
  }

 private:
  skipstone::Session make_session(const std::string& draft, const double* acceptance) const {
    skipstone_session_experiments experiments{};
    skipstone_session_experiments_init(&experiments, sizeof experiments);
    experiments.synthetic_acceptance = acceptance;
    experiments.synthetic_acceptance_count = acceptance == nullptr ? 0 : 1;
    skipstone_session_params params = skipstone::session_params();
    params.draft = draft.c_str();
    params.ignore_end = 1;
    // A session's automatic timing of both round types takes too long on a CPU.
    params.rounds = options_.cpu ? SKIPSTONE_ROUNDS_HOST : SKIPSTONE_ROUNDS_AUTOMATIC;
    params.experiments = &experiments;
    return skipstone::Session(engine_, params);
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

  /// The time left of the shares up to `until`.
  Limits limits(double until, bool warm_up) const {
    const double seconds = std::max(0.0, options_.seconds * until - watch_.seconds());
    return {options_.repetitions, seconds, [this] { return watch_.seconds(); }, warm_up};
  }

  /// `stage` is shown as progress.
  Runner runner(const std::string& stage, const std::string& what, double expected, std::function<double()> work) {
    const auto run_it = [this, stage, work = std::move(work)] {
      options_.say(stage, std::min(1.0, watch_.seconds() / options_.seconds));
      return work();
    };
    return {fmt::format("{}: {}", options_.model, what), run_it, expected};
  }

  /// Creates all pipelines, which is slow in drivers of CPU devices and does not count. Then finds the number of tokens that the device
  /// can generate in time; false if it is too slow.
  bool prepare() {
    constexpr std::uint32_t probe = 16;
    constexpr std::array<std::uint32_t, 4> cpu_prompts = {128, 64, 32, 16}, gpu_prompts = {512, 128, 64, 32};
    constexpr std::array<std::uint32_t, 5> texts = {64, 32, 24, 16, 8};
    const double run_seconds = options_.seconds * speed_share / (2 * turns_that_fit);
    options_.say("first passes", 0);
    for (int i = 0; i < 2; ++i) token_ = run(work_of(0, 1, 0));
    if (token_ * texts.back() > run_seconds) {
      left_out_.push_back({options_.model, fmt::format("a token takes {:.1f} s, too long for {:.0f} s in all", token_, options_.seconds)});
      return false;
    }
    run(work_of(0, 0, 2));
    sessions_.push_back(make_session("none", nullptr));
    for (const double& acceptance : acceptances) sessions_.push_back(make_session(draft_, &acceptance));
    generate(sessions_.back(), drafts);
    double prompt = 0;
    for (int i = 0; i < 2; ++i) prompt = run(work_of(probe, 0, 0)) / probe;
    token_ = run(work_of(0, 1, 0));
    watch_ = skipstone::Stopwatch();
    prompt_tokens_ = size_that_fits(options_.cpu ? std::span<const std::uint32_t>(cpu_prompts) : gpu_prompts, prompt, run_seconds);
    prompt_expected_ = prompt * prompt_tokens_;
    text_tokens_ = size_that_fits(texts, token_, run_seconds);
    drafted_tokens_ =
        size_that_fits(texts, token_, options_.seconds * drafts_share / (static_cast<double>(sessions_.size()) * turns_that_fit));
    return true;
  }

  static std::uint32_t count(const std::vector<double>& runs) { return static_cast<std::uint32_t>(runs.size()); }

  static std::optional<Rate> rate_of(std::uint32_t tokens, const std::vector<double>& seconds) {
    const auto middle = median(seconds);
    if (!middle || !(*middle > 0)) return std::nullopt;
    RunRange runs{quotient(tokens, std::ranges::max(seconds)), quotient(tokens, std::ranges::min(seconds))};
    return Rate{tokens, tokens / *middle, count(seconds), runs};
  }

  void measure_speed() {
    const std::vector<Runner> runners = {
        runner("prompt and decoding", "prompt", prompt_expected_, [this] { return run(work_of(prompt_tokens_, 0, 0)); }),
        runner("prompt and decoding", "decoding", token_ * text_tokens_, [this] { return run(work_of(0, text_tokens_, 0)); })};
    const auto seconds = take_turns(runners, limits(speed_share, false), left_out_);
    shape_.prompt = rate_of(prompt_tokens_, seconds[0]);
    shape_.decode = rate_of(text_tokens_, seconds[1]);
  }

  void measure_passes() {
    std::vector<Runner> runners;
    std::vector<std::uint32_t> counts;
    for (const std::uint32_t rows : row_counts) {
      if (rows > engine_.info().max_rows) continue;
      counts.push_back(rows);
      const std::string what = fmt::format("a pass of {} row{}", rows, rows == 1 ? "" : "s");
      runners.push_back(runner("passes", what, token_, [this, rows] { return run(work_of(0, 0, rows)); }));
    }
    const auto seconds = take_turns(runners, limits(speed_share + passes_share, true), left_out_);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (const auto middle = median(seconds[i])) {
        const auto [lowest, highest] = std::ranges::minmax(seconds[i]);
        shape_.passes.push_back({counts[i], 1e3 * *middle, count(seconds[i]), {1e3 * lowest, 1e3 * highest}});
      }
    }
  }

  /// Plain decoding and each acceptance take turns; a speed-up is the median of the turns' ratios.
  void measure_speculation() {
    std::vector<Runner> runners;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      const std::string what = i == 0 ? "plain decoding beside drafts" : fmt::format("drafts accepted at {:g}", acceptances[i - 1]);
      runners.push_back(runner("drafts", what, token_ * drafted_tokens_, [this, i] { return generate(sessions_[i], drafted_tokens_); }));
    }
    const auto seconds = take_turns(runners, limits(1.0, false), left_out_);
    Speculation speculation{draft_, drafted_tokens_, {}};
    for (std::size_t i = 1; i < seconds.size(); ++i) {
      std::vector<double> ratios;
      for (std::size_t turn = 0; turn < std::min(seconds[0].size(), seconds[i].size()); ++turn) {
        if (const auto ratio = quotient(seconds[0][turn], seconds[i][turn])) ratios.push_back(*ratio);
      }
      if (const auto middle = median(ratios)) {
        const auto [lowest, highest] = std::ranges::minmax(ratios);
        speculation.speedups.push_back({acceptances[i - 1], *middle, count(ratios), {lowest, highest}});
      }
    }
    if (!speculation.speedups.empty()) shape_.speculation = std::move(speculation);
  }

  double generate(skipstone::Session& session, std::uint32_t tokens) {
    check_interrupt();
    std::vector<skipstone_token> prompt;
    const std::uint32_t vocabulary = engine_.info().vocabulary;
    for (std::uint64_t i = 0; i < 16; ++i) prompt.push_back(static_cast<skipstone_token>(skipstone::split_mix(i) % vocabulary));
    session.reset();
    return session.generate(prompt, tokens).generation_seconds;
  }

  const skipstone::Engine& engine_;
  const ShapeOptions& options_;
  std::vector<LeftOut>& left_out_;
  skipstone::Session plain_;
  skipstone::Stopwatch watch_;
  Shape shape_;
  const std::string draft_ = fmt::format("exit:{},k={}", std::max(1u, engine_.info().layers / 4), drafts);
  std::vector<skipstone::Session> sessions_;  ///< plain decoding, and one for each acceptance
  double token_ = 0, prompt_expected_ = 0;    ///< seconds of a token, and of a prompt
  std::uint32_t prompt_tokens_ = 0, text_tokens_ = 0, drafted_tokens_ = 0;
};

}  // namespace

std::vector<std::vector<double>> take_turns(std::span<const Runner> runners, const Limits& limits, std::vector<LeftOut>& left_out) {
  const double end = limits.clock() + limits.seconds;
  std::vector<std::vector<double>> measured(runners.size());
  std::vector<double> expected;  // wall-clock seconds of a run, including its uncounted parts
  for (const Runner& runner : runners) expected.push_back(runner.expected);
  const std::uint32_t uncounted = limits.warm_up ? 1 : 0;
  for (std::uint32_t turn = 0; turn < limits.repetitions + uncounted; ++turn) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      const double before = limits.clock();
      if (before + expected[i] > end) continue;
      const double seconds = runners[i].run();
      expected[i] = limits.clock() - before;
      if (turn >= uncounted) measured[i].push_back(seconds);
    }
  }
  for (std::size_t i = 0; i < runners.size(); ++i) {
    if (!measured[i].empty()) continue;
    const std::string run = expected[i] > 0 ? fmt::format("; a run takes {:.1f} s", expected[i]) : "";
    left_out.push_back({runners[i].what, fmt::format("there were only {:.0f} s for this and what is like it{}", limits.seconds, run)});
  }
  return measured;
}

std::uint32_t size_that_fits(std::span<const std::uint32_t> sizes, double seconds, double limit) {
  for (const std::uint32_t size : sizes) {
    if (size * seconds <= limit) return size;
  }
  return sizes.back();
}

std::optional<Shape> measure_shape(const skipstone::Engine& engine, const ShapeOptions& options, std::vector<LeftOut>& left_out) {
  return ShapeMeasurement(engine, options, left_out).measure();
}

}  // namespace cli::report
