// The tokenizers on vocabularies written by hand.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <thread>

#include "base/status.h"
#include "text/pretokenizer.h"
#include "unit/handmade_vocabulary.h"

namespace skipstone::text {
namespace {

using handmade::id_of;
using handmade::ids_of;
using Words = std::vector<std::string_view>;

template <typename Call>
std::pair<Code, std::string> error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {Code::ok, ""};
}

std::string random_text(std::mt19937& random, std::size_t characters) {
  const auto below = [&random](std::uint32_t bound) { return static_cast<char32_t>(random() % bound); };
  std::string text;
  for (std::size_t i = 0; i < characters; ++i) {
    char32_t c = 0;
    switch (below(6)) {
      case 0:
        c = below(0x80);
        break;
      case 1:
        c = U'a' + below(26);
        break;
      case 2:
        c = below(2) != 0 ? U' ' : U'\n';
        break;
      case 3:
        c = 0x80 + below(0x780);
        break;
      case 4:
        c = 0x800 + below(0xF800);
        break;
      default:
        c = 0x10000 + below(0x100000);
        break;
    }
    if (c >= 0xD800 && c <= 0xDFFF) c = 0x1F680;
    if (c == 0x2581) c = U' ';  // SentencePiece's mark for a space comes back as a space
    append_utf8(text, c);
  }
  return text;
}

/// Pieces for runs of a, b and c, and their merges; bytes are tokens 2 to 257.
Vocabulary ranked() {
  Vocabulary v;
  v.model = "gemma4";
  v.unknown = handmade::add(v, "<unk>", TokenType::unknown);
  v.bos = handmade::add(v, "<bos>", TokenType::control);
  for (int b = 0; b < 256; ++b) handmade::add(v, fmt::format("<0x{:02X}>", b), TokenType::byte);
  for (const char* piece : {"▁", "a", "b", "c", "ab", "bc", "abc", "▁a"}) handmade::add(v, piece, TokenType::normal, -1000.0f);
  v.merges = {"b c", "a b", "▁ a", "a bc"};
  v.add_space_prefix = false;
  return v;
}

TEST(RankedMerges, JoinTheLowestRankFirst) {
  const Vocabulary v = ranked();
  const Tokenizer tokenizer(v);
  const auto encode = [&](std::string_view text) { return tokenizer.encode(text, false, false); };
  EXPECT_EQ(encode("abc"), ids_of(v, {"abc"})) << "b c, then a bc";
  EXPECT_EQ(encode("ab abc"), ids_of(v, {"ab", "▁a", "bc"})) << "▁ a goes before a bc";
  EXPECT_EQ(encode(" ab"), ids_of(v, {"▁", "ab"}));
  EXPECT_EQ(encode(" aa"), ids_of(v, {"▁a", "a"})) << "no space goes in front";
  EXPECT_EQ(encode("aé"), ids_of(v, {"a", "<0xC3>", "<0xA9>"}));
  EXPECT_EQ(tokenizer.decode(encode(" ab\n é abc")), " ab\n é abc");
}

TEST(RankedMerges, AreOfTokens) {
  Vocabulary v = ranked();
  v.merges.push_back("a c");
  const auto [code, sentence] = error_of([&] { Tokenizer tokenizer(v); });
  EXPECT_EQ(code, Code::bad_file);
  EXPECT_NE(sentence.find("has a part that is no token"), std::string::npos) << sentence;
  v.merges.back() = "ac";
  EXPECT_NE(error_of([&] { Tokenizer tokenizer(v); }).second.find("is not two symbols"), std::string::npos);
}

TEST(Utf8, FindsTheFirstByteThatIsWrong) {
  constexpr std::size_t no_place = std::string_view::npos;
  using namespace std::string_view_literals;
  EXPECT_EQ(find_invalid_utf8(""), no_place);
  EXPECT_EQ(find_invalid_utf8("a\0é→🚀\U0010FFFF\uFFFD"sv), no_place);
  EXPECT_EQ(find_invalid_utf8("\xED\x9F\xBF\xEE\x80\x80"), no_place) << "U+D7FF and U+E000 surround the surrogates";
  EXPECT_EQ(find_invalid_utf8("ab\x80"), 2u) << "a continuation byte alone";
  EXPECT_EQ(find_invalid_utf8("a\xC0\x80"), 1u) << "overlong NUL";
  EXPECT_EQ(find_invalid_utf8("a\xC1\xBF"), 1u) << "overlong two bytes";
  EXPECT_EQ(find_invalid_utf8("é\xE0\x9F\xBF"), 2u) << "overlong three bytes";
  EXPECT_EQ(find_invalid_utf8("\xF0\x8F\xBF\xBF"), 0u) << "overlong four bytes";
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0u) << "a surrogate";
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0u) << "above U+10FFFF";
  EXPECT_EQ(find_invalid_utf8("\xF5\x80\x80\x80"), 0u);
  EXPECT_EQ(find_invalid_utf8("abc\xE2\x82"), 3u) << "cut off at the end";
  EXPECT_EQ(find_invalid_utf8("abc\xE2\x82xyz"), 3u) << "cut off in the middle";
}

