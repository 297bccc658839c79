#include "engine/skip_texts.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/status.h"

namespace skipstone::engine {
namespace {

using exec::LayerPlan;
using spec::PassCost;
using spec::RoundCosts;

/// All layers, those without attention, those without MLP sublayers.
std::array<LayerPlan, 3> measured_plans(std::uint32_t layers) {
  std::array<LayerPlan, 3> plans = {LayerPlan::full(layers), LayerPlan::full(layers), LayerPlan::full(layers)};
  for (std::uint32_t layer = 0; layer < layers; ++layer) plans[1].skip_attention[layer] = plans[2].skip_mlp[layer] = true;
  return plans;
}

/// The lower quartile: what else runs on the machine only ever adds.
double quartile(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 4];
}

PassCost cost_of(const std::array<std::vector<double>, 3>& samples, std::uint32_t layers) {
  const double whole = quartile(samples[0]), no_attention = quartile(samples[1]), no_mlp = quartile(samples[2]);
  PassCost cost;
  cost.attention = std::max(0.0, whole - no_attention) / layers;
  cost.mlp = std::max(0.0, whole - no_mlp) / layers;
  const double sublayers = layers * (cost.attention + cost.mlp);
  if (sublayers > whole) {  // what each saves may overlap
    cost.attention *= whole / sublayers;
    cost.mlp *= whole / sublayers;
  }
  cost.rest = std::max(0.0, whole - layers * (cost.attention + cost.mlp));
  return cost;
}

}  // namespace

SkipTexts::SkipTexts(Engine& engine)
    : engine_(engine),
      passes_(engine.state().spare ? std::move(engine.state().spare) : engine.state().new_executor()),
      sequence_(*passes_, engine.config(), {}, sample::Verification::coupled, Rounds::host) {}

bool SkipTexts::add(const std::vector<text::Token>& prompt, std::uint32_t tokens) {
  const auto ends = [&](text::Token token) { return engine_.has_tokenizer() && engine_.tokenizer().ends_generation(token); };
  sequence_.clear();
  Text text;
  text.tokens = prompt;
  text.prompt = static_cast<std::uint32_t>(prompt.size());
  spec::Prefilled read = sequence_.prefill(prompt, true);
  text.cosine = std::move(read.attention_cosine);
  spec::Choice next = read.first;
  while (text.rows() < tokens && next.token >= 0 && !ends(next.token)) {
    text.tokens.push_back(next.token);
    sequence_.verify(spec::TokenTree(next.token), std::span(&next, 1));
    sequence_.commit(std::array<std::uint32_t, 1>{0});
  }
  // Whole blocks: a rest would need recordings of its own for every set.
  const std::uint32_t rows = text.rows() / block * block;
  if (rows == 0) return false;
  text.last = text.rows() > rows ? text.tokens[text.prompt + rows] : next.token;
  text.tokens.resize(text.prompt + rows);
  text.cache = std::make_unique<exec::KvSnapshot>(engine_.state().device, *passes_);
  texts_.push_back(std::move(text));
  return true;
}

std::uint32_t SkipTexts::rows() const {
  std::uint32_t rows = 0;
  for (const Text& text : texts_) rows += text.rows();
  return rows;
}

std::vector<float> SkipTexts::attention_cosine() const {
  std::vector<float> mean(engine_.config().layers, 0.0f);
  for (const Text& text : texts_) {
    for (std::size_t layer = 0; layer < mean.size(); ++layer) mean[layer] += text.cosine[layer] / static_cast<float>(texts_.size());
  }
  return mean;
}

std::vector<spec::search::Trace> SkipTexts::score(const LayerPlan& set, const std::function<void()>& between) {
  std::vector<spec::search::Trace> traces;
  std::array<spec::Choice, block> choices;
  for (const Text& text : texts_) {
    between();
    // From the last block to the first: what a block leaves in the cache stands behind all that the next one reads.
    text.cache->restore();
    spec::search::Trace trace(text.rows());
    for (std::uint32_t at = text.rows(); at >= block; at -= block) {
      const std::uint32_t first = at - block, base = text.prompt + first;
      sequence_.resume({text.tokens.begin(), text.tokens.begin() + base});
      sequence_.score(set, std::span(text.tokens).subspan(base, block), choices);
      for (std::uint32_t i = 0; i < block; ++i) {
        const bool end = base + i + 1 == text.tokens.size();
        const text::Token expected = end ? text.last : text.tokens[base + i + 1];
        trace[first + i] = {choices[i].token == expected, choices[i].token < 0 ? 0.0f : choices[i].probability};
      }
    }
    traces.push_back(std::move(trace));
  }
  return traces;
}

RoundCosts SkipTexts::measure_costs(double seconds, const std::function<void(double)>& progress) {
  using Clock = std::chrono::steady_clock;
  constexpr std::array<std::uint32_t, 5> buckets = {1, 2, 4, 8, 16};
  constexpr std::size_t least_samples = 5, most_samples = 40;
  const std::uint32_t layers = engine_.config().layers, context = sequence_.context();
  const std::uint32_t base = std::min(256u, context / 2);
  const std::vector<text::Token> tokens(buckets.back(), 0);
  const std::array<LayerPlan, 3> plans = measured_plans(layers);
  std::array<std::array<std::vector<double>, 3>, buckets.size()> samples;
  sequence_.resume(std::vector<text::Token>(base, 0));
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  for (std::size_t turn = 0; turn <= least_samples || (turn <= most_samples && elapsed() < seconds); ++turn) {
    for (std::size_t b = 0; b < buckets.size() && base + buckets[b] <= context; ++b) {
      for (std::size_t plan = 0; plan < plans.size(); ++plan) {
        std::vector<spec::Choice> out(buckets[b]);
        const auto before = Clock::now();
        sequence_.score(plans[plan], std::span(tokens).first(buckets[b]), out);
        const double microseconds = std::chrono::duration<double, std::micro>(Clock::now() - before).count();
        if (turn > 0) samples[b][plan].push_back(microseconds);  // the first one records
      }
    }
    const double done = std::min(static_cast<double>(turn) / most_samples, elapsed() / seconds);
    progress(std::min(1.0, done));
  }
  RoundCosts costs;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    if (!samples[b][0].empty()) costs.add(buckets[b], cost_of(samples[b], layers));
  }
  return costs;
}

}  // namespace skipstone::engine
