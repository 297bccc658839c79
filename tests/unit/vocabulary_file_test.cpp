// Vocabularies read from GGUF files that the tests write.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/status.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/warnings.h"
#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "text/tokenizer.h"
#include "unit/handmade_vocabulary.h"

namespace skipstone::text {
namespace {

Vocabulary vocabulary_of(const std::string& path) { return Vocabulary::from(gguf::File::open(path)); }

class VocabularyFile : public testing::Test {
 protected:
  using Change = std::function<void(gguf::Writer&)>;

  // Writes `v` without its special ids and flags, then whatever `change` adds or replaces, and reads the file.
  Vocabulary read(const Vocabulary& v, const Change& change) const {
    gguf::Writer writer;
    writer.set("general.architecture", std::string("llama"));
    writer.set("tokenizer.ggml.model", v.model);
    writer.set_strings("tokenizer.ggml.tokens", v.tokens);
    std::vector<std::int32_t> types;
    for (const TokenType type : v.types) types.push_back(static_cast<std::int32_t>(type));
    writer.set_integers("tokenizer.ggml.token_type", types);
    if (v.model == "llama") writer.set_floats("tokenizer.ggml.scores", v.scores);
    if (v.model == "gpt2") {
      writer.set_strings("tokenizer.ggml.merges", v.merges);
      writer.set("tokenizer.ggml.pre", v.pre);
    }
    if (change) change(writer);
    writer.write(path_);
    return vocabulary_of(path_);
  }

