// Prompt lookup: the text itself is searched for its last tokens, and their continuation there is the draft.
// Saxena, "Prompt Lookup Decoding", 2023 (github.com/apoorvumang/prompt-lookup-decoding).
#include <algorithm>

#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/text_index.h"

namespace skipstone::speculation {
namespace {

class Lookup final : public Drafter {
 public:
  explicit Lookup(const LookupParams& params) : params_(params) {}

  std::string name() const override { return "lookup"; }
  void begin(const Prefilled&, std::uint32_t) override { text_.begin(); }
  Proposal propose(std::span<const Token> history) override {
    const LookupResult found = lookup(text_.follow(history), params_);
    return TreeProposal{TokenTree::chain(history.back(), found.drafts), std::min(found.match, most_strength)};
  }

 private:
  LookupParams params_;
  TextIndex<Occurrences> text_;
};

}  // namespace

LookupResult lookup(const Occurrences& index, const LookupParams& params) {
  const std::span<const Token> text = index.text();
  if (text.empty()) return {};
  const auto last = static_cast<std::uint32_t>(text.size()) - 1;
  std::uint32_t longest = 0, found = 0;
  for (std::uint32_t place = index.before(last); place != Occurrences::none && longest < params.max; place = index.before(place)) {
    const std::uint32_t length = common_end(text.first(place + 1), text, params.max);
    if (length <= longest) continue;
    longest = length;
    found = place;
  }
  if (longest < params.min) return {};
  std::vector<Token> drafts(params.drafts);
  for (std::uint32_t i = 0; i < params.drafts; ++i) drafts[i] = text[found + 1 + i % (last - found)];
  return {drafts, longest};
}

std::unique_ptr<Drafter> make_lookup(Options& options) {
  LookupParams params;
  params.max = options.whole("max", params.max, 1, 64);
  params.min = options.whole("min", params.min, 1, 64);
  params.drafts = options.whole("k", params.drafts, 1, most_drafts);
  if (params.min > params.max) {
    fail(Code::invalid_argument, "drafter lookup: min={} is above max={}, so nothing could match", params.min, params.max);
  }
  return std::make_unique<Lookup>(params);
}

}  // namespace skipstone::speculation
