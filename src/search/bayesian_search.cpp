#include "search/bayesian_search.h"

#include <algorithm>
#include <utility>

#include "speculation/search/moves.h"

namespace skipstone::speculation::search {
namespace {

using exec::LayerPlan;

class Bayesian final : public Strategy {
 public:
  Bayesian(std::uint32_t layers, std::vector<LayerPlan> start, std::uint32_t random_starts, std::uint64_t seed)
      : layers_(layers), start_(given_sets("start", std::move(start))), random_starts_(random_starts), random_(seed), process_(layers) {}

  std::string_view name() const override { return "bayes"; }

  std::optional<LayerPlan> next() override {
    std::optional<LayerPlan> set = start_->next();
    if (!set && random_starts_ > 0) {
      --random_starts_;
      set = new_random_set(layers_, known_, random_);
    }
    if (!set) set = sets_.empty() ? new_random_set(layers_, known_, random_) : most_promising();
    if (set) known_.insert(*set);
    return set;
  }

  void tell(const LayerPlan& set, double value) override {
    known_.insert(set);
    sets_.push_back(set);
    values_.push_back(value);
  }

 private:
  static constexpr std::size_t parents = 5, random_candidates = 200, random_neighbours = 60, crossings = 100;
  static constexpr std::size_t climbers = 3;
  static constexpr std::uint32_t small_space = 10;  // sublayers: all sets are candidates

  struct Candidate {
    LayerPlan set;
    double promise = 0;
  };

  std::vector<LayerPlan> best_known() const {
    std::vector<std::size_t> order(sets_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const std::size_t count = std::min(parents, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                      [&](std::size_t a, std::size_t b) { return values_[a] != values_[b] ? values_[a] > values_[b] : a < b; });
    std::vector<LayerPlan> best;
    for (std::size_t i = 0; i < count; ++i) best.push_back(sets_[order[i]]);
    return best;
  }

  void add_neighbours(const LayerPlan& of, std::vector<LayerPlan>& candidates) {
    for (std::uint32_t sublayer = 0; sublayer < 2 * layers_; ++sublayer) {
      candidates.push_back(of);
      flip(candidates.back(), sublayer, layers_);
    }
    for (std::size_t i = 0; i < random_neighbours; ++i) {
      LayerPlan set = swapped(of, 0, layers_, random_);
      if (i % 2 == 0) flip(set, random_.below(2 * layers_), layers_);
      if (i % 4 == 0) flip(set, random_.below(2 * layers_), layers_);
      candidates.push_back(set);
    }
  }

  std::vector<LayerPlan> candidates() {
    std::vector<LayerPlan> all;
    if (2 * layers_ <= small_space) {
      for (unsigned long bits = 1; bits < 1ul << (2 * layers_); ++bits) {
        LayerPlan set = LayerPlan::full(layers_);
        for (std::uint32_t sublayer = 0; sublayer < 2 * layers_; ++sublayer) {
          if ((bits >> sublayer & 1) != 0) flip(set, sublayer, layers_);
        }
        all.push_back(set);
      }
      return all;
    }
    const std::vector<LayerPlan> best = best_known();
    for (const LayerPlan& parent : best) add_neighbours(parent, all);
    for (std::size_t i = 0; i < crossings && best.size() > 1; ++i) {
      const auto size = static_cast<std::uint32_t>(best.size());
      all.push_back(crossed(best[random_.below(size)], best[random_.below(size)], layers_, random_));
    }
    for (std::size_t i = 0; i < random_candidates; ++i) all.push_back(random_set(layers_, random_));
    return all;
  }

  double promise(const LayerPlan& set, double best) const { return expected_improvement(process_.predict(set), best); }
  bool may_be_tried(const LayerPlan& set) const { return !is_empty(set) && !known_.contains(set); }

  /// Climbs to the top of the expected improvement over single flips.
  void climb(Candidate& from, double best) const {
    for (bool higher = true; higher;) {
      higher = false;
      const LayerPlan at = from.set;
      for (std::uint32_t sublayer = 0; sublayer < 2 * layers_; ++sublayer) {
        LayerPlan set = at;
        flip(set, sublayer, layers_);
        if (!may_be_tried(set)) continue;
        const double value = promise(set, best);
        if (value <= from.promise) continue;
        from = {set, value};
        higher = true;
      }
    }
  }

  std::optional<LayerPlan> most_promising() {
    process_.fit(sets_, values_);
    const double best = *std::ranges::max_element(values_);
    KnownSets seen;
    std::vector<Candidate> found;
    for (const LayerPlan& set : candidates()) {
      if (may_be_tried(set) && seen.insert(set).second) found.push_back({set, promise(set, best)});
    }
    if (found.empty()) return std::nullopt;
    const auto top = found.begin() + static_cast<std::ptrdiff_t>(std::min(climbers, found.size()));
    const auto more = [](const Candidate& a, const Candidate& b) { return a.promise > b.promise; };
    std::partial_sort(found.begin(), top, found.end(), more);
    for (auto at = found.begin(); at != top; ++at) climb(*at, best);
    return std::min_element(found.begin(), top, more)->set;
  }

  std::uint32_t layers_;
  std::unique_ptr<Strategy> start_;
  std::uint32_t random_starts_;
  Random random_;
  GaussianProcess process_;
  KnownSets known_;
  std::vector<LayerPlan> sets_;
  std::vector<double> values_;
};

}  // namespace

std::unique_ptr<Strategy> bayesian_search(std::uint32_t layers, std::vector<LayerPlan> start, std::uint32_t random_starts,
                                          std::uint64_t seed) {
  return std::make_unique<Bayesian>(layers, std::move(start), random_starts, seed);
}

}  // namespace skipstone::speculation::search
