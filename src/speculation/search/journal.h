// The state of a search on disk: which sets were scored on which texts, and what they are worth. A search that starts again with the same
// seed asks for the same sets and finds them here, so it continues where it stopped.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "exec/layer_plan.h"
#include "speculation/search/moves.h"
#include "speculation/search/round_model.h"

namespace skipstone::speculation::search {

/// The conditions that values depend on.
struct JournalKey {
  std::string fingerprint;                ///< of the model
  std::string prompts_hash;               ///< of the texts
  std::string device;                     ///< and driver
  std::uint32_t prompts = 0, tokens = 0;  ///< texts, and most tokens of each continuation
};

struct Evaluation {
  exec::LayerPlan set;
  Best best;
  double seconds = 0;  ///< that scoring took
};

class Journal {
 public:
  /// `path`: "" keeps nothing on disk. Reads what is there. Throws invalid_argument where that is no such file or belongs to another
  /// search: another model, other prompts, device or lengths.
  Journal(std::string path, const JournalKey& key, std::uint32_t layers);

  /// Null where it is not known; valid as long as the journal.
  const Evaluation* find(const exec::LayerPlan& set) const;
  /// Keeps it, on disk too: the file is replaced as a whole. Throws io.
  void add(const Evaluation& evaluation);

  const std::optional<RoundCosts>& costs() const { return costs_; }
  void set_costs(const RoundCosts& costs) { costs_ = costs; }

  const std::deque<Evaluation>& evaluations() const { return evaluations_; }

 private:
  void read();
  void write() const;

  std::string path_;
  JournalKey key_;
  std::uint32_t layers_;
  std::optional<RoundCosts> costs_;
  std::deque<Evaluation> evaluations_;  // a deque: pointers from find() stay valid
  std::unordered_map<exec::LayerPlan, std::size_t, SetHash> index_;
};

}  // namespace skipstone::speculation::search
