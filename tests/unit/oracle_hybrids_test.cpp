// The oracle with recurrent layers and with experts, against logits and texts that other programs computed: prompts in one call, cut, and
// after rollbacks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "fixtures/distance.h"
#include "ref/model.h"
#include "ref/operations.h"

namespace skipstone {
namespace {

using fixtures::distance;
using Tokens = std::vector<std::int32_t>;

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

/// Nothing for a model with features of its family that this version does not run.
std::optional<model::Config> config_of(const gguf::File& file) {
  try {
    return model::Config::from(file);
  } catch (const Error& error) {
    if (error.code() != Code::unsupported) throw;
    return std::nullopt;
  }
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
    if (model::find_architecture(opened.string("general.architecture", "")) == nullptr) continue;
    const std::optional<model::Config> config = config_of(opened);
    if (!config || (!is_hybrid(*config) && config->experts() == nullptr)) continue;
    const double farthest = compare(ref::Model(opened, KvFormat::f32), entry.path() / "expected.json");
    std::cout << entry.path().filename().string() << ": logits at most " << farthest << " apart\n";
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

/// The head's drafts of a text's tokens after the prompt, each from the model's state before it.
void compare_drafts(const ref::Model& model, const nlohmann::json& prompt, const nlohmann::json& drafts) {
  auto text = prompt.at("ids").get<Tokens>();
  const std::size_t first = text.size() - 1;
  const auto greedy = prompt.at("greedy").get<Tokens>(), wanted = drafts.at("draft_argmax").get<Tokens>();
  const auto margins = drafts.at("draft_margin").get<std::vector<double>>();
  text.insert(text.end(), greedy.begin(), greedy.end());
  ref::Sequence sequence = model.new_sequence();
  const auto plan = exec::LayerPlan::full(model.config().layer_count());
  const ref::Result read = model.forward(sequence, std::span(text).first(text.size() - 1), 0, plan);
  std::vector<float> hidden;
  for (const std::vector<float>& row : read.hidden) hidden.insert(hidden.end(), row.begin(), row.end());
  hidden = model.normalised(hidden);
  const ref::Result predicted = model.predict(sequence, std::span(text).subspan(1), 0, hidden);
  EXPECT_LT(distance(predicted.logits[first], drafts.at("first_draft_logits_first64").get<std::vector<double>>()), 1e-4);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (margins[i] < 0.02) continue;
    EXPECT_EQ(ref::argmax(predicted.logits[first + i]).token, wanted[i]) << "draft " << i;
  }
  // In two calls, and once more after others.
  ref::Sequence pieces = model.new_sequence();
  const std::size_t width = model.config().width, half = text.size() / 2;
  model.predict(pieces, std::span(text).subspan(1, half), 0, std::span(hidden).first(half * width));
  for (int turn = 0; turn < 2; ++turn) {
    const auto rest =
        model.predict(pieces, std::span(text).subspan(1 + half), static_cast<std::uint32_t>(half), std::span(hidden).subspan(half * width));
    EXPECT_EQ(rest.logits.back(), predicted.logits.back());
  }
}

TEST(OracleHybrids, HeadsForPredictionGiveTheDraftsOfOtherPrograms) {
  const fs::path root = fs::path(SKIPSTONE_SHARED_DATA) / "arch";
  if (!fs::is_directory(root)) GTEST_SKIP() << "no reference models in " << root;
  std::size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    const fs::path drafts = entry.path() / "expected_mtp.json";
    if (!fs::exists(drafts)) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const gguf::File opened = gguf::File::open((entry.path() / "model.gguf").string());
    if (model::find_architecture(opened.string("general.architecture", "")) == nullptr) continue;
    const ref::Model model(opened, KvFormat::f32);
    const auto prompts = nlohmann::json::parse(std::ifstream(entry.path() / "expected.json")).at("prompts");
    const auto wanted = nlohmann::json::parse(std::ifstream(drafts)).at("prompts");
    for (std::size_t i = 0; i < prompts.size(); ++i) compare_drafts(model, prompts[i], wanted[i]);
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

}  // namespace
}  // namespace skipstone
