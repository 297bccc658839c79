// A drafter proposes; the loop runs the passes. Drafters never touch the device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "exec/layer_plan.h"
#include "speculation/bigrams.h"
#include "speculation/early_exit.h"
#include "speculation/round_costs.h"
#include "speculation/sequence.h"
#include "speculation/token_tree.h"

namespace skipstone::speculation {

class Corpus;

/// A verification has 32 rows, one of them the pending token's.
inline constexpr std::uint32_t most_drafts = 31;
inline constexpr std::uint32_t most_strength = 7;  ///< see TreeProposal

/// Plain decoding.
struct NoDrafts {};

/// Drafts that are there already.
struct TreeProposal {
  TokenTree tree;              ///< after the last token of the history; the token of row 0 does not matter
  std::uint32_t strength = 0;  ///< how good the drafter takes them to be, 0..most_strength; acceptance is tracked for each by itself
};

/// Drafts after the last token, row by row, that are verified side by side and share nothing.
struct BlockProposal {
  std::vector<std::vector<Token>> rows;
};

/// Drafts that come one by one from a source.
struct PassProposal {
  SharedSource source;
  std::uint32_t length = 0;      ///< most drafts
  double least_probability = 0;  ///< a draft below it is verified, but the round's last
};

/// The drafts to try in one round. An EarlyExitRequest is no drafts: the pending token's pass may end early (lossy).
using Proposal = std::variant<NoDrafts, TreeProposal, BlockProposal, PassProposal, EarlyExitRequest>;

/// Whether there is something to try, so that no other drafter of a chain is asked.
inline bool proposes_something(const Proposal& proposal) {
  struct Visitor {
    bool operator()(const NoDrafts&) const { return false; }
    bool operator()(const TreeProposal& drafts) const { return drafts.tree.drafts() > 0; }
    bool operator()(const BlockProposal& block) const { return !block.rows.empty(); }
    bool operator()(const PassProposal& drafts) const { return drafts.length > 0; }
    bool operator()(const EarlyExitRequest&) const { return true; }
  };
  return std::visit(Visitor{}, proposal);
}

struct RoundResult {
  std::uint32_t drafted = 0, accepted = 0;
  std::uint32_t limit = 0;                   ///< the most drafts this round could have had
  std::span<const Choice> drafts = {};       ///< `drafted` of them: of row 1, ...; those that no pass has made have no probability
  std::span<const Choice> verified = {};     ///< by row: the model's choice after it; drafted + 1 of them
  TokenTree tree = {};                       ///< what was verified: drafted + 1 rows
  std::span<const std::uint32_t> path = {};  ///< rows from 0 to the last accepted one: accepted + 1 of them
  double seconds = 0;                        ///< that the round took; 0: not measured
  std::span<const Token> top = {};           ///< by row of `tree`: as Verified::top; empty where the round has none
  std::uint32_t concurrent_rows = 0;         ///< Sequence::concurrent_rows() after it
  exec::ExpertUse experts{};                 ///< of the round's verification, with the concurrent rows
};

/// The facts that a drafter may know about the model and the files that come with it.
struct ModelFacts {
  std::uint32_t layers = 0;
  std::uint32_t exit_layer = 0;  ///< the exit that the checkpoint was trained for; 0: it does not say
  /// Of the passes on this device, measured when they are first asked for; they, or the function, are empty where that would take too long.
  std::function<RoundCosts()> costs = {};
  /// The tokens of a text file. Throws invalid_argument where it cannot be read. Empty where the model has no tokenizer.
  std::function<std::vector<Token>(const std::string& file)> read_text = {};
  /// The user's corpus, read and indexed when it is first asked for; throws as read_text. Empty without one.
  std::function<std::shared_ptr<const Corpus>()> corpus = {};
  std::string_view fingerprint = {};  ///< of the model's file
  std::string profile = {};           ///< the skip set's profile that lies beside the model's file; empty where none does
  /// The model's bigram table, from the cache or made when it is first asked for; and the tokens that are likely anywhere, the likeliest
  /// first. Empty without a model to make them with.
  std::function<std::shared_ptr<const Bigrams>()> bigrams = {};
  std::function<std::vector<Token>()> unigrams = {};
  /// Loads a second model onto the device, to draft with; returns its number. Throws what is wrong with the file, or that it does not fit
  /// this model or the device.
  std::function<std::uint32_t(const std::string& file)> load_model = {};
  /// Called before each drafter is attached, which may measure and read; throws where that is to end. May be empty.
  std::function<void()> go_on = {};
  /// The tokens that must follow a text by the grammar that it fits, at most `most`. Empty without a grammar.
  std::function<std::vector<Token>(std::span<const Token> text, std::size_t most)> forced = {};
  std::uint32_t heads = 0;         ///< for multi-token prediction, that can draft
  std::uint32_t experts_used = 0;  ///< of each row, in the layers that have experts

