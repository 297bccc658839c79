#include "speculation/drafters/copy.h"

#include <algorithm>
#include <optional>

#include "base/status.h"
#include "speculation/drafters/drafters.h"

namespace skipstone::speculation {
namespace {

class Copy final : public Drafter {
 public:
  explicit Copy(const CopyParams& params) : params_(params) {}

  std::string name() const override { return "copy"; }

  void attach(const ModelFacts& model) override {
    if (params_.file.empty()) fail(Code::invalid_argument, "drafter copy: which document? write copy:FILE");
    if (!model.read_text) fail(Code::unsupported, "drafter copy: this model has no tokenizer, so no document can be read");
    const std::vector<Token> document = model.read_text(params_.file);
    if (document.empty()) fail(Code::invalid_argument, "drafter copy: the document '{}' is empty", params_.file);
    place_.emplace(document, params_.max, params_.min);
  }

  /// More tokens than the one that the model has just chosen are a new prompt, and the document starts again after it.
  void begin(const Prefilled&, std::uint32_t) override { begun_ = true; }

  Proposal propose(std::span<const Token> history) override {
    if (!place_) return NoDrafts{};
    if (begun_ && history.size() != seen_ + 1) {
      place_->begin();
      seen_ = history.size() - 1;
    }
    begun_ = false;
    while (seen_ < history.size()) place_->follow(history.first(++seen_));
    const std::span<const Token> rest = place_->rest();
    return TreeProposal{TokenTree::chain(history.back(), rest.first(std::min<std::size_t>(params_.drafts, rest.size()))),
                        std::min(place_->matched(), most_strength)};
  }

 private:
  CopyParams params_;
  std::optional<CopyPlace> place_;
  std::size_t seen_ = 0;  ///< tokens of the history
  bool begun_ = false;
};

std::uint32_t distance(std::uint32_t a, std::uint32_t b) { return a < b ? b - a : a - b; }

}  // namespace

CopyPlace::CopyPlace(std::span<const Token> document, std::uint32_t max, std::uint32_t min) : max_(max), min_(min) {
  for (const Token token : document) document_.append(token);
}

void CopyPlace::begin() {
  next_ = matched_ = 0;
  lost_ = false;
}

void CopyPlace::follow(std::span<const Token> text) {
  const std::span<const Token> document = document_.text();
  if (!lost_ && next_ < document.size() && document[next_] == text.back()) {
    ++next_;
    ++matched_;
    return;
  }
  // The text may have another token here, one more or one less: the longest suffix of it that the document has, nearest to where it was.
  std::uint32_t longest = 0, nearest = 0;
  for (std::uint32_t place = document_.last(text.back()); place != Occurrences::none; place = document_.before(place)) {
    const std::uint32_t length = common_end(document.first(place + 1), text, max_);
    if (length < longest || (length == longest && distance(place, next_) >= distance(nearest, next_))) continue;
    longest = length;
    nearest = place;
  }
  matched_ = longest;
  lost_ = longest < min_;
  // Unfound, the token takes the place of the one that was expected: an exchanged word is the likeliest difference.
  next_ = lost_ ? std::min(next_ + 1, static_cast<std::uint32_t>(document.size())) : nearest + 1;
}

std::span<const Token> CopyPlace::rest() const { return lost_ ? std::span<const Token>{} : document_.text().subspan(next_); }

std::unique_ptr<Drafter> make_copy(Options& options) {
  CopyParams params;
  params.file = options.value("FILE");
  params.drafts = options.whole("k", params.drafts, 1, most_drafts);
  params.max = options.whole("max", params.max, 1, 64);
  params.min = options.whole("min", params.min, 1, 64);
  if (params.min > params.max) {
    fail(Code::invalid_argument, "drafter copy: min={} is above max={}, so nothing could match", params.min, params.max);
  }
  return std::make_unique<Copy>(params);
}

}  // namespace skipstone::speculation
