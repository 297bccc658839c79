// The drafter `mtp`: texts are plain decoding's, whatever sequences do, and the head's drafts are those of a text that is read at once.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "engine/device_sequence.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "fixtures/failure.h"
#include "fixtures/slow_device.h"
#include "fixtures/system.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gpu/test_device.h"
#include "reference_numbers.h"

namespace skipstone::engine {
namespace {

/// As with(), half of the seeds by candidates.
SessionOptions sampled(const std::string& draft, std::uint64_t seed) {
  SessionOptions options = with(draft, seed);
  options.candidates = seed > 0 && seed % 2 == 0;
  return options;
}

class MtpDrafts : public testing::Test {
 protected:
  EngineOptions options_for(std::uint32_t heads) {
    fixtures::TinyConfig config = fixtures::tiny_family("qwen35");
    config.prediction_layers = heads;
    EngineOptions options;
    options.kernels = fixtures::TestDevice::get().kernels;
    options.model_path = directory_.file("tiny" + std::to_string(heads) + ".gguf");
    options.context = 256;
    fixtures::write_tiny_model(config, options.model_path);
    return options;
  }
  std::shared_ptr<Engine> engine(std::uint32_t heads = 1) { return Engine::load(options_for(heads)); }

  fixtures::TemporaryDirectory directory_;
};

TEST_F(MtpDrafts, GivePlainText) {
  const auto loaded = engine();
  const std::size_t texts = fixtures::full_sweep() ? 60 : fixtures::slow_device_or_validation() ? 2 : 3;
  std::uint64_t drafted = 0;
  for (std::uint64_t text = 0; text < texts; ++text) {
    const std::uint64_t seed = text % 3;
    const Tokens prompt = prompt_of(*loaded, 5 + text * 7 % 60, static_cast<std::uint32_t>(text));
    const auto plain = Session(loaded, sampled("none", seed)).generate(prompt, 30, {});
    for (const char* draft : {"mtp", "mtp:k=1", "mtp:k=15", "mtp:k=4,gamma=0.02,adaptive=1", "suffix:alpha=4,k=31,p=0+mtp",
                              "auto:suffix,mtp", "mtp:k=2+asd:c=0.9,m=1,gamma=0", "auto"}) {
      const auto outcome = Session(loaded, sampled(draft, seed)).generate(prompt, 30, {});
      EXPECT_EQ(outcome.tokens, plain.tokens) << draft << ", text " << text;
      drafted += outcome.stats.drafted;
    }
  }
  EXPECT_GT(drafted, 0u);
  EXPECT_EQ(loaded->validation_messages(), 0u);
}

/// What the drafts of a session's next round are, as far as its statistics say.
std::vector<std::uint64_t> drafts_of(Session& session, std::uint32_t tokens, Tokens* text = nullptr) {
  const auto outcome = session.generate({}, tokens, {});
  if (text != nullptr) *text = outcome.tokens;
  return {outcome.stats.rounds, outcome.stats.drafted, outcome.stats.accepted};
}

// Rewound, forked, saved and loaded conversations have what their heads need: they draft as the one they come from.
TEST_F(MtpDrafts, AreTheSameAfterRewindForkSaveAndLoad) {
  const auto loaded = engine();
  const Tokens prompt = prompt_of(*loaded, 90, 5);
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{4}}) {
    Session first(loaded, sampled("mtp:k=2,gamma=0.004", seed));
    first.generate(prompt, 40, {});
    const std::string file = directory_.file("conversation");
    first.save(file);
    const auto forked = first.fork();
    Session read(loaded, sampled("mtp:k=2,gamma=0.004", seed));
    read.load(file);
    Tokens text, of_fork, of_loaded;
    const auto wanted = drafts_of(first, 25, &text);
    EXPECT_EQ(drafts_of(*forked, 25, &of_fork), wanted);
    EXPECT_EQ(drafts_of(read, 25, &of_loaded), wanted);
    EXPECT_EQ(of_fork, text);
    EXPECT_EQ(of_loaded, text);
    Tokens of_rewound;
    first.rewind(25);
    EXPECT_EQ(drafts_of(first, 25, &of_rewound), wanted);
    EXPECT_EQ(of_rewound, text);
  }
  EXPECT_EQ(loaded->validation_messages(), 0u);
}

TEST_F(MtpDrafts, OfSeveralSequencesAtOnceGiveTheirTexts) {
  const auto loaded = engine();
  constexpr std::size_t sequences = 8;
  const std::uint32_t tokens = fixtures::slow_device_or_validation() ? 12 : 40;
  const char* const drafts[] = {"mtp", "suffix+mtp", "mtp:k=1", "none", "auto", "mtp:k=5", "exit:2,k=3", "mtp:k=2"};
  std::vector<Tokens> wanted(sequences), got(sequences);
  for (std::size_t i = 0; i < sequences; ++i)
    wanted[i] = Session(loaded, sampled("none", i % 3)).generate(prompt_of(*loaded, 11 + 9 * i, 7), tokens, {}).tokens;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sequences; ++i) {
      threads.emplace_back(
          [&, i] { got[i] = Session(loaded, sampled(drafts[i], i % 3)).generate(prompt_of(*loaded, 11 + 9 * i, 7), tokens, {}).tokens; });
    }
  }
  for (std::size_t i = 0; i < sequences; ++i) EXPECT_EQ(got[i], wanted[i]) << drafts[i];
  EXPECT_EQ(loaded->validation_messages(), 0u);
}