TEST(SentencePiece, MergesTheBestScoreFirst) {
  const Vocabulary v = handmade::sentencepiece();
  const Tokenizer tokenizer(v);
  EXPECT_EQ(tokenizer.encode("hello", false, false), ids_of(v, {"▁hello"}));
  EXPECT_EQ(tokenizer.encode("hello hello", true, false), ids_of(v, {"<s>", "▁hello", "▁hello"}));
  // "ab" has a better score than "bc"; a greedy longest match would not tell.
  EXPECT_EQ(tokenizer.encode(" abc", false, false), ids_of(v, {"▁▁", "ab", "c"}));
  EXPECT_EQ(tokenizer.encode("", true, false), ids_of(v, {"<s>"}));
}

TEST(SentencePiece, EqualScoresMergeFromTheLeft) {
  Vocabulary v = handmade::sentencepiece();
  v.add_space_prefix = false;
  v.scores[static_cast<std::size_t>(id_of(v, "bc"))] = v.scores[static_cast<std::size_t>(id_of(v, "ab"))];
  EXPECT_EQ(Tokenizer(v).encode("abc", false, false), ids_of(v, {"ab", "c"}));
}

TEST(SentencePiece, SpacePrefixIsPutInAndTakenOut) {
  Vocabulary v = handmade::sentencepiece();
  const Tokenizer with(v);
  EXPECT_EQ(with.decode(with.encode("hello", true, false)), "hello");
  EXPECT_EQ(with.decode(with.encode("  hello", true, false)), "  hello");
  EXPECT_EQ(with.decode(with.encode(" ", true, false)), " ");
  EXPECT_EQ(with.decode(ids_of(v, {"▁", "▁hello"})), " hello") << "only one space is taken out";
  v.add_space_prefix = false;
  const Tokenizer without(v);
  EXPECT_EQ(without.encode("hello", false, false), ids_of(v, {"hello"}));
  EXPECT_EQ(without.decode(ids_of(v, {"▁hello"})), " hello");
}

TEST(SentencePiece, SpellsUnknownCharactersAsBytes) {
  Vocabulary v = handmade::sentencepiece();
  v.add_space_prefix = false;
  const Tokenizer tokenizer(v);
  EXPECT_EQ(tokenizer.encode("é", false, false), ids_of(v, {"é"}));
  EXPECT_EQ(tokenizer.encode("a🚀", false, false), ids_of(v, {"a", "<0xF0>", "<0x9F>", "<0x9A>", "<0x80>"}));
  EXPECT_EQ(tokenizer.piece(id_of(v, "<0xF0>")), "\xF0");
}

TEST(SentencePiece, UnknownOncePerCharacterWhereThereAreNoBytes) {
  Vocabulary v = handmade::sentencepiece();
  v.add_space_prefix = false;
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    if (v.types[i] == TokenType::byte) v.types[i] = TokenType::unused;
  }
  EXPECT_EQ(Tokenizer(v).encode("a🚀b", false, false), ids_of(v, {"a", "<unk>", "b"}));
  v.unknown = -1;
  const Tokenizer strict(v);
  const auto [code, message] = error_of([&] { (void)strict.encode("a🚀b", false, false); });
  EXPECT_EQ(code, Code::invalid_argument);
  EXPECT_NE(message.find("0xF0"), std::string::npos) << message;
}

