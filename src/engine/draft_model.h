// A second, smaller model of the same vocabulary that drafts (two-model speculation, arXiv 2211.17192): its weights, keys and values lie on
// the same device beside the model's own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "exec/executor.h"

namespace skipstone::engine {

/// The model of `file`, loaded beside `target`; the one that a session of `target` has loaded already, where it is the same file. Throws
/// bad_file where the file is missing, damaged or not supported, invalid_argument where the vocabularies differ, where it was trained for a
/// shorter context than `target` has, and where it does not fit beside it; all messages name the drafter.
std::shared_ptr<Engine> load_draft_model(Engine& target, const std::string& file, const Progress& progress);

/// It follows one text.
class DraftModel {
 public:
  explicit DraftModel(std::shared_ptr<Engine> model);

  /// Runs the model over what it has not read of `text` (at least one token, within the context) and over its last token in any case. The
  /// `output` after that is row 0 of the executor that is returned. `text` may have any beginning in common with what was read before.
  exec::Executor& follow(std::span<const spec::Token> text, exec::Output output);
  /// As exec::Executor::pace().
  void pace(exec::Pacer* pacer) { passes_.pace(pacer); }
  /// The next text is read from its beginning.
  void forget() { read_.clear(); }

 private:
  std::shared_ptr<Engine> model_;
  exec::Executor passes_;
  std::vector<spec::Token> read_;  ///< whose keys and values are in the cache
};

}  // namespace skipstone::engine
