// A drafter proposes; the loop runs the passes. Drafters never touch the device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/layer_plan.h"
#include "spec/bigrams.h"
#include "spec/early_exit.h"
#include "spec/executor.h"
#include "spec/round_costs.h"
#include "spec/strategy_counts.h"
#include "spec/token_tree.h"

namespace skipstone::spec {

class Corpus;

/// A verification has 32 rows, one of them the pending token's.
inline constexpr std::uint32_t most_drafts = 31;
inline constexpr std::uint32_t most_strength = 7;  ///< see Proposal

/// What to try in one round: tokens that are there already, or a pass of the model's own layers to make them with, or (no drafts, length 0)
/// plain decoding.
struct Proposal {
  TokenTree tree;                                   ///< drafts behind the last token of the history; what stands in row 0 does not matter
  std::optional<exec::LayerPlan> plan = {};         ///< drafts come one by one from this pass
  std::uint32_t length = 0;                         ///< most drafts to make with `plan`
  bool keep_prefix = true;                          ///< see Executor::draft
  double least_probability = 0;                     ///< a draft of `plan` below it is verified, but the round's last
  std::optional<EarlyExitRequest> early_exit = {};  ///< no drafts: the pending token's pass may end early (lossy)
  /// Instead of a tree: drafts behind the last token, row by row, that are verified side by side and share nothing.
  std::vector<std::vector<Token>> block = {};
  std::uint32_t strength = 0;  ///< of tokens: how good the drafter takes them to be, 0..7; acceptance is tracked for each by itself
  /// Instead of `plan`: drafts come from the whole model with this part of the cache, or from a second model (ModelFacts::load_model).
  std::optional<exec::KeyWindow> window = {};
  std::optional<std::uint32_t> model = {};

  bool drafts_by_passes() const { return (plan || window || model) && length > 0; }
};

struct RoundResult {
  std::uint32_t drafted = 0, accepted = 0;
  std::uint32_t limit = 0;                   ///< the most drafts this round could have had
  std::span<const Choice> drafts = {};       ///< `drafted` of them: of row 1, ...; those that no pass has made have no probability
  std::span<const Choice> verified = {};     ///< by row: what the model chose behind it; drafted + 1 of them
  TokenTree tree = {};                       ///< what was verified: drafted + 1 rows
  std::span<const std::uint32_t> path = {};  ///< rows from 0 to the last accepted one: accepted + 1 of them
  double seconds = 0;                        ///< that the round took; 0: not measured
  std::span<const Token> top = {};           ///< by row of `tree`: see Executor::top(); empty where the round has none
};

/// What a drafter may know of the model, and of what comes with it.
struct ModelFacts {
  std::uint32_t layers = 0;
  std::uint32_t exit_layer = 0;  ///< the exit that the checkpoint was trained for; 0: it does not say
  /// Of the passes on this device, measured when they are first asked for; they, or the function, are empty where that would take too long.
  std::function<RoundCosts()> costs = {};
  /// The tokens of a text file. Throws invalid_argument where it cannot be read. Empty where the model has no tokenizer.
  std::function<std::vector<Token>(const std::string& file)> read_text = {};
  /// The user's corpus, read and indexed when it is first asked for; throws as read_text. Empty where there is none.
  std::function<std::shared_ptr<const Corpus>()> corpus = {};
  std::string_view fingerprint = {};  ///< of the model's file
  std::string profile = {};           ///< the skip set's profile that lies beside the model's file; empty where none does
  /// The model's bigram table, from the cache or made when it is first asked for; and the tokens that are likely anywhere, the likeliest
  /// first. Empty where there is no model to make them with.
  std::function<std::shared_ptr<const Bigrams>()> bigrams = {};
  std::function<std::vector<Token>()> unigrams = {};
  /// Loads a second model onto the device, to draft with; returns its number. Throws what is wrong with the file, or that it does not fit
  /// this model or the device.
  std::function<std::uint32_t(const std::string& file)> load_model = {};
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  /// Called once, before anything else. Throws invalid_argument where the options do not fit the model.
  virtual void attach(const ModelFacts&) {}
  virtual std::string name() const = 0;
  virtual bool wants_attention_cosine() const { return false; }
  /// How many of the likeliest tokens of every verified row it wants to see.
  virtual std::uint32_t wants_top() const { return 0; }
  /// Whether its proposals may branch, or be several chains, so that passes over trees of rows will verify them.
  virtual bool may_branch() const { return false; }
  /// Whether ModelFacts::costs tell what its drafts cost. Controllers take no others.
  virtual bool has_known_costs() const { return true; }
  /// A new prompt has been read. `model_layers` layers.
  virtual void begin(const Prefilled& prefilled, std::uint32_t model_layers) = 0;
  /// Drafts behind `history`, all tokens of the text so far; no drafts where there are no good ones.
  virtual Proposal propose(std::span<const Token> history) = 0;
  /// What came of this drafter's proposal.
  virtual void observe(const RoundResult& result) = 0;
  /// A round that another drafter, or none, proposed.
  virtual void watch(const RoundResult&) {}
  /// The name of who made the last proposal; "" for nobody.
  virtual std::string proposer() const { return name(); }
  /// Passes that the drafter wants to see at work on text that is there already; asked after a round, with the seconds that this generation
  /// has taken. They all run over the same rows, and tried() gets what came out: each pass's choice after every row, the text's own tokens
  /// in their places, and the seconds it took. Changes no text.
  virtual std::vector<exec::LayerPlan> trials(double /*generation_seconds*/) { return {}; }
  virtual void tried(std::span<const std::vector<Choice>> /*choices*/, std::span<const Token> /*expected*/, double /*seconds*/) {}
  /// Whether the drafter wants cosines of the newest tokens, now that this generation has `generated` of them; asked after a round.
  virtual bool wants_refresh(std::uint64_t /*generated*/) const { return false; }
  /// Those cosines, as Prefilled::attention_cosine; also where another drafter of a chain has asked. True where other sublayers are skipped
  /// from now on.
  virtual bool refresh(std::span<const float> /*attention_cosine*/, std::uint64_t /*generated*/) { return false; }
  /// The skip set in LayerPlan notation, "" for none; for statistics.
  virtual std::string plan_text() const { return {}; }
  virtual std::uint32_t skipped_sublayers() const { return 0; }
  /// What was chosen and why, where there was something to choose; for statistics.
  virtual std::string explanation() const { return {}; }
  /// Of a drafter that has candidates from several sources, since begin(); for statistics.
  virtual std::vector<StrategyCounts> strategies() const { return {}; }
};

}  // namespace skipstone::spec
