// Costs of passes on a device, measured to decide how much to draft.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "exec/plan.h"

namespace skipstone::exec {

class Executor;

/// Microseconds of passes with one number of rows, at one length of text. All rows have one token, but those of `varied`.
struct MeasuredPasses {
  double full = 0;            ///< all layers, argmax of every row
  double no_output = 0;       ///< all layers, no output
  double no_attention = 0;    ///< all MLP sublayers alone, no output
  double no_mlp = 0;          ///< all attention sublayers alone, no output
  double round_trip = 0;      ///< of `full`, from submitting it to reading its result on the host; at least `full`
  double local = 0;           ///< the round trip of a pass over the local layers alone, argmax of every row; 0 where all layers are local
  double varied = 0;          ///< as `full`, with another token in each row; 0 where no layer has experts
  double experts = 0;         ///< that a layer which has some read in the full pass, on average; 0 where none has
  double varied_experts = 0;  ///< the same of `varied`
};

/// Costs by row bucket: pure data. A pass is taken to cost its fixed part, its attention and MLP sublayers, and its output, each as
/// measured; so plans that leave sublayers out, early exits, saved hidden states and late layers lie between measured passes. There are no
/// costs beyond what was measured.
class CostTable {
 public:
  /// The parts of a pass, in microseconds.
  struct Parts {
    double fixed = 0;      ///< embedding and other work of every pass
    double attention = 0;  ///< one sublayer
    double mlp = 0;        ///< one sublayer
    double output = 0;     ///< last norm, LM head and argmax of all rows
    double host = 0;       ///< submitting, waiting and reading back, in addition to the above
    double transfer = 0;   ///< to remote devices and back, of passes over remote layers
    double expert = 0;     ///< of `mlp`: each expert that a layer reads, on average over all layers
    double experts = 0;    ///< that a layer which has some read, of `mlp`
  };

  CostTable() = default;
  /// `layers` of the model; `position`: length of the text. `clock`: source of the numbers, "timestamps" or "wall".
  /// `local`: number of leading layers on the device of the head.
  CostTable(std::uint32_t layers, std::uint32_t position, std::string clock, std::uint32_t local);

  void add(std::uint32_t bucket, const MeasuredPasses& measured);

  /// Device microseconds of a pass with `rows` rows: of the nearest measured bucket above. Nothing if no bucket is large enough, and for
  /// outputs that were not measured (logits, last row only, cosines).
  std::optional<double> microseconds(PassSpec spec, std::uint32_t rows) const;
  /// The parts for `rows` rows; nothing above the largest bucket.
  std::optional<Parts> parts(std::uint32_t rows) const;
  /// Verification of `rows` rows by all layers.
  std::optional<double> verify(std::uint32_t rows) const;
  /// One draft with `plan`.
  std::optional<double> draft(const LayerPlan& plan) const;

  bool empty() const { return measured_.empty(); }
  std::uint32_t layers() const { return layers_; }
  std::uint32_t local_layers() const { return local_; }
  std::uint32_t position() const { return position_; }
  const std::string& clock() const { return clock_; }
  const std::map<std::uint32_t, MeasuredPasses>& measured() const { return measured_; }

 private:
  std::uint32_t layers_ = 0, position_ = 0, local_ = 0;
  std::string clock_;
  std::map<std::uint32_t, MeasuredPasses> measured_;  ///< by bucket
};

/// Increment when times are measured differently, so that no older table is used.
inline constexpr int cost_method = 4;

/// Runs passes of every row bucket up to STEP_VERIFY_ROWS, interleaved, and takes lower quartiles: device timestamps on GPUs, else the
/// host's clock. No pass costs less than one of fewer rows, no part more than the full pass. Waits for remote layers. The text is half of
/// the context, at most 512 tokens, of which only the positions matter: the sequence's contents are overwritten. Where layers have experts,
/// rows of several tokens tell what each expert costs that a layer reads. `progress` gets 0..1; throwing from it ends the measurement.
CostTable measure_costs(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress);

/// Seconds of a pass of one token, after one that records it: an estimate for the others.
double time_of_one_row(Executor& sequence, std::uint32_t layers, const std::function<void(double)>& progress = {});

/// A CostTable from fewer measurements: passes of one token as measure_costs() takes them, of more rows only full passes, whose parts are
/// assumed to have the same shares as with one row. Each runs as often as `seconds` allow, and none begins after them; buckets that were
/// not reached are assumed to cost as much a row as the last one measured.
CostTable estimate_costs(Executor& sequence, std::uint32_t layers, double seconds, const std::function<void(double)>& progress);

}  // namespace skipstone::exec
