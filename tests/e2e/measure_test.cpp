// The C API's measurements, and models without a file.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "skipstone/skipstone_experimental.hpp"

namespace {

skipstone::Engine synthetic(const char* specification) {
  skipstone_engine_params params = skipstone::engine_params();
  params.synthetic = specification;
  return skipstone::Engine(params);
}

skipstone_work work(std::uint32_t depth, std::uint32_t prompt, std::uint32_t generate, std::uint32_t rows) {
  skipstone_work w = skipstone::work();
  w.depth = depth;
  w.prompt = prompt;
  w.generate = generate;
  w.rows = rows;
  return w;
}

void expect_refusal(skipstone::Session& session, const skipstone_work& w, const std::string& part) {
  try {
    skipstone::measure(session, w);
    FAIL() << "nothing was thrown; wanted: " << part;
  } catch (const skipstone::error& error) {
    EXPECT_EQ(error.status(), SKIPSTONE_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

class Synthetic : public testing::TestWithParam<const char*> {};

TEST_P(Synthetic, TokensGoInAndComeOut) {
  const skipstone::Engine engine = synthetic(GetParam());
  const skipstone_engine_info info = engine.info();
  EXPECT_EQ(info.vocabulary, 512u);
  EXPECT_EQ(info.parameters, 260032u);
  EXPECT_GT(info.bytes_per_token, 0u);
  EXPECT_EQ(info.kv_bytes_per_token, 5u * 2 * 4 * 8 * 2);  // layers, K and V, heads, dimensions, half precision
  EXPECT_GE(info.max_rows, 16u);
  // Finite weights: sampling reads every logit, and refuses what is none.
  skipstone_session_params params = skipstone::session_params();
  params.temperature = 1.0f;
  params.draft = "none";
  skipstone::Session session(engine, params);
  std::size_t chunks = 0;
  session.generate({1, 2, 3}, 20, [&](const skipstone_chunk& chunk) {
    EXPECT_STREQ(chunk.text, "");
    EXPECT_GE(chunk.token, 0);
    ++chunks;
    return true;
  });
  EXPECT_EQ(chunks, 20u);
  const std::vector<skipstone_token> first = session.tokens();
  // The weights are the same each time.
  skipstone::Session again(synthetic(GetParam()), params);
  again.generate({1, 2, 3}, 20);
  EXPECT_EQ(again.tokens(), first);
}

// What the planes of each format hold: tests/gpu/random_weights_test.cpp.
INSTANTIATE_TEST_SUITE_P(Formats, Synthetic, testing::Values("stories-260k:q4_0"));

TEST(Synthetic, TextIsRefused) {
  const skipstone::Engine engine = synthetic("stories-260k:q4_0");
  for (const auto& call : {std::function<void()>([&] { engine.tokenize("text"); }), std::function<void()>([&] { engine.detokenize({1}); }),
                           std::function<void()>([&] { engine.piece(1); })}) {
    try {
      call();
      FAIL() << "nothing was thrown";
    } catch (const skipstone::error& error) {
      EXPECT_EQ(error.status(), SKIPSTONE_UNSUPPORTED);
      EXPECT_NE(std::string(error.what()).find("no tokenizer"), std::string::npos) << error.what();
    }
  }
}

TEST(Synthetic, AFileBesideItIsRefused) {
  skipstone_engine_params params = skipstone::engine_params();
  params.synthetic = "stories-260k:q4_0";
  params.model_path = "model.gguf";
  EXPECT_THROW(skipstone::Engine{params}, skipstone::error);
  EXPECT_NE(std::string(skipstone_synthetic_models()).find("llama-2-7b, "), std::string::npos);
}

std::vector<skipstone_token> some_tokens(std::uint32_t count, std::uint32_t seed) {
  std::vector<skipstone_token> tokens;
  for (std::uint32_t i = 0; i < count; ++i) tokens.push_back(static_cast<skipstone_token>(3 + (i * i + 7 * seed) % 200));
  return tokens;
}

TEST(TakeOver, GoesOnAsTheSessionThatHasReadTheText) {
  const skipstone::Engine engine = synthetic("stories-260k:q8_0");
  skipstone_session_params params = skipstone::session_params();
  params.temperature = 0.9f;
  params.seed = 5;
  params.draft = "none";
  const std::vector<skipstone_token> text = some_tokens(90, 1), turn = {9, 8};
  skipstone::Session reader(engine, params), own(engine, params);
  reader.prefill(some_tokens(40, 2));
  reader.reset();
  reader.prefill({});
  reader.prefill({text.begin(), text.begin() + 50});
  reader.prefill({text.begin() + 50, text.end()});
  own.prefill({text.begin(), text.begin() + 50});
  own.prefill({text.begin() + 50, text.end()});
  own.generate(turn, 12);
  for (const char* draft : {"none", "asd:gamma=0,k=3", "exit:2,k=4", "lookup"}) {
    params.draft = draft;
    skipstone::Session session(engine, params);
    session.generate(some_tokens(30, 3), 5);  // an older conversation
    session.copy_from(reader);
    session.generate(turn, 12);
    EXPECT_EQ(session.tokens(), own.tokens()) << draft;
  }
  reader.generate(turn, 12);
  EXPECT_EQ(reader.tokens(), own.tokens()) << "the conversation is copied, not moved";
  EXPECT_EQ(engine.info().validation_messages, 0u);
}

TEST(TakeOver, WhatCannotBeIsRefused) {
  const skipstone::Engine engine = synthetic("stories-260k:q8_0"), other = synthetic("stories-260k:q8_0");
  const skipstone_session_params params = skipstone::session_params();
  skipstone::Session session(engine, params), strange(other, params);
  EXPECT_THROW(session.copy_from(strange), skipstone::error);
  EXPECT_THROW(session.prefill(some_tokens(engine.info().context + 1, 1)), skipstone::error);
  session.generate({1, 2}, 3);  // it continues all the same
  EXPECT_EQ(session.tokens().size(), 3u);
}

TEST(Callbacks, CannotChangeTheirSession) {
  const skipstone::Engine engine = synthetic("stories-260k:q8_0");
  skipstone::Session session(engine), other(engine);
  std::vector<skipstone_status> refused;
  const skipstone_token token = 5;
  double seconds = 0;
  session.generate({1, 2}, 4, [&](const skipstone_chunk&) {
    skipstone_work work{};
    work.struct_size = sizeof(work);
    work.rows = 1;
    for (const skipstone_status status :
         {skipstone_session_generate(session.get(), &token, 1, 1, nullptr, nullptr), skipstone_session_reset(session.get()),
          skipstone_session_prefill(session.get(), &token, 1), skipstone_session_copy_from(session.get(), other.get()),
          skipstone_session_copy_from(other.get(), session.get()), skipstone_session_measure(session.get(), &work, &seconds)}) {
      refused.push_back(status);
    }
    EXPECT_NE(std::string(skipstone_last_error()).find("in use"), std::string::npos) << skipstone_last_error();
    return true;
  });
  EXPECT_EQ(refused, std::vector<skipstone_status>(4 * 6, SKIPSTONE_INVALID_ARGUMENT));
  EXPECT_EQ(session.tokens().size(), 4u);
  other.copy_from(session);  // and afterwards it may
  other.reset();
}

TEST(Measure, EveryKindOfWork) {
  const skipstone::Engine engine = synthetic("stories-260k:q8_0");
  skipstone_session_params params = skipstone::session_params();
  params.draft = "none";
  skipstone::Session session(engine, params);
  session.generate({5, 6}, 8);
  const std::vector<skipstone_token> plain = session.tokens();
  for (const skipstone_work& w : {work(0, 40, 0, 0), work(0, 0, 5, 0), work(64, 20, 3, 0), work(500, 0, 0, 1), work(500, 0, 0, 7),
                                  work(0, 0, 0, engine.info().max_rows), work(511, 0, 1, 0)}) {
    const double seconds = skipstone::measure(session, w);
    EXPECT_GT(seconds, 0.0);
    EXPECT_LT(seconds, 60.0);
  }
  // The session continues as an empty conversation.
  session.generate({5, 6}, 8);
  EXPECT_EQ(session.tokens(), plain);
  EXPECT_EQ(engine.info().validation_messages, 0u);
}

TEST(Measure, WhatCannotBeIsRefused) {
  const skipstone::Engine engine = synthetic("stories-260k:q8_0");
  skipstone::Session session(engine);
  expect_refusal(session, work(10, 0, 0, 0), "nothing to measure");
  expect_refusal(session, work(0, 4, 0, 4), "not of both");
  expect_refusal(session, work(0, 0, 0, engine.info().max_rows + 1), "cannot verify");
  skipstone_work chains = work(0, 0, 0, 2);
  chains.chains = 4000000000u;
  expect_refusal(session, chains, "too many");
  expect_refusal(session, work(500, 13, 0, 0), "context of 512");
  expect_refusal(session, work(0xffffffffu, 1, 0, 0), "context of 512");
}

TEST(Measure, CopyBandwidthIsPlausible) {
  const double rate = skipstone::copy_bandwidth();
  EXPECT_GT(rate, 1e8);
  EXPECT_LT(rate, 2e13);
  EXPECT_THROW(skipstone::copy_bandwidth("no such device"), skipstone::error);
}

}  // namespace
