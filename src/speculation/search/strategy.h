// Which skip set to try next. No strategy names a set twice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/layer_plan.h"

namespace skipstone::speculation::search {

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// Nothing if no further set is found.
  virtual std::optional<exec::LayerPlan> next() = 0;
  /// The value of the last next()'s set; larger is better.
  virtual void tell(const exec::LayerPlan& set, double value) = 0;
};

/// The sets of a list, in order.
std::unique_ptr<Strategy> given_sets(std::string_view name, std::vector<exec::LayerPlan> sets);

/// random_set() again and again.
std::unique_ptr<Strategy> random_search(std::uint32_t layers, std::uint64_t seed);

/// Skip sets that Draft on the Fly would make of these cosines (one per layer) with several of its constants, each set once: its defaults
/// first.
std::vector<exec::LayerPlan> asd_sets(std::uint32_t layers, const std::vector<float>& attention_cosine);

/// Early exits after a third, a half, two thirds and three quarters of the layers, as skip sets.
std::vector<exec::LayerPlan> exit_sets(std::uint32_t layers);

}  // namespace skipstone::speculation::search