TEST_F(MtpDrafts, AreRefusedWithoutAHeadAndOverSeveralDevices) {
  const auto none = engine(0);
  const auto refusal = fixtures::failure_of([&] { Session(none, with("mtp")); });
  EXPECT_EQ(refusal.code, Code::invalid_argument);
  EXPECT_NE(refusal.message.find("no head for multi-token prediction"), std::string::npos) << refusal.message;
  fixtures::set_variable("SKIPSTONE_SAME_DEVICE", "1");
  EngineOptions options = options_for(1);
  const Tokens expected = Session(Engine::load(options), with("none")).generate(prompt_of(*none, 20, 3), 12, {}).tokens;
  options.devices = "0,0";
  const auto stages = Engine::load(options);
  EXPECT_EQ(fixtures::failure_of([&] { Session(stages, with("mtp")); }).code, Code::invalid_argument);
  EXPECT_EQ(Session(stages, with("auto")).generate(prompt_of(*none, 20, 3), 12, {}).tokens, expected);
}

// A head costs nothing where a file has none: passes and memory of the model are as without one.
TEST_F(MtpDrafts, AddOneLayerOfKeysAndARecordToTheMemory) {
  const auto with_head = engine(1), without = engine(0);
  EXPECT_GT(with_head->memory().weights, without->memory().weights);
  EXPECT_GT(with_head->memory().kv, without->memory().kv);
  EXPECT_LT(with_head->memory().kv, 2 * without->memory().kv);
}

// The head beside the bundled model: texts are plain decoding's, and of first drafts of greedy ones two in three are right, unlike those of
// random weights.
TEST(MtpDraftsOfTheBundledModel, GivePlainTextAndAreMostlyRight) {
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.model_path = SKIPSTONE_MODELS "/skipstone-py.gguf";
  options.mtp_path = SKIPSTONE_MODELS "/mtp-skipstone-py.gguf";
  options.context = 256;
  const auto loaded = Engine::load(options);
  const std::vector<std::string> texts{"def binary_search(items, target):\n",
                                       "Question: Tom has 3 apples. How many are left?\nAnswer:", "It was a dark night, and the old man"};
  const bool few = fixtures::slow_device_or_validation();
  const std::uint32_t tokens = few ? 16 : 40;
  speculation::DraftPosition first;
  for (std::size_t text = 0; text < (few ? 1 : texts.size()); ++text) {
    const Tokens prompt = loaded->tokenizer().encode(texts[text], true, false);
    for (const std::uint64_t seed : few ? std::vector<std::uint64_t>{0} : std::vector<std::uint64_t>{0, 4}) {
      const Tokens plain = Session(loaded, sampled("none", seed)).generate(prompt, tokens, {}).tokens;
      for (const char* draft : {"mtp", "mtp:k=6,gamma=0.3", "suffix+mtp", "auto"}) {
        const auto outcome = Session(loaded, sampled(draft, seed)).generate(prompt, tokens, {});
        EXPECT_EQ(outcome.tokens, plain) << draft << ", text " << text << ", seed " << seed;
        if (std::string_view(draft) != "mtp" || seed > 0) continue;
        first.drafted += outcome.stats.by_position.front().drafted;
        first.accepted += outcome.stats.by_position.front().accepted;
      }
    }
  }
  EXPECT_GT(3 * first.accepted, 2 * first.drafted) << first.accepted << " of " << first.drafted;
  EXPECT_EQ(loaded->validation_messages(), 0u);
}

// The first draft after each token of a text is that of other programs.
TEST(MtpDraftsOfReferenceModels, AreThoseOfOtherPrograms) {
  const std::filesystem::path root = std::filesystem::path(SKIPSTONE_SHARED_DATA) / "arch";
  if (!std::filesystem::is_directory(root)) GTEST_SKIP() << "no reference models in " << root;
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::filesystem::path expected = entry.path() / "expected_mtp.json";
    if (!std::filesystem::exists(expected)) continue;
    SCOPED_TRACE(entry.path().filename().string());
    std::shared_ptr<Engine> engine;
    try {
      engine = load((entry.path() / "model.gguf").string(), 256, KvType::f32);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Code::unsupported) << error.what();
      continue;
    }
    const std::vector<Expected> prompts = read_expected(entry.path() / "expected.json");
    const auto wanted = nlohmann::json::parse(std::ifstream(expected)).at("prompts");
    for (std::size_t i = 0; i < (fixtures::slow_device() ? 1 : prompts.size()); ++i) {
      exec::Executor passes(*engine->state().passes);
      DeviceSequence sequence(passes, engine->config());
      const Tokens &greedy = prompts[i].greedy, &read = prompts[i].ids;
      const auto drafts = wanted[i].at("draft_argmax").get<Tokens>();
      const auto margins = wanted[i].at("draft_margin").get<std::vector<double>>();
      for (const Token token : read) sequence.text().append(token);
      sequence.prefill(read, false);
      for (std::size_t at = 0; at < drafts.size(); ++at) {
        const speculation::Choice draft = sequence.draft(speculation::PredictionHead(), greedy[at], 0);
        if (margins[at] >= 0.02) {
          EXPECT_EQ(draft.token, drafts[at]) << "prompt " << i << ", draft " << at;
          ++compared;
        }
        sequence.text().append(greedy[at]);
        speculation::Verified verified;
        sequence.verify(speculation::TokenTree(greedy[at]), 0, verified);
        sequence.commit(std::vector<std::uint32_t>{0});
      }
    }
  }
  EXPECT_GT(compared, 0u);
}

}  // namespace
}  // namespace skipstone::engine