  void look_around() const {
    if (go_on) go_on();
  }
};

/// The needs of a drafter from the passes, and its properties that are known before a text begins.
struct DrafterTraits {
  bool drafts = true;             ///< there may be drafts, so that passes over several rows will verify them
  bool attention_cosine = false;  ///< it wants Prefilled::attention_cosine
  std::uint32_t top = 0;          ///< how many of the likeliest tokens of every verified row it wants to see
  bool branches = false;          ///< proposals may branch, or be several chains, so that passes over trees of rows will verify them
  bool known_costs = true;        ///< ModelFacts::costs tell what its drafts cost; controllers take no others
};

/// Results of one source's candidates. A round is won by the candidate with the most accepted tokens, the first among equals; by none where
/// none were.
struct StrategyCounts {
  std::string name;
  std::uint64_t rows = 0;                ///< candidates proposed
  std::vector<std::uint64_t> by_rank;    ///< rounds won, by the winner's place among the source's candidates
  std::vector<std::uint64_t> by_length;  ///< rounds won, by tokens accepted of the winner: index 0 is one token

  void add_win(std::uint32_t rank, std::uint32_t accepted) {
    const auto count = [](std::vector<std::uint64_t>& counts, std::uint32_t index) {
      if (counts.size() <= index) counts.resize(index + 1);
      ++counts[index];
    };
    count(by_rank, rank);
    count(by_length, accepted - 1);
  }
};

/// For statistics.
struct DrafterReport {
  std::string plan;  ///< the skip set in LayerPlan notation, "" for none
  std::uint32_t skipped_sublayers = 0;
  std::string explanation;                 ///< what was chosen and why, where there was something to choose
  std::vector<StrategyCounts> strategies;  ///< of a drafter that has candidates from several sources, since begin()
};

/// What a drafter does that chooses or improves its skip set while a text is generated. None of it changes a text.
class SkipSetTuner {
 public:
  virtual ~SkipSetTuner() = default;
  /// Plans that the drafter wants to see at work on text that is there already; requested after a round, with the seconds that this
  /// generation has taken. They all run over the same rows, and tried() receives what came out: each pass's choice after every row, the
  /// text's own tokens in their places, and the seconds it took.
  virtual std::vector<exec::LayerPlan> trials(double /*generation_seconds*/) { return {}; }
  virtual void tried(std::span<const std::vector<Choice>>, std::span<const Token>, double /*seconds*/) {}
  /// Whether the drafter wants cosines of the newest tokens, now that this generation has `generated` of them; asked after a round.
  virtual bool wants_refresh(std::uint64_t /*generated*/) const { return false; }
  /// Those cosines, as Prefilled::attention_cosine; also where another drafter of several has asked. True where other sublayers are skipped
  /// from now on.
  virtual bool refresh(std::span<const float> /*attention_cosine*/, std::uint64_t /*generated*/) { return false; }
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual std::string name() const = 0;
  /// Called once, before anything else. Throws invalid_argument where the options do not fit the model.
  virtual void attach(const ModelFacts&) {}
  virtual DrafterTraits traits() const { return {}; }
  /// A new prompt has been read. `model_layers` layers.
  virtual void begin(const Prefilled& /*prefilled*/, std::uint32_t /*model_layers*/) {}
  /// Drafts after `history`, all tokens of the text so far; no drafts where there are no good ones.
  virtual Proposal propose(std::span<const Token> history) = 0;
  /// The name of the drafter that made the last proposal; "" for none.
  virtual std::string proposer() const { return name(); }
  /// The result of this drafter's proposal.
  virtual void observe(const RoundResult&) {}
  /// A round that another drafter, or none, proposed.
  virtual void watch(const RoundResult&) {}
  virtual DrafterReport report() const { return {}; }
  /// Null if the drafter's skip set, if it has one, stays as it is.
  virtual SkipSetTuner* skip_sets() { return nullptr; }
};

}  // namespace skipstone::speculation
