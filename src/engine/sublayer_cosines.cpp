#include "engine/sublayer_cosines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "base/status.h"
#include "base/stopwatch.h"
#include "engine/device_sequence.h"
#include "engine/engine_state.h"

namespace skipstone::engine {
namespace {

class Reader {
 public:
  explicit Reader(Engine& engine)
      : passes_(*engine.state().passes), sequence_(passes_, engine.config()), layers_(engine.config().layer_count()) {
    engine.state().make_pipelines({.verification = true}, {});
  }

  void measure(const std::vector<text::Token>& prompt, SublayerCosines& result) {
    SublayerCosines::Reading seconds;
    // The order changes from prompt to prompt, so that no mode always runs on a device that another has warmed up.
    for (std::size_t turn = 0; turn < 3; ++turn) {
      switch ((turn + result.reading.size()) % 3) {
        case 0:
          seconds.plain = time(prompt, exec::Cosines::none);
          break;
        case 1:
          seconds.attention = time(prompt, exec::Cosines::attention);
          break;
        default:
          seconds.all = time(prompt, exec::Cosines::all);
          keep(passes_.results().cosine_sums, prompt.size(), result);
      }
    }
    result.reading.push_back(seconds);
    result.tokens += prompt.size();
  }

 private:
  double time_once(const std::vector<text::Token>& prompt, exec::Cosines cosines) {
    sequence_.clear();
    const Stopwatch watch;
    sequence_.prefill(prompt, cosines);
    return watch.seconds();
  }

  /// A reading whose passes had to be recorded first does not count.
  double time(const std::vector<text::Token>& prompt, exec::Cosines cosines) {
    const std::size_t recorded = passes_.recorded_passes();
    const double seconds = time_once(prompt, cosines);
    return passes_.recorded_passes() == recorded ? seconds : time_once(prompt, cosines);
  }

  void keep(std::vector<float> sums, std::size_t tokens, SublayerCosines& result) const {
    for (float& sum : sums) sum /= static_cast<float>(tokens);
    const auto first_mlp = sums.begin() + static_cast<std::ptrdiff_t>(layers_);
    result.attention.emplace_back(sums.begin(), first_mlp);
    result.mlp.emplace_back(first_mlp, sums.end());
  }

  exec::Executor passes_;
  DeviceSequence sequence_;
  std::uint32_t layers_;
};

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t count = values.size();
  return {values.front(), values.back(), std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(count),
          (values[(count - 1) / 2] + values[count / 2]) / 2};
}

SublayerCosines measure_cosines(Engine& engine, const std::vector<std::vector<text::Token>>& prompts, const Progress& progress) {
  const std::uint32_t context = engine.memory().context;
  SublayerCosines result;
  Reader reader(engine);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].empty()) fail(Code::invalid_argument, "prompt {} has no token to measure cosines of", i + 1);
    if (progress) progress("measuring cosines", static_cast<double>(i) / static_cast<double>(prompts.size()));
    if (prompts[i].size() > context) {
      ++result.left_out;
    } else {
      reader.measure(prompts[i], result);
    }
  }
  if (result.reading.empty()) {
    fail(Code::invalid_argument, "there is no prompt to measure cosines of: {} of {} are longer than the context of {} tokens",
         result.left_out, prompts.size(), context);
  }
  return result;
}

}  // namespace skipstone::engine