  void expect_refused(const Vocabulary& v, const Change& change, Code code, std::string_view says) const {
    try {
      (void)read(v, change);
      FAIL() << "accepted, where it should say " << says;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }

  const fixtures::TemporaryDirectory folder_;
  const std::string path_ = folder_.file("vocabulary.gguf");
};

TEST_F(VocabularyFile, SilentLlamaFilesGetTheDefaults) {
  const Vocabulary written = handmade::sentencepiece();
  const Vocabulary v = read(written, nullptr);
  EXPECT_EQ(v.tokens, written.tokens);
  EXPECT_EQ(v.scores, written.scores);
  EXPECT_EQ(v.types, written.types);
  EXPECT_EQ((std::array{v.unknown, v.bos, v.eos, v.eot}), (std::array{0, 1, 2, -1}));
  EXPECT_TRUE(v.add_bos);
  EXPECT_FALSE(v.add_eos);
  EXPECT_TRUE(v.add_space_prefix);
  EXPECT_EQ(v.end_of_generation, std::vector<Token>{2});
}

TEST_F(VocabularyFile, SilentByteLevelFilesGetTheDefaults) {
  Vocabulary written = handmade::byte_level("gpt-2");
  const Vocabulary v = read(written, nullptr);
  EXPECT_EQ(v.merges, written.merges);
  EXPECT_EQ((std::array{v.unknown, v.bos, v.eos, v.eot}), (std::array{-1, -1, -1, -1}));
  EXPECT_FALSE(v.add_bos);
  EXPECT_FALSE(v.add_space_prefix);
  EXPECT_EQ(v.end_of_generation, std::vector<Token>{written.eos}) << "<|im_end|> by its name";
  written.pre = "llama-bpe";
  const auto with_bos = [](gguf::Writer& w) { w.set("tokenizer.ggml.bos_token_id", std::uint32_t{7}); };
  EXPECT_TRUE(read(written, with_bos).add_bos) << "Llama 3 files mean BOS where they do not say";
  EXPECT_FALSE(read(written, [&](gguf::Writer& w) {
                 with_bos(w);
                 w.set("tokenizer.ggml.add_bos_token", false);
               }).add_bos);
}

TEST_F(VocabularyFile, WhatTheFileSaysIsRead) {
  const Vocabulary v = read(handmade::sentencepiece(), [](gguf::Writer& w) {
    w.set("tokenizer.ggml.bos_token_id", std::uint32_t{2});
    w.set("tokenizer.ggml.eos_token_id", std::uint32_t{1});
    w.set("tokenizer.ggml.eot_token_id", std::uint32_t{9});
    w.set("tokenizer.ggml.add_bos_token", false);
    w.set("tokenizer.ggml.add_eos_token", true);
    w.set("tokenizer.ggml.add_space_prefix", false);
  });
  EXPECT_EQ((std::array{v.bos, v.eos, v.eot}), (std::array{2, 1, 9}));
  EXPECT_FALSE(v.add_bos);
  EXPECT_TRUE(v.add_eos);
  EXPECT_FALSE(v.add_space_prefix);
  EXPECT_EQ(v.end_of_generation, (std::vector<Token>{1, 2, 9})) << "</s> ends a text under any id";
}

TEST_F(VocabularyFile, TokensForCallersAreReadUnderBothNames) {
  const auto id = [](std::uint32_t number) { return number; };
  const Vocabulary v = read(handmade::sentencepiece(), [&](gguf::Writer& w) {
    w.set("tokenizer.ggml.eom_token_id", id(9));
    w.set("tokenizer.ggml.padding_token_id", id(0xFFFFFFFF));  // as files in use have it
    w.set("tokenizer.ggml.fim_pre_token_id", id(4));
    w.set("tokenizer.ggml.prefix_token_id", id(5));
    w.set("tokenizer.ggml.suffix_token_id", id(6));
  });
  EXPECT_EQ((std::array{v.eom, v.padding, v.fill_prefix, v.fill_suffix, v.fill_middle}), (std::array{9, -1, 4, 6, -1}));
  EXPECT_EQ(v.end_of_generation, (std::vector<Token>{2, 9}));
}

TEST_F(VocabularyFile, DamagedFilesAreRefused) {
  const Vocabulary spm = handmade::sentencepiece();
  const std::size_t size = spm.tokens.size();
  const auto refuse = [&](std::string_view says, const Change& change) { expect_refused(spm, change, Code::bad_file, says); };
  refuse("eos_token_id", [](gguf::Writer& w) { w.set("tokenizer.ggml.eos_token_id", std::string("2")); });
  refuse("2 scores", [](gguf::Writer& w) { w.set_floats("tokenizer.ggml.scores", {1.0F, 2.0F}); });
  refuse("3 token types", [](gguf::Writer& w) { w.set_integers("tokenizer.ggml.token_type", {1, 2, 3}); });
  refuse("77", [=](gguf::Writer& w) { w.set_integers("tokenizer.ggml.token_type", std::vector<std::int32_t>(size, 77)); });
  refuse("tokenizer.ggml.tokens", [](gguf::Writer& w) { w.set_strings("tokenizer.ggml.tokens", {}); });
}

TEST_F(VocabularyFile, IdsOutsideTheVocabularyAreThoseOfNoToken) {
  const Vocabulary spm = handmade::sentencepiece();
  const auto size = static_cast<std::uint32_t>(spm.tokens.size());
  const auto outside = [=](gguf::Writer& w) {
    w.set("tokenizer.ggml.bos_token_id", size);
    w.set("tokenizer.ggml.eos_token_id", std::uint32_t{0xFFFFFFFF});
    w.set("tokenizer.ggml.unknown_token_id", std::int32_t{-1});
    w.set("tokenizer.ggml.eot_token_id", std::uint64_t{1} << 40);
    w.set("tokenizer.ggml.eom_token_id", std::int64_t{-7});
    w.set("tokenizer.ggml.add_bos_token", true);
    w.set("tokenizer.ggml.add_eos_token", true);
  };
  const fixtures::Warnings warnings;
  const Vocabulary llama = read(spm, outside);
  EXPECT_EQ((std::array{llama.unknown, llama.bos, llama.eos, llama.eot, llama.eom}), (std::array{0, 1, 2, -1, -1})) << "as if not given";
  EXPECT_TRUE(llama.add_bos);
  ASSERT_EQ(warnings.texts.size(), 1u);
  for (const char* id : {"bos_token_id ", "eos_token_id 4294967295", "unknown_token_id -1", "eot_token_id 1099511627776"}) {
    EXPECT_NE(warnings.texts[0].find(id), std::string::npos) << warnings.texts[0];
  }
  const Vocabulary gpt2 = read(handmade::byte_level("gpt-2"), outside);
  EXPECT_EQ((std::array{gpt2.unknown, gpt2.bos, gpt2.eos, gpt2.eot}), (std::array{-1, -1, -1, -1}));
  EXPECT_FALSE(gpt2.add_bos || gpt2.add_eos) << "there is none to add";
  EXPECT_EQ(warnings.texts.size(), 2u);
  EXPECT_EQ(Tokenizer(gpt2).encode("a", true, true).size(), 1u);
}

TEST_F(VocabularyFile, ATokenThatIsAskedForAndNotNamedIsLeftOut) {
  const fixtures::Warnings warnings;
  EXPECT_FALSE(read(handmade::byte_level("gpt-2"), [](gguf::Writer& w) { w.set("tokenizer.ggml.add_bos_token", true); }).add_bos);
  EXPECT_EQ(warnings.texts.size(), 1u);
}

TEST_F(VocabularyFile, APreTokenizerCanBeChosen) {
  const Vocabulary written = handmade::byte_level("elvish");
  expect_refused(written, nullptr, Code::unsupported, "--pre NAME");
  {  // a file that is open is not replaced on Windows
    const gguf::File file = gguf::File::open(path_);
    const Vocabulary v = Vocabulary::from(file, "qwen2");
    EXPECT_EQ(v.pre, "qwen2");
    EXPECT_FALSE(v.add_bos);
    EXPECT_EQ(Tokenizer(v).encode("12", false, false).size(), 2u);
    EXPECT_THROW((void)Vocabulary::from(file, "dwarvish"), Error);
  }
  (void)read(handmade::sentencepiece(), nullptr);
  try {
    (void)Vocabulary::from(gguf::File::open(path_), "qwen2");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("only byte-level BPE"), std::string::npos) << error.what();
  }
}

TEST_F(VocabularyFile, ATurnEndsAtEveryTokenThatSaysSo) {
  Vocabulary written = handmade::byte_level("gpt-2");
  const Token eot = handmade::add(written, "<|eot_id|>", TokenType::control);
  const Token turn = handmade::add(written, "<end_of_turn>", TokenType::normal);  // as some files have it
  const Token tag = handmade::add(written, "</s>", TokenType::normal);            // may be HTML
  const Token own = handmade::add(written, "<|over|>", TokenType::control);
  const Vocabulary v = read(written, [&](gguf::Writer& w) { w.set_integers("skipstone.end_token_ids", {static_cast<std::int32_t>(own)}); });
  EXPECT_EQ(v.end_of_generation, (std::vector<Token>{written.eos, eot, turn, own}));
  EXPECT_EQ(v.types[static_cast<std::size_t>(turn)], TokenType::control) << "no text may spell it";
  EXPECT_EQ(v.types[static_cast<std::size_t>(tag)], TokenType::normal);
  expect_refused(
      written, [](gguf::Writer& w) { w.set_integers("skipstone.end_token_ids", {-1}); }, Code::bad_file, "end_token_ids");
}

TEST_F(VocabularyFile, TheEndOfAMessageIsNoEndInHarmony) {
  Vocabulary written = handmade::byte_level("gpt-4o");
  const Token end = handmade::add(written, "<|end|>", TokenType::control);
  EXPECT_EQ(read(written, nullptr).end_of_generation, (std::vector<Token>{written.eos, end})) << "Phi-3";
  const Token done = handmade::add(written, "<|return|>", TokenType::control),
              call = handmade::add(written, "<|call|>", TokenType::control);
  EXPECT_EQ(read(written, nullptr).end_of_generation, (std::vector<Token>{written.eos, done, call})) << "gpt-oss";
  const auto eos = [&](gguf::Writer& w) { w.set("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(end)); };
  EXPECT_EQ(read(written, eos).end_of_generation, (std::vector<Token>{written.eos, end, done, call})) << "the file has the last word";
}

TEST_F(VocabularyFile, AddedTokensTakeTheSpacesThatTheirFlagsSay) {
  Vocabulary written = handmade::byte_level("gpt-2");
  const Token left = handmade::add(written, "<mask>", TokenType::user_defined),
              right = handmade::add(written, "<|user|>", TokenType::control);
  const Token word = handmade::add(written, "km", TokenType::user_defined);
  const auto flags = [&](gguf::Writer& w) {
    w.set_integers("skipstone.strip_left_token_ids", {left});
    w.set_integers("skipstone.strip_right_token_ids", {right});
    w.set_integers("skipstone.single_word_token_ids", {word});
  };
  const Tokenizer tokenizer(read(written, flags));
  const Token a = handmade::id_of(written, "a"), k = handmade::id_of(written, "k"), m = handmade::id_of(written, "m"),
              space = handmade::id_of(written, "Ġ");
  const auto ids = [&](std::string_view text) { return tokenizer.encode(text, false, true); };
  EXPECT_EQ(ids("a \n\u3000<mask> a"), (std::vector<Token>{a, left, space, a}));
  EXPECT_EQ(ids("<|user|> \t\u00a0\na <|user|>"), (std::vector<Token>{right, a, space, right}));
  EXPECT_EQ(ids("<|user|>  <mask>"), (std::vector<Token>{right, left})) << "a space is taken once";
  EXPECT_EQ(ids("km"), std::vector<Token>{word});
  EXPECT_EQ(ids("a km."), (std::vector<Token>{a, space, word, handmade::id_of(written, ".")}));
  EXPECT_EQ(ids("akm"), (std::vector<Token>{a, k, m}));
  EXPECT_EQ(ids("kma"), (std::vector<Token>{k, m, a}));
  const std::string text = "a <mask> a<|user|> a";
  const Span all[] = {{0, text.size()}};
  std::string joined;
  for (const Stretch& stretch : tokenizer.stretches(text, all, {})) joined += text.substr(stretch.begin, stretch.end - stretch.begin);
  EXPECT_EQ(joined, text);
  expect_refused(
      written, [](gguf::Writer& w) { w.set_integers("skipstone.strip_left_token_ids", {1 << 20}); }, Code::bad_file,
      "strip_left_token_ids");
}

TEST_F(VocabularyFile, Phi3FilesStripWithoutSaying) {
  Vocabulary written = handmade::sentencepiece();
  const Token user = handmade::add(written, "<|user|>", TokenType::control, 0);
  const auto named = [](const char* name) { return [=](gguf::Writer& w) { w.set("general.name", std::string(name)); }; };
  const Vocabulary phi = read(written, named("Phi 3 / phi-3-mini"));
  EXPECT_TRUE(phi.flags.at(user).strip_right);
  EXPECT_TRUE(phi.flags.at(2).strip_right) << "</s>";
  EXPECT_FALSE(phi.flags.contains(1)) << "<s>";
  EXPECT_TRUE(read(written, named("Llama")).flags.empty());
}

TEST_F(VocabularyFile, WhatThisBuildCannotDoIsRefusedByName) {
  expect_refused(handmade::byte_level("elvish"), nullptr, Code::unsupported, "elvish");
  Vocabulary other = handmade::sentencepiece();
  other.model = "bert";
  expect_refused(other, nullptr, Code::unsupported, "bert");
  other.model = "";
  expect_refused(other, nullptr, Code::bad_file, "tokenizer.ggml.model");
}

}  // namespace
}  // namespace skipstone::text