TEST(SentencePiece, SpellingNeverGivesAControlToken) {
  Vocabulary v = handmade::sentencepiece();  // has "</s" and ">", so merging by text would arrive at "</s>"
  v.add_space_prefix = false;
  const Tokenizer tokenizer(v);
  EXPECT_EQ(tokenizer.encode("</s>", false, false), ids_of(v, {"</s", ">"}));
  EXPECT_EQ(tokenizer.encode("</s>", false, true), ids_of(v, {"</s>"}));
  EXPECT_EQ(tokenizer.encode("<0x41>", false, true).size(), 6u) << "byte tokens cannot be written out";
}

TEST(ByteLevel, MergesByRank) {
  const Vocabulary v = handmade::byte_level("gpt-2");
  const Tokenizer tokenizer(v);
  EXPECT_EQ(tokenizer.encode("the hello the", false, false),
            (std::vector<Token>{id_of(v, "the"), ' ', id_of(v, "hello"), id_of(v, "Ġthe")}));
  EXPECT_EQ(tokenizer.encode("é", false, false), (std::vector<Token>{0xC3, 0xA9}));
  EXPECT_EQ(tokenizer.decode(ids_of(v, {"Ġthe", "ĠĠ"})), " the  ") << "no space is taken out of byte-level text";
}

TEST(ByteLevel, TakesMergesThroughSymbolsThatAreNoTokens) {
  Vocabulary v = handmade::byte_level("gpt-2");
  v.merges = {"a b", "ab c", "x y"};  // "ab" and "xy" are no tokens
  handmade::add(v, "abc");
  const Tokenizer tokenizer(v);
  EXPECT_EQ(tokenizer.encode("abc", false, false), ids_of(v, {"abc"}));
  EXPECT_EQ(tokenizer.encode("xy", false, false), (std::vector<Token>{'x', 'y'}));
}

TEST(ByteLevel, MissingBytesAreUnknownOrAnError) {
  Vocabulary v = handmade::byte_level("gpt-2");
  v.types['q'] = TokenType::control;
  const auto [code, message] = error_of([&] { (void)Tokenizer(v).encode("qq", false, false); });
  EXPECT_EQ(code, Code::invalid_argument);
  EXPECT_NE(message.find("0x71"), std::string::npos) << message;
  v.unknown = v.eos;
  EXPECT_EQ(Tokenizer(v).encode("aq", false, false), (std::vector<Token>{'a', v.eos}));
}

TEST(Special, AreSplitOutOnlyWhereAsked) {
  const Vocabulary v = handmade::byte_level("qwen2");
  const Tokenizer tokenizer(v);
  const std::vector<Token> parsed = tokenizer.encode("<|im_start|>the<|im_end|>", false, true);
  EXPECT_EQ(parsed, (std::vector<Token>{v.bos, id_of(v, "the"), v.eos}));
  const std::vector<Token> spelled = tokenizer.encode("<|im_end|>", false, false);
  EXPECT_EQ(spelled.size(), 10u);
  EXPECT_EQ(tokenizer.decode(spelled), "<|im_end|>");
  EXPECT_EQ(tokenizer.decode(parsed), "the");
  EXPECT_TRUE(tokenizer.ends_generation(v.eos));
  EXPECT_FALSE(tokenizer.ends_generation(v.bos));
  EXPECT_FALSE(tokenizer.ends_generation(-1));
}

TEST(Special, LongestOfThoseThatStartTogether) {
  Vocabulary v = handmade::byte_level("gpt-2");
  const Token tool = handmade::add(v, "<tool>", TokenType::user_defined);
  const Token tools = handmade::add(v, "<tool>s", TokenType::user_defined);
  const Token u = handmade::add(v, "ü", TokenType::user_defined);
  const Tokenizer tokenizer(v);
  EXPECT_EQ(tokenizer.encode("<tool><tool>s<tool", false, false), (std::vector<Token>{tool, tools, '<', 't', 'o', 'o', 'l'}));
  // User-defined tokens represent themselves, not for bytes in the byte-level alphabet ("ü" would be 0xFC).
  EXPECT_EQ(tokenizer.encode("aü", false, false), (std::vector<Token>{'a', u}));
  EXPECT_EQ(tokenizer.piece(u), "ü");
}

