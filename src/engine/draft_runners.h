// The runners of a sequence's draft sources (speculation/draft_source.h). A new source has its runner here and a line in the constructor of
// DraftRunners.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/draft_inputs.h"
#include "engine/sequence_parts.h"
#include "speculation/draft_source.h"

namespace skipstone::engine {

/// Makes the drafts of one kind of source.
class DraftRunner {
 public:
  virtual ~DraftRunner() = default;
  /// Runs `source` over the last of `inputs`, the pending token and the round's drafts so far; returns the choice after it. Token -1 if no
  /// logit is a number.
  virtual speculation::Choice draft(const speculation::DraftSource& source, std::span<const speculation::Token> inputs) = 0;
  /// The sequence has another text.
  virtual void forget() {}
  /// As exec::Executor::set_slicer(), for runners with an executor of their own.
  virtual void set_slicer(exec::PassSlicer*) {}
};

class DraftRunners {
 public:
  /// `models`: the second models, by number.
  DraftRunners(SequenceParts& parts, std::vector<std::unique_ptr<DraftModel>> models);

  speculation::Choice draft(const speculation::DraftSource& source, speculation::Token input, std::uint32_t offset);
  void forget();
  void set_slicer(exec::PassSlicer* slicer);

 private:
  struct Entry {
    std::string_view key;  ///< of the sources
    std::unique_ptr<DraftRunner> runner;
  };
  std::vector<Entry> runners_;
  std::vector<speculation::Token> inputs_;  ///< of the round's drafts
};

/// What a verification takes over from drafts by the model's own layers: their saved hidden states. Runs what is missing of these; returns
/// the number of layers that the verification of `rows` need not run.
std::uint32_t complete_saved_states(SequenceParts& parts, const speculation::TokenTree& rows);
/// Makes drafts of the next round while the verification of `rows` is on remote devices; empty if there are none to make.
exec::Meanwhile predict_drafts(SequenceParts& parts, const speculation::TokenTree& rows);
/// Keeps the predicted drafts after the end that the verification has had. Whether their saved hidden states are kept.
bool keep_predicted_drafts(SequenceParts& parts, const speculation::TokenTree& rows, std::span<const speculation::Choice> choices,
                           double remote_seconds);

}  // namespace skipstone::engine
