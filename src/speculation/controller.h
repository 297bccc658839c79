// Chooses, round by round, which drafter proposes and how much: the candidate that promises the most tokens per second by the passes' costs
// and by how each drafter has fared lately. No drafts at all is always a candidate, so speculation switches itself off where it does not
// pay. With concurrent sequences the tokens of all count: a row is worth drafting where it brings more than it delays.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "speculation/acceptance.h"
#include "speculation/composite.h"
#include "speculation/round_costs.h"

namespace skipstone::speculation {

/// Of the drafters, those that propose tokens (free ones) are asked every round and scored against the text whether they were used or not;
/// those that propose passes are scored when used, and what is known of them fades otherwise, so that they are tried again now and then.
/// Everything follows from the text and the clock; the text does not depend on any of it.
class Controller : public Composite {
 public:
  /// `name` for statistics. Members that do not fit a model are left out at attach() where `lenient`; else attach() throws as they do.
  Controller(std::string name, std::vector<std::unique_ptr<Drafter>> members, bool lenient);

  std::string name() const override { return name_; }
  void attach(const ModelFacts& model) override;
  void begin(const Prefilled& prefilled, std::uint32_t model_layers) override;
  Proposal propose(std::span<const Token> history) override;
  void observe(const RoundResult& result) override;
  /// The drafter that the round belongs to; the controller where there are no drafts.
  std::string proposer() const override {
    const std::string member = Composite::proposer();
    return member.empty() ? name_ : member;
  }
  /// The plan is that of the member most used; the explanation, "exit: 31 rounds of 2.61 tokens; ...; off: 4 of 35 rounds", has what it
  /// expects of each now.
  DrafterReport report() const override;

 private:
  /// A free drafter's proposal that was not used, followed along the text until it is wrong or at its end.
  struct Shadow {
    TokenTree tree;
    std::size_t base = 0;  ///< tokens of the text before it
    std::uint32_t row = 0, strength = 0;
  };
  static constexpr std::uint32_t strengths = most_strength + 1;
  struct Arm {
    Drafter* drafter = nullptr;                                               ///< the member of this index
    std::vector<Acceptance> acceptance = std::vector<Acceptance>(strengths);  ///< by TreeProposal::strength
    std::optional<Shadow> shadow;
    double slowness = 1;  ///< measured seconds of its rounds over those predicted
    std::uint64_t rounds = 0, tokens = 0;
    double expected_rate = 0;  ///< of the last proposal: tokens per second over those of plain decoding; 0: proposed nothing
  };
  /// The prediction of a round with one arm.
  struct ExpectedGain {
    Arm* arm = nullptr;       ///< null: no drafts
    Proposal proposal;        ///< NoDrafts without an arm
    double rate = 0;          ///< tokens per predicted microsecond
    double microseconds = 0;  ///< predicted
  };

  /// Microseconds of a verification of `rows` rows together with the concurrent rows.
  double pass_microseconds(double rows) const;
  /// Tokens that concurrent sequences get by such a pass, as far as is known: one a row.
  double tokens_of_others() const { return concurrent_; }
  ExpectedGain expected_gain(Arm& arm, TreeProposal proposal) const;
  ExpectedGain expected_gain(Arm& arm, PassProposal proposal) const;
  void learn_overlap(const exec::ExpertUse& seen);
  void follow_shadow(Arm& arm, std::span<const Token> history) const;
  const Arm* most_used() const;
  std::string explanation() const;
  double plain_microseconds() const { return pass_microseconds(1) * plain_slowness_; }

  std::string name_;
  bool lenient_;
  std::vector<Arm> arms_;
  RoundCosts costs_;  ///< with the overlap of the text's rows in their experts
  exec::LayerPlan full_;
  std::uint32_t layers_ = 0;
  ExpectedGain gain_;          ///< of the round that runs
  double plain_slowness_ = 1;  ///< as Arm::slowness, of rounds without drafts
  double scale_ = 0;           ///< measured seconds of any round over predicted microseconds; 0: none was measured
  double concurrent_ = 0;      ///< concurrent rows in a pass, lately
  std::uint64_t plain_rounds_ = 0, since_plain_ = 0, rounds_ = 0;
};

}  // namespace skipstone::speculation
