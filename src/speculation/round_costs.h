// The costs of a round's parts on a device, for deciding how much to draft. Microseconds.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "exec/layer_plan.h"

namespace skipstone::speculation {

/// Of passes with a given number of rows: a pass takes `rest` and the time of each of its sublayers.
struct PassCost {
  double attention = 0, mlp = 0;  ///< one sublayer
  double rest = 0;                ///< embedding, output, submitting, waiting, reading back
  double transfer = 0;            ///< to other devices and back, of a pass that runs layers past the local ones
  std::uint32_t local = 0;        ///< layers from the first one on that need no transfer
  double of(const exec::LayerPlan& plan) const;
};

/// By row bucket; a pass of fewer rows costs what the next bucket does.
class RoundCosts {
 public:
  void add(std::uint32_t bucket, const PassCost& cost) { buckets_[bucket] = cost; }
  const std::map<std::uint32_t, PassCost>& buckets() const { return buckets_; }
  std::uint32_t most_rows() const { return buckets_.empty() ? 0 : buckets_.rbegin()->first; }
  /// Of the nearest bucket above; `rows` at most most_rows().
  const PassCost& at(std::uint32_t rows) const { return buckets_.lower_bound(rows)->second; }

 private:
  std::map<std::uint32_t, PassCost> buckets_;
};

/// Of a round's parts with one skip set.
struct SetCosts {
  /// `keep_prefix`: verification continues after the set's leading unskipped layers, and only the last draft still has to go through these
  /// (LayerPass). Throws internal where passes of several rows have no cost.
  SetCosts(const RoundCosts& costs, const exec::LayerPlan& set, std::uint32_t layers, bool keep_prefix);

  double plain = 0;            ///< a token without drafts
  double draft = 0;            ///< one draft
  std::vector<double> verify;  ///< by rows, from 0 on; [0] is not used, [1] is a round without drafts
};

}  // namespace skipstone::speculation
