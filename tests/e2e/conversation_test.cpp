// Conversations that are saved, loaded, forked and rewound continue as if nothing had been done with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "fixtures/process.h"
#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "skipstone/skipstone.hpp"

namespace {

using Tokens = std::vector<skipstone_token>;
namespace fixtures = skipstone::fixtures;

const std::vector<const char*> drafters = {"none",   "exit:2,k=3", "suffix", "auto", "lookup", "skip:attn:1;mlp:2,k=4", "suffix+exit:2,k=2",
                                           "recycle"};
constexpr std::uint32_t vocabulary_used = 120, most_more = 24;

/// Half of the layers of gemma2 see 12 keys, most of lfm2 three positions, and texts are longer than what these layers keep.
std::string write_model_with_windows(const std::string& file, const char* family) {
  fixtures::TinyConfig config = fixtures::tiny_family(family);
  config.context = 1280;
  fixtures::write_tiny_model(config, file);
  return file;
}

std::string write_model(const std::string& file, std::uint32_t layers) {
  fixtures::TinyConfig config;
  config.layers = layers;
  config.dim = config.ffn = 64;
  config.heads = 2;
  config.kv_heads = 1;
  config.context = 320;
  config.tied = false;
  fixtures::write_tiny_model(config, file);
  return file;
}

skipstone::Engine engine_of(const std::string& model, std::uint32_t context = 0, skipstone_kv_type kv = SKIPSTONE_KV_AUTOMATIC,
                            skipstone_kv_type kv_v = SKIPSTONE_KV_AUTOMATIC) {
  auto params = skipstone::engine_params();
  params.model_path = model.c_str();
  params.context = context;
  params.kv_type = kv;
  params.kv_type_v = kv_v;
  return skipstone::Engine(params);
}

/// What is done with a session before it is saved: pairs of tokens that are appended and how many are generated (0: read alone), then
/// tokens that are rolled back.
struct Case {
  const char* draft = "none";
  float temperature = 0;
  std::vector<std::pair<Tokens, std::uint32_t>> turns;
  std::size_t back = 0;
  Tokens more;
};

Tokens random_tokens(std::mt19937& random, std::size_t count) {
  Tokens tokens(count);
  for (skipstone_token& token : tokens) token = static_cast<skipstone_token>(3 + random() % (vocabulary_used - 3));
  return tokens;
}

/// `longer`: tokens that each prompt has besides.
Case random_case(std::mt19937& random, std::size_t longer = 0) {
  Case c;
  c.draft = drafters[random() % drafters.size()];
  c.temperature = random() % 2 == 0 ? 0.0f : 0.8f;
  const std::size_t turns = 1 + random() % 2;
  for (std::size_t i = 0; i < turns; ++i)
    c.turns.emplace_back(random_tokens(random, 1 + random() % 60 + longer), static_cast<std::uint32_t>(random() % 50));
  if (random() % 3 == 0) {  // a continuation of which 100 tokens, or fewer, are rolled back
    c.turns.back().second = 101 + static_cast<std::uint32_t>(random() % 15);
    c.back = random() % 2 == 0 ? 100 : 1 + random() % 100;
  }
  c.more = random_tokens(random, 1 + random() % 20);
  return c;
}

skipstone::Session open(const skipstone::Engine& engine, const Case& c) {
  auto params = skipstone::session_params();
  params.draft = c.draft;
  params.temperature = c.temperature;
  params.seed = 11;
  return skipstone::Session(engine, params);
}

Tokens go_on(skipstone::Session& session, const Tokens& more) {
  session.generate(more, most_more);
  return session.tokens();
}

void take_turns(skipstone::Session& session, const Case& c) {
  for (const auto& [tokens, most] : c.turns) {
    if (most == 0) {
      session.prefill(tokens);
    } else {
      session.generate(tokens, most);
    }
  }
}

/// What the case's session would be, had its last continuation ended where it is rewound to.
Tokens expected_of(const skipstone::Engine& engine, const Case& c, std::size_t generated_last) {
  Case ended = c;
  if (c.back > 0) ended.turns.back().second = static_cast<std::uint32_t>(generated_last - c.back);
  ended.draft = "none";
  skipstone::Session session = open(engine, ended);
  take_turns(session, ended);
  return go_on(session, c.more);
}

/// What a process of its own prints for the cases in `folder`, a line each.
std::string continued_elsewhere(const std::string& model, const std::string& folder, int cases) {
  fixtures::Process process(
      {.program = SKIPSTONE_CONTINUE, .arguments = {model, folder, std::to_string(cases), std::to_string(most_more)}});
  process.give_input("");
  std::string out, error;
  while (process.read(out, error, -1)) {
  }
  EXPECT_EQ(process.wait().code, 0) << error;
  return out;
}

/// `far`: tokens that some of the cases are rolled back besides, beyond what sliding-window layers keep.
void go_on_alike(const std::string& model, const fixtures::TemporaryDirectory& folder, int cases, std::size_t longer, std::size_t far) {
  const skipstone::Engine engine = engine_of(model);
  std::mt19937 random(5);
  std::vector<Tokens> expected;
  int rewound = 0;
  for (int i = 0; i < cases; ++i) {
    Case c = random_case(random, longer);
    if (far > 0 && i % 2 == 0) {
      c.turns.back().second = static_cast<std::uint32_t>(far + 20);
      c.back = far + random() % 20;
    }
    SCOPED_TRACE(testing::Message() << "case " << i << ", " << c.draft << ", temperature " << c.temperature << ", " << c.back << " back");
    skipstone::Session session = open(engine, c);
    take_turns(session, c);
    const std::size_t last = session.tokens().size();
    Case replayed = c;
    if (c.back >= last) replayed.back = 0;  // an end token came early
    if (replayed.back > 0) session.rewind(replayed.back);
    rewound += replayed.back > 0 ? 1 : 0;
    expected.push_back(expected_of(engine, replayed, last));
    const std::string name = folder.file(std::to_string(i));
    session.save(name + ".conversation");
    std::ofstream file(name + ".case");
    file << c.draft << " " << c.temperature;
    for (const skipstone_token token : c.more) file << " " << token;
    file.close();
    for (int fork = 0; fork < 3; ++fork) {
      skipstone::Session forked = session.fork();
      EXPECT_EQ(forked.length(), session.length());
      Case other = replayed;
      other.more = fork == 0 ? c.more : random_tokens(random, 1 + random() % 8);
      EXPECT_EQ(go_on(forked, other.more), expected_of(engine, other, last)) << "fork " << fork;
    }
    EXPECT_EQ(go_on(session, c.more), expected.back()) << "saving and forking change nothing";
  }
  EXPECT_GT(rewound, cases / 8);
  std::istringstream lines(continued_elsewhere(model, folder.file(""), cases));
  std::string line;
  for (int i = 0; i < cases; ++i) {
    ASSERT_TRUE(std::getline(lines, line)) << i;
    std::istringstream words(line);
    const Tokens tokens{std::istream_iterator<skipstone_token>(words), std::istream_iterator<skipstone_token>()};
    EXPECT_EQ(tokens, expected[static_cast<std::size_t>(i)]) << "case " << i << " in another process";
  }
}

TEST(Conversation, GoesOnAlikeWhenLoadedInAnotherProcessForkedAndRewound) {
  const fixtures::TemporaryDirectory folder;
  go_on_alike(write_model(folder.file("tiny.gguf"), 3), folder, fixtures::slow_device_or_validation() ? 20 : 200, 0, 0);
}

TEST(Conversation, GoesOnAlikeWhereLayersWithAWindowHaveGivenPagesBack) {
  if (fixtures::slow_device_or_validation()) GTEST_SKIP() << fixtures::left_to_the_sweep << "; the other tests make the same calls";
  const int conversations = fixtures::full_sweep() ? 12 : 4;
  for (const char* family : {"gemma2", "gemma4", "lfm2", "qwen35"}) {
    const fixtures::TemporaryDirectory folder;
    go_on_alike(write_model_with_windows(folder.file("tiny.gguf"), family), folder, conversations, 350, 300);
  }
}

TEST(Conversation, LogitsBehindALoadedContinuationHaveTheSameBits) {
  const fixtures::TemporaryDirectory folder;
  const std::string model = write_model(folder.file("tiny.gguf"), 3), file = folder.file("c");
  std::mt19937 random(6);
  using Types = std::pair<skipstone_kv_type, skipstone_kv_type>;
  const Types caches[] = {{SKIPSTONE_KV_F16, SKIPSTONE_KV_F16},
                          {SKIPSTONE_KV_F32, SKIPSTONE_KV_F32},
                          {SKIPSTONE_KV_Q8_0, SKIPSTONE_KV_Q8_0},
                          {SKIPSTONE_KV_Q4_0, SKIPSTONE_KV_Q5_1}};
  for (const auto& [kv, kv_v] : caches) {
    const skipstone::Engine engine = engine_of(model, 0, kv, kv_v);
    skipstone::Session session = open(engine, {}), other = open(engine, {});
    session.generate(random_tokens(random, 70), 20);
    session.save(file);
    other.load(file);
    EXPECT_EQ(session.logits(), other.logits());
    EXPECT_EQ(go_on(session, {}), go_on(other, {}));
  }
}

TEST(Conversation, AnEmptyOneIsSavedToo) {
  const fixtures::TemporaryDirectory folder;
  const skipstone::Engine engine = engine_of(write_model(folder.file("tiny.gguf"), 2));
  skipstone::Session session = open(engine, {}), other = open(engine, {});
  session.save(folder.file("empty"));
  other.generate({5, 6, 7}, 5);
  other.load(folder.file("empty"));
  EXPECT_EQ(other.length(), 0u);
  EXPECT_EQ(go_on(other, {5, 6, 7}), go_on(session, {5, 6, 7}));
}

/// The status, and the sentence, of loading `file`; the session has to continue as it would have.
class Refusals : public testing::Test {
 protected:
  Refusals() : model_(write_model(folder_.file("tiny.gguf"), 2)), engine_(engine_of(model_)) {
    skipstone::Session session = open(engine_, {});
    session.generate({9, 8, 7, 6, 5}, 12);
    session.save(file_);
    std::ifstream in(file_, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::string load_error(const std::string& path, skipstone_status status) {
    skipstone::Session session = open(engine_, {}), plain = open(engine_, {});
    session.generate({4, 5, 6}, 6);
    plain.generate({4, 5, 6}, 6);
    EXPECT_EQ(skipstone_session_load(session.get(), path.c_str()), status);
    const std::string sentence = skipstone_last_error();
    EXPECT_EQ(go_on(session, {7}), go_on(plain, {7})) << "what could not be loaded has changed the session";
    return sentence;
  }
  std::string write(const std::string& bytes) const {
    std::ofstream(folder_.file("changed"), std::ios::binary) << bytes;
    return folder_.file("changed");
  }

  fixtures::TemporaryDirectory folder_;
  std::string model_;
  skipstone::Engine engine_;
  std::string file_ = folder_.file("saved"), bytes_;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(Refusals, FilesOfAnotherModelContextOrPrecision) {
  const auto refusal = [&](const skipstone::Engine& engine) {
    skipstone::Session session = open(engine, {});
    EXPECT_EQ(skipstone_session_load(session.get(), file_.c_str()), SKIPSTONE_INVALID_ARGUMENT);
    EXPECT_EQ(session.length(), 0u);
    return std::string(skipstone_last_error());
  };
  EXPECT_TRUE(contains(refusal(engine_of(write_model(folder_.file("other.gguf"), 3))), "another model"));
  EXPECT_TRUE(contains(refusal(engine_of(model_, 128)), "another context (320; here 128)"));
  EXPECT_TRUE(contains(refusal(engine_of(model_, 0, SKIPSTONE_KV_F32)), "another precision of the cache"));
  EXPECT_TRUE(contains(refusal(engine_of(model_, 0, SKIPSTONE_KV_F16, SKIPSTONE_KV_F32)),
                       R"(another precision of the cache ("f16"; here "f16/f32"))"));
}

/// Few devices have another math to save with, so the header is made to say so.
TEST_F(Refusals, FilesOfAnotherMath) {
  std::string changed = bytes_;
  const std::string math = "\"math\":\"f32\"";
  const std::size_t at = changed.find(math);
  ASSERT_NE(at, std::string::npos);
  changed.replace(at, math.size(), "\"math\":\"f16\"");
  EXPECT_TRUE(contains(load_error(write(changed), SKIPSTONE_INVALID_ARGUMENT), "another math"));
}

TEST_F(Refusals, WhatIsNoConversation) {
  EXPECT_TRUE(contains(load_error(folder_.file("absent"), SKIPSTONE_NOT_FOUND), "absent"));
  EXPECT_TRUE(contains(load_error(model_, SKIPSTONE_BAD_FILE), "no saved conversation"));
  EXPECT_TRUE(contains(load_error(write("SKIP"), SKIPSTONE_BAD_FILE), "too short"));
  std::string later = bytes_;
  later[8] = 3;
  EXPECT_TRUE(contains(load_error(write(later), SKIPSTONE_BAD_FILE), "version 3"));
  skipstone::Session session = open(engine_, {});
  EXPECT_EQ(skipstone_session_save(session.get(), folder_.file("no/such/folder").c_str()), SKIPSTONE_IO);
  EXPECT_EQ(skipstone_session_save(session.get(), nullptr), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(skipstone_session_load(session.get(), nullptr), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(skipstone_session_fork(session.get(), nullptr), SKIPSTONE_INVALID_ARGUMENT);
}

TEST_F(Refusals, DamagedFilesWhereverTheDamageIs) {
  std::mt19937 random(7);
  const std::size_t header = bytes_.find("\"layers_left_out\"");
  ASSERT_NE(header, std::string::npos);
  for (int i = 0; i < 120; ++i) {
    std::string damaged = bytes_;
    if (i % 4 == 0) {
      damaged.resize(random() % bytes_.size());
    } else {
      damaged[random() % (i % 4 == 1 ? header : bytes_.size())] ^= static_cast<char>(1 + random() % 255);
    }
    skipstone::Session session = open(engine_, {});
    EXPECT_NE(skipstone_session_load(session.get(), write(damaged).c_str()), SKIPSTONE_OK) << i;
    EXPECT_EQ(session.length(), 0u);
  }
  load_error(write(bytes_ + "x"), SKIPSTONE_BAD_FILE);
}

/// A header that is well formed, with the sum that belongs to it, may still say what cannot be.
TEST_F(Refusals, HeadersThatContradictThemselves) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"\"committed\":16", "\"committed\":99"},
                                                                                 {"\"prompts\":[[0,5]]", "\"prompts\":[[5,0]]"},
                                                                                 {"\"prompts\":[[0,5]]", "\"prompts\":[[0,99]]"},
                                                                                 {"\"prompts\":[[0,5]]", "\"prompts\":[[0]]"},
                                                                                 {"\"tokens\":[9", "\"tokens\":[-9"},
                                                                                 {"\"tokens\":[9", "\"tokens\":[99999999"},
                                                                                 {"\"tokens\":[9", "\"tokens\":[\"9\""},
                                                                                 {"\"left_pages\":0", "\"left_pages\":7"},
                                                                                 {"\"left_pages\":0", "\"left_pages\":-1"},
                                                                                 {"\"layers_left_out\":false", "\"layers_left_out\":0"}}) {
    std::string changed = bytes_;
    const std::size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << changed.substr(0, 900);
    changed.replace(at, from.size(), to);
    const auto length = static_cast<std::uint32_t>(changed.find("\"layers_left_out\""));
    const std::size_t end = changed.find('}', length) + 1;
    const auto header_bytes = static_cast<std::uint32_t>(end - 16);
    for (int byte = 0; byte < 4; ++byte) changed[12 + static_cast<std::size_t>(byte)] = static_cast<char>(header_bytes >> 8 * byte);
    EXPECT_TRUE(contains(load_error(write(changed), SKIPSTONE_BAD_FILE), "is damaged")) << to;
  }
}

}  // namespace