TEST(Special, BosAndEosAsTheVocabularySays) {
  Vocabulary v = handmade::byte_level("gpt-2");
  v.add_bos = v.add_eos = true;
  const Tokenizer tokenizer(v);
  EXPECT_EQ(tokenizer.encode("a", true, false), (std::vector<Token>{v.bos, 'a', v.eos}));
  EXPECT_EQ(tokenizer.encode("a", false, false), (std::vector<Token>{'a'}));
}

TEST(PreTokenizer, CutsAsItsRuleSays) {
  EXPECT_EQ(PreTokenizer("gpt-2").split("I'll pay  2024 €!\n\n x"), (Words{"I", "'ll", " pay", " ", " 2024", " €!", "\n\n", " x"}));
  EXPECT_EQ(PreTokenizer("llama-bpe").split("YOU'LL 12345!!\n\nx_y"), (Words{"YOU", "'LL", " ", "123", "45", "!!\n\n", "x", "_y"}));
  EXPECT_EQ(PreTokenizer("qwen2").split("a 123\r\n\tb"), (Words{"a", " ", "1", "2", "3", "\r\n", "\tb"}));
  EXPECT_EQ(PreTokenizer("smollm").split("x 123 y"), (Words{"x", " ", "1", "2", "3", " y"}));
  EXPECT_EQ(PreTokenizer("falcon").split("a  !b 12345"), (Words{"a", "  ", "!", "b", " ", "123", "45"}));
  EXPECT_EQ(PreTokenizer("deepseek-coder").split("a\n\nb 12"), (Words{"a", "\n", "\n", "b", " ", "1", "2"}));
  EXPECT_TRUE(PreTokenizer("llama-bpe").split("").empty());
}

TEST(PreTokenizer, OtherNamesOfTheSameRule) {
  const std::string_view text = "We'VE 1234 x\n\n";
  EXPECT_EQ(PreTokenizer("llama3").split(text), PreTokenizer("llama-bpe").split(text));
  EXPECT_EQ(PreTokenizer("refact").split(text), PreTokenizer("starcoder").split(text));
  EXPECT_TRUE(PreTokenizer::adds_bos_by_default("llama-v3"));
  EXPECT_FALSE(PreTokenizer::adds_bos_by_default("qwen2"));
}

TEST(PreTokenizer, WholeWordsOfLlama3SkipTheMerges) {
  Vocabulary v = handmade::byte_level("gpt-2");
  const Token xyz = handmade::add(v, "xyz");  // no merge leads there
  EXPECT_EQ(Tokenizer(v).encode("xyz", false, false), (std::vector<Token>{'x', 'y', 'z'}));
  v.pre = "llama-bpe";
  EXPECT_EQ(Tokenizer(v).encode("xyz", false, false), (std::vector<Token>{xyz}));
}

TEST(PreTokenizer, UnknownNamesAreRefusedByName) {
  const auto [code, message] = error_of([] { PreTokenizer("klingon-bpe"); });
  EXPECT_EQ(code, Code::unsupported);
  EXPECT_NE(message.find("klingon-bpe"), std::string::npos) << message;
  EXPECT_NE(message.find("llama-bpe"), std::string::npos) << message;
}

TEST(Vocabularies, ThatDoNotFitTogetherAreRefused) {
  const auto refused = [](Vocabulary v, Code code, std::string_view says) {
    const auto [got, message] = error_of([&] { Tokenizer{std::move(v)}; });
    EXPECT_EQ(got, code) << message;
    EXPECT_NE(message.find(says), std::string::npos) << message;
  };
  Vocabulary v = handmade::sentencepiece();
  v.scores.pop_back();
  refused(v, Code::invalid_argument, "scores");
  v.scores.push_back(std::numeric_limits<float>::quiet_NaN());
  refused(v, Code::invalid_argument, "not a number");
  v = handmade::sentencepiece();
  v.types.resize(7);
  refused(v, Code::invalid_argument, "7 token types");
  v = handmade::sentencepiece();
  v.eos = 100000;
  refused(v, Code::invalid_argument, "100000");
  v = handmade::sentencepiece();
  v.eot = -2;
  refused(v, Code::invalid_argument, "EOT");
  v = handmade::sentencepiece();
  v.end_of_generation.push_back(std::numeric_limits<Token>::max());
  refused(v, Code::invalid_argument, "2147483647");
  v = handmade::sentencepiece();
  v.bos = -1;
  refused(v, Code::invalid_argument, "BOS");
  v = handmade::sentencepiece();
  v.model = "bert";
  refused(v, Code::unsupported, "bert");
  v = handmade::byte_level("gpt-2");
  v.merges.emplace_back("nospace");
  refused(v, Code::bad_file, "nospace");
  v = Vocabulary();
  v.model = "gpt2";
  refused(v, Code::invalid_argument, "no tokens");
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  for (const Vocabulary& v : {handmade::sentencepiece(), handmade::byte_level("qwen2")}) {
    const Tokenizer tokenizer(v);
    const auto [code, message] = error_of([&] { (void)tokenizer.encode("ab\xC3(", true, true); });
    EXPECT_EQ(code, Code::invalid_argument);
    EXPECT_NE(message.find("byte 2"), std::string::npos) << message;
  }
}

