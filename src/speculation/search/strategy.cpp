#include "speculation/search/strategy.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "speculation/drafters/drafters.h"
#include "speculation/search/moves.h"

namespace skipstone::speculation::search {
namespace {

using exec::LayerPlan;
class Given final : public Strategy {
 public:
  Given(std::string_view name, std::vector<LayerPlan> sets) : name_(name), sets_(std::move(sets)) {}
  std::string_view name() const override { return name_; }
  std::optional<LayerPlan> next() override {
    while (next_ < sets_.size()) {
      const LayerPlan& set = sets_[next_++];
      if (!is_empty(set) && known_.insert(set).second) return set;
    }
    return std::nullopt;
  }
  void tell(const LayerPlan&, double) override {}

 private:
  std::string name_;
  std::vector<LayerPlan> sets_;
  std::size_t next_ = 0;
  KnownSets known_;
};

class RandomSearch final : public Strategy {
 public:
  RandomSearch(std::uint32_t layers, std::uint64_t seed) : layers_(layers), random_(seed) {}
  std::string_view name() const override { return "random"; }
  std::optional<LayerPlan> next() override {
    std::optional<LayerPlan> set = new_random_set(layers_, known_, random_);
    if (set) known_.insert(*set);
    return set;
  }
  void tell(const LayerPlan&, double) override {}

 private:
  std::uint32_t layers_;
  Random random_;
  KnownSets known_;
};

}  // namespace

std::unique_ptr<Strategy> given_sets(std::string_view name, std::vector<LayerPlan> sets) {
  return std::make_unique<Given>(name, std::move(sets));
}

std::unique_ptr<Strategy> random_search(std::uint32_t layers, std::uint64_t seed) { return std::make_unique<RandomSearch>(layers, seed); }

std::vector<LayerPlan> asd_sets(std::uint32_t layers, const std::vector<float>& attention_cosine) {
  std::vector<AsdParams> tried(1);
  const auto add = [&](double c, std::uint32_t n, std::uint32_t m, bool cosine, bool rule1) {
    AsdParams& params = tried.emplace_back();
    params.c = c;
    params.n = n;
    params.m = m;
    params.cosine = cosine;
    params.rule1 = rule1;
  };
  for (const double c : {0.985, 0.97, 0.995}) {
    for (const std::uint32_t n : {3u, 2u, 4u}) add(c, n, 2, true, true);
    add(c, 3, 2, true, false);
  }
  for (const std::uint32_t m : {1u, 3u}) add(0.985, 3, m, true, true);
  add(0.985, 3, 2, false, true);
  std::vector<LayerPlan> sets;
  for (const AsdParams& params : tried) {
    const LayerPlan set = asd_plan(params, attention_cosine, layers);
    if (!is_empty(set) && std::ranges::find(sets, set) == sets.end()) sets.push_back(set);
  }
  return sets;
}

std::vector<LayerPlan> exit_sets(std::uint32_t layers) {
  std::vector<LayerPlan> sets;
  for (const double depth : {0.5, 1.0 / 3, 2.0 / 3, 0.75}) {
    LayerPlan plan = LayerPlan::full(layers);
    plan.end = static_cast<std::uint32_t>(std::lround(depth * layers));
    const LayerPlan set = as_set(plan, layers);
    if (plan.end > 0 && plan.end < layers && std::ranges::find(sets, set) == sets.end()) sets.push_back(set);
  }
  return sets;
}

}  // namespace skipstone::speculation::search
