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
  double expert = 0;              ///< of `mlp`: each expert that a layer reads, on average over all layers
  double experts = 0;             ///< that a layer which has some reads, of `mlp`; 0: the model has none
  double of(const exec::LayerPlan& plan) const;
};

/// Experts that a layer reads for `rows` rows that choose `used` each, where another row has chosen the share `overlap` of a row's experts
/// too: each row adds 1 - overlap of what the one before it has added. `rows` at least 1.
double distinct_experts(double used, double overlap, double rows);
/// The overlap by which distinct_experts() is `distinct`, 0..1. `rows` above 1.
double overlap_of_experts(double used, double distinct, double rows);

/// By row bucket; a pass of fewer rows costs what the next bucket does, but for the experts that its rows choose.
class RoundCosts {
 public:
  /// Overlap of experts where none was seen: more than is likely, since only a trial shows it. Rows that choose 8 of 128 experts without
  /// any preference have 0.06.
  static constexpr double untried_overlap = 0.5;

  void add(std::uint32_t bucket, const PassCost& cost) { buckets_[bucket] = cost; }
  const std::map<std::uint32_t, PassCost>& buckets() const { return buckets_; }
  std::uint32_t most_rows() const { return buckets_.empty() ? 0 : buckets_.rbegin()->first; }
  /// Of the nearest bucket above, with the experts of `rows` rows; `rows` at most most_rows().
  PassCost at(std::uint32_t rows) const;

  /// Experts that a layer reads for one row; 0: the model has none.
  double experts_used() const { return buckets_.empty() ? 0 : buckets_.begin()->second.experts; }
  double overlap() const { return overlap_; }
  void set_overlap(double overlap) { overlap_ = overlap; }

 private:
  std::map<std::uint32_t, PassCost> buckets_;
  double overlap_ = untried_overlap;
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