TEST(Tokenizer, RefusesTokensOutsideTheVocabulary) {
  const Tokenizer tokenizer(handmade::byte_level("gpt-2"));
  for (const Token token :
       {-1, static_cast<Token>(tokenizer.size()), std::numeric_limits<Token>::min(), std::numeric_limits<Token>::max()}) {
    EXPECT_EQ(error_of([&] { (void)tokenizer.piece(token); }).first, Code::invalid_argument) << token;
    EXPECT_EQ(error_of([&] { (void)tokenizer.decode(std::vector<Token>{token}); }).first, Code::invalid_argument) << token;
  }
}

TEST(Tokenizer, RoundTripsRandomUnicode) {
  std::mt19937 random(20240607);
  std::vector<Tokenizer> tokenizers;
  tokenizers.emplace_back(handmade::sentencepiece());
  for (const char* pre : {"default", "gpt-2", "llama-bpe", "qwen2", "deepseek-coder", "falcon", "starcoder", "smollm"}) {
    tokenizers.emplace_back(handmade::byte_level(pre));
  }
  for (int i = 0; i < 200; ++i) {
    const std::string text = random_text(random, random() % 200);
    for (const Tokenizer& tokenizer : tokenizers) {
      ASSERT_EQ(tokenizer.decode(tokenizer.encode(text, true, false)), text) << tokenizer.vocabulary().pre << " " << i;
    }
  }
}

TEST(Tokenizer, ManyThreadsAtOnce) {
  const Tokenizer tokenizer(handmade::byte_level("llama-bpe"));
  const std::string text = "hello the hello, the 12345 é\n";
  const std::vector<Token> expected = tokenizer.encode(text, false, false);
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (bool& ok : right) {
    threads.emplace_back([&tokenizer, &text, &expected, &ok] {
      ok = true;
      for (int i = 0; i < 200; ++i) ok = ok && tokenizer.encode(text, false, false) == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool ok : right) EXPECT_TRUE(ok);
}

// A megabyte of the kinds of text that keep backtracking or quadratic tokenizers busy for hours.
TEST(Tokenizer, AMegabyteTakesLinearTime) {
  const std::size_t size = std::size_t{1} << 20;
  std::vector<std::string> texts = {std::string(size, 'a'),  std::string(size, ' '), std::string(size, '\n'),
                                    std::string(size, '\''), std::string(size, '7'), std::string(size, '<')};
  std::string rockets, prose, ragged;
  while (rockets.size() < size) rockets += "🚀";
  while (prose.size() < size) prose += "hello the hello, the 12345 é\n";
  while (ragged.size() < size) ragged += std::string(1000, ' ') + "x" + std::string(1000, '\n') + "\t";
  texts.insert(texts.end(), {rockets, prose, ragged});
  std::vector<Tokenizer> tokenizers;
  tokenizers.emplace_back(handmade::sentencepiece());
  for (const char* pre : {"default", "llama-bpe", "deepseek-coder"}) {
    tokenizers.emplace_back(handmade::byte_level(pre));
  }
  for (const Tokenizer& tokenizer : tokenizers) {
    for (const std::string& text : texts) {
      const std::vector<Token> tokens = tokenizer.encode(text, false, true);
      ASSERT_EQ(tokenizer.decode(tokens), text);
    }
  }
}

}  // namespace
}  // namespace skipstone::text
