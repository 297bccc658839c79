// "An engine may be shared by sessions and threads": threads that load, generate, cancel, measure and free in any order get the texts that
// one thread gets. tools/sanitize runs it under the thread sanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace skipstone::engine {
namespace {

using text::Token;

/// A conversation that any thread may have: the same tokens each time.
struct Conversation {
  const char* draft = "none";  ///< "model:": the test's own model
  float temperature = 0;
  const char* prompt = "";
  bool corpus = false;  ///< drafts are looked up in a file, too
};

// What they share of an engine: costs (auto), bigrams (ngram), embeddings (unigram), a corpus' index (suffix), the draft model.
constexpr Conversation conversations[] = {
    {"none", 0, "the quick brown fox"},
    {"exit:2,k=3", 0.8f, "one two three"},
    {"auto", 0, "a b a b a b a"},
    {"ngram:unigram=1", 0, "so it was"},
    {"lookup", 0.8f, "again and again and"},
    {"skip:attn:1;mlp:2,k=4", 0, "an old"},
    {"suffix", 0, "over the lazy", true},
    {"model:", 0, "as it is"},
};
constexpr std::uint32_t most_tokens = 24;

class Threads : public testing::Test {
 protected:
  Threads() {
    fixtures::TinyConfig config;
    config.layers = 3;
    config.dim = config.ffn = 32;
    config.heads = 2;
    config.kv_heads = 1;
    config.context = 96;
    config.tied = false;
    config.type = gguf::Type::q8_0;
    fixtures::write_tiny_model(config, file_);
    std::ofstream(corpus_) << "the quick brown fox jumps over the lazy dog, again and again and again, as it is";
    const auto engine = load();
    for (const Conversation& conversation : conversations) expected_.push_back(generate(engine, conversation, most_tokens));
  }

  std::shared_ptr<Engine> load() const {
    EngineOptions options;
    options.model_path = file_;
    return Engine::load(options);
  }

  std::unique_ptr<Session> open(const std::shared_ptr<Engine>& engine, const Conversation& conversation) const {
    SessionOptions options;
    options.draft = conversation.draft;
    if (options.draft == "model:") options.draft += file_;
    if (conversation.corpus) options.draft_corpus = {corpus_};
    options.sampling.temperature = conversation.temperature;
    options.sampling.seed = 7;
    return std::make_unique<Session>(engine, options);
  }

  /// The continuation, or where `cancel_at` is not 0 the tokens up to there.
  std::vector<Token> generate(const std::shared_ptr<Engine>& engine, const Conversation& conversation, std::uint32_t most,
                              std::uint32_t cancel_at = 0) const {
    const auto session = open(engine, conversation);
    std::vector<Token> tokens;
    session->generate(engine->tokenizer().encode(conversation.prompt, true, false), most, [&](const auto& emitted) {
      tokens.push_back(emitted.token);
      return tokens.size() != cancel_at;
    });
    return tokens;
  }

  /// What `thread` of `count` does: everything in an order of its own, on the engine of all or on one of its own.
  void live(unsigned thread, unsigned count, const std::shared_ptr<Engine>& shared) {
    std::minstd_rand random(thread + 1);
    std::shared_ptr<Engine> engine = shared;
    for (unsigned step = 0; step < steps; ++step) {
      const std::size_t which = random() % std::size(conversations);
      SCOPED_TRACE(testing::Message() << "thread " << thread << " of " << count << ", step " << step << ", " << conversations[which].draft);
      const std::vector<Token>& whole = expected_[which];
      switch ((thread + step) % 4) {
        case 0:
          EXPECT_EQ(generate(engine, conversations[which], most_tokens), whole);
          break;
        case 1: {
          const std::uint32_t cancelled = 1 + static_cast<std::uint32_t>(random() % whole.size());
          const auto last = whole.begin() + static_cast<std::ptrdiff_t>(cancelled);
          EXPECT_EQ(generate(engine, conversations[which], most_tokens, cancelled), std::vector<Token>(whole.begin(), last));
          break;
        }
        case 2:
          engine = random() % 2 == 0 ? load() : shared;
          EXPECT_FALSE(engine->costs({}).empty());
          EXPECT_GT(engine->device_bytes_held(), 0u);
          break;
        default: {  // two sessions at once, the engine let go of before them
          auto first = open(engine, conversations[which]), second = open(engine, conversations[0]);
          const auto prompt = engine->tokenizer().encode(conversations[which].prompt, true, false);
          engine = shared;
          EXPECT_EQ(first->generate(prompt, most_tokens, {}).tokens, whole);
          if (random() % 2 == 0) first.reset();
          second->prefill(prompt);
        }
      }
      ++done_;
    }
  }

  void run(unsigned count) {
    const auto shared = load();
    std::barrier start(static_cast<std::ptrdiff_t>(count));
    {
      std::vector<std::jthread> threads;
      for (unsigned thread = 0; thread < count; ++thread) {
        threads.emplace_back([&, thread, engine = shared] {
          start.arrive_and_wait();
          try {
            live(thread, count, engine);
          } catch (const std::exception& error) {
            ADD_FAILURE() << "thread " << thread << ": " << error.what();
          }
        });
      }
    }
    EXPECT_EQ(done_, count * steps);
    EXPECT_EQ(shared->validation_messages(), 0u);
  }

  static constexpr unsigned steps = 4;
  fixtures::TemporaryDirectory directory_;
  std::string file_ = directory_.file("tiny.gguf"), corpus_ = directory_.file("corpus.txt");
  std::vector<std::vector<Token>> expected_;
  std::atomic<unsigned> done_{0};
};

TEST_F(Threads, Two) { run(2); }
TEST_F(Threads, Four) { run(4); }
TEST_F(Threads, Eight) { run(8); }

// All in the same call at the same time: the first session of an engine, its measurement, a kernel that has not been made yet.
TEST_F(Threads, InStep) {
  for (const std::size_t which : {1, 2, 3, 6, 7}) {  // a sampler, costs, bigrams, a corpus, a draft model
    const Conversation& conversation = conversations[which];
    const std::vector<Token>& whole = expected_[which];
    const auto engine = load();
    std::barrier start(4);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        EXPECT_EQ(generate(engine, conversation, most_tokens), whole) << conversation.draft;
      });
    }
  }
}

}  // namespace
}  // namespace skipstone::engine
