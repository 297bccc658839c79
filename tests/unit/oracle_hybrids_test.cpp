// The oracle with recurrent layers, against logits and texts that other programs computed: prompts in one call, cut, and after rollbacks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ref/model.h"
#include "ref/operations.h"
#include "reference_models.h"

namespace skipstone {
namespace {

namespace fs = std::filesystem;

/// A model and a text that it reads.
class Text {
 public:
  explicit Text(const ref::Model& model) : model_(model), sequence_(model.new_sequence()) { options_.all_logits = false; }

  /// The logits after `tokens`, which follow the text so far, read `piece` at a time (0: all at once).
  std::vector<float> read(std::span<const std::int32_t> tokens, std::size_t piece = 0) {
    std::vector<float> logits;
    for (std::size_t at = 0; at < tokens.size();) {
      const std::size_t count = piece == 0 ? tokens.size() : std::min(piece, tokens.size() - at);
      logits = model_.forward(sequence_, tokens.subspan(at, count), length_, exec::LayerPlan::full(model_.config().layer_count()), options_)
                   .logits.back();
      length_ += static_cast<std::uint32_t>(count);
      at += count;
    }
    return logits;
  }
  void roll_back(std::uint32_t length) { length_ = length; }

 private:
  const ref::Model& model_;
  ref::Sequence sequence_;
  ref::Options options_;
  std::uint32_t length_ = 0;
};

bool is_hybrid(const model::Config& config) {
  return !std::ranges::all_of(config.layers, [](const auto& layer) { return std::holds_alternative<model::Attention>(layer.mixer); });
}

/// Other tokens than those of the text.
Tokens others(const Tokens& ids, std::size_t count) {
  Tokens other(count);
  for (std::size_t i = 0; i < count; ++i) other[i] = ids[(i * 7 + 3) % ids.size()];
  return other;
}

/// The largest distance of logits over a model's prompts.
double compare(const ref::Model& model, const fs::path& numbers) {
  double farthest = 0;
  const auto document = nlohmann::json::parse(std::ifstream(numbers));
  for (const auto& prompt : document.at("prompts")) {
    const auto ids = prompt.at("ids").get<Tokens>(), greedy = prompt.at("greedy").get<Tokens>();
    SCOPED_TRACE(fmt::format("{} tokens", ids.size()));
    Text whole(model);
    std::vector<float> logits = whole.read(ids);
    const double apart = distance(logits, prompt.at("logits_first64").get<std::vector<double>>());
    farthest = std::max(farthest, apart);
    EXPECT_LT(apart, 1e-4);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{17}}) {
      EXPECT_EQ(Text(model).read(ids, piece), logits) << "cut by " << piece;
    }
    Text astray(model);
    const auto begin = static_cast<std::uint32_t>(ids.size() / 2);
    astray.read(std::span(ids).first(begin));
    astray.read(others(ids, 9));
    astray.roll_back(begin);
    EXPECT_EQ(astray.read(std::span(ids).subspan(begin)), logits) << "after a rollback";
    const auto margins = prompt.at("greedy_margin").get<std::vector<double>>();
    for (std::size_t i = 0; i < greedy.size() && margins[i] >= 0.02; ++i) {
      const std::int32_t token = ref::argmax(logits).token;
      EXPECT_EQ(token, greedy[i]) << "token " << i;
      if (token != greedy[i]) break;
      logits = whole.read(std::span(&token, 1));
    }
  }
  return farthest;
}

TEST(OracleHybrids, ReferenceModelsGiveTheNumbersOfOtherPrograms) {
  const fs::path root = fs::path(SKIPSTONE_SHARED_DATA) / "arch";
  if (!fs::is_directory(root)) GTEST_SKIP() << "no reference models in " << root;
  std::size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    const fs::path file = entry.path() / "model.gguf";
    if (!fs::exists(file)) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const gguf::File opened = gguf::File::open(file.string());
    const bool experts = opened.integer(opened.string("general.architecture", "") + ".expert_count", 0) > 0;
    if (experts || model::find_architecture(opened.string("general.architecture", "")) == nullptr) continue;
    if (!is_hybrid(model::Config::from(opened))) continue;
    const double farthest = compare(ref::Model(opened, KvFormat::f32), entry.path() / "expected.json");
    std::cout << entry.path().filename().string() << ": logits at most " << farthest << " apart\n";
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

}  // namespace
}  // namespace skipstone
